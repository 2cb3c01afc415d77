"""Schemas and the sentences that are made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from publisher.errors import InputProblem
from publisher.gitstore.strict_yaml import load
from publisher.gitstore.validation import SCHEMAS, check, check_site_url

NAMES = sorted(path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.json"))
DIGEST = "sha256:" + "0" * 64
POLICY = "version: 1\nquantity: 2\nstart: 2026-12-01\nzone: Asia/Hong_Kong\nhorizon_days: 14\n"
QUEUE = "articles:\n  - {id: a-1, source: drafts/handbook/one}\n"


def refusal(text: str, schema: str) -> InputProblem:
    with pytest.raises(InputProblem) as problem:
        check(load(text.encode("utf-8"), "f.yaml"), schema)
    return problem.value


def schema_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return found


def parts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from parts(item)
    elif isinstance(value, list):
        for item in value:
            yield from parts(item)


def test_there_is_a_schema_for_each_file() -> None:
    assert NAMES == ["approval", "draft", "event", "gate", "instance", "plan", "policy", "queue"]


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_schemas_closed_and_described(name: str) -> None:
    schema = schema_of(name)
    Draft202012Validator.check_schema(schema)
    for part in parts(schema):
        if part.get("type") == "object" and "properties" in part and part is not schema:
            closed = part.get("additionalProperties")
            assert closed is False or isinstance(closed, dict), part
        for key, value in part.get("properties", {}).items() if isinstance(part.get("properties"), dict) else ():
            if part.get("type") == "object" and isinstance(value, dict) and "$ref" not in value:
                assert value.get("description"), key
    if name not in ("plan", "event"):
        assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("schema", "text", "code", "where", "says"),
    [
        ("policy", POLICY.replace("quantity: 2\n", ""), "schema-required", "1:1", "this file lacks quantity"),
        (
            "policy",
            POLICY.replace("quantity", "quanity"),
            "schema-additional-properties",
            "2:1",
            "there is no key quanity here; did you mean quantity?",
        ),
        ("policy", POLICY + "shares: {guide: 1, note: 0}\n", "schema-minimum", "6:26", "shares.note must be at least 1"),
        (
            "policy",
            POLICY + "shares: {Guide: 1}\n",
            "schema-pattern",
            "6:10",
            "a name here is written with small letters, digits and hyphens",
        ),
        ("policy", POLICY.replace("14", "'14'"), "schema-type", "5:15", "horizon_days must be a whole number"),
        ("policy", POLICY.replace("quantity: 2", "quantity: true"), "schema-type", "2:11", "quantity must be a whole number"),
        ("policy", POLICY.replace("-12-01", "-02-30"), "schema-format", "3:8", "start must be a date such as 2026-12-01"),
        ("policy", POLICY.replace("2026-12-01", "20261201"), "schema-type", "3:8", "start must be text; put it in quotes"),
        (
            "policy",
            POLICY.replace("2026-12-01", "2026-W49-1"),
            "schema-format",
            "3:8",
            "start must be a date such as 2026-12-01",
        ),
        ("policy", POLICY.replace("2026", "２０２６"), "schema-format", "3:8", "start must be a date such as 2026-12-01"),
        (
            "policy",
            POLICY.replace("Asia/Hong_Kong", "../etc"),
            "schema-format",
            "4:7",
            "zone must be an IANA time zone such as Asia/Hong_Kong",
        ),
        (
            "policy",
            POLICY + "publish_time: 9:00\n",
            "schema-format",
            "6:15",
            "publish_time must be a time of day such as 09:00, in quotes",
        ),
        ("policy", "- a\n", "schema-type", "1:1", "this file must be a mapping"),
        ("queue", "articles:\n  - {id: a-1}\n", "schema-required", "2:5", "articles[1] lacks source"),
        ("queue", QUEUE + '  - {id: "a-1\\n", source: drafts/handbook/two}\n', "schema-pattern", "3:10", None),
        ("queue", QUEUE.replace("handbook/one", "../x"), "schema-pattern", "2:23", None),
        (
            "queue",
            QUEUE + "  - {id: a-2, source: drafts/h/x, held: yes}\n",
            "schema-type",
            "3:41",
            "articles[2].held must be true or false",
        ),
        (
            "queue",
            QUEUE + "  - {id: a-2, source: drafts/h/x, held: 1}\n",
            "schema-type",
            "3:41",
            "articles[2].held must be true or false",
        ),
        ("queue", "articles: x\n", "schema-type", "1:11", "articles must be a list"),
        (
            "approval",
            "approvals: 1\ncontent: plam\n",
            "schema-enum",
            "2:10",
            "content must be one of plan; did you mean plan?",
        ),
        (
            "approval",
            "approvals: 1\nexpires_after: 1d12h\n",
            "schema-format",
            "2:16",
            "expires_after must be a duration such as 90s, 15m, 24h or 14d",
        ),
        (
            "approval",
            "approvals: 1\nsigners:\n  - {principal: '*', key: ssh-ed25519 AAAA, may: [commit]}\n",
            "schema-pattern",
            "3:17",
            None,
        ),
        (
            "approval",
            f"approvals: 1\nsigners:\n  - {{principal: a, key: ssh-ed25519 {'A' * 60}, may: []}}\n",
            "schema-min-items",
            "3:104",
            "signers[1].may must not be empty",
        ),
        (
            "approval",
            f"approvals: 1\nsigners:\n  - {{principal: a, key: ssh-ed25519 {'A' * 60}, may: [commit, commit]}}\n",
            "schema-unique-items",
            "3:104",
            "signers[1].may names something twice",
        ),
        ("gate", "kind: gates\n", "schema-const", "1:7", "kind must be gate"),
        (
            "plan",
            "kind: publicaton\n",
            "schema-enum",
            "1:7",
            "kind must be one of publication, change, launch; did you mean publication?",
        ),
        ("plan", "site: x\n", "schema-required", "1:1", "this file lacks kind"),
        (
            "plan",
            "kind: change\naction: fix\n",
            "schema-enum",
            "2:9",
            "action must be one of correct, withdraw, presentation, rollback",
        ),
        ("plan", "kind: publication\nsteps: [x]\n", "schema-additional-properties", "2:1", None),
    ],
)
def test_sentences(schema: str, text: str, code: str, where: str, says: str | None) -> None:
    problem = refusal(text, schema)
    assert (problem.code, problem.where) == (code, f"f.yaml:{where}")
    if says:
        assert problem.says == says


def test_the_first_problem_in_the_file_is_told() -> None:
    problem = refusal(POLICY.replace("quantity: 2", "quantity: 0").replace("Asia/Hong_Kong", "Nowhere"), "policy")
    assert problem.where == "f.yaml:2:11"


def test_redirects_need_an_address_and_others_have_none() -> None:
    head = (
        "kind: change\naction: withdraw\nsite: s\nkey: change:2026-12-01-1\ndate: 2026-12-01\nzone: UTC\nrevision: 1\n"
        "withdrawals:\n"
    )
    check(load((head + "  - {id: a, url: /a/, answer: gone}\n").encode(), "f.yaml"), "plan")
    check(load((head + "  - {id: a, url: /a/, answer: redirect, to: /}\n").encode(), "f.yaml"), "plan")
    assert refusal(head + "  - {id: a, url: /a/, answer: redirect}\n", "plan").says == "withdrawals[1] lacks to"
    problem = refusal(head + "  - {id: a, url: /a/, answer: gone, to: /b/}\n", "plan")
    assert (problem.code, problem.says) == ("schema-not", "withdrawals[1].to has no place here")


def test_a_draft_is_never_quoted() -> None:
    for text in (
        "SENTINEL secret words: x\n", "id: SENTINEL WORDS\ntitle: t\nsummary: s\ncategory: c\n", 'id: a\ntitle: ["SENTINEL"]\n',
        "id: a\ntitle: t\nsummary: s\ncategory: c\ntags: [SENTINEL A]\n",
        "id: a\ntitle: t\nsummary: s\ncategory: c\ndraft: SENTINEL\n",
        'id: a\ntitle: "SENTINEL\\nx"\nsummary: s\ncategory: c\n', "SENTINEL\n",
    ):  # fmt: skip
        assert "SENTINEL" not in str(refusal(text, "draft")) + str(refusal(text, "draft").as_data())
    assert "did you mean title?" in refusal("titel: SENTINEL\nid: a\n", "draft").says


def test_a_long_or_odd_key_is_cut_and_escaped() -> None:
    assert len(refusal(POLICY + "x" * 500 + ": 1\n", "policy").says) < 160
    assert "\\u2026" in refusal(POLICY + '"…\\n::error::": 1\n', "policy").says


def test_numbers_are_whole_numbers() -> None:
    event = {"n": 1.0, "at": "2026-12-01T00:00:00Z", "type": "claimed", "claim": 1, "actor": "a", "prev": DIGEST, "commit": ""}
    document = load(b"x: 1\n", "f.jsonl")
    for value, fits in (
        ({**event, "n": 1}, True),
        (event, False),
        ({**event, "n": True}, False),
        ({**event, "n": 1, "free": [1]}, True),
    ):
        odd = type(document)(data=value, path="f.jsonl", places=document.places, keys=document.keys)
        if fits:
            check(odd, "event")
            continue
        with pytest.raises(InputProblem):
            check(odd, "event")


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        ("https://example.org/", True),
        ("https://example.org/sub/path/", True),
        ("https://example.org:8443/", True),
        ("http://127.0.0.1:8000/", True),
        ("http://localhost/", True),
        ("http://[::1]:8000/", True),
        ("http://example.org/", False),
        ("https://u:p@example.org/", False),
        ("https://example.org/?q", False),
        ("https://example.org/#f", False),
        ("//example.org/", False),
        ("ftp://example.org/", False),
        ("https://", False),
        ("https://example.org:99999/", False),
        ("https://exa mple.org/", False),
        ("https://EXAMPLE.org/", True),
        ("https://example.org/../x", False),
        ("https://example.org/%2e", False),
        ("javascript:alert(1)", False),
        ("http://127.0.0.1.example.org/", False),
        ("https://xn--bcher-kva.example/", True),
        ("https://bücher.example/", False),
        ("https://example.org\n/", False),
        ("https://exa\\mple.org/", False),
    ],
)
def test_site_urls(url: str, fits: bool) -> None:
    assert check_site_url(url) is fits
