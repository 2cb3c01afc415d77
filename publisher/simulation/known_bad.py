"""Known-bad variants: rules of the production code that are broken on purpose, and how surely the simulation finds each.

A simulation that finds nothing says little by itself. Each variant here is a mistake that somebody could have made; the oracles
must find every one. A variant is played on the kinds of target on which it can be seen; the history that finds it can be shrunk and
replayed like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from publisher.simulation import breaking, breaking_content
from publisher.simulation.breaking import Patches, broken
from publisher.simulation.remembering import remembered
from publisher.simulation.stage import KINDS
from publisher.simulation.volume import Found, Runner

ALL = KINDS
APART = ("conditional", "unconditional")
CONDITIONAL = ("conditional",)
JOINED = ("joined",)
UNCONDITIONAL = ("unconditional",)
CHECKED = ("conditional", "joined")


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A broken rule: its name, what goes wrong in words, and the kinds of target on which it shows."""

    name: str
    says: str
    breaks: Callable[[Patches], None]
    kinds: tuple[str, ...] = ALL


def _variant(breaks: Callable[[Patches], None], says: str, kinds: tuple[str, ...] = ALL) -> Variant:
    return Variant(name=breaks.__name__.replace("_", "-"), says=says, breaks=breaks, kinds=kinds)


VARIANTS: tuple[Variant, ...] = (
    _variant(breaking.no_compare_and_swap, "a push replaces whatever the branch has"),
    _variant(breaking.not_atomic, "of two refs in one push, one may move without the other", JOINED),
    _variant(breaking.no_nonce, "two claims made of the same values are the same commit, and both win"),
    _variant(breaking.own_claim_not_required, "a holder goes on writing when another has claimed"),
    _variant(breaking.no_lease_cap, "a lease may be as long as its holder likes"),
    _variant(breaking.lease_never_ends, "a dead holder keeps its claim"),
    _variant(breaking.no_epoch, "a restored ledger counts its fences from the beginning again"),
    _variant(breaking.restore_forgets, "a restore begins an empty ledger, whatever is public"),
    _variant(breaking.no_fence, "the target does not look at the fence", CONDITIONAL),
    _variant(breaking.no_base, "nobody compares what is live with the base of the release", CONDITIONAL),
    _variant(
        breaking.fence_not_raised, "what is seen at the target is recorded without shutting late switches out", CONDITIONAL
    ),
    _variant(breaking.late_switch_forgotten, "a switch that was not seen is taken for one that will never come", UNCONDITIONAL),
    _variant(breaking.timeout_taken_for_failure, "no answer from the target means that it did not happen", APART),
    _variant(breaking.answer_taken_for_evidence, "whatever the target answers, the deploy is recorded", APART),
    _variant(breaking.recorded_before_done, "the deploy is recorded, then carried out", APART),
    _variant(breaking.no_intent, "a switch is begun without a record that announces it", APART),
    _variant(breaking.never_reconciled, "a run that died is taken for one that did nothing", APART),
    _variant(breaking.open_intent_ignored, "a deploy begins while another's outcome is open", APART),
    _variant(breaking.no_expiry, "an approval never closes"),
    _variant(breaking.not_before_ignored, "an approval is usable from its merge on"),
    _variant(breaking.time_not_asked_again, "the approval's window is looked at once, before a long build"),
    _variant(breaking.no_second_look, "nobody looks at the default branch again before the switch", APART),
    _variant(breaking.approval_is_for_ever, "a dismissed review and a reverted plan keep their approval"),
    _variant(breaking.approval_of_the_path, "an approval counts for the file, whatever it holds"),
    _variant(breaking.unreviewed_push_counts, "what stands on the default branch is approved"),
    _variant(breaking.pause_ignored, "a pause is recorded and not obeyed"),
    _variant(breaking.date_from_the_clock, "the date that is worked on comes from the clock"),
    _variant(breaking_content.reads_head, "texts are read from the newest commit"),
    _variant(breaking_content.selects_again, "a run that takes over fills a gap with another article"),
    _variant(breaking_content.builds_everything, "a release holds what lies in the folder"),
    _variant(breaking_content.forgets_the_archive, "a release holds its own date only"),
    _variant(breaking_content.no_leak_scan, "a record quotes a draft, and nothing looks"),
    _variant(breaking_content.home_page_only, "the home page stands for all pages", ("joined", "conditional", "unconditional")),
    _variant(breaking_content.any_answer_confirms, "any page that answers confirms"),
    _variant(breaking_content.unknown_taken_for_unsent, "messages of a run that died are recorded as not sent"),
    _variant(breaking_content.unknown_sent_again, "messages of a run that died are sent again"),
    _variant(breaking_content.announces_without_intent, "messages are recorded only after they went out"),
    _variant(breaking_content.says_it_every_time, "people on call are told again at every run"),
    _variant(breaking_content.notice_quotes_the_text, "a notice quotes a draft's title"),
)
BY_NAME = {variant.name: variant for variant in VARIANTS}


@dataclass(kw_only=True)
class Detection:
    """How a variant was found on one kind of target. ``first`` is the number of the first history that found it, None when none did."""

    variant: str
    kind: str
    histories: int = 0
    found: int = 0
    first: int | None = None
    oracles: Counter[str] = field(default_factory=Counter)
    example: Found | None = None

    @property
    def rate(self) -> float:
        return self.found / self.histories if self.histories else 0.0

    def as_data(self) -> dict[str, Any]:
        return {
            "variant": self.variant, "target": self.kind, "histories": self.histories, "found": self.found, "first": self.first,
            "rate": round(self.rate, 6), "oracles": dict(self.oracles.most_common()),
        }  # fmt: skip


def detect(variant: Variant, kind: str, seed: str, most: int, *, enough: int = 0) -> Detection:
    """Plays histories of a variant: ``most`` of them, or until it was found ``enough`` times (0: never enough)."""
    seen = Detection(variant=variant.name, kind=kind)
    with broken(variant.breaks), remembered() as forget:
        runner = Runner(kind, forget)
        for number in range(most):
            found = runner.play(seed, number)
            seen.histories += 1
            if found:
                seen.found += 1
                seen.oracles[found.oracle] += 1
                seen.first, seen.example = (number, found) if seen.first is None else (seen.first, seen.example)
                if seen.found == enough:
                    break
    return seen


Task = tuple[str, str, str, int, int]


def carry_out(task: Task) -> Detection:
    """One variant on one kind of target; used in a process of its own, or in this one."""
    name, kind, seed, most, enough = task
    return detect(BY_NAME[name], kind, seed, most, enough=enough)


def detect_all(
    names: Sequence[str], kinds: Sequence[str], seed: str, most: int, *, enough: int = 0, jobs: int = 1
) -> list[Detection]:
    """Every variant on every kind of target on which it shows, in the table's order."""
    tasks: list[Task] = [(name, kind, seed, most, enough) for name in names for kind in BY_NAME[name].kinds if kind in kinds]
    if jobs == 1:
        return list(map(carry_out, tasks))
    from multiprocessing import get_context

    with get_context("spawn").Pool(jobs, maxtasksperchild=1) as pool:
        return pool.map(carry_out, tasks, chunksize=1)
