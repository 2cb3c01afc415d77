"""``publisher init``: a whole instance, nothing overwritten, and never a first ledger over something public."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path

import pytest

from publisher.cli.web_server import Place
from publisher.domain.claim import fold_claims
from publisher.domain.ledger_events import decode
from publisher.gitstore import instance_files, queue_file, working_tree
from publisher.sitebuilder.theme import default_theme
from tests.cli.test_web_server import serving
from tests.support.command_line import publisher
from tests.support.gitrepos import Repository
from tests.support.instance_folder import PUBLISHER_YAML, handbook, snapshot, write

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRoaXNpc25vdGFyZWFsa2V5YnV0bG9va3NsaWtlb25l"
OTHER = KEY.replace("lib25l", "").replace("HRoaX", "HRobX")
# Nothing listens on this port of the loopback interface: connections are refused at once.
NOBODY = "http://127.0.0.1:9/"
WHOLE = ("--site", "g", "--url", NOBODY, "--zone", "UTC", "--target", "directory:x")


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "garden"
    folder.mkdir()
    Repository(folder).git("init", "--quiet", "--initial-branch=main")
    (tmp_path / "ann.pub").write_text(f"{KEY} ann@laptop\n")
    (tmp_path / "planner.pub").write_text(f"{OTHER}\n")
    return folder


def init(root, *more, url=NOBODY, site="garden"):
    return publisher(
        "init", "--site", site, "--url", url, "--zone", "Europe/Paris", "--target", f"directory:public/{site}", *more, at=root
    )


@contextmanager
def site_with(tmp_path, manifest: bytes | None):
    folder = tmp_path / "www"
    (folder / ".well-known").mkdir(parents=True)
    if manifest is not None:
        (folder / ".well-known/publisher.json").write_bytes(manifest)
    with serving(Place(folder=lambda: folder)) as server:
        yield f"http://127.0.0.1:{server.server_port}/"


MANIFEST = json.dumps({
    "schema": "publisher.manifest/1", "site": "garden", "withdrawn": [],
    "articles": [
        {"id": "a-0001", "url": "/x/", "guid": "tag:x,2026:g/a-0001", "date": "2026-12-01T00:00:00Z", "digest": "sha256:" + "0" * 64}
    ],
}).encode()  # fmt: skip


def test_a_whole_instance(root):
    people = ("--reviewer", "ann@example.org=../ann.pub", "--planner", "planner=../planner.pub", "--on-call", "ann@example.org")
    said = init(root, "--new-site", *people)
    assert said.code == 0, said.err
    wrote = said.out.splitlines()
    assert set(wrote) == set(snapshot(root))
    instance = working_tree.read_instance(root)
    assert (instance.forge, instance.default_branch, instance.state_branch) == ("git", "main", "main")
    assert instance.on_call == ("ann@example.org",) and len(instance.id) == 16
    site = instance.sites["garden"]
    assert (site.url, site.zone_name, site.title, dict(site.target.options)) == (
        NOBODY,
        "Europe/Paris",
        "Garden",
        {"path": "public/garden"},
    )
    rules = instance_files.rules_of((root / "approval.yaml").read_bytes(), "approval.yaml")
    assert [(who.principal, who.key, who.may_commit, who.may_approve) for who in rules.signers] == [
        ("ann@example.org", KEY, True, True),
        ("planner", OTHER, True, False),
    ]
    assert instance_files.policy_of((root / "plans/garden/policy.yaml").read_bytes(), "p").quantity == 1
    assert [(entry.id, entry.source) for entry in queue_file.read(root, "garden")] == [("a-0001", "drafts/garden/hello")]
    assert working_tree.read_draft(root, "drafts/garden/hello").id == "a-0001"
    assert {p.name: p.read_bytes() for p in (root / "site-src/garden/theme").iterdir()} == default_theme()
    assert site.staging is not None and dict(site.staging.options) == {"path": "public/garden-staging"}
    assert (root / ".gitignore").read_text() == "/public/garden/\n/public/garden-staging/\n"
    assert "PUBLISHER_ROOT" in said.err and "next: git add" in said.err


def test_the_first_record_is_an_epoch(root):
    init(root, "--new-site")
    (path,) = (root / "ledger/garden/claims").glob("*.jsonl")
    events = decode(path.read_bytes())
    standing = fold_claims(events)
    assert (len(events), standing.epoch, standing.last) == (1, 1, None)
    assert events[0].fields["reason"] == "init" and events[0].commit == "" and path.stem == events[0].at[:4]


def test_a_second_run_writes_nothing(root):
    init(root, "--new-site")
    before = snapshot(root)
    said = publisher("init", "--site", "garden", at=root)
    assert (said.code, said.out) == (0, "") and "nothing is missing" in said.err
    assert snapshot(root) == before


def test_an_interrupted_run_is_finished_and_nothing_replaced(root):
    init(root, "--new-site")
    epoch = next((root / "ledger/garden/claims").glob("*.jsonl")).read_bytes()
    write(root, {"approval.yaml": "approvals: 2\n", "drafts/garden/hello/index.md": "mine now"})
    (root / "plans/garden/policy.yaml").unlink()
    said = publisher("init", "--site", "garden", at=root)
    assert said.out == "plans/garden/policy.yaml\n"
    assert (root / "approval.yaml").read_text() == "approvals: 2\n"
    assert (root / "drafts/garden/hello/index.md").read_text() == "mine now"
    assert next((root / "ledger/garden/claims").glob("*.jsonl")).read_bytes() == epoch


def test_no_answer_is_not_taken_for_no_site(root):
    before = snapshot(root)
    said = init(root)
    assert (said.code, said.out) == (4, "")
    assert "[perhaps-public]" in said.err and "refused" in said.err and "--new-site" in said.err
    assert snapshot(root) == before


def test_a_definite_404_needs_nobodys_word(root, tmp_path):
    with site_with(tmp_path, None) as url:
        assert init(root, url=url).code == 0


@pytest.mark.parametrize("more", [[], ["--new-site"]])
def test_what_is_public_is_never_begun_anew(root, tmp_path, more):
    before = snapshot(root)
    with site_with(tmp_path, MANIFEST) as url:
        said = init(root, *more, url=url)
    assert (said.code, said.out) == (7, "")
    assert "[already-public]" in said.err and "next: publisher reconcile --restore" in said.err
    assert snapshot(root) == before


def test_something_else_at_the_address_needs_a_persons_word(root, tmp_path):
    with site_with(tmp_path, b"<html>parked</html>") as url:
        assert init(root, url=url).code == 4
        assert init(root, "--new-site", url=url).code == 0


def test_a_ledger_that_is_there_is_never_begun_again_even_unreachable(root):
    init(root, "--new-site")
    (root / "plans/garden/queue.yaml").unlink()
    assert publisher("init", "--site", "garden", at=root).code == 0, "the ledger exists, so nobody asks the site"


def test_a_committed_ledger_counts_when_its_file_is_gone(root):
    init(root, "--new-site")
    Repository(root).commit({})
    for path in (root / "ledger/garden/claims").glob("*"):
        path.unlink()
    said = publisher("init", "--site", "garden", "--json", at=root)
    assert said.data["ledger"] is None and not list((root / "ledger/garden/claims").glob("*"))


def test_a_state_branch_of_its_own_is_made_of_objects_alone(root):
    said = init(root, "--new-site", "--state-branch", "publisher-state", "--json")
    assert said.code == 0
    repository = Repository(root)
    assert not (root / "ledger").exists() and repository.git("status", "--porcelain", "--ignored=no").count("ledger") == 0
    commit = said.data["ledger"]["commit"]
    assert repository.refs() == {"refs/heads/publisher-state": commit}
    assert repository.git("rev-list", "--count", commit) == "1"
    files = repository.git("ls-tree", "-r", "--name-only", commit).splitlines()
    assert files == [said.data["ledger"]["path"]]
    assert "git push origin publisher-state" in said.data["next"]
    assert publisher("init", "--site", "garden", "--json", at=root).data["ledger"] is None


def test_with_a_state_branch_the_default_branch_can_be_protected(root):
    assert init(root, "--new-site", "--state-branch", "publisher-state", "--json").data["ledger"]["branch"] == "publisher-state"


def test_a_second_site_continues_the_state_branch(root):
    first = init(root, "--new-site", "--state-branch", "publisher-state", "--json").data["ledger"]["commit"]
    second = init(root, "--new-site", "--json", site="field").data["ledger"]
    repository = Repository(root)
    assert repository.git("rev-parse", f"{second['commit']}^") == first
    assert repository.git("ls-tree", "-r", "--name-only", second["commit"]).count("claims") == 2


def test_a_state_branch_that_only_the_remote_has_is_fetched_first(root, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    Repository(other).git("init", "--quiet", "--initial-branch=publisher-state")
    Repository(other).commit({"ledger/field/claims/2026.jsonl": "x\n"})
    Repository(root).git("remote", "add", "origin", str(other))
    before = snapshot(root)
    said = init(root, "--new-site", "--state-branch", "publisher-state")
    assert said.code == 4 and "[state-branch-elsewhere]" in said.err and "git fetch origin publisher-state" in said.err
    assert snapshot(root) == before


def test_a_remote_that_does_not_answer_is_not_an_empty_one(root, tmp_path):
    Repository(root).git("remote", "add", "origin", str(tmp_path / "none"))
    assert init(root, "--new-site", "--state-branch", "publisher-state").code == 5
    assert snapshot(root) == {}


def test_a_site_is_added_without_touching_the_rest_of_the_file(root):
    handbook(root)
    said = init(root, "--new-site", "--json")
    assert said.code == 0, said.err
    text = (root / "publisher.yaml").read_text()
    assert text.startswith(PUBLISHER_YAML)
    instance = working_tree.read_instance(root)
    assert sorted(instance.sites) == ["garden", "handbook"]
    assert instance.sites["garden"].tag_authority.startswith("localhost,")
    assert queue_file.read(root, "garden")[0].id == "a-0005", "ids are unique over all sites"
    assert not (root / "approval.yaml").exists(), "rules are people's to write once there is an instance"


def test_a_site_can_be_added_in_the_middle_of_the_file(root):
    handbook(root)
    tail = "\n# times\nlease: 10m   # long enough\n"
    write(root, {"publisher.yaml": PUBLISHER_YAML + tail})
    init(root, "--new-site")
    text = (root / "publisher.yaml").read_text()
    assert text.startswith(PUBLISHER_YAML) and text.endswith(tail)
    assert "garden" in working_tree.read_instance(root).sites


@pytest.mark.parametrize(
    ("argv", "code", "word"),
    [
        (["--site", "garden"], 2, "not-given"),
        (["--site", "Garden", "--url", NOBODY, "--zone", "UTC", "--target", "directory:x"], 2, "bad-site"),
        (["--site", "g", "--url", "http://garden.example/", "--zone", "UTC", "--target", "directory:x"], 2, "bad-url"),
        (["--site", "g", "--url", "https://a:b@garden.example/", "--zone", "UTC", "--target", "directory:x"], 2, "bad-url"),
        (["--site", "g", "--url", NOBODY, "--zone", "Mars/Olympus", "--target", "directory:x"], 2, "bad-zone"),
        (["--site", "g", "--url", NOBODY, "--zone", "UTC", "--target", "ftp:x"], 2, "bad-target"),
        (["--site", "g", "--url", NOBODY, "--zone", "UTC", "--target", "directory:"], 2, "bad-target"),
        ([*WHOLE, "--time", "9:00"], 2, "bad-time"),
        ([*WHOLE, "--title", "a\nb"], 3, "schema-pattern"),
        ([*WHOLE, "--state-branch", "-x"], 3, "schema-pattern"),
        ([*WHOLE, "--quantity", "0"], 2, "usage"),
        ([*WHOLE, "--reviewer", "ann"], 2, "bad-person"),
        ([*WHOLE, "--reviewer", "ann=none.pub"], 2, "no-key-file"),
        ([*WHOLE, "--reviewer", "a=../ann.pub", "--planner", "b=../ann.pub"], 3, "key-shared"),
    ],
)  # fmt: skip
def test_what_does_not_go_writes_nothing(root, argv, code, word):
    said = publisher("init", "--new-site", *argv, at=root)
    assert (said.code, said.out) == (code, ""), said.err
    assert f"[{word}]" in said.err
    assert snapshot(root) == {}


def test_a_private_key_is_refused_and_not_shown(root):
    (root.parent / "ann").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n")
    said = init(root, "--new-site", "--reviewer", "ann=../ann")
    assert said.code == 2 and "[no-public-key]" in said.err
    assert "c2VjcmV0" not in said.err + said.out and snapshot(root) == {}


def test_people_are_not_added_by_the_way(root):
    handbook(root)
    said = init(root, "--new-site", "--reviewer", "ann=../ann.pub")
    assert said.code == 2 and "[rules-exist]" in said.err


def test_an_existing_site_is_not_described_again(root):
    handbook(root)
    assert "[site-exists]" in init(root, site="handbook").err


def test_without_a_name_an_instance_is_not_added_to(root):
    handbook(root)
    said = publisher("init", at=root)
    assert said.code == 2 and "[which-site]" in said.err and "handbook" in said.err


def test_what_keeps_runs_from_working_alone_is_said(root):
    said = init(root, "--new-site", "--staging", "none")
    assert "nobody who may approve" in said.err and "no staging target" in said.err and "nobody is on call" in said.err
    said = init(root, "--new-site", site="field")
    assert "no staging target" not in said.err


@pytest.mark.parametrize(
    ("argv", "staging"),
    [
        (["--target", "git-branch:pages"], None),
        (["--target", "git-branch:pages", "--staging", "git-branch:staging"], ("git-branch", {"branch": "staging"})),
        (["--target", "directory:/srv/x/"], ("directory", {"path": "/srv/x-staging"})),
        (["--target", "directory:x", "--staging", "directory:y"], ("directory", {"path": "y"})),
    ],
)
def test_staging(root, argv, staging):
    said = publisher("init", "--new-site", "--site", "g", "--url", NOBODY, "--zone", "UTC", *argv, at=root)
    assert said.code == 0, said.err
    found = working_tree.read_instance(root).sites["g"].staging
    assert (found and (found.kind, dict(found.options))) == staging


def test_outside_a_repository(tmp_path):
    said = publisher("init", "--site", "x", at=tmp_path)
    assert said.code == 2 and "next: git init" in said.err and not list(tmp_path.iterdir())


def test_from_outside_with_a_directory(root):
    said = publisher(
        "init", str(root), "--site", "garden", "--url", NOBODY, "--zone", "UTC", "--target", "directory:public", "--new-site",
        "--no-example", at=root.parent,
    )  # fmt: skip
    assert said.code == 0 and queue_file.read(root, "garden") == () and not (root / "drafts").exists()


@pytest.mark.parametrize("lines", ["public/\n", "/public\n", "/public/garden/\n", "*.log\n/public/garden"])
def test_gitignore_is_added_to_only_where_needed(root, lines):
    write(root, {".gitignore": lines})
    init(root, "--new-site", "--staging", "none")
    assert (root / ".gitignore").read_text() == lines


def test_gitignore_keeps_what_it_has(root):
    write(root, {".gitignore": "*.log"})
    init(root, "--new-site")
    assert (root / ".gitignore").read_text() == "*.log\n/public/garden/\n/public/garden-staging/\n"


def test_a_target_outside_the_repository_needs_no_gitignore(root, tmp_path):
    publisher(
        "init", "--site", "g", "--url", NOBODY, "--zone", "UTC", "--target", f"directory:{tmp_path}/www", "--new-site", at=root
    )
    assert not (root / ".gitignore").exists(), "neither it nor the staging folder beside it"


def test_every_file_is_accepted_by_its_own_reader(root):
    """What ``init`` writes loads strictly: a broken template would only show at the first plan otherwise."""
    init(
        root, "--new-site", "--time", "09:30", "--title", 'A "quoted": title', "--author", "Ann # Lee", "--language", "zh-Hant"
    )
    site = working_tree.read_instance(root).sites["garden"]
    assert (site.title, site.author, site.language) == ('A "quoted": title', "Ann # Lee", "zh-Hant")
    policy = working_tree.read_policy(root, "garden")
    assert policy is not None and policy.publish_time == "09:30"
    assert Path(root / "plans/garden/queue.yaml").read_text().startswith("# ")


def test_on_a_terminal_it_asks(root, monkeypatch):
    import click

    asked = []

    def prompt(text, default=None, **_):
        asked.append(text)
        return {"Its public URL": NOBODY}.get(text, default)

    monkeypatch.setattr("publisher.cli.output.is_interactive", lambda: True)
    monkeypatch.setattr(click, "prompt", prompt)
    monkeypatch.setattr(click, "confirm", lambda *a, **k: asked.append("confirm"))
    monkeypatch.setenv("TZ", "Europe/Paris")
    said = publisher("init", "--new-site", at=root)
    assert said.code == 0, said.err
    assert asked == ["The site's id", "Its public URL", "The editor's time zone", "Where releases go", "confirm"]
    site = working_tree.read_instance(root).sites["garden"]
    assert (site.zone_name, site.target.options["path"]) == ("Europe/Paris", "public/garden")


def test_yes_asks_nothing(root, monkeypatch):
    monkeypatch.setattr("publisher.cli.output.is_interactive", lambda: True)
    assert "[not-given]" in publisher("init", "--yes", "--site", "garden", at=root).err
