"""The one judge of every story that went wrong on the way: what must be true once it has been finished.

``accept`` trusts nothing that publisher computed: release ids and digests are taken again here, from the bytes at the target, with
``hashlib`` alone; the plan is the file on the default branch; the ledger's lines are read as JSON.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import urllib.request
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.gitrepos import snapshot
from tests.support.instance import Instance

CLAIM = ".well-known/publisher-claim.json"
MANIFEST = ".well-known/publisher.json"


@dataclass(frozen=True)
class Published:
    """Everything that the world can see: the live files (less the claim file) and the announcements, in order."""

    files: Mapping[str, bytes]
    told: tuple[Mapping[str, str], ...]


# --- what is there, without publisher's help ------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    return subprocess.run(["git", *arguments], cwd=folder, input=stdin, capture_output=True, check=True).stdout


def site_of(folder: Path) -> Mapping[str, Any]:
    """The site's configuration on the default branch."""
    values: Mapping[str, Any] = yaml.safe_load(git(folder / "remote.git", "show", "main:publisher.yaml"))["sites"]["blog"]
    return values


def branch_of(folder: Path) -> tuple[Path, str]:
    """Repository and branch of a ``git-branch`` target."""
    target = site_of(folder)["target"]
    return folder / ("site.git" if "repository" in target else "remote.git"), target["branch"]


def live_files(folder: Path) -> dict[str, bytes]:
    """The live files of the instance in ``folder`` by path, the claim file too; none before the first release."""
    if site_of(folder)["target"]["kind"] == "directory":
        current = folder / "public" / "current"
        if not current.is_symlink():
            return {}
        return files_below(current)
    repository, branch = branch_of(folder)
    if not (git(repository, "for-each-ref", f"refs/heads/{branch}")):
        return {}
    return files_at(repository, branch)


def files_below(folder: Path) -> dict[str, bytes]:
    """The files below a folder, or below the one that a link names."""
    root = folder.resolve()
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def files_at(repository: Path, commit: str, folder: str = "") -> dict[str, bytes]:
    """The files at a commit by path."""
    paths = ("--", folder) if folder else ()
    rows = [row.split(b"\t") for row in git(repository, "ls-tree", "-rz", commit, *paths).split(b"\0") if row]
    return dict(
        zip([path.decode() for _, path in rows], objects(repository, [meta.split()[2] for meta, _ in rows]), strict=True)
    )


def objects(repository: Path, oids: Sequence[bytes]) -> list[bytes]:
    """The bytes of objects, from one process."""
    out, found, place = git(repository, "cat-file", "--batch", stdin=b"\n".join(oids) + b"\n"), [], 0
    for _ in oids:
        end = out.index(b"\n", place)
        size = int(out[place:end].split()[2])
        found.append(out[end + 1 : end + 1 + size])
        place = end + size + 2
    return found


def published(instance: Instance) -> Published:
    files = live_files(instance.folder)
    files.pop(CLAIM, None)
    return Published(files, announcements(instance))


def announcements(instance: Instance) -> tuple[Mapping[str, str], ...]:
    path = instance.folder / "post.jsonl"
    return tuple(json.loads(line) for line in path.read_text().splitlines()) if path.exists() else ()


def release_id(files: Mapping[str, bytes]) -> str:
    """The digest over the sorted list of (path, digest), written here once more."""
    listed = [[path, "sha256:" + hashlib.sha256(data).hexdigest()] for path, data in sorted(files.items())]
    return "sha256:" + hashlib.sha256(json.dumps(listed, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


def path_of(date: str) -> str:
    """The plan of a date, or of the ``launch``."""
    return "blog/launch" if date == "launch" else f"blog/daily/{date[:4]}/{date}"


def plan_of(instance: Instance, date: str) -> Mapping[str, Any]:
    text = git(instance.remote.path, "show", f"main:plans/{path_of(date)}.yaml")
    plan: Mapping[str, Any] = yaml.load(text, Loader=yaml.BaseLoader)  # every scalar as it is written
    return plan


def all_events(instance: Instance) -> dict[str, list[dict[str, Any]]]:
    """Every ledger file's lines, by its path below ``ledger/`` without ending."""
    state = yaml.safe_load(git(instance.remote.path, "show", "main:publisher.yaml"))["branches"]["state"]
    texts = files_at(instance.remote.path, state, "ledger/")
    return {
        name.removeprefix("ledger/").removesuffix(".jsonl"): [json.loads(line) for line in text.splitlines()]
        for name, text in texts.items()
    }


def of_type(events: Sequence[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [event for event in events if event["type"] == kind]


# --- the judgement ----------------------------------------------------------------------------------------------------------------


def accept(
    instance: Instance,
    date: str,
    *,
    first: Published | None = None,
    before: Sequence[str] = (),
    prepared: Sequence[str] = (),
    now: str = "",
    who: str = "again",
    unsure: bool = False,
    restored: bool = False,
) -> None:
    """Raises unless the publication of ``date`` is public exactly once, as planned, and nothing is left to do.

    ``unsure`` says that the outcome of an announcement is known to a person at best: nobody may be told twice, and somebody may not
    be told at all. ``restored`` says that the ledger was taken back: it need not tell the whole story, and the world must be right.

    ``first`` is what an undisturbed run made public: then every byte must be the same. ``before`` are the dates whose publications
    are public from before it, in the order of their deployment; ``prepared`` those whose texts may lie ready, or in an older release,
    and must not be public now. ``now`` is the driver's clock for the further run, which ``who`` does in a fresh clone.
    """
    plan, ledger, live = plan_of(instance, date), all_events(instance), published(instance)
    events = ledger[path_of(date)]
    if not restored:
        _the_ledger_agrees(events, ledger, live)
    _the_articles_are_the_plans(instance, plan, before, live)
    _the_web_shows_it(instance, live, [f"{instance.url}{article['url']}" for article in plan["articles"]])
    _nothing_else_is_public(instance, live, [date, *before], prepared)
    if unsure or restored:
        _told_once_at_most(live)
    else:
        _told_once(path_of(date), plan, events, live)
    _claims_are_released(ledger)
    if first is not None:
        assert live.files == first.files, f"other bytes than the first time: {_differing(live.files, first.files)}"
        assert unsure or restored or live.told == first.told, "other announcements than the first time"
    _a_further_run_does_nothing(instance, now, who)


def _the_ledger_agrees(
    events: Sequence[Mapping[str, Any]], ledger: Mapping[str, Sequence[Mapping[str, Any]]], live: Published
) -> None:
    deployed = of_type(events, "deployed")
    assert len(deployed) == 1, f"{len(deployed)} deployed records"
    confirmed = of_type(events, "confirmed")
    assert len(confirmed) == 1, f"{len(confirmed)} confirmed records"
    assert len(confirmed[0]["urls"]) == 2, "confirmed without its pages"
    every = sorted((event["deployment"], event["release"]) for found in ledger.values() for event in of_type(found, "deployed"))
    assert [number for number, _ in every] == list(range(1, len(every) + 1)), "deployments are not numbered 1, 2, 3"
    assert release_id(live.files) == every[-1][1], "the live release is not the ledger's last"
    intents = len(of_type(events, "deploy-intent"))
    undone = len(of_type(events, "deploy-closed")) + sum(
        not event["happened"] for event in of_type(events, "settled") if event["step"] != "announce"
    )
    assert intents in (0, undone + 1), "an intent has no outcome, or two"


def _the_articles_are_the_plans(instance: Instance, plan: Mapping[str, Any], before: Sequence[str], live: Published) -> None:
    listed = json.loads(live.files[MANIFEST])["articles"]
    expected = [
        (article["id"], article["url"], article["guid"], publish_at(one))
        for one in (*(plan_of(instance, day) for day in before), plan)
        for article in one["articles"]
    ]
    assert len(plan["articles"]) == 2
    assert [(item["id"], item["url"], item["guid"], item["date"]) for item in listed] == expected
    feed, atom = live.files["feed.xml"].decode(), live.files["atom.xml"].decode()
    for _, url, guid, _ in expected:
        assert feed.count(guid) == 1 and atom.count(guid) == 1, f"{guid} is not once in each feed"
        assert f"{instance.url}{url}" in feed, f"{url} is not linked from the feed"


def publish_at(plan: Mapping[str, Any]) -> str:
    """The tests' policy has no time of day: the date's beginning in Hong Kong, which has no summer time."""
    return str(plan.get("publish_at", f"{plan['date']}T00:00:00+08:00"))


def _the_web_shows_it(instance: Instance, live: Published, urls: Sequence[str]) -> None:
    for url in urls:
        path = url.removeprefix(instance.url).strip("/") + "/index.html"
        with urllib.request.urlopen(url, timeout=10) as answer:
            body = answer.read()
        assert body == live.files[path], f"{url} shows something else than the target holds"


def _nothing_else_is_public(instance: Instance, live: Published, shown: Sequence[str], prepared: Sequence[str]) -> None:
    """No draft that no plan selected, in any byte that the target has ever been given, or in the build source."""
    public = {article["id"] for day in shown for article in plan_of(instance, day)["articles"]}
    chosen = public | {article["id"] for day in prepared for article in plan_of(instance, day)["articles"]}
    drafts = _drafts(instance)
    assert set(drafts) - chosen, "every draft is selected, so this shows nothing"
    for known, places in ((public, live.files.values()), (chosen, _world(instance))):
        for private in [text for name, text in drafts.items() if name not in known]:
            assert not any(private in data for data in places), f"{private.decode()} left"
    state = yaml.safe_load(git(instance.remote.path, "show", "main:publisher.yaml"))["branches"]["state"]
    prepared = git(instance.remote.path, "ls-tree", "-d", "--name-only", state, "site-src/blog/articles/").decode().split()
    assert {name.rsplit("/", 1)[-1] for name in prepared} <= chosen


def _drafts(instance: Instance) -> dict[str, bytes]:
    """By id, the words that stand in that draft alone."""
    found = {}
    for name, text in files_at(instance.remote.path, "main", "drafts/").items():
        number = int(name.split("/")[2].rsplit("-", 1)[-1])
        found[f"a-{number:04d}"] = b"marker-%04d" % number
        assert found[f"a-{number:04d}"] in text
    return found


def _world(instance: Instance) -> list[bytes]:
    """Every byte at the target: served files, older releases, every object that its branch ever had."""
    if site_of(instance.folder)["target"]["kind"] == "directory":
        return [
            path.read_bytes() for path in (instance.folder / "public").rglob("*") if path.is_file() and not path.is_symlink()
        ]
    repository, branch = branch_of(instance.folder)
    if repository != instance.remote.path:
        refs = git(repository, "for-each-ref", "--format=%(refname)").decode().split()
        assert refs == [f"refs/heads/{branch}"], f"more than the site's branch was pushed: {refs}"
        everything = git(repository, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
        return objects(repository, everything)
    oids = [line.split(b" ")[0] for line in git(repository, "rev-list", "--objects", branch).splitlines()]
    return objects(repository, oids)


def _told_once(path: str, plan: Mapping[str, Any], events: Sequence[Mapping[str, Any]], live: Published) -> None:
    if "announce" not in plan:
        assert not live.told
        return
    assert len(of_type(events, "announced")) == 1
    told = Counter(message["to"] for message in live.told if message["id"].startswith(f"{path}/"))
    assert told and set(told.values()) == {1}, f"not told once each: {told}"
    results: dict[str, str] = {}
    for event in of_type(events, "announce-result"):
        results |= event["results"]
    assert set(results.values()) == {"sent"} and len(results) == len(told)


def _told_once_at_most(live: Published) -> None:
    told = Counter((message["id"], message["to"]) for message in live.told)
    assert set(told.values()) <= {1}, f"told twice: {told}"
    assert len({message["to"] for message in live.told}) == len(live.told), "somebody was told twice"


def _claims_are_released(ledger: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    claims = [event for name, found in sorted(ledger.items()) if "/claims/" in name for event in found]
    # An epoch that a restore began ends every claim before it.
    assert claims[-1]["type"] in ("released", "epoch"), "the last claim is still held"


def _a_further_run_does_nothing(instance: Instance, now: str, who: str) -> None:
    clone = instance.fresh_clone(who)
    before = outside(instance)
    done = instance.driven(who, "run", **({"now": now} if now else {}))
    assert done.returncode == 0, f"the further run ends with {done.returncode}\n{done.stdout}\n{done.stderr}"
    after = outside(instance)
    assert after == before, f"the further run changed {_differing(after, before)}"
    assert "nothing was written" in done.stdout
    assert not clone.git("status", "--porcelain")


def outside(instance: Instance) -> dict[str, str]:
    """Everything outside the clones, with bytes and times: remote, target, staging, alerts, announcements."""
    found = {}
    for name in ("remote.git", "site.git", "public", "staging"):
        if (instance.folder / name).exists():
            found |= {f"{name}/{path}": state for path, state in snapshot(instance.folder / name).items()}
    for name in ("alerts.jsonl", "post.jsonl"):
        path = instance.folder / name
        found[name] = f"{path.stat().st_mtime_ns} {path.read_text()}" if path.exists() else ""
    ids = [line["id"] for line in instance.alerts]
    assert len(ids) == len(set(ids)), "the same notice twice"
    return found


def facts(instance: Instance) -> dict[str, str]:
    """What the world is made of: bytes and modes everywhere, without times and without the file that is locked."""
    return {
        name: state.split(" ", 2)[0] + state.rsplit(" ", 1)[-1] if "/" in name else state.split(" ", 1)[-1]
        for name, state in outside(instance).items()
        if name != "public/lock"
    }


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))[:10]
