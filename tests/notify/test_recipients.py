"""Who receives: lists, removals and pseudonyms. Refusals name the line, never the address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from publisher.domain.instance import ChannelSpec
from publisher.errors import InputProblem, NeedsPerson, Refusal
from publisher.notify.channels import make_channel
from publisher.notify.recipients import is_address, read_addresses
from publisher.ports import Channel

KEY = "0123456789abcdef-key"


def channel(tmp_path: Path, secrets: dict[str, str] | None = None, **options: Any) -> Channel:
    (tmp_path / "checkout").mkdir(exist_ok=True)
    given = {"host": "localhost", "security": "none", "from": "news@site.example", **options}
    spec = ChannelSpec(name="mail", kind="smtp", options=given)
    return make_channel(spec, tmp_path / "checkout", secrets or {})


def lists(tmp_path: Path, text: str, removals: str | None = None) -> dict[str, str]:
    folder = tmp_path / "lists"
    folder.mkdir()
    (folder / "readers.txt").write_text(text, encoding="utf-8")
    options = {"lists": "../lists"}
    if removals is not None:
        (tmp_path / "removals.txt").write_text(removals, encoding="utf-8")
        options["removals"] = "../removals.txt"
    return options


@pytest.mark.parametrize(
    "address", ["a@b.example", "A.b+tag@mail.b.example", "o'neil@b-c.example", "x#y@b.example", "a" * 64 + "@b.example"]
)
def test_addresses(address: str) -> None:
    assert is_address(address)


@pytest.mark.parametrize(
    "text",
    [
        "", "a", "@b.example", "a@", "a@b", "a@@b.example", "a b@b.example", ".a@b.example", "a.@b.example", "a..b@c.example",
        "a@-b.example", "a@b-.example", "a@b..example", "a@b.example.", "a" * 65 + "@b.example", "a@" + "b." * 130 + "example",
        "a@b.example\n", "a@b.example\r\nBcc: x@y.example", '"a b"@c.example', "a@[127.0.0.1]", "ä@b.example", "a@bü.example",
        "Ann <a@b.example>", "a@b.example,c@d.example", "<a@b.example>", "a@b.example>",
    ],
)  # fmt: skip
def test_texts_that_are_no_addresses(text: str) -> None:
    assert not is_address(text)


def test_a_list_has_comments_blank_lines_and_one_form_of_domain() -> None:
    text = "# readers\n\nann@Site.EXAMPLE  # since May\r\n\t\n  ben@b.example\n#cut@x.example\nx#y@b.example\n"
    assert read_addresses(text, "list") == ("ann@site.example", "ben@b.example", "x#y@b.example")


def test_recipients_are_sorted_unique_and_less_removals(tmp_path: Path) -> None:
    options = lists(
        tmp_path, "zoe@b.example\nann@B.example\nAnn@b.example\nben@b.example\n", removals="# asked in June\nBEN@b.Example\n"
    )
    assert channel(tmp_path, **options).recipients("readers") == ("Ann@b.example", "zoe@b.example")


def test_the_list_is_read_at_that_moment(tmp_path: Path) -> None:
    options = lists(tmp_path, "ann@b.example\nben@b.example\n", removals="")
    mail = channel(tmp_path, **options)
    assert len(mail.recipients("readers")) == 2
    (tmp_path / "removals.txt").write_text("ann@b.example\n")
    assert mail.recipients("readers") == ("ben@b.example",)


def test_lists_and_removals_can_be_secrets(tmp_path: Path) -> None:
    secrets = {"READERS": "ann@b.example\nben@b.example\n", "GONE": "ann@b.example"}
    mail = channel(tmp_path, secrets, list_secrets={"readers": "READERS"}, removals_secret="GONE")
    assert mail.recipients("readers") == ("ben@b.example",)
    with pytest.raises(InputProblem) as caught:
        mail.recipients("others")
    assert caught.value.code == "channel-option"


def test_a_missing_removals_list_stops(tmp_path: Path) -> None:
    options = lists(tmp_path, "ann@b.example\n", removals="")
    (tmp_path / "removals.txt").unlink()
    with pytest.raises(InputProblem) as caught:
        channel(tmp_path, **options).recipients("readers")
    assert caught.value.code == "list-unreadable"
    assert caught.value.where.endswith("removals.txt")


def test_a_missing_removals_secret_stops(tmp_path: Path) -> None:
    mail = channel(tmp_path, lists(tmp_path, "ann@b.example\n") and {}, lists="../lists", removals_secret="GONE")
    with pytest.raises(NeedsPerson) as caught:
        mail.recipients("readers")
    assert caught.value.code == "secret-missing"


@pytest.mark.parametrize(
    ("text", "line"),
    [("ann@b.example\nSECRET at b.example\n", 2), ("# x\n\nSECRET@b\n", 3), ("SECRET@b.example, x@y.example", 1)],
)
def test_a_bad_address_is_named_by_its_line_only(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(InputProblem) as caught:
        channel(tmp_path, **lists(tmp_path, text)).recipients("readers")
    assert caught.value.code == "bad-address"
    assert caught.value.where == f"{tmp_path}/checkout/../lists/readers.txt:{line}:1"
    assert "SECRET" not in str(caught.value) and "SECRET" not in repr(caught.value.__context__)


def test_a_bad_address_in_a_secret_is_named_too(tmp_path: Path) -> None:
    mail = channel(tmp_path, {"READERS": "ok@b.example\nSECRET"}, list_secrets={"readers": "READERS"})
    with pytest.raises(InputProblem) as caught:
        mail.recipients("readers")
    assert caught.value.where == "$READERS:2:1"
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("data", [b"ann@b.example\n\xff\xfe", b"\0" * (16 * 1024 * 1024 + 1)])
def test_a_list_that_is_no_text_stops(tmp_path: Path, data: bytes) -> None:
    options = lists(tmp_path, "")
    (tmp_path / "lists" / "readers.txt").write_bytes(data)
    with pytest.raises(InputProblem) as caught:
        channel(tmp_path, **options).recipients("readers")
    assert caught.value.code == "list-unreadable"


@pytest.mark.parametrize("name", ["", "../removals", "a/b", "Readers", "readers\n", "con"])
def test_a_list_has_a_plain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputProblem):
        channel(tmp_path, **lists(tmp_path, "ann@b.example\n")).recipients(name)


@pytest.mark.parametrize("option", ["lists", "removals"])
@pytest.mark.parametrize("where", [".", "lists", "../checkout/private"])
def test_addresses_do_not_lie_in_the_repository(tmp_path: Path, option: str, where: str) -> None:
    with pytest.raises(InputProblem) as caught:
        channel(tmp_path, **{option: where})
    assert "outside the repository" in caught.value.says


def test_a_link_out_of_the_repository_does_not_count_as_inside(tmp_path: Path) -> None:
    options = lists(tmp_path, "ann@b.example\n")
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "away").symlink_to(tmp_path / "lists")
    assert channel(tmp_path, **{**options, "lists": "away"}).recipients("readers") == ("ann@b.example",)


# --- pseudonyms ---------------------------------------------------------------------------------------------------------


def test_a_pseudonym_is_keyed_and_stable(tmp_path: Path) -> None:
    one = channel(tmp_path, {"KEY": KEY}, pseudonym_key_secret="KEY")
    other = channel(tmp_path, {"KEY": KEY + "2"}, pseudonym_key_secret="KEY")
    # printf 'ann@b.example' | openssl dgst -sha256 -hmac '0123456789abcdef-key'
    assert one.pseudonym("ann@b.example") == "p-eebc8ce9418fda6221a6"
    assert one.pseudonym("Ann@B.example") == one.pseudonym("ann@b.example")
    assert one.pseudonym("ben@b.example") != one.pseudonym("ann@b.example")
    assert other.pseudonym("ann@b.example") != one.pseudonym("ann@b.example")


def test_without_its_key_there_is_no_pseudonym(tmp_path: Path) -> None:
    with pytest.raises(NeedsPerson) as caught:
        channel(tmp_path, {"OTHER": "SECRET-value"}, pseudonym_key_secret="NOTICE_KEY").pseudonym("ann@b.example")
    assert caught.value.code == "secret-missing"
    assert "NOTICE_KEY" in caught.value.says and "NOTICE_KEY" in caught.value.next
    assert "SECRET" not in str(caught.value) and "ann@" not in str(caught.value)


@pytest.mark.parametrize(("options", "secrets"), [({}, {}), ({"pseudonym_key_secret": "KEY"}, {"KEY": "short-SECRET"})])
def test_no_key_and_a_weak_key_are_refused(tmp_path: Path, options: dict[str, str], secrets: dict[str, str]) -> None:
    with pytest.raises(Refusal) as caught:
        channel(tmp_path, secrets, **options).pseudonym("ann@b.example")
    assert caught.value.code == "channel-option"
    assert "SECRET" not in str(caught.value)
