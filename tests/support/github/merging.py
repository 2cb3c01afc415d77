"""How GitHub makes the commits of a merge: the four ways differ in what the base branch receives.

Rules:
* ``merge``: one commit with two parents, the base's tip and the request's head, whose tree is the clean merge of both;
* ``squash``: one new commit on the base's tip; the head is not its ancestor;
* ``rebase``: every commit anew on the base's tip, always with another committer and so another id; merges are left out;
* a merge that is not clean cannot be made (the caller refuses: 405).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.github.accounts import Account
from tests.support.github.git import BareGit, Person

if TYPE_CHECKING:
    from tests.support.github.pulls import Pull
    from tests.support.github.simulator import Simulator


def person(who: Account, at: int) -> Person:
    return Person(name=who.login, email=who.email, at=at)


def web(at: int) -> Person:
    """The committer of what is committed on GitHub's own pages."""
    return Person(name="GitHub", email="noreply@github.com", at=at)


def made(sim: Simulator, pull: Pull, onto: str, method: str, actor: Account, message: str = "") -> str:
    """The commit that ``onto`` becomes by merging ``pull``; empty when it cannot be made."""
    if method == "rebase":
        return rebased(sim.git, onto, pull.head_sha, person(actor, sim.seconds), anew=sim.models("rebase-makes-new-commits"))
    tree = sim.git.merged_tree(onto, pull.head_sha)
    if not tree:
        if sim.models("conflicts-cannot-be-merged"):
            return ""
        tree = sim.git.commit(pull.head_sha).tree
    if method == "squash":
        text = message or f"{pull.title} (#{pull.number})\n\n{pull.body}".rstrip() + "\n"
        parents: tuple[str, ...] = (onto,) if sim.models("squash-makes-one-commit") else (onto, pull.head_sha)
        commit = sim.git.committed(tree, parents, text, person(pull.user, sim.seconds), web(sim.seconds))
    else:
        whose = (pull.fork or sim.accounts.owner).login
        text = message or f"Merge pull request #{pull.number} from {whose}/{pull.head}\n\n{pull.title}\n"
        parents = (onto, pull.head_sha) if sim.models("merge-keeps-the-head") else (onto,)
        commit = sim.git.committed(tree, parents, text, person(actor, sim.seconds), web(sim.seconds))
    sim.pulls.made_here.add(commit)
    return commit


def rebased(git: BareGit, onto: str, head: str, committer: Person, *, anew: bool) -> str:
    tip = onto
    for sha in git.between(onto, head, "--no-merges"):
        found = git.commit(sha)
        if not anew and found.parents == (tip,):
            tip = sha
            continue
        tree = replayed(git, tip, sha)
        if not tree:
            return ""
        if tree != git.commit(tip).tree:
            tip = git.committed(tree, (tip,), found.message + "\n", found.author, committer)
    return tip


def replayed(git: BareGit, onto: str, sha: str) -> str:
    """The tree of one commit's change on top of ``onto``; empty when it does not apply.

    A stand-in with the tree of ``onto`` and the parent of the commit makes that parent the base of an ordinary merge.
    """
    found = git.commit(sha)
    nobody = Person(name="replay", email="replay@example.org", at=0)
    stand_in = git.committed(git.commit(onto).tree, found.parents[:1], "replay", nobody, nobody)
    return git.merged_tree(stand_in, sha)
