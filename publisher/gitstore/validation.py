"""Files against their JSON Schemas (``schemas/``), with messages of our own.

Rules:
* a pattern must match the whole text, with ASCII classes: ``$`` alone would accept a line break after it, ``\\d`` other digits;
* whole numbers are whole numbers: not 1.0, not true; dates, instants, zones and durations are checked by the domain's parsers;
* the first problem in the file's order is told, at ``path:line:col``; what is missing comes last;
* no message quotes a value, except what a schema itself lists; of a draft not even its keys are quoted.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from publisher.domain import business_calendar
from publisher.errors import InputProblem
from publisher.gitstore.strict_yaml import Document

SCHEMAS = Path(__file__).parent / "schemas"
PRIVATE = frozenset({"draft"})
"""Schemas of files whose very keys may be private text, when the author's line breaks slipped."""
LONGEST_EXCERPT = 40
ONE_LINE = "^[^\\n]+$"
"""The schemas' pattern for free text on one line."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_TYPES = {
    "object": "a mapping", "array": "a list", "string": "text", "integer": "a whole number", "boolean": "true or false",
    "null": "empty",
}  # fmt: skip
_FORMATS: dict[str, str] = {
    "date": "a date such as 2026-12-01",
    "instant": "an instant with its offset, such as 2026-12-01T09:00:00+08:00",
    "zone": "an IANA time zone such as Asia/Hong_Kong",
    "duration": "a duration such as 90s, 15m, 24h or 14d",
    "clock-time": "a time of day such as 09:00, in quotes",
    "site-url": "an https URL (http only on this machine) without user, query or fragment",
}


def check(document: Document, schema: str) -> None:
    """Refuses a document that does not fit: ``InputProblem`` with code ``schema-<keyword>``."""
    errors = list(_validator(schema).iter_errors(document.data))
    if not errors:
        return
    # A missing key comes last: it is often a misspelt one, which the unknown key beside it shows.
    placed = [(error.validator == "required", _place(document, error), error) for error in errors]
    _, place, problem = min(placed, key=lambda item: item[:2])
    says = _sentence(problem, document, private=schema in PRIVATE)
    where = f"{document.path}:{place[0]}:{place[1]}"
    raise InputProblem(f"schema-{_kebab(problem.validator)}", says, where=where)


def check_site_url(url: str) -> bool:
    """Whether a site's address is https (or http on this machine) and nothing but scheme, host, port and path."""
    if not re.fullmatch(r"[!-~]{1,200}", url) or any(character in url for character in "?#@\\%") or ".." in url:
        return False
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if port == 0 or not re.fullmatch(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|::1", host):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)


@cache
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator, validators  # imported late: it costs a tenth of a second

    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    types = types.redefine("number", lambda _, value: type(value) is int)
    keywords = {"pattern": _pattern, "format": _format}
    strict = validators.extend(Draft202012Validator, validators=keywords, type_checker=types)
    return strict(json.loads((SCHEMAS / f"{schema}.schema.json").read_text(encoding="utf-8")))


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Exception]:
    if isinstance(value, str) and not re.fullmatch(pattern, value, re.ASCII):
        yield _error()


def _format(_: Any, name: str, value: Any, __: Any) -> Iterator[Exception]:
    if isinstance(value, str) and not _is_well_formed(name, value):
        yield _error()


def _error() -> Exception:
    from jsonschema import ValidationError

    error: Exception = ValidationError("")
    return error


def _is_well_formed(name: str, value: str) -> bool:
    parsers: dict[str, Callable[[str], object]] = {
        "date": business_calendar.parse_date,
        "instant": business_calendar.parse_instant,
        "zone": business_calendar.parse_zone,
        "duration": business_calendar.parse_duration,
        "clock-time": business_calendar.parse_clock_time,
    }
    if name == "site-url":
        return check_site_url(value)
    try:
        parsers[name](value)
    except ValueError:
        return False
    return True


def _place(document: Document, error: Any) -> tuple[int, int]:
    path = list(error.path)
    if error.validator == "additionalProperties":
        return document.place([*path, _unknown_key(error)], key=True)
    # propertyNames judges a key, and the error's path is that of the mapping it stands in.
    if "propertyNames" in error.schema_path and isinstance(error.instance, str):
        return document.place([*path, error.instance], key=True)
    return document.place(path)


def _unknown_key(error: Any) -> str:
    known = error.schema.get("properties", {})
    return next(str(key) for key in error.instance if key not in known)


def _sentence(error: Any, document: Document, *, private: bool) -> str:
    """What is wrong, in our own words."""
    if "propertyNames" in error.schema_path:
        return "a name here is written with small letters, digits and hyphens"
    name = _name(error.path)
    sentence = _SENTENCES.get(error.validator)
    if error.validator == "additionalProperties":
        return _about_unknown(error, private)
    return f"{name} {sentence(error) if sentence else 'is not as its schema says'}"


def _name(path: Iterable[str | int]) -> str:
    """The place inside the file: ``sites.handbook.url``, ``articles[2].id``. Keys on it are in the schema or ids."""
    text = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{_excerpt(part)}" for part in path)
    return text.lstrip(".") or "this file"


def _about_unknown(error: Any, private: bool) -> str:
    key, known = _unknown_key(error), sorted(error.schema.get("properties", {}))
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"
    return f"a key that is not known here; {hint}" if private else f"there is no key {_excerpt(key)} here; {hint}"


def _excerpt(text: str) -> str:
    shown = text if len(text) <= LONGEST_EXCERPT else text[: LONGEST_EXCERPT - 1] + "…"
    return shown if shown.isprintable() and shown.isascii() else ascii(shown)[1:-1][:LONGEST_EXCERPT]


def _missing(error: Any) -> str:
    missing = [name for name in error.validator_value if name not in error.instance]
    return f"lacks {missing[0]}"


def _wanted_type(error: Any) -> str:
    wanted = error.validator_value
    names = [wanted] if isinstance(wanted, str) else wanted
    hint = "; put it in quotes" if "string" in names and isinstance(error.instance, (int, bool)) else ""
    return f"must be {' or '.join(_TYPES[name] for name in names)}{hint}"


def _one_of(error: Any) -> str:
    listed = [str(value) for value in error.validator_value]
    close = difflib.get_close_matches(str(error.instance), listed, n=1) if isinstance(error.instance, str) else []
    return f"must be one of {', '.join(listed)}" + (f"; did you mean {close[0]}?" if close else "")


def _described(error: Any) -> str:
    if error.validator_value == ONE_LINE:
        return "must be one line of text"
    about = error.schema.get("description", "")
    return "is not written as it must be" + (f": {about[0].lower()}{about[1:].rstrip('.')}" if about else "")


_SENTENCES: Mapping[str, Callable[[Any], str]] = {
    "required": _missing,
    "type": _wanted_type,
    "enum": _one_of,
    "const": lambda error: f"must be {error.validator_value}",
    "pattern": _described,
    "format": lambda error: f"must be {_FORMATS[error.validator_value]}",
    "minItems": lambda error: (
        f"needs at least {error.validator_value} entries" if error.validator_value > 1 else "must not be empty"
    ),
    "maxItems": lambda error: f"has more than {error.validator_value} entries",
    "uniqueItems": lambda _: "names something twice",
    "minLength": lambda _: "must not be empty",
    "maxLength": lambda error: f"is longer than {error.validator_value} characters",
    "minimum": lambda error: f"must be at least {error.validator_value}",
    "maximum": lambda error: f"must be at most {error.validator_value}",
    "minProperties": lambda _: "must not be empty",
    "maxProperties": lambda error: f"has more than {error.validator_value} entries",
    "anyOf": lambda _: "must be text, a whole number, true or false, or a list or mapping of these",
    "not": lambda _: "has no place here",
}


def _kebab(keyword: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"-\1", keyword).lower()
