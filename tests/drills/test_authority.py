"""I49, who is believed when they disagree: public facts, then the remote's refs, then the ledger, then anything local.

Each of the four either stands as the story left it, or says something else; the table is every combination. A conflict between public
facts and the ledger stops for a person; the remote wins over what a clone knows or holds; and nothing that is public is overwritten by
any of it.
"""

from __future__ import annotations

from itertools import product

import pytest

from tests.drills.conftest import STATE
from tests.drills.test_runbook import PUBLIC, backup, set_back
from tests.support.scene import Scene, daily
from tests.support.volume import fair_slice

SECOND = daily("12-02")
CELLS = fair_slice("authority", tuple(product((False, True), repeat=4)), 6, stratum=lambda cell: (cell[0], cell[2]))


def other_public_facts(scene: Scene) -> None:
    """The site shows the first day's release again."""
    here = scene.instance.public / "current"
    now, releases = here.readlink(), scene.instance.public / "releases"
    (older,) = [item for item in releases.iterdir() if item.name != now.name]
    here.unlink()
    here.symlink_to(now.parent / older.name)


def other_refs_at_the_remote(scene: Scene) -> None:
    """The remote has what this clone has not seen: somebody's commit on the default branch."""
    scene.edit({"notes.txt": "nothing of publisher's\n"}, "A note")


def another_ledger(scene: Scene) -> None:
    """It is that of the first day's end."""
    set_back(scene, STATE, backup(scene))


def other_things_here(scene: Scene) -> None:
    """The clone's own branches and files say that the second day never was, and that another plan was approved."""
    clone = scene.instance.clone("ci")
    clone.git("merge", "--quiet", "--ff-only", "origin/main")
    plan = clone.path / f"plans/{SECOND}.yaml"
    plan.write_text(plan.read_text().replace("a-0003", "a-0007"))
    clone.git("commit", "--quiet", "--all", "--message", "Approved, surely")
    clone.git("update-ref", f"refs/heads/{STATE}", backup(scene))
    clone.git("update-ref", f"refs/remotes/origin/{STATE}", backup(scene))


@pytest.mark.parametrize("cell", CELLS, ids=["-".join("AD"[each] for each in cell) for cell in CELLS])
def test_who_is_believed(apart: Scene, cell: tuple[bool, bool, bool, bool]) -> None:
    apart.back_to("two-days")
    apart.instance.clone("ci").git("fetch", "--quiet", "origin")
    live, remote, ledger, local = cell
    for disagrees, change in zip(
        (local, live, remote, ledger),
        (other_things_here, other_public_facts, other_refs_at_the_remote, another_ledger),
        strict=True,
    ):
        if disagrees:
            change(apart)
    before, state = apart.live, apart.refs()[f"refs/heads/{STATE}"]
    looked = apart.do("ci", "reconcile", "blog", "--json", now="12-02 12:00", check=7 if live != ledger else 0)
    assert apart.live == before, "a look changes nothing in public"
    done = apart.run("12-02 12:05", check=None)
    assert apart.live == before, "no conflict is resolved by writing over what is public"
    if ledger:
        # Both days as the ledger has them: the second is to be done, and the target has accepted a higher fence since.
        assert done.code == 7, done.text
    else:
        assert (done.code, apart.refs()[f"refs/heads/{STATE}"]) == (0, state), "nothing is due, and a look is no record"
    row = looked.data["sites"][0]
    assert (row["ledger"] == row["target"]) == (live == ledger)
    if not (live or ledger):
        assert apart.articles() == PUBLIC
