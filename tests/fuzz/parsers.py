"""Every parser of what others wrote, with real inputs to start from, and what must hold of whatever it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from publisher.cli import decide
from publisher.domain import business_calendar, history
from publisher.domain.article import RESERVED_NAMES
from publisher.domain.claim import fold_claims
from publisher.domain.evidence import Seen
from publisher.domain.fingerprint import canonical_json, digest, payload_hash
from publisher.domain.ledger_events import BrokenLedger, Event, decode
from publisher.domain.lines import steps_of
from publisher.domain.public_site import parse_http_date, read_manifest
from publisher.domain.request_text import cell, code
from publisher.engine import schedules
from publisher.engine.site_view import _well_formed
from publisher.errors import Refusal
from publisher.forge import github_answers, github_facts, statements
from publisher.forge.reasons import Unproven
from publisher.gitstore import drafts, git_objects, instance_files, local_config, strict_yaml, yaml_lines
from publisher.gitstore.git_objects import TreeEntry
from publisher.gitstore.validation import check_site_url
from publisher.gitstore.workflow_reading import workflow_of
from publisher.notify.recipients import is_address, read_addresses
from publisher.sitebuilder import images, leak_scan, public_form, readings
from publisher.sitebuilder.article_html import render
from publisher.sitebuilder.markdown_events import references
from publisher.sitebuilder.references import Source
from publisher.sitebuilder.rendered import Address
from publisher.sitebuilder.theme import Theme, default_theme
from publisher.sitebuilder.views import site_view
from publisher.targets.claim_file import read_claim, read_fence
from publisher.verify.addresses import Origin
from tests.fuzz.seeds import FACTS, SEEDS
from tests.support.sitebuilding import SITE, draft

NOW = datetime(2026, 3, 2, tzinfo=UTC)
REFUSALS = (Refusal, BrokenLedger, Unproven)


@dataclass(frozen=True, kw_only=True)
class Parser:
    """``parse`` raises what ``refuses`` lists, or nothing; its own assertions are the properties of what it takes."""

    name: str
    parse: Callable[[bytes], object]
    seeds: Sequence[bytes]
    refuses: tuple[type[Exception], ...] = REFUSALS


def _yaml(data: bytes) -> None:
    document = strict_yaml.load(data, "x.yaml")
    line, _ = document.place(())
    assert 1 <= line <= data.count(b"\n") + 1
    if isinstance(document.data, dict) and document.data:
        again = strict_yaml.load(instance_files.render_yaml(document.data), "x.yaml", most=10**8)
        assert again.data == document.data, "what is written reads back as the same"
        canonical_json(document.data)


def _hashed(read: Callable[[bytes, str], object], path: str) -> Callable[[bytes], None]:
    def parse(data: bytes) -> None:
        assert read(data, path) == read(data, path)

    return parse


def _plan(data: bytes) -> None:
    path = "plans/blog/daily/2026/2026-03-02.yaml"
    plan = instance_files.plan_of_file(data, path)
    assert plan.payload == payload_hash(strict_yaml.load(data, path).data)
    assert all(article.id not in RESERVED_NAMES and not article.url.startswith("//") for article in plan.articles)


def _queue(data: bytes) -> None:
    queue = instance_files.queue_of(data, "plans/blog/queue.yaml")
    document = strict_yaml.load(data, "q", most=instance_files.MOST_QUEUE)
    assert len({entry.id for entry in queue}) == len(queue)
    entries = yaml_lines.entries_of(data, document, "articles")
    assert instance_files.queue_of(entries.text().encode(), "q") == queue, "an edit that changes nothing changes nothing"


def _ledger(data: bytes) -> None:
    events = decode(data)
    assert [event.n for event in events] == list(range(1, len(events) + 1))


def chained(data: bytes) -> bytes:
    """The lines of ``data`` that are JSON objects, with numbers and digests put in order: what somebody with push rights forges."""
    lines, prev = [], digest(b"")
    for raw in data.split(b"\n"):
        try:
            fields = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, dict):
            line = json.dumps({**fields, "n": len(lines) + 1, "prev": prev}).encode() + b"\n"
            lines.append(line)
            prev = digest(line)
    return b"".join(lines)


def _fold(data: bytes) -> None:
    events: tuple[Event, ...] = decode(chained(data))
    fold_claims(event for event in events if event.type in ("epoch", "claimed", "renewed", "released"))
    found = history.unwritten("publication", steps_of("publication"))
    for event in events:
        with _well_formed("blog/x", event.n):
            found = history.apply(found, event)


class _Folder:
    """A draft's folder without a repository: the three methods that reading one needs."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def tree(self, _: str, folder: str, recursive: bool = True) -> tuple[TreeEntry, ...]:
        names = ("index.md", "fence.svg", "a.png")
        return tuple(TreeEntry(path=f"{folder}/{name}", mode="100644", kind="blob", oid=name) for name in names)

    def sizes(self, oids: Sequence[str]) -> dict[str, int]:
        return {oid: len(self._data) for oid in oids}

    def blobs(self, oids: Sequence[str]) -> dict[str, bytes]:
        return dict.fromkeys(oids, self._data)


def _draft(data: bytes) -> None:
    git: Any = _Folder(data)
    found = drafts.read_draft(git, "", "drafts/blog/a", references)
    assert found.body.reveal() in data.decode()
    assert found.draft_mark == (b"draft: true" in data) or b"draft" in data


def _markdown(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    names = references(text)
    files = {name: images_of(name) for name in names}
    found = render(text, files, source=Source(path="x"), address=Address(root="", page="/a/"))
    assert not re.search(r"<(?:script|iframe|base|meta|form|object|embed|link|style)\b", found.html, re.IGNORECASE)
    assert not re.search(r"<[^>]*\son[a-z]+\s*=", re.sub(r'"[^"]*"', '""', found.html), re.IGNORECASE)
    assert "javascript:" not in " ".join(re.findall(r'(?:href|src)="([^"]*)"', found.html)).lower()


def images_of(name: str) -> bytes:
    ending = name.rpartition(".")[2].lower().replace("jpeg", "jpg")
    return SEEDS[ending][0]


def _public_form(data: bytes) -> None:
    article = public_form.read({"index.md": data})
    assert public_form.encode(article) == data, "there is one spelling"


def _image(name: str) -> Callable[[bytes], None]:
    def parse(data: bytes) -> None:
        cleaned = images.clean(name, data, "x:1:1")
        assert images.clean(name, cleaned, "x:1:1") == cleaned, "clean stays clean"

    return parse


def _statement(data: bytes) -> None:
    found = statements.statements_in(data.decode("utf-8", "replace"))
    if found:
        assert statements.block_of(found) in data.decode("utf-8", "replace")


def _armored(data: bytes) -> None:
    key, namespace = statements.inside(data.decode("utf-8", "replace"))
    assert " " in key and namespace.isascii()


def _signed_commit(data: bytes) -> None:
    signed, signature = git_objects.split_signature(data)
    assert signature or signed == data


def _folder(data: bytes) -> None:
    folder = git_objects.parse_folder(data, 20)
    assert all(isinstance(name, str) for name in folder)


def _facts(data: bytes) -> None:
    kind, _, body = data.partition(b"\n")
    answer = github_answers.Answer(
        status=422,
        headers={"link": body.decode("latin-1"), "date": body.decode("latin-1")},
        body=body.decode("utf-8", "replace"),
    )
    (
        github_answers.words_of(answer),
        github_answers.next_page(answer),
        github_answers.reset_of(answer),
        github_answers.is_rate_limit(answer),
    )
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return
    read = FACTS.get(kind.decode("latin-1"))
    if read:
        read(value)


def _headers(data: bytes) -> None:
    text = data.decode("latin-1")
    names = ("link", "date", "retry-after", "x-ratelimit-reset", "x-ratelimit-remaining")
    answer = github_answers.Answer(status=403, headers=dict(zip(names, text.split("\n"), strict=False)), body=text)
    (
        github_answers.next_page(answer),
        github_answers.date_of(answer),
        github_answers.reset_of(answer),
        github_answers.is_rate_limit(answer),
    )
    assert re.fullmatch(r"403(?: [a-z_]{1,40})*", github_answers.words_of(answer))
    parse_http_date(text, NOW)
    github_facts.payloads_in(text)


def _workflow(data: bytes) -> None:
    found = workflow_of(data, ".github/workflows/x.yml")
    for line in found.crons:
        _cron_line(line.expression, line.zone)


def _cron_line(expression: str, zone: str) -> None:
    cron = schedules.Cron(expression=expression, zone_name=zone)
    if not schedules.wrong_with(cron):
        found = schedules.ticks([cron], NOW, NOW + timedelta(days=2))
        assert all(NOW <= tick < NOW + timedelta(days=2) for tick in found)


def _cron(data: bytes) -> None:
    expression, _, zone = data.decode("utf-8", "replace").partition("\n")
    _cron_line(expression, zone)


def _address(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    origin = Origin.of(text)
    if origin:
        assert (
            re.fullmatch(r"[a-z0-9_.:-]+", origin.host)
            and 0 < origin.port < 65536
            and "@" not in text.partition("//")[2].partition("/")[0]
        )
    if check_site_url(text):
        assert Origin.of(text), "what is a site's address can be asked"
    local_config.is_loopback(text)
    local_config.check_remote(text, (("remote.x.url", text),))
    if git_objects.NAME.fullmatch(text):
        assert not text.startswith("-")


def _scan(data: bytes) -> None:
    for reading in readings.readings(data):
        reading.whole.encode("utf-8", "ignore")
    leak_scan.leaks_in({"x": data}, [draft(body="A private sentence that nobody may ever read anywhere.\n")], [])


def _request_text(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for shown in (code(text), cell(text)):
        assert "\n" not in shown and "\r" not in shown
        fence = re.match(r"`+", shown)
        assert fence and shown.endswith(fence[0]) and fence[0] not in re.findall("`+", shown[len(fence[0]) : -len(fence[0])])
    assert "|" not in cell(text)


def _addresses(data: bytes) -> None:
    assert all(is_address(address) and "\n" not in address for address in read_addresses(data.decode("utf-8", "replace"), "x"))


def _manifest(data: bytes) -> None:
    read_manifest(Seen(url="https://x.example/", status=200, body=data))


def _claim(data: bytes) -> None:
    fence = read_fence(data, site="blog")
    assert fence.number >= 0
    claim = read_claim(data, site="blog")
    assert read_claim(claim.as_bytes(), site="blog") == claim


def _settings(data: bytes) -> None:
    local_config.refuse_hostile(local_config.parse_settings(data), Path("/x"))
    local_config.parse_values(data)


def _form(data: bytes) -> None:
    form = decide.read_form(data.decode("utf-8", "replace"))
    line = decide.arguments_of(form)
    assert all(word.startswith("--") for word in line[: line.index("--")])


def _calendar(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    for parse in (
        business_calendar.parse_date,
        business_calendar.parse_instant,
        business_calendar.parse_zone,
        business_calendar.parse_duration,
        business_calendar.parse_clock_time,
    ):
        try:
            parse(text)
        except ValueError:
            continue
        assert text.isascii() and text.isprintable()


def _template(data: bytes) -> None:
    theme = Theme(default_theme() | {"article.html.j2": data}, site_view(SITE), 2)
    theme.render("article", html="<p>x</p>", newer=None, older=None)


def _words(data: bytes) -> None:
    theme = Theme(default_theme() | {"words.json": data}, site_view(SITE), 2)
    theme.words["page_number"].format(number=1), theme.words["title_of_tags"].format(name="x")
    theme.text_words()


_PARSERS: Mapping[str, Callable[[bytes], object]] = {
    "yaml": _yaml,
    "instance": _hashed(instance_files.instance_of, "publisher.yaml"),
    "approval": _hashed(instance_files.rules_of, "approval.yaml"),
    "policy": _hashed(instance_files.policy_of, "plans/blog/policy.yaml"),
    "queue": _queue,
    "plan": _plan,
    "gate": _hashed(instance_files.gate_of_file, "plans/blog/gates/plan-0123456789ab-1.yaml"),
    "ledger": _ledger,
    "fold": _fold,
    "draft": _draft,
    "markdown": _markdown,
    "public-form": _public_form,
    "png": _image("a.png"),
    "jpg": _image("a.jpg"),
    "svg": _image("a.svg"),
    "statement": _statement,
    "armored": _armored,
    "commit": _signed_commit,
    "folder": _folder,
    "facts": _facts,
    "headers": _headers,
    "workflow": _workflow,
    "cron": _cron,
    "address": _address,
    "scan": _scan,
    "request-text": _request_text,
    "addresses": _addresses,
    "manifest": _manifest,
    "claim": _claim,
    "settings": _settings,
    "form": _form,
    "calendar": _calendar,
    "template": _template,
    "words": _words,
}
ALSO: Mapping[str, tuple[type[Exception], ...]] = {"armored": (ValueError,), "folder": (ValueError,)}
"""What else is refused by an exception of Python's own, which its one caller expects."""
PARSERS: Mapping[str, Parser] = {
    name: Parser(name=name, parse=parse, seeds=SEEDS[name], refuses=(*REFUSALS, *ALSO.get(name, ())))
    for name, parse in _PARSERS.items()
}
