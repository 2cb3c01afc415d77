"""Judges requests and answers by GitHub's schemas."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

HERE = Path(__file__).parent
EVENTS = {
    "committed": "timeline-committed-event~", "reviewed": "timeline-reviewed-event~", "commented": "timeline-comment-event~",
    "review_dismissed": "review-dismissed-issue-event~", "labeled": "labeled-issue-event~", "renamed": "renamed-issue-event~",
}  # fmt: skip
FORMATS = FormatChecker(formats=())


@FORMATS.checks("date-time", raises=ValueError)
def _is_moment(value: object) -> bool:
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


@FORMATS.checks("uri")
def _is_address(value: object) -> bool:
    return not isinstance(value, str) or "://" in value


@cache
def operations() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(HERE.glob("operations-*.json")):
        found |= json.loads(path.read_text(encoding="utf-8"))
    return found


@cache
def schemas() -> dict[str, Any]:
    return json.loads((HERE / "schemas.json").read_text(encoding="utf-8"))


@cache
def _validator(text: str) -> Draft202012Validator:
    return Draft202012Validator({**json.loads(text), "$defs": schemas()}, format_checker=FORMATS)


def faults_of(schema: Any, document: Any) -> list[str]:
    """What is wrong with a document, as ``place: reason``."""
    found = []
    for error in _validator(json.dumps(schema, sort_keys=True)).iter_errors(document):
        while error.context:  # within a choice of schemas: what is nearest to fitting
            error = min(error.context, key=lambda one: -len(one.absolute_path))
        found.append(f"{error.json_path}: {error.message[:200]}")
    return found


def faults_of_answer(operation: str, status: int, document: Any) -> list[str]:
    """Empty when GitHub's description knows such an answer to this operation."""
    known = operations().get(operation)
    if known is None:
        return [f"{operation}: not in the extract of GitHub's description"]
    if str(status) not in known["answers"]:
        return [f"{operation}: {status} is no answer that the description lists"]
    schema = known["answers"][str(status)]
    if schema is None:
        return [] if document is None else [f"{operation}: {status} has no body"]
    found = faults_of(schema, document)
    if operation.endswith("/timeline"):
        for one in document:
            found += faults_of({"$ref": f"#/$defs/{EVENTS.get(one['event'], 'state-change-issue-event~')}"}, one)
    return [f"{operation} {status}: {one}" for one in found]


def faults_of_request(operation: str, body: Any) -> list[str]:
    schema = operations().get(operation, {}).get("body")
    return [] if schema is None else faults_of(schema, body)


def unknown_query(operation: str, names: set[str]) -> set[str]:
    return names - set(operations().get(operation, {}).get("query", names))
