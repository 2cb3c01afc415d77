"""``publisher doctor``: whether everything that a run will need is there and right. Reads only."""

from __future__ import annotations

import secrets
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from publisher.cli import output
from publisher.cli.opening import asked_of, opened
from publisher.cli.verb import Verb
from publisher.errors import EXIT_OK, Refusal

if TYPE_CHECKING:
    from publisher.domain.instance import Instance, Site
    from publisher.engine.examining import Finding
    from publisher.ports import Tips
    from publisher.wiring import Wired

SECONDS = 10.0
"""How long a site's address is waited for."""
MACHINE = "this machine"
INSTANCE = "the instance"
MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "red")}


@click.command(
    cls=Verb,
    examples=(
        "publisher doctor",
        "publisher doctor --site handbook",
        "publisher doctor --offline              # asks neither the remote nor the public site",
        "publisher doctor --json",
    ),
)
@click.option("--site", metavar="NAME", help="Only this site, beside what all share.")
@click.option("--offline", is_flag=True, help="Open no connection.")
@click.pass_context
def command(context: click.Context, site: str | None, offline: bool) -> int:
    """Look whether everything that a run will need is there and right: one line each, and the next command where it is not.

    Files are read as they stand in this checkout, approvals and ledger as this clone knows them from the remote. Ends with the
    worst of its problems: 3 a file, 4 a person, 5 later, 7 safety; warnings end with 0.
    """
    from publisher.engine.examining import exit_code

    with opened(context) as wired:
        sections = _Examination(wired, site, offline=offline).go()
    findings = [finding for items in sections.values() for finding in items]
    code = exit_code(findings)
    if asked_of(context).as_json:
        output.say_json(_data(sections, findings, code))
    else:
        _tell(sections, findings)
    return code


@dataclass
class _Examination:
    """One examination on its way: what was found, by section."""

    wired: Wired
    only: str | None
    offline: bool
    sections: dict[str, list[Finding]] = field(default_factory=dict)

    def go(self) -> Mapping[str, list[Finding]]:
        from publisher.cli import doctor_places
        from publisher.engine.examining import found

        self._add(MACHINE, doctor_places.machine())
        self._add(MACHINE, found("clone", lambda: doctor_places.clone(self.wired)))
        self._add(INSTANCE, found("publisher.yaml", self._instance))
        return self.sections

    def _add(self, section: str, findings: Iterator[Finding]) -> None:
        self.sections.setdefault(section, []).extend(findings)

    def _instance(self) -> Iterator[Finding]:
        """Everything that needs a readable ``publisher.yaml``."""
        from publisher.cli import doctor_places
        from publisher.cli.doctor_files import Files
        from publisher.engine.examining import found, preconditions
        from publisher.gitstore import working_tree

        self.wired.progress("reading the checkout")
        files = Files(root=self.wired.root, committed={})
        yield from files.instance()
        instance = working_tree.read_instance(self.wired.root)
        yield from preconditions(instance)
        yield from doctor_places.channels(self.wired, instance, None)
        tips: Tips | None = None
        try:
            tips = self.wired.store.tips()
            files.committed = self._committed(tips)
        except Refusal as refusal:
            # The remote's own files cannot be read, or there is no commit yet: the checkout can still be looked at.
            yield from found("remote", _raiser(refusal))
        else:
            yield from files.not_committed(sorted(instance.sites))
            yield from found("remote", lambda: doctor_places.remote(self.wired, tips, instance, offline=self.offline))
            yield from found("approvals", lambda: self._approvals(instance, tips))
        chosen = self._chosen(instance)
        self._github(instance, chosen, tips)
        for site in chosen:
            self.wired.progress(f"looking at {site.id}")
            self._add(site.id, self._site(files, instance, site, tips))

    def _github(self, instance: Instance, chosen: list[Site], tips: Tips | None) -> None:
        """A section of its own, where GitHub has anything to do with the instance."""
        from publisher.cli import doctor_github
        from publisher.engine.examining import found

        root = ""
        with suppress(Refusal):  # told where approvals are looked at
            root = self.wired.forge.rules(tips.default).root if tips else ""
        findings = list(
            found(
                "GitHub",
                lambda: doctor_github.look(self.wired, instance, chosen, root=root, offline=self.offline),
            )
        )
        if findings:
            self._add(doctor_github.SECTION, iter(findings))

    def _committed(self, tips: Tips) -> dict[str, str]:
        """Blob ids of the configuration and the plans that the default branch has."""
        single = self.wired.git.blob_ids(tips.default, ["publisher.yaml", "approval.yaml"])
        return {**single, **self.wired.store.blob_ids(tips.default, "plans")}

    def _chosen(self, instance: Instance) -> list[Site]:
        from publisher.cli.which_site import site_of

        if self.only:
            return [site_of(instance, self.only, "doctor")]
        return [instance.sites[name] for name in sorted(instance.sites)]

    def _approvals(self, instance: Instance, tips: Tips) -> Iterator[Finding]:
        from publisher.cli import doctor_places
        from publisher.engine.examining import approval_root, found, signers

        rules = self.wired.forge.rules(tips.default)
        yield from approval_root(rules, self.wired.environment.get("PUBLISHER_ROOT", ""))
        if instance.forge == "git":
            yield signers(rules)
            names = {signer.key: signer.principal for signer in rules.signers}
            yield from found("signing key", lambda: doctor_places.signing(self.wired, names))

    def _site(self, files: Any, instance: Instance, site: Site, tips: Tips | None) -> Iterator[Finding]:
        from publisher.cli import doctor_places
        from publisher.engine import examining
        from publisher.engine.examining import found

        wired, now = self.wired, self.wired.clock.now()
        view, no_view = doctor_places.try_view(wired, tips, site.id) if tips else (None, None)
        yield from files.site(site)
        yield from found("queue", lambda: files.queue(wired, instance, site, view))
        yield from found("plans", lambda: files.plans(site, view))
        yield from found("theme", lambda: doctor_places.theme(wired, site))
        yield examining.staging(site)
        yield from doctor_places.channels(wired, instance, site)
        yield from found("target", lambda: doctor_places.target_place(wired, site, wired.git.resolve("HEAD")))
        if no_view:
            yield examining.refused("ledger", no_view)
        if view:
            yield from found("ledger", lambda: [examining.ledger(view, now)])
            yield from found("target", lambda: self._target(view, site))
            yield from self._public(view, site)

    def _target(self, view: Any, site: Site) -> Iterator[Finding]:
        from publisher.engine import examining

        door = self.wired.target(site)
        if self.offline and site.target.kind != "directory":
            yield examining.warning("target", f"{site.target.kind}, not looked at (--offline)")
            yield examining.good("guarantee", door.guarantee)
        else:
            yield from examining.target(view, door)

    def _public(self, view: Any, site: Site) -> Iterator[Finding]:
        from publisher.engine import examining

        if self.offline:
            yield examining.warning("public site", "not looked at (--offline)")
            return
        wired = self.wired
        wired.progress(f"looking at {site.url}")
        yield from examining.found(
            "public site",
            lambda: examining.public(
                view, wired.probes(site), wired.clock.now(), seconds=SECONDS, bust=secrets.token_hex(6)
            ),
        )  # fmt: skip


def _raiser(refusal: Refusal) -> Any:
    def look() -> Iterator[Finding]:
        raise refusal
        yield

    return look


# --- telling ----------------------------------------------------------------------------------------------------------------


def _tell(sections: Mapping[str, list[Finding]], findings: list[Finding]) -> None:
    from publisher.engine.examining import summary

    width = max(len(finding.about) for finding in findings)
    for section, items in sections.items():
        output.say(section, bold=True)
        for finding in items:
            _tell_one(finding, width)
    counts = summary(findings)
    output.say("")
    wrong = [_count(counts[level], level) for level in ("problem", "warning") if counts[level]]
    output.say(", ".join(wrong) if wrong else "everything that a run needs is here", bold=True)


def _tell_one(finding: Finding, width: int) -> None:
    mark, colour = MARKS[str(finding.level)]
    where = f"{finding.where}: " if finding.where else ""
    code = f" [{finding.code}]" if finding.code else ""
    first, *rest = _wrapped(output.clean(f"{where}{finding.says}{code}"), width + 6)
    output.write(f"  {click.style(mark, fg=colour)} {finding.about.ljust(width)}  {first}\n")
    then = _wrapped(output.clean(f"next: {finding.next}"), width + 6) if finding.next else []
    for line in (*rest, *then):
        output.write(f"{' ' * (width + 6)}{line}\n")


def _wrapped(text: str, used: int) -> list[str]:
    """The lines of a text on a terminal, between words; elsewhere one line, for ``grep``."""
    if not sys.stdout.isatty():
        return [text]
    room = max(30, shutil.get_terminal_size().columns - used)
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]


def _count(number: int, level: str) -> str:
    return f"{number} {level}" if number == 1 else f"{number} {level}s"


def _data(sections: Mapping[str, list[Finding]], findings: list[Finding], code: int) -> dict[str, Any]:
    from publisher.engine.examining import summary

    listed = [{"section": section, **finding.as_data()} for section, items in sections.items() for finding in items]
    return {
        "schema": "publisher.doctor/1",
        "findings": listed,
        "counts": summary(findings),
        "exit": code,
        "good": code == EXIT_OK,
    }
