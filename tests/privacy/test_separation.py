"""A divided run: the side that deploys has no drafts, and no way to them; the side that reads them has no target.

The deploy side works in a clone of its own, made while the drafts' repository is away. Whatever it is handed that is not what the
build side made now, it does not deploy.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from publisher.domain.handover import Handed, read, written
from publisher.sitebuilder.builder import OUTPUTS
from tests.scenarios.test_arrangements import DUE, EVENING, with_private_drafts
from tests.support import copies
from tests.support.instance import Instance
from tests.support.stage import effects_of
from tests.support.web import serving

LATER = "2026-03-01T09:20:00+08:00"
PLAN = "blog/daily/2026/2026-03-01"
UNPLANNED = "drafts/blog/article-0007/index.md"


@pytest.fixture(scope="module")
def approved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """A plan is approved; its drafts lie in a repository of their own."""
    folder = tmp_path_factory.mktemp("divided") / "i"
    with serving(folder / "public" / "current") as web:
        web.date = None
        instance, private = with_private_drafts(folder, web.url)
        # The default branch's own history still holds the drafts as they were before they moved: this one it never saw.
        unplanned = private.path / UNPLANNED
        private.commit({UNPLANNED: unplanned.read_text() + "written where it is private\n"})
        private.push()
        instance.driven("planner", "plan", now=EVENING, check=0)
        instance.driven("reviewer", "approve", "1", "--yes", now=EVENING, check=0)
        copies.replace(folder.with_name("saved"), folder)
        yield instance


@pytest.fixture
def instance(approved: Instance) -> Instance:
    copies.replace(approved.folder, approved.folder.with_name("saved"))
    return approved


NAMES = iter(f"deployer-{number}" for number in range(100))


def build(instance: Instance, *more: str, now: str = DUE, check: int | None = 0) -> subprocess.CompletedProcess[str]:
    file = str(instance.folder / "handover.json")
    return instance.driven("ci", "run", "--only", "build", "--handover", file, *more, now=now, check=check)


def deploy(instance: Instance, *more: str, now: str = LATER, check: int | None = 0) -> subprocess.CompletedProcess[str]:
    """In a fresh clone, while the drafts' repository is away."""
    home, away = instance.folder / "drafts.git", instance.folder.with_name("away")
    file = str(instance.folder / "handover.json")
    home.rename(away)
    try:
        name = next(NAMES)
        instance.fresh_clone(name, key_of="ci")
        return instance.driven(name, "run", "--only", "deploy", "--handover", file, *more, now=now, check=check)
    finally:
        away.rename(home)


def types(instance: Instance) -> list[str]:
    return [event["type"] for event in instance.ledger(PLAN, "publisher-state")]


def test_a_publication_by_two_processes(instance: Instance) -> None:
    done = build(instance)
    assert "handed over" in done.stdout and not instance.live(), "the build side deploys nothing"
    assert types(instance)[-2:] == ["prepared", "built"]
    handed = (instance.folder / "handover.json").read_text()
    assert "marker-" not in handed and "Article number" not in handed

    done = deploy(instance)
    live = instance.live()
    assert b"marker-0001" in live["article-0001/index.html"] and types(instance)[-1] == "confirmed"
    (clone,) = instance.folder.glob("deployer-*")
    objects = subprocess.run(
        ["git", "-C", str(clone), "cat-file", "--batch-check", "--batch-all-objects"],
        capture_output=True,
        text=True,
        check=True,
    )
    draft = instance.clone("drafts-editor").git("rev-parse", f"HEAD:{UNPLANNED}").strip()
    assert draft not in objects.stdout, "no draft ever came here"

    # The same again adds nothing, on either side.
    commits = instance.commits("publisher-state")
    build(instance, now="2026-03-01T09:30:00+08:00")
    deploy(instance, now="2026-03-01T09:31:00+08:00")
    assert instance.commits("publisher-state") == commits and instance.live() == live


def test_the_build_side_touches_neither_target_nor_channel(instance: Instance) -> None:
    log = instance.folder / "effects"
    instance.driven(
        "ci", "run", "--only", "build", "--handover", str(instance.folder / "handover.json"), now=DUE, check=0, log=str(log)
    )
    met = {effect.split(".")[0] for effect in effects_of(log)}
    assert met and not met & {"target", "channel", "probes", "staging"}, met


def test_without_a_handover_nothing_is_deployed(instance: Instance) -> None:
    build(instance)
    file = instance.folder / "handover.json"
    file.write_bytes(written(json.loads(file.read_text())["instance"], []))
    done = deploy(instance, check=5)
    assert "[not-handed-over]" in done.stdout + done.stderr and not instance.live()
    file.unlink()
    assert "[no-handover]" in deploy(instance, check=2).stderr


@pytest.mark.parametrize("field", ["payload", "base"])
def test_a_stale_entry_stands_for_nothing(instance: Instance, field: str) -> None:
    build(instance)
    done = deploy_changed(instance, {field: "sha256:" + "0" * 64})
    assert done.returncode == 5 and "[not-handed-over]" in done.stdout + done.stderr and not instance.live()
    build(instance, now="2026-03-01T09:21:00+08:00")
    deploy(instance, now="2026-03-01T09:22:00+08:00")
    assert "confirmed" in types(instance), f"the next pair of runs finishes it: {instance.ledger(PLAN, 'publisher-state')[-1]}"
    told = [alert["id"] for alert in instance.alerts if "not-handed-over" in alert["id"]]
    assert len(told) == 1, "people are told once"


@pytest.mark.parametrize("field", ["release", "texts"])
def test_what_differs_from_the_ledger_stops(instance: Instance, field: str) -> None:
    build(instance)
    other = "sha256:" + "0" * 64
    done = deploy_changed(instance, {field: other if field == "release" else [other]})
    assert done.returncode == 7 and "[handover-differs]" in done.stdout + done.stderr and not instance.live()


def deploy_changed(instance: Instance, changes: dict[str, object]) -> subprocess.CompletedProcess[str]:
    file = instance.folder / "handover.json"
    data = json.loads(file.read_text())
    (entry,) = data["releases"]
    entry |= changes
    entry["texts"] = tuple(entry["texts"])
    file.write_bytes(written(data["instance"], [Handed(**entry)]))
    return deploy(instance, check=None)


def test_a_killed_build_side_is_finished_by_the_next_pair(instance: Instance) -> None:
    file = str(instance.folder / "handover.json")
    for number, boundary in enumerate(("records.publish:1", "records.publish:2")):
        instance.driven("ci", "run", "--only", "build", "--handover", file, now=DUE, at=f"kill:{boundary}:after")
        assert not Path(file).exists() and not instance.live()
        build(instance, now=f"2026-03-01T09:{10 + 5 * number}:00+08:00")
        Path(file).unlink()
    build(instance, now="2026-03-01T09:19:30+08:00")
    deploy(instance)
    assert types(instance)[-1] == "confirmed" and types(instance).count("deployed") == 1


@pytest.mark.parametrize(
    ("data", "code", "status"),
    [
        (b"", "not-a-handover", 3),
        (b"{}", "not-a-handover", 3),
        (b"[" * 100_000, "not-a-handover", 3),
        (b"x" * 2_000_000, "not-a-handover", 3),
        (written("0" * 32, []), "not-a-handover", 3),
    ],
)
def test_files_that_are_none(instance: Instance, data: bytes, code: str, status: int) -> None:
    (instance.folder / "handover.json").write_bytes(data)
    done = deploy(instance, check=status)
    assert f"[{code}]" in done.stderr and "Traceback" not in done.stderr


def test_the_two_options_go_together(instance: Instance) -> None:
    assert "[half-divided]" in instance.driven("ci", "run", "--only", "build", now=DUE, check=2).stderr
    assert "[half-divided]" in instance.driven("ci", "run", "--handover", "x", now=DUE, check=2).stderr


def test_a_place_that_cannot_be_written_is_said(instance: Instance) -> None:
    missing = str(instance.folder / "nowhere" / "handover.json")
    done = instance.driven("ci", "run", "--only", "build", "--handover", missing, now=DUE, check=2)
    assert "[handover-not-written]" in done.stderr


def test_the_file_has_one_spelling() -> None:
    entry = Handed(plan="blog/x", payload="sha256:" + "1" * 64, base="", release="sha256:" + "2" * 64, texts=())
    data = written("5" * 32, [entry])
    assert read(data, "5" * 32) == {"blog/x": entry}
    for broken in (data + b" ", data.replace(b'"base":""', b'"base":"x"'), data.replace(b'"texts":[]', b'"texts":["x"]')):
        with pytest.raises(ValueError, match=r"publisher|hand-over"):
            read(broken, "5" * 32)


BUILD_SOMETHING = """
import sys
from pathlib import Path
from publisher.ports import BuildRequest
from publisher.sitebuilder.builder import Builder
from publisher.sitebuilder.theme import default_theme
from tests.support.sitebuilding import SITE, article, png
body = "# A\\n\\n![x](b.png)\\n\\n```python\\nx = 1\\n```\\n\\nhttps://example.org/\\n"
articles = (article(1, body=body, files={"b.png": png()}),)
request = BuildRequest(site=SITE, articles=articles, withdrawn=(), theme=default_theme(), static={}, output=int(sys.argv[2]))
print(Builder().build(request, sys.argv[1]).id)
"""


@pytest.mark.parametrize("output", sorted(OUTPUTS))
def test_a_build_needs_no_network(tmp_path: Path, output: int) -> None:
    """The same release in a network namespace that has no interface at all, not even a loopback."""
    alone = ["unshare", "--user", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("needs unshare, and to be allowed to use it")
    found = []
    for number, before in enumerate(([], alone)):
        (tmp_path / str(number)).mkdir()
        done = subprocess.run(
            [*before, sys.executable, "-c", BUILD_SOMETHING, str(tmp_path / str(number)), str(output)],
            capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path.cwd())},
        )  # fmt: skip
        found.append(done.stdout)
    assert found[0] == found[1]
    assert found[0].startswith("sha256:")
