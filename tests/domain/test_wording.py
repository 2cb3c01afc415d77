"""Every sentence that leaves as a notice or an announcement."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from publisher.domain import wording
from publisher.domain.alarms import Code

PLAN = "handbook/daily/2026/2026-12-01"


def test_one_article_is_announced_by_its_title_and_several_by_their_number() -> None:
    subject, text = wording.announcement("Handbook", [("Fences", "https://x.example/fences/")])
    assert subject == "Handbook: Fences"
    assert text == "New on Handbook:\n\nFences\nhttps://x.example/fences/\n"
    subject, text = wording.announcement("Handbook", [("A", "https://x.example/a/"), ("B", "https://x.example/b/")])
    assert subject == "Handbook: 2 new articles"
    assert text.endswith("A\nhttps://x.example/a/\n\nB\nhttps://x.example/b/\n")


@pytest.mark.parametrize("bad", ["A\r\nBcc: all@x.example", "A\nB", "A\x00B", "A\u2028B", "A\x1b[31mB", "A\ud800B", "A\x85B"])
def test_nothing_breaks_out_of_a_subject(bad: str) -> None:
    subject, _ = wording.announcement("Handbook\n", [(bad, "u")])
    assert subject.isprintable()
    assert subject.startswith("Handbook: A")


def test_letters_that_need_joiners_keep_them() -> None:
    assert wording.one_line("می\u200cخواهم") == "می\u200cخواهم"


SENTENCES: dict[str, tuple[Callable[[], str], str]] = {
    "recovered": (lambda: wording.recovered(PLAN, "abc", ["https://x.example/a/"]), "public and confirmed"),
    "stopped": (lambda: wording.stopped(PLAN, "leak", "Text was found.", "publisher preview", step="build"), "stopped at build [leak]"),
    "alarm": (lambda: wording.alarm(PLAN, "due-unclaimed", "It was due.", "publisher run"), "no run has claimed it [due-unclaimed]"),
    "cleared": (lambda: wording.cleared("handbook", "drifted"), "no longer so: handbook: the public site"),
}  # fmt: skip


@pytest.mark.parametrize("name", SENTENCES)
def test_a_notices_first_line_is_its_subject(name: str) -> None:
    make, subject = SENTENCES[name]
    lines = make().splitlines()
    assert subject in lines[0]
    assert make().endswith("\n")
    assert len(lines) >= 2


def test_a_stop_names_the_next_command() -> None:
    assert wording.stopped(PLAN, "x", "says", "").splitlines() == [
        f"{PLAN} stopped [x]",
        "says",
        f"next: publisher status {PLAN}",
    ]
    assert "next: publisher retry" in wording.stopped(PLAN, "x", "says", "publisher retry")


def test_every_alarm_has_a_headline_that_names_what_it_is_about() -> None:
    assert set(wording.HEADLINES) == {str(code) for code in Code}
    for code in Code:
        assert PLAN in wording.headline(PLAN, code)


def test_a_long_list_is_cut() -> None:
    urls = [f"https://x.example/{n}/" for n in range(23)]
    text = wording.alarm("handbook", "drifted", "These differ.", "publisher reconcile", urls)
    assert "https://x.example/19/" in text
    assert "https://x.example/20/" not in text
    assert "- and 3 more" in text


def test_a_says_with_line_breaks_stays_one_line() -> None:
    assert len(wording.stopped(PLAN, "x", "a\nnext: rm -rf /", "n").splitlines()) == 3
