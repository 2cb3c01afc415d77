"""``publisher review`` as people and CI jobs call it: options, events, exit codes, what it prints, and what it never prints."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from publisher.cli.review_text import words
from publisher.gitstore.yaml_writing import render_yaml
from tests.support.gitrepos import bare, clone
from tests.support.instance import Instance, draft, make_instance, source
from tests.support.reviewing import NEXT, REQUEST, Proposals, file_of, reviewing_stage
from tests.support.scene import Done, Scene, at, warm_process

NOW = "12-01 12:00"
REQUEST_REF = f"origin/publisher/requests/{REQUEST}"
TITLE, SENTENCE = "Article number", "belongs to it alone"
"""What every draft of the stage holds."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with reviewing_stage(tmp_path_factory.mktemp("review")) as scene:
        yield scene


@pytest.fixture(scope="module")
def desk(stage: Scene) -> Proposals:
    return Proposals.of(stage)


@pytest.fixture
def job(stage: Scene, tmp_path: Path) -> Iterator[Job]:
    made = Job(stage, tmp_path)
    yield made
    stage.instance.environment.clear()


class Job:
    """A job of GitHub Actions with the files that its runner names."""

    def __init__(self, stage: Scene, folder: Path) -> None:
        self.stage = stage
        self.folder = folder

    def review(
        self, event: Mapping[str, Any] | bytes, *argv: str, name: str = "pull_request", check: int = 0, who: str = "proposer"
    ) -> Done:
        path = self.folder / "event.json"
        path.write_bytes(event if isinstance(event, bytes) else json.dumps(event).encode())
        for file in ("summary", "outputs"):
            (self.folder / file).write_text("")
        self.stage.instance.environment.update(
            {
                "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path),
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary"), "GITHUB_OUTPUT": str(self.folder / "outputs"),
            }
        )  # fmt: skip
        return self.stage.do(who, "review", *argv, now=NOW, check=check)

    @property
    def summary(self) -> str:
        return (self.folder / "summary").read_text()

    @property
    def outputs(self) -> dict[str, str]:
        text = (self.folder / "outputs").read_text()
        return {name: value for name, _, value in re.findall(r"(\w+)<<(end-[0-9a-f]{32})\n(.*)\n\2\n", text)}


def pull(head: str, number: int = 7, *, private: object = True, fork: bool = False, branch: str = "main") -> dict[str, Any]:
    """The event of a pull request, as far as it is read."""
    return {
        "number": number, "repository": {"id": 1, "private": private},
        "pull_request": {
            "title": "::set-output name=x::y", "head": {"sha": head, "ref": "evil", "repo": {"id": 2 if fork else 1}},
            "base": {"sha": "0" * 40, "ref": branch, "repo": {"id": 1}},
        },
    }  # fmt: skip


def commands(done: Done) -> list[str]:
    """The lines that a runner would take for commands."""
    return [line for line in done.text.splitlines() if line.lstrip().startswith("::") or "##[" in line]


# --- on a terminal ----------------------------------------------------------------------------------------------------------------


def test_a_head_and_a_base_of_this_clone(stage: Scene, desk: Proposals, tmp_path: Path) -> None:
    out = tmp_path / "site"
    done = stage.do("proposer", "review", "--base", "origin/main", "--head", REQUEST_REF, "--output", str(out), now=NOW)
    assert "the request: no problem found" in done.out
    assert f"rendered below {out}" in done.err
    assert TITLE not in done.text and SENTENCE not in done.text
    assert SENTENCE in (out / "blog/article-0005/index.html").read_text()
    data = stage.do("proposer", "review", "--head", REQUEST_REF, "--json", now=NOW).data
    assert (data["schema"], data["exit"], data["good"], data["scan"]) == ("publisher.review/1", 0, True, "clean")
    assert data["payload"] == data["plans"][0]["payload"] == data["plans"][0]["merged_payload"]
    assert data["plans"][0]["articles"][0]["words"] == 15


def test_every_open_request(stage: Scene, desk: Proposals) -> None:
    data = stage.do("proposer", "review", "--requests", "--json", now=NOW).data
    assert (data["schema"], [one["request"] for one in data["reviews"]]) == ("publisher.reviews/1", [REQUEST])


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        ((), "what-to-review"),
        (("--requests", "--head", "HEAD"), "review-which"),
        (("--requests", "--output", "x"), "review-which"),
        (("--head", "no/such/ref"), "no-such-commit"),
        (("--head", "HEAD", "--base", "nowhere"), "no-such-commit"),
        (("--head", "HEAD", "--output", "drafts/blog"), "bad-output"),
        (("--head", "HEAD", "--output", "."), "not-empty"),
    ],
)
def test_what_cannot_be_reviewed(stage: Scene, desk: Proposals, argv: tuple[str, ...], code: str) -> None:
    desk.head({})
    assert f"[{code}]" in stage.do("proposer", "review", *argv, now=NOW, check=2).err


def test_a_problem_ends_with_3_and_names_its_line(stage: Scene, desk: Proposals) -> None:
    head = desk.head({file_of(NEXT): "kind: publication\n"})
    done = stage.do("proposer", "review", "--head", head, now=NOW, check=3)
    assert f"PROBLEM  {file_of(NEXT)}:1:1: this file lacks site [schema-required]" in done.out
    assert "1 problem to solve before anybody approves" in done.out


def test_without_a_host_nothing_is_posted_and_that_is_said(stage: Scene, desk: Proposals) -> None:
    done = stage.do("proposer", "review", "--head", REQUEST_REF, "--post", now=NOW)
    assert "(comment not posted: forge git shows no pull requests)" in done.text


# --- in a job ---------------------------------------------------------------------------------------------------------------------


def test_an_event_says_what_to_review(job: Job, desk: Proposals) -> None:
    done = job.review(pull(desk.repository.head(REQUEST_REF)))
    (notice,) = commands(done)
    assert re.fullmatch(
        rf"::notice file={file_of('blog/daily/2026/2026-12-03')},line=1,col=1,title=payload::sha256:[0-9a-f]{{64}}", notice
    )
    assert job.outputs == {"payload": notice.rsplit("::", 1)[1], "verdict": "good"}
    assert "### Review of request 7" in job.summary and job.outputs["payload"] in job.summary
    assert TITLE not in done.text + job.summary


def test_a_merge_group_is_reviewed_as_it_would_land(job: Job, desk: Proposals) -> None:
    event = {
        "merge_group": {"head_sha": desk.repository.head(REQUEST_REF), "base_ref": "refs/heads/main"},
        "repository": {"private": True},
    }
    job.review(event, name="merge_group")
    assert job.outputs["verdict"] == "good"


def test_a_head_that_this_clone_lacks_is_fetched(job: Job, stage: Scene, desk: Proposals) -> None:
    head = desk.head({"plans/blog/queue.yaml": "articles: []\n"})
    desk.repository.git("push", "--quiet", "origin", f"{head}:refs/pull/31/head")
    stage.instance.clone("ci")
    done = job.review(pull(head, 31), "--json", who="ci")
    assert (done.data["head"], done.data["request"]) == (head, 31)
    gone = job.review(pull("f" * 40, 31), who="ci", check=5)
    assert "[request-moved]" in gone.err


@pytest.mark.parametrize(
    ("name", "event", "check", "code"),
    [
        ("pull_request_target", pull("f" * 40), 7, "unsafe-event"),
        ("push", {}, 2, "what-to-review"),
        ("pull_request", b"not json", 5, "event-unreadable"),
        ("pull_request", {"pull_request": []}, 5, "event-unreadable"),
        ("pull_request", pull("--upload-pack=touch hacked"), 5, "event-unreadable"),
        ("pull_request", pull("HEAD"), 5, "event-unreadable"),
    ],
)
def test_events_that_are_no_request(job: Job, desk: Proposals, name: str, event: Any, check: int, code: str) -> None:
    assert f"[{code}]" in job.review(event, name=name, check=check).err


def test_a_request_for_another_branch_approves_nothing(job: Job, desk: Proposals) -> None:
    done = job.review(pull(desk.repository.head(REQUEST_REF), branch="feature"))
    assert "::warning title=other-branch::" in done.err


def test_annotations_are_few_and_the_rest_is_counted(job: Job, desk: Proposals) -> None:
    files = {f"ledger/blog/x{n}.jsonl": "{}\n" for n in range(25)}
    done = job.review(pull(desk.head(files)), check=3)
    errors = [line for line in commands(done) if line.startswith("::error ")]
    assert len(errors) == 10 and errors[-1] == "::error title=and-more::16 more; the summary lists them"
    assert job.summary.count("ledger-touched") == 25 and job.outputs["verdict"] == "problems"


# --- hostile requests -------------------------------------------------------------------------------------------------------------


def test_nothing_of_a_request_is_executed(job: Job, stage: Scene, desk: Proposals, tmp_path: Path) -> None:
    """A head full of traps, reviewed by a plain process of its own in a checkout of the base."""
    trap = tmp_path / "trapped"
    code = f"import pathlib; pathlib.Path({str(trap)!r}).touch()\n"
    module = f'[submodule "x"]\n\tpath = x\n\turl = ext::touch {trap}\n'
    tagged = f"!!python/object/apply:os.system [touch {trap}]\n"
    head = desk.head(
        {
            "publisher/__init__.py": code, "publisher/__main__.py": code, "publisher/cli/review.py": code, "conftest.py": code,
            "sitecustomize.py": code, "usercustomize.py": code, "yaml.py": code, "click.py": code, "setup.py": code,
            ".gitattributes": "* filter=trap diff=trap merge=trap\n", ".gitmodules": module,
            ".git-hooks/post-checkout": f"#!/bin/sh\ntouch {trap}\n", "plans/blog/queue.yaml": tagged,
            "site-src/blog/theme/base.html.j2": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        }
    )  # fmt: skip
    desk.head({})
    config = desk.repository.path / ".git" / "config"
    kept = config.read_text()
    for key in ("filter.trap.smudge", "filter.trap.clean", "diff.trap.command", "diff.trap.textconv", "merge.trap.driver"):
        desk.repository.setting(key, f"touch {trap}")
    try:
        event = tmp_path / "event"
        event.write_text(json.dumps(pull(head)))
        environment = {
            **stage.instance.env("proposer"), "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(event),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "publisher", "review", "--output", str(tmp_path / "out")],
            cwd=desk.repository.path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        config.write_text(kept)
    assert done.returncode == 3, done.stderr
    assert "[yaml-tag]" in done.stdout and not trap.exists()


def test_no_name_or_key_of_a_request_is_a_command(job: Job, desk: Proposals) -> None:
    blob = desk.blob(b"x\n")
    names = {
        "plans/blog/a\n::set-output name=x::y.yaml": ("100644", blob),
        "plans/blog/b##[set-output name=x;]y/c.yaml": ("100644", blob),
        "plans/blog/%0A::error::.yaml": ("100644", blob),
        "ledger/::add-mask::x, y": ("100644", blob),
        "plans/blog/queue.yaml": ("100644", desk.blob(b'"##[set-output name=x;]y": 1\narticles: []\n')),
        "plans/blog/policy.yaml": ("100644", desk.blob(b'"::set-output name=x::y": 1\n')),
        "approval.yaml": ("100644", desk.blob(b'"@ann <img src=x onerror=alert(1)> [a](http://x)": 1\napprovals: 1\n')),
    }
    done = job.review(pull(desk.tree(names)), check=3)
    for line in commands(done):
        assert re.match(r"::(error|warning|notice) [a-z]+=", line), line
        _, properties, message = line.split("::", 2)
        assert "\n" not in line and "::" not in properties and "," not in re.sub(r",(line|col|title)=", "", properties)
        assert "%0A" not in message.replace("%250A", "")
    text = [line for line in done.out.splitlines() if "##[" in line or line.startswith("::")]
    assert text == [] and "set-output" in done.out  # shown, and harmless
    assert set(job.outputs) == {"payload", "verdict"}
    assert "<img" not in job.summary.replace("\\<img", "") and "[a](http" not in job.summary


def test_words_of_strangers_are_only_words() -> None:
    shown = words("there is no key @ann <b> [x](http://evil) `y` #12 GH-7 www.evil.example here")
    assert "@ann" not in shown and "#12" not in shown and "://" not in shown and "GH-7" not in shown and "www.evil" not in shown
    assert "\\<b\\>" in shown and "\\[x\\]\\(" in shown and "\\`y\\`" in shown


# --- private drafts of a public instance ------------------------------------------------------------------------------------------

PRIVATE = {1: "The unannounced merger of Umbrella and Initech", 2: "Why the second reactor was shut down"}


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """An instance whose drafts lie in another repository, which this machine could read."""
    folder = tmp_path_factory.mktemp("closed") / "i"
    folder.mkdir()
    vault = bare(folder / "vault.git")
    writer = clone(vault, folder / "vault", "writer")
    texts = {
        f"{source(n)}/index.md": draft(n, "guide" if n % 2 else "note").replace(f"Article number {n} of the test", title)
        for n, title in PRIVATE.items()
    }
    writer.commit(texts)
    writer.push()
    instance = make_instance(folder, articles=2, more=f"drafts: {{repository: '{vault.path}'}}\n")
    instance.warm = warm_process()
    editor = instance.clone("editor")
    editor.commit({f"{source(n)}/index.md": None for n in PRIVATE}, "The drafts lie elsewhere")
    editor.push()
    for who in ("planner", "ci"):
        instance.clone(who).git("pull", "--quiet")
    instance.driven("planner", "plan", "--date", "2026-12-02", now=at(NOW), check=0)
    return instance


def reviewed(instance: Instance, folder: Path, *argv: str, check: int = 0, **event: Any) -> tuple[Any, str]:
    """The review of its request in a job, and everything that it left anywhere."""
    head = instance.remote.head("publisher/requests/1")
    instance.remote.git("update-ref", "refs/pull/9/head", head)
    for file in ("event", "summary", "outputs"):
        (folder / file).write_text("")
    (folder / "event").write_text(json.dumps(pull(head, 9, **event)))
    instance.environment = {
        "GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(folder / "event"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"), "GITHUB_OUTPUT": str(folder / "outputs"),
    }  # fmt: skip
    done = instance.driven("ci", "review", "--json", "--output", str(folder / "out"), *argv, now=at(NOW), check=check)
    (folder / "event").unlink()
    everywhere = b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    return json.loads(done.stdout), done.stdout + done.stderr + everywhere.decode()


@pytest.mark.parametrize("private", [False, None, "yes"], ids=["public", "unknown", "nonsense"])
def test_private_drafts_of_a_public_instance_are_not_even_opened(closed: Instance, tmp_path: Path, private: object) -> None:
    data, said = reviewed(closed, tmp_path, private=private)
    assert data["drafts"]["opened"] is False and "private" in data["drafts"]["says"]
    assert (data["scan"], data["plans"][0]["articles"][0]["words"]) == ("not-looked", None)
    assert not (tmp_path / "out").exists()
    for title in PRIVATE.values():
        assert title not in said
    assert SENTENCE not in said and data["plans"][0]["payload"] in said


def test_nor_are_they_for_a_fork_of_a_private_one(closed: Instance, tmp_path: Path) -> None:
    data, said = reviewed(closed, tmp_path, private=True, fork=True)
    assert data["drafts"]["opened"] is False and "fork" in data["drafts"]["says"]
    assert not (tmp_path / "out").exists() and not any(title in said for title in PRIVATE.values())


def test_a_private_instance_shows_them_on_the_rendered_pages_alone(closed: Instance, tmp_path: Path) -> None:
    data, said = reviewed(closed, tmp_path, private=True)
    assert (data["drafts"]["opened"], data["scan"], data["counts"]["problem"]) == (True, "clean", 0)
    assert PRIVATE[1] in (tmp_path / "out/blog/article-0001/index.html").read_text()
    beside = said.split("<!doctype html>")[0].split("<!DOCTYPE html>")[0]
    assert not any(title in text for title in PRIVATE.values() for text in (json.dumps(data), beside))
    assert not any(title in (tmp_path / "summary").read_text() for title in PRIVATE.values())


def test_drafts_that_cannot_be_fetched_are_missed_and_said(closed: Instance, tmp_path: Path) -> None:
    vault = closed.folder / "vault.git"
    vault.rename(closed.folder / "gone")
    try:
        data, _ = reviewed(closed, tmp_path, private=True)
    finally:
        (closed.folder / "gone").rename(vault)
    assert (data["exit"], data["scan"]) == (0, "not-looked")
    assert [item["code"] for item in data["findings"]] == ["drafts-not-read"]


def test_a_person_at_their_own_terminal_may_look(closed: Instance, tmp_path: Path) -> None:
    closed.environment = {}
    ci = closed.clone("ci")
    ci.git("fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
    fresh = json.loads(closed.driven("ci", "review", "--request", "1", "--json", now=at(NOW), check=0).stdout)
    assert (fresh["request"], fresh["scan"]) == (1, "clean")  # it asked the remotes, that of the drafts too
    argv = ("review", "--head", "origin/publisher/requests/1", "--json")
    never = json.loads(closed.driven("ci", *argv, now=at(NOW), check=0).stdout)
    assert [item["code"] for item in never["findings"]] == ["drafts-not-read"]
    ci.git("fetch", "--quiet", str(closed.folder / "vault.git"), "+refs/heads/main:refs/publisher/drafts")
    data = json.loads(closed.driven("ci", *argv, "--output", str(tmp_path / "out"), now=at(NOW), check=0).stdout)
    assert (data["findings"], data["scan"]) == ([], "clean") and (tmp_path / "out/blog/article-0001/index.html").exists()


def test_a_plan_with_other_texts_than_the_private_drafts(closed: Instance, tmp_path: Path) -> None:
    """In the open, the hash of a private text is not told to whoever guesses one."""
    planner = closed.clone("planner")
    planner.git("fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
    proposals = Proposals(Scene(closed.folder, None, closed), planner)  # type: ignore[arg-type]
    plan = proposals.plan("blog/daily/2026/2026-12-02", "origin/publisher/requests/1")
    plan["articles"][0]["fingerprint"] = "sha256:" + "0" * 64
    planner.git("checkout", "--quiet", "--detach", "origin/main")
    head = planner.commit({file_of("blog/daily/2026/2026-12-02"): render_yaml(plan)})
    planner.git("push", "--quiet", "origin", f"+{head}:refs/heads/publisher/requests/1")
    data, said = reviewed(closed, tmp_path, private=False)
    assert data["exit"] == 0 and "is planned as" not in said
    (tmp_path / "private").mkdir()
    data, said = reviewed(closed, tmp_path / "private", private=True, check=3)
    assert [item["code"] for item in data["findings"]] == ["fingerprint-differs"]
