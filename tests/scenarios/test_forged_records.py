"""Ledger lines written by hand, with a correct chain, authorise nothing: sources and live bytes are asked before a switch."""

from __future__ import annotations

from pathlib import Path

from publisher.domain.ledger_events import EventType, NewEvent, decode, encode
from tests.support.instance import make_instance
from tests.support.web import serving

PLAN = "blog/daily/2026/2026-03-01"
NOW = "2026-03-01T10:00:00+08:00"


def test_a_forged_record_of_what_was_prepared_is_not_built(tmp_path: Path) -> None:
    with serving(tmp_path / "i" / "public" / "current") as web:
        web.date = None
        instance = make_instance(tmp_path / "i", url=web.url, lease="1s")
        instance.driven("planner", "plan", now=NOW, check=0)
        instance.driven("reviewer", "approve", "1", "--yes", now=NOW, check=0)
        instance.driven("ci", "run", now=NOW, at="kill:before:target.switch:1")
        editor = instance.clone("editor")
        editor.git("pull", "--quiet", "--rebase")
        file = editor.path / "ledger" / f"{PLAN}.jsonl"
        after, text = None, b""
        for event in decode(file.read_bytes()):
            fields = dict(event.fields)
            if event.type is EventType.PREPARED:
                fields["puts"] = [{**put, "digest": "sha256:" + "0" * 64} for put in fields["puts"]]
            new = NewEvent(type=event.type, fields=fields, claim=event.claim)
            line, after = encode(new, after=after, at=event.at, actor=event.actor, commit=event.commit)
            text += line
        editor.commit({f"ledger/{PLAN}.jsonl": text}, "forged")
        editor.push()
        done = instance.driven("ci", "run", now="2026-03-01T10:00:30+08:00")
        assert done.returncode == 7
        assert "prepared-differs" in done.stdout + done.stderr
        assert instance.live() == {}


def test_a_ledger_that_does_not_build_to_the_live_release_is_not_built_upon(tmp_path: Path) -> None:
    with serving(tmp_path / "i" / "public" / "current") as web:
        web.date = None
        instance = make_instance(tmp_path / "i", url=web.url)
        for day in ("2026-03-01", "2026-03-02"):
            instance.driven("planner", "plan", "--date", day, now=NOW, check=0)
        for request in ("1", "2"):
            instance.driven("reviewer", "approve", request, "--yes", now=NOW, check=0)
        instance.driven("ci", "run", now=NOW, check=0)
        live = instance.live()
        editor = instance.clone("editor")
        editor.git("pull", "--quiet", "--rebase")
        file = editor.path / "ledger" / f"{PLAN}.jsonl"
        after, text = None, b""
        for event in decode(file.read_bytes()):
            fields = dict(event.fields)
            if event.type is EventType.PREPARED:
                fields["puts"] = fields["puts"][:1]
            new = NewEvent(type=event.type, fields=fields, claim=event.claim)
            line, after = encode(new, after=after, at=event.at, actor=event.actor, commit=event.commit)
            text += line
        editor.commit({f"ledger/{PLAN}.jsonl": text}, "forged")
        editor.push()
        done = instance.driven("ci", "run", now="2026-03-02T10:00:00+08:00")
        assert done.returncode == 7
        assert "ledger-not-live" in done.stdout + done.stderr
        assert instance.live() == live
