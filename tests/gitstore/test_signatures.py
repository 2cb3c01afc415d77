"""SSH signatures: who signed is found from keys alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from publisher.errors import NeedsPerson
from publisher.gitstore import git_objects
from publisher.gitstore.gateway import Git
from tests.support import gitrepos
from tests.support.gitrepos import Repository

NAMESPACE = "publisher-approval"


@pytest.fixture
def editor(tmp_path: Path) -> Repository:
    return gitrepos.started(tmp_path)[1]


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, Path]:
    return {name: gitrepos.signing_key(tmp_path / "keys", name) for name in ("ann", "ben")}


def test_signatures(editor: Repository, keys: dict[str, Path]) -> None:
    git, data = Git(editor.path), b"statement \x00 \n"
    signers = gitrepos.allowed(keys, NAMESPACE)
    signature = git.sign(keys["ann"], NAMESPACE, data)
    assert git.verify(signers, NAMESPACE, data, signature) == "ann"
    assert git.verify(signers, NAMESPACE, data + b"x", signature) == ""
    assert git.verify(signers, "git", data, signature) == ""
    assert git.verify(gitrepos.allowed({"ben": keys["ben"]}, NAMESPACE), NAMESPACE, data, signature) == ""
    assert git.verify(gitrepos.allowed(keys, "git"), NAMESPACE, data, signature) == ""
    assert git.verify("", NAMESPACE, data, signature) == ""
    for broken in ("", "x", signature[:80], signature.replace("U1NIU0lH", "AAAAAAAA"), "é" + signature, signature * 99):
        assert git.verify(signers, NAMESPACE, data, broken) == ""


def test_one_key_for_two_people_is_nobody(editor: Repository, keys: dict[str, Path]) -> None:
    git = Git(editor.path)
    signature = git.sign(keys["ann"], NAMESPACE, b"x")
    twice = gitrepos.allowed({"ann": keys["ann"]}, NAMESPACE) + gitrepos.allowed({"ben": keys["ann"]}, NAMESPACE)
    assert git.verify(twice, NAMESPACE, b"x", signature) == ""
    wild = gitrepos.allowed({"*": keys["ann"]}, NAMESPACE)
    assert git.verify(wild, NAMESPACE, b"x", signature) == ""
    both = gitrepos.allowed({"ann,ben": keys["ann"]}, NAMESPACE)
    assert git.verify(both, NAMESPACE, b"x", signature) == ""


def test_commit_signers(editor: Repository, keys: dict[str, Path]) -> None:
    git, signers = Git(editor.path), gitrepos.allowed(keys, "git")
    plain = editor.head()
    signed = editor.commit({"a": "1"}, "by ann\n\ngpgsig not a header\n", key=keys["ann"])
    assert git.commit_signer(signed, signers) == "ann"
    assert git.commit_signer(plain, signers) == ""
    assert git.commit_signer(signed, gitrepos.allowed({"ben": keys["ben"]}, "git")) == ""
    # the approval namespace lets nobody sign commits
    assert git.commit_signer(signed, gitrepos.allowed(keys, NAMESPACE)) == ""
    raw = editor.git("cat-file", "commit", signed).encode() + b"\n"
    forged = raw.replace(b"by ann", b"by eve")
    for data in (forged, twice_signed(raw)):
        oid = editor.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=data)
        assert git.commit_signer(oid, signers) == ""


def twice_signed(raw: bytes) -> bytes:
    head, _, message = raw.partition(b"\n\n")
    lines = head.split(b"\n")
    start = next(n for n, line in enumerate(lines) if line.startswith(b"gpgsig "))
    return b"\n".join([*lines, *lines[start:]]) + b"\n\n" + message


def test_a_merge_with_a_signed_tag_inside_is_read_right(editor: Repository, keys: dict[str, Path]) -> None:
    """``mergetag`` headers hold signatures of their own, which are part of what the commit's signer signed."""
    raw = (
        b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a@x> 1 +0000\ncommitter a <a@x> 1 +0000\n"
        b"mergetag object 0\n type commit\n gpgsig no\n \n -----BEGIN SSH SIGNATURE-----\n"
        b"gpgsig -----A\n B\nencoding x\n\nm\n\ngpgsig z"
    )
    signed, signature = git_objects.split_signature(raw)
    assert signature == "-----A\nB\n"
    assert signed == raw.replace(b"gpgsig -----A\n B\n", b"")


def test_keys(editor: Repository, keys: dict[str, Path], tmp_path: Path) -> None:
    git = Git(editor.path)
    assert git.public_key_of(keys["ann"]) == gitrepos.public_half(keys["ann"])
    assert git.public_key_of(keys["ann"].with_name("ann.pub")) == gitrepos.public_half(keys["ann"])
    keys["ben"].with_name("ben.pub").unlink()
    assert git.public_key_of(keys["ben"]).startswith("ssh-ed25519 ")
    broken = tmp_path / "broken"
    broken.write_text("SECRET not a key")
    for call in (
        lambda: git.public_key_of(broken), lambda: git.public_key_of(tmp_path / "none"),
        lambda: git.sign(broken, NAMESPACE, b""), lambda: git.sign(tmp_path / "none", NAMESPACE, b""),
    ):  # fmt: skip
        with pytest.raises(NeedsPerson) as problem:
            call()
        assert "SECRET" not in str(problem.value)


def test_without_ssh_keygen(editor: Repository, keys: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NeedsPerson) as problem:
        Git(editor.path).sign(keys["ann"], NAMESPACE, b"x")
    assert problem.value.code == "ssh-keygen-missing"
