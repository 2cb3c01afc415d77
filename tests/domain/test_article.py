"""Private text stays private; names are safe everywhere."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from publisher.domain.article import Draft, Private, PublicArticle, is_safe_name, page_path

SECRET = "What nobody may read"


@pytest.mark.parametrize(
    "show",
    [
        repr, str, "{}".format, lambda text: f"{text}", lambda text: f"{text!r:>40}", "%s".__mod__, lambda text: "%r" % (text,),  # noqa: UP031
        lambda text: repr([text]), lambda text: str({"title": text}), lambda text: repr(ValueError(text)), lambda text: f"{text:>50}",
    ],
)  # fmt: skip
def test_private_text_does_not_show_by_accident(show: Callable[[Private], str]) -> None:
    assert SECRET not in show(Private(SECRET))


def test_private_text_is_revealed_on_purpose() -> None:
    assert Private(SECRET).reveal() == SECRET
    assert type(Private(SECRET).reveal()) is str
    assert Private(SECRET) == SECRET
    assert pickle.loads(pickle.dumps(Private(SECRET))).reveal() == SECRET


def test_a_drafts_repr_holds_no_text() -> None:
    draft = Draft(
        id="a-1", slug="fences", source="drafts/handbook/fences", title=Private(SECRET), summary=Private(SECRET), category="guide",
        body=Private(SECRET), files={"index.md": SECRET.encode()}, salt=SECRET,
    )  # fmt: skip
    assert SECRET not in repr(draft)
    assert "a-1" in repr(draft)


def test_a_public_articles_repr_leaves_its_images_out() -> None:
    made = PublicArticle(
        id="a-1", url="/x/", guid="g", title="T", summary="S", category="c", tags=(), date="d", body="B", files={"a.png": b"PIXELS"},
    )  # fmt: skip
    assert "PIXELS" not in repr(made)


@pytest.mark.parametrize(
    ("url", "path"),
    [("/", "index.html"), ("", "index.html"), ("/fences/", "fences/index.html"), ("/a/b/", "a/b/index.html")],
)
def test_a_page_has_one_path(url: str, path: str) -> None:
    assert page_path(url) == path


@pytest.mark.parametrize("name", ["a", "a-1", "0", "fences", "x" * 64, "common", "con1", "communion"])
def test_safe_names(name: str) -> None:
    assert is_safe_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "", "-a", "a-", "A", "a_b", "a.b", "a b", "a/b", "..", ".", "../x", "~", "x" * 65, "a\n", "ä", "а", "１", "con", "nul", "aux",
        "com1", "lpt9", "git", "-rf", "a\x00", "%2e", "c:", "a\\b",
    ],
)  # fmt: skip
def test_names_that_some_system_reads_otherwise(name: str) -> None:
    assert not is_safe_name(name)
