"""What a commit status says of a request's payloads."""

from __future__ import annotations

import pytest

from publisher.domain.fingerprint import digest
from publisher.domain.shown_payloads import LONGEST, shown_payloads


def payloads(count: int) -> dict[str, str]:
    return {f"plans/blog/daily/2026/2026-12-{n:02}.yaml": digest(f"{n}".encode()) for n in range(1, count + 1)}


def test_one_payload_stands_there_itself() -> None:
    assert shown_payloads(payloads(1)) == digest(b"1")
    assert shown_payloads({}) == "no plan in this request"


@pytest.mark.parametrize("count", [2, 3, 7, 60])
def test_several_fit_and_each_of_them_decides_the_line(count: int) -> None:
    all_of_them = payloads(count)
    text = shown_payloads(all_of_them)
    assert text.startswith(f"{count} payloads, together sha256:") and len(text) <= LONGEST
    assert shown_payloads(dict(reversed(all_of_them.items()))) == text
    for path in all_of_them:
        other = shown_payloads({**all_of_them, path: digest(b"another")})
        assert other.split(" (")[0] != text.split(" (")[0]
    moved = {**all_of_them, "plans/elsewhere.yaml": all_of_them["plans/blog/daily/2026/2026-12-01.yaml"]}
    del moved["plans/blog/daily/2026/2026-12-01.yaml"]
    assert shown_payloads(moved) != text
