"""The few words that the builder itself puts into an article's text: English unless the theme's ``words.json`` says others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Words:
    """Names are the keys in ``words.json``."""

    note: str = "Note"
    tip: str = "Tip"
    important: str = "Important"
    warning: str = "Warning"
    caution: str = "Caution"
    footnotes: str = "Footnotes"
    back_to_text: str = "Back to the text"
    link_to_section: str = "Link to this section"
    task_done: str = "done"
    task_open: str = "open"


ENGLISH = Words()
