"""More rules that are broken on purpose: what a release holds, what confirms it, and what people are told (see ``breaking``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from publisher.domain.article import Release
from publisher.domain.evidence import Report, Verdict
from publisher.domain.ledger_events import EventType
from publisher.domain.public_pages import expected_pages
from publisher.domain.site_content import Content
from publisher.engine import deciding, notices, reconciling, running
from publisher.engine.bench import RunBench
from publisher.simulation import doors, stage
from publisher.simulation.breaking import Patches, nothing
from publisher.simulation.builder import ModelBuilder
from publisher.workers import announce, build, confirm, prepare

# --- content --------------------------------------------------------------------------------------------------------------------


def reads_head(patches: Patches) -> None:
    """The newest draft instead of the one that was approved."""

    def draft(bench: Any, planned: Any) -> Any:
        return bench.reads.draft(bench.tips.drafts, planned.source)

    patches.put(prepare, "_approved_draft", draft)


def selects_again(patches: Patches) -> None:
    """A run that goes on with another's work fills the plan from the queue once more."""

    def draft(bench: Any, planned: Any) -> Any:
        found = plain(bench, planned)
        other = bench.reads.draft(bench.tips.drafts, stage.source_of(8))
        return replace(found, body=other.body, files=other.files) if bench.fence.number > 1 else found

    plain = patches.put(prepare, "_approved_draft", draft)
    patches.put(build, "_scan", nothing)


def builds_everything(patches: Patches) -> None:
    """The folder's listing decides what is published, not the record."""

    def pages(self: Any, request: Any, listed: Any) -> Any:
        made = plain(self, request, listed)
        extra = stage.draft_of(8, 0).files["index.md"]
        name, files = self._contents.publish_files(
            {**{path: self._contents.bodies[found] for path, found in made.files.items()}, "text-8/index.html": extra}
        )
        return Release(id=name, files=files, root="")

    plain = patches.put(ModelBuilder, "_release", pages)
    patches.put(build, "_scan", nothing)


def forgets_the_archive(patches: Patches) -> None:
    """Each release holds its own date's articles only."""

    def after(content: Content, prepared: Any) -> Content:
        made: Content = plain(replace(content, texts={}), prepared)
        return made

    plain = patches.put(build, "after", after)
    patches.put(build, "_check_removals", nothing)


def no_leak_scan(patches: Patches) -> None:
    """A title rides with a record, and nothing looks at what is pushed."""

    def note(self: Any, kind: EventType, **fields: Any) -> None:
        if kind is EventType.PREPARED:
            fields = {**fields, "title": self.reads.draft(self.tips.drafts, stage.source_of(8)).title.reveal()}
        plain(self, kind, **fields)

    plain = patches.put(RunBench, "note", note)
    patches.put(build, "_scan", nothing)


# --- confirmation and people ----------------------------------------------------------------------------------------------------


def home_page_only(patches: Patches) -> None:
    def pages(*arguments: Any) -> Any:
        return tuple(page for page in expected_pages(*arguments) if page.url.rstrip("/") == stage.SITE.url)

    patches.put(confirm, "expected_pages", pages)
    patches.put(reconciling, "expected_pages", pages)


def any_answer_confirms(patches: Patches) -> None:
    def judged(pages: Sequence[Any], seen: Mapping[str, Any]) -> Report:
        found: Report = plain(pages, seen)
        good = any(item.status == 200 for item in seen.values())
        return replace(found, verdict=Verdict.CONFIRMED) if good else found

    plain = patches.put(confirm, "judge", judged)
    patches.put(reconciling, "judge", judged)


def unknown_taken_for_unsent(patches: Patches) -> None:
    def close(self: Any, decision: Any) -> None:
        history = self._journal.view.plans[decision.plan].history
        for name, recipients in history.telling.items():
            results = dict.fromkeys(recipients, "refused")
            fields = {"channel": name, "results": results, "codes": dict.fromkeys(results, "interrupted")}
            self._journal.note(decision.plan, EventType.ANNOUNCE_RESULT, fields)

    patches.put(running.SiteRun, "_close_telling", close)


def unknown_sent_again(patches: Patches) -> None:
    patches.put(doors.ModelChannel, "idempotent", True)


def announces_without_intent(patches: Patches) -> None:
    def tell(bench: Any, name: str, channel: Any, group: Sequence[str]) -> None:
        results = {}
        for address in group:
            pseudonym = channel.pseudonym(address)
            results[pseudonym] = channel.send(announce._message(bench, name, address, pseudonym)).outcome
        bench.note(EventType.ANNOUNCE_RESULT, channel=name, results=results, codes={})
        bench.commit("announced", fact=True)

    patches.put(announce, "_tell_group", tell)


def says_it_every_time(patches: Patches) -> None:
    def speak(doors: Any, run: Any, outcome: Any) -> None:
        for decision in deciding.decisions(run.view, doors.clock.now()):
            view = run.view.plans[decision.plan]
            notice, text = notices._news(view, decision, outcome.plans.get(decision.plan), doors.clock.now())
            if notice:
                doors.alerts.say(f"{decision.plan}/{notice}", text)
                run.note(decision.plan, EventType.NOTICED, {"notice": notice})

    patches.put(running, "speak", speak)


def notice_quotes_the_text(patches: Patches) -> None:
    def text(*arguments: Any, **named: Any) -> str:
        return f"{plain(*arguments, **named)} {stage.draft_of(1, 0).title.reveal()}"

    plain = patches.put(notices, "stopped", text)
