"""build: the release of the recorded content plus this plan's, guarded and scanned.

Guards: the release is not empty; it lacks no more pages than the plan withdraws or hides (and the site allows); what is public
keeps its URL, GUID and date; nothing of an unselected draft is in it.
"""

from __future__ import annotations

from publisher.domain.article import Release
from publisher.domain.fingerprint import canonical_json, digest, short
from publisher.domain.handover import Handed
from publisher.domain.ledger_events import EventType
from publisher.domain.plan import Presentation
from publisher.domain.site_content import Content, after
from publisher.errors import ComeBackLater, NeedsPerson, StoppedForSafety
from publisher.ports import Bench
from publisher.workers import prepare


def work(bench: Bench) -> None:
    make(bench)


def make(bench: Bench, *, scan_again: bool = False) -> Release:
    """The release this plan makes on today's production; recorded when it is not the one recorded last.

    What is recorded was scanned before that; ``scan_again`` believes nobody.
    """
    assert bench.history.prepared is not None
    if bench.handed is not None:
        _require_handed(bench)
    elif f"ledger/{bench.plan.path}" not in bench.outgoing():
        # Recorded by an earlier run (or by somebody): believed only when the approved sources give it again.
        prepare.require_same(bench)
    presentation = presentation_for(bench)
    content = after(bench.production.content, bench.history.prepared)
    _check_removals(bench, content)
    release = bench.assembler.build(content, presentation)
    built = bench.history.built
    same = built is not None and (built.release, built.base) == (release.id, bench.production.release)
    if bench.handed is not None and (not same or bench.handed[bench.plan.path].release != release.id):
        raise _differs(bench, f"release {short(release.id)}")
    if not same or scan_again:
        _scan(bench, release, content)
    if same:
        return release
    if bench.plan.to_release and release.id != bench.plan.to_release:
        raise NeedsPerson(
            "rollback-differs",
            f"the payload names release {short(bench.plan.to_release)}, what it describes builds {short(release.id)}",
            next=f'publisher revise {bench.plan.path} --reason "…"', plan=bench.plan.path,
        )  # fmt: skip
    bench.note(
        EventType.BUILT,
        release=release.id,
        base=bench.production.release,
        presentation={"commit": presentation.commit, "output": presentation.output, "digest": presentation.digest},
        files=len(release.files),
        input=_input(content, presentation),
        rebased=bool(built),
    )
    return release


def vouch(bench: Bench) -> Handed:
    """The release that a deploy would deploy now, made from the approved sources and scanned, for the process that has no drafts."""
    release = make(bench, scan_again=True)
    assert bench.history.prepared is not None
    return Handed(
        plan=bench.plan.path, payload=bench.plan.payload, base=bench.production.release, release=release.id,
        texts=tuple(text.digest for text in bench.history.prepared.puts),
    )  # fmt: skip


def _require_handed(bench: Bench) -> None:
    """Instead of the approved sources and the scan: the word of the process that had them, about exactly this payload and base."""
    assert bench.handed is not None
    assert bench.history.prepared is not None
    entry = bench.handed.get(bench.plan.path)
    if entry is None or (entry.payload, entry.base) != (bench.plan.payload, bench.production.release):
        raise ComeBackLater(
            "not-handed-over", "what may be deployed on what is live now was not handed over by the side that reads drafts",
            next="publisher run --only build --handover FILE", plan=bench.plan.path,
        )  # fmt: skip
    if entry.texts != tuple(text.digest for text in bench.history.prepared.puts):
        raise _differs(bench, "the prepared texts")


def _differs(bench: Bench, what: str) -> StoppedForSafety:
    return StoppedForSafety(
        "handover-differs", f"{what} of the ledger and what was handed over are not the same; nothing was deployed",
        next="publisher audit", plan=bench.plan.path,
    )  # fmt: skip


def presentation_for(bench: Bench) -> Presentation:
    """The plan's own for a presentation change or rollback, else the last released, else the one at the approval's commit."""
    plan = bench.plan
    if plan.presentation:
        found = bench.assembler.presentation_at(plan.presentation.commit, plan.presentation.output)
        if found.digest != plan.presentation.digest:
            raise NeedsPerson(
                "presentation-differs",
                f"the plan names presentation {short(plan.presentation.digest)}, its commit has {short(found.digest)}",
                next=f'publisher revise {plan.path} --reason "…"', plan=plan.path,
            )  # fmt: skip
        return found
    if bench.production.presentation:
        return Presentation(**bench.production.presentation)
    built = bench.history.built
    return bench.assembler.presentation_at(bench.history.commit, built.presentation["output"] if built else None)


def _check_removals(bench: Bench, content: Content) -> None:
    """Pages go away only as the approved payload says; everything else that shrinks a site stops."""
    before = {text.id for text in bench.production.content.shown}
    gone = before - {text.id for text in content.shown}
    approved = {item.id for item in bench.plan.withdrawals} | set(bench.plan.hides)
    unapproved = gone - approved
    if unapproved:
        raise StoppedForSafety(
            "would-unpublish", f"the release would lack {', '.join(sorted(unapproved))}, which no approved plan removes",
            next="publisher audit", plan=bench.plan.path,
        )  # fmt: skip


def _scan(bench: Bench, release: Release, content: Content) -> None:
    bench.progress("scanning the release for private text")
    private, approved = bench.private_drafts(), bench.assembler.articles(content)
    findings = bench.builder.leaks(release, private, approved) + bench.builder.leaks_in(bench.outgoing(), private, approved)
    if findings:
        shown = "; ".join(findings[:5])
        raise StoppedForSafety(
            "leak", f"private text was found in {len(findings)} places: {shown}", next=f"publisher preview {bench.plan.path}",
            plan=bench.plan.path,
        )  # fmt: skip


def _input(content: Content, presentation: Presentation) -> str:
    listed = [[text.id, text.digest] for text in content.shown]
    withdrawn = [dict(item) for item in content.withdrawn.values()]
    return digest(canonical_json({"articles": listed, "withdrawn": withdrawn, "presentation": presentation.digest}))
