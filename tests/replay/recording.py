"""Records the stories for replay; run by hand when a version brings new kinds of records, and never to make a test pass.

python -m tests.replay.recording VERSION [STORY…]     records into tests/replay/ledgers/VERSION.bundle and .json
python -m tests.replay.recording --decide [STORY…]    writes the decisions of recorded stories anew: read the difference
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.replay import corpus
from tests.replay.stories import STORIES, Snapshot, Story, staged
from tests.support.gitrepos import Repository, bare


def record(version: str, names: list[str], folder: Path) -> None:
    store = bare(folder / "store.git")
    found = []
    for name in names or list(STORIES):
        print(name, flush=True)
        found.append(_recorded(STORIES[name], folder / name, store))
    store.git("repack", "-adfq", "--depth=250", "--window=250")
    corpus.FOLDER.mkdir(exist_ok=True)
    store.git("bundle", "create", "--quiet", str(corpus.FOLDER / f"{version}.bundle"), "--all")
    text = json.dumps({"stories": found}, indent=1, sort_keys=True) + "\n"
    (corpus.FOLDER / f"{version}.json").write_text(text, "utf-8")


def _recorded(told: Story, folder: Path, store: Repository) -> dict[str, Any]:
    with staged(told, folder) as stage:
        told.tell(stage)
        remote = stage.remote.path if told.target == "github" else stage.instance.remote.path
        snapshots: list[Snapshot] = stage.snapshots
        wanted = sorted({oid for item in snapshots for oid in (item.default, item.state, *item.requests.values()) if oid})
        subprocess.run(
            ["git", "-c", "uploadpack.allowAnySHA1InWant=true", "fetch", "--quiet", str(remote), "+refs/*:refs/look/*"],
            cwd=store.path, check=True, capture_output=True,
        )  # fmt: skip
        _copy(remote, store, wanted)
        heads = store.git("merge-base", "--independent", *wanted).split() if len(wanted) > 1 else wanted
        for number, oid in enumerate(heads):
            store.git("update-ref", f"refs/heads/{told.name}/{number}", oid)
        for ref in store.git("for-each-ref", "--format=%(refname)", "refs/look/").splitlines():
            store.git("update-ref", "-d", ref)
    return {
        "name": told.name, "says": " ".join((told.tell.__doc__ or "").split()),
        "site": "shop" if told.name.startswith("launch") else "blog", "snapshots": [vars(item) for item in snapshots],
    }  # fmt: skip


def _copy(remote: Path, store: Repository, oids: list[str]) -> None:
    """Every object of commits that no ref may name any more."""
    listed = "".join(f"{oid}\n" for oid in oids).encode()
    pack = subprocess.run(
        ["git", "pack-objects", "--revs", "--stdout", "--quiet"], cwd=remote, input=listed, check=True, capture_output=True
    ).stdout
    store.git("index-pack", "--stdin", stdin=pack)


def decide(names: list[str], folder: Path) -> None:
    for version in corpus.RECORDINGS:
        objects = corpus.unpacked(version, folder)
        for item in corpus.stories(version):
            if not names or item.name in names:
                clone = corpus.clone_of(item, objects, folder / f"clone-{item.name}")
                item.decided.parent.mkdir(exist_ok=True)
                item.decided.write_text("\n".join(corpus.Replay(item, clone).lines()) + "\n", "utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="replay-") as made:
        first, *rest = sys.argv[1:]
        if first == "--decide":
            decide(rest, Path(made))
        else:
            record(first, rest, Path(made))
