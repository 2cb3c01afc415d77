"""Smart HTTP that lies, in every place of a run: whatever the host said, the records are there once, and the run says what is true.

git's own ``http-backend`` does the work; what the client is told of it is somebody else's word (git_http_lies.py). A run ends with 0
where the truth could be found out, as "later" where nothing is known to have happened, and as "unknown" where a deploy is open;
never with a person's word, a stop for safety or a bug, because nobody did anything wrong. Then a fresh clone finishes the work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.git_http_lies import LIES
from tests.support.git_http_stage import HttpStage
from tests.support.instance import Instance
from tests.support.oracle import accept, all_events, live_files, of_type
from tests.support.recovery import codes_in
from tests.support.stage import DATE, PLAN, at
from tests.support.volume import RELEASE, fair_slice

HttpStages = Callable[[str], HttpStage]

LEDGER, SITE = "remote.git", "site.git"
REQUESTS = {
    ("directory", LEDGER): {"hello": 9, "list": 9, "fetch": 1, "offer": 5, "push": 5},
    ("same-repository", LEDGER): {"hello": 11, "list": 11, "fetch": 1, "offer": 5, "push": 5},
    ("other-repository", LEDGER): {"hello": 9, "list": 9, "fetch": 1, "offer": 5, "push": 5},
    ("other-repository", SITE): {"hello": 5, "list": 5, "fetch": 0, "offer": 1, "push": 1},
}
"""How often an undisturbed run asks for what; a test counts it."""
OK = (0, ())
REFUSED, UNREACHABLE = (5, ("push-refused",)), (5, ("remote-unreachable",))
OPEN, UNKNOWN = (6, ("switch-unknown",)), (6, ("record-unknown",))


@dataclass(frozen=True)
class Cell:
    """One lie, told at the ``number``-th request of its kind."""

    kind: str
    repository: str
    lie: str
    number: int

    def __str__(self) -> str:
        return f"{self.lie}, {self.number} of {self.repository}, {self.kind}".replace(" ", "-")


CELLS = [
    Cell(kind, repository, name, number)
    for name, lie in LIES.items()
    for (kind, repository), counts in REQUESTS.items()
    for number in range(1, counts[lie.verb] + 1)
]
SLOW = [cell for cell in CELLS if LIES[cell.lie].seconds]
QUICK = [cell for cell in CELLS if not LIES[cell.lie].seconds]
KINDS = ("directory", "same-repository", "other-repository") if RELEASE else ("directory",)
"""Making the stage of a kind costs as much as some cells; scenarios/test_remote_faults.py has the others in each test run."""


def here(cells: list[Cell]) -> list[Cell]:
    """The cells that a test run takes its slice from, unless it takes all."""
    return [cell for cell in cells if cell.kind in KINDS]


def expected(cell: Cell) -> set[tuple[int, tuple[str, ...]]]:
    """How a run that is told this lie may end."""
    truth = LIES[cell.lie].truth
    if truth in ("once", "blind"):
        return {OK, UNREACHABLE, OPEN, UNKNOWN}
    if truth == "done" or (truth != "undone" and cell.repository == LEDGER):
        return {OK}
    # A switch is pushed once and looked for; whether it comes later, the next run finds out behind its raised fence.
    return {REFUSED} if cell.repository == LEDGER else {OPEN, OK}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_asks_so_often(http_stages: HttpStages, kind: str) -> None:
    way = http_stages(kind)
    instance = way.ready()
    instance.driven("ci", "run", check=0, now=at(10))
    for (one, repository), counts in REQUESTS.items():
        if one == kind:
            assert {verb: way.host.asked_for(verb, repository) for verb in counts} == counts


@pytest.mark.parametrize("cell", fair_slice("HTTP lies", here(QUICK), 13, stratum=lambda cell: LIES[cell.lie].truth), ids=str)
def test_a_lie_is_found_out(http_stages: HttpStages, cell: Cell) -> None:
    lied_to(http_stages(cell.kind), cell)


@pytest.mark.parametrize("cell", fair_slice("HTTP silence", here(SLOW), 2), ids=str)
def test_a_silence_is_ended(http_stages: HttpStages, cell: Cell) -> None:
    lied_to(http_stages(cell.kind), cell)


def lied_to(way: HttpStage, cell: Cell) -> None:
    instance, lie = way.ready(), LIES[cell.lie]
    before = instance.commits()
    lie.tell_at(way.host, cell.repository, cell.number)
    done = instance.driven("ci", "run", now=at(10))
    ended = (done.returncode, codes_in(done))
    assert ended in expected(cell), f"{ended}\n{done.stdout}\n{done.stderr}"
    records = instance.commits()
    if ended == OK:
        assert records == undisturbed(way), "other records than without the lie"
    else:
        assert records < undisturbed(way) + (ended in (UNKNOWN, UNREACHABLE))  # the last record may have arrived all the same
        assert "next: " in done.stdout + done.stderr
    if ended == UNREACHABLE and records == before:
        assert not live_files(instance.folder)
    if ended == OPEN:
        assert of_type(all_events(instance)[PLAN], "deploy-intent"), "unknown, and nothing was intended"
    way.host.honest_again()
    way.over_http("ci2")
    instance.driven("ci2", "run", check=0, now=at(60))
    accept(instance, DATE, first=way.stage.first, now=at(120))


_COMMITS: dict[str, int] = {}


def undisturbed(way: HttpStage) -> int:
    """The commits of the state branch after an undisturbed run."""
    if way.stage.kind not in _COMMITS:
        _COMMITS[way.stage.kind] = Instance(way.stage._saved / "first", "").commits()
    return _COMMITS[way.stage.kind]


@pytest.mark.parametrize("name", ["no refs at all, always", "a web page always"])
def test_an_answer_without_any_branch_is_no_answer(http_stages: HttpStages, name: str) -> None:
    """A remote that had branches when this clone last looked has them still; a proxy's page says otherwise."""
    way = http_stages("directory")
    instance = way.ready()
    LIES[name].tell_at(way.host, LEDGER, 1)
    done = instance.driven("ci", "run", now=at(10))
    assert (done.returncode, codes_in(done)) == UNREACHABLE, done.stdout + done.stderr
    assert "when this clone last looked" in done.stdout + done.stderr


# --- the host itself ------------------------------------------------------------------------------------------------------------------


def lock(instance: Instance) -> Callable[[], None]:
    path = instance.remote.path / "refs" / "heads" / "main.lock"
    path.touch()
    return path.unlink


def hook(name: str, script: str) -> Callable[[Instance], Callable[[], None]]:
    def install(instance: Instance) -> Callable[[], None]:
        return instance.remote.hook(name, script).unlink

    return install


def setting(key: str, value: str) -> Callable[[Instance], Callable[[], None]]:
    def set_it(instance: Instance) -> Callable[[], None]:
        instance.remote.setting(key, value)
        return lambda: instance.remote.git("config", "--unset-all", key) and None

    return set_it


HOSTS = {
    "a lock that somebody left": (lock, "directory", REFUSED),
    "a hook that refuses all": (hook("pre-receive", "exit 1"), "directory", REFUSED),
    "a hook that refuses the branch": (hook("update", "exit 1"), "directory", REFUSED),
    "a hook that fails afterwards": (hook("post-receive", "exit 1"), "directory", OK),
    "a hook that kills the host": (hook("post-receive", 'kill -9 "$PPID"'), "directory", OK),
    "no atomic pushes": (setting("receive.advertiseAtomic", "false"), "same-repository", REFUSED),
    "a limit of size": (setting("receive.maxInputSize", "10"), "directory", REFUSED),
}


@pytest.mark.parametrize(
    "name",
    fair_slice("HTTP hosts", [name for name in HOSTS if HOSTS[name][1] in KINDS], 2, stratum=lambda name: HOSTS[name][2]),
)
def test_a_host_that_cannot_or_will_not(http_stages: HttpStages, name: str) -> None:
    disturb, kind, ends = HOSTS[name]
    way = http_stages(kind)
    instance = way.ready()
    undo = disturb(instance)
    done = instance.driven("ci", "run", now=at(10))
    assert (done.returncode, codes_in(done)) == ends, done.stdout + done.stderr
    assert (instance.commits() == undisturbed(way)) == (ends == OK)
    undo()
    way.over_http("ci2")
    instance.driven("ci2", "run", check=0, now=at(60))
    accept(instance, DATE, first=way.stage.first, now=at(120))
