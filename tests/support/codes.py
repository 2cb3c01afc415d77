"""Every code that publisher's source can say, found by reading the source: what ``docs/when-something-stops.md`` must list.

A code is mostly a literal. Where it is computed, ``COMPUTED`` says from what; a computed code that stands nowhere there is an
error, so that a new way of making codes cannot pass by unseen.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from publisher import errors
from publisher.domain.evidence import Verdict
from publisher.domain.history import BEGINS
from publisher.domain.ledger_events import EventType
from publisher.engine import review_files
from publisher.forge.reasons import REASONS
from publisher.gitstore import drafts, validation
from publisher.sitebuilder import internal_links
from publisher.workers.all_workers import WORKERS

SOURCE = Path(errors.__file__).parent
EXITS = {
    name: value.exit_code
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.Refusal) and value is not errors.Refusal
}
"""Refusal class → exit code."""


@cache
def tree_of(file: str) -> ast.Module:
    return ast.parse((SOURCE / file).read_text("utf-8"))


def files() -> tuple[str, ...]:
    return tuple(sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py")))


def calls(file: str, *names: str) -> Iterator[ast.Call]:
    """The calls of functions or methods of these names in a file."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in names:
                yield node


def literals(node: ast.expr) -> set[str]:
    """The texts that an expression can be, when it is one literal or a choice between literals; else none."""
    if isinstance(node, ast.IfExp):
        both = (literals(node.body), literals(node.orelse))
        return both[0] | both[1] if all(both) else set()
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def arguments(file: str, name: str, position: int = 0) -> set[str]:
    """The literal texts that a function of a file is called with at a position."""
    return set().union(*(literals(call.args[position]) for call in calls(file, name) if len(call.args) > position))


def returned(file: str, function: str) -> set[str]:
    """The literal texts that a function returns, alone or as the first of several."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            values = [item.value for item in ast.walk(node) if isinstance(item, ast.Return) and item.value]
            firsts = [value.elts[0] if isinstance(value, ast.Tuple) else value for value in values]
            return set().union(*map(literals, firsts))
    raise AssertionError(f"{file} has no function {function}")


def _texts() -> set[str]:
    return arguments("sitebuilder/article_html.py", "_refused") | arguments("sitebuilder/raw_html.py", "_refuse")


def _references() -> set[str]:
    return arguments("sitebuilder/references.py", "_refused")


def _pictures() -> set[str]:
    rooms = [file for file in files() if file.startswith("sitebuilder/")]
    return set().union(*(arguments(file, "BadPicture") for file in rooms))


def _yaml() -> set[str]:
    file = "gitstore/strict_yaml.py"
    return returned(file, "_character_problem") | arguments(file, "_problem") | arguments(file, "InputProblem")


def _kinds() -> set[str]:
    return {code for code, _ in drafts._KINDS.values()} | {"draft-mode"} | _references()


def _schema() -> set[str]:
    return {f"schema-{validation._kebab(keyword)}" for keyword in (*validation._SENTENCES, "additionalProperties")}


ELSEWHERE = frozenset(REASONS)
"""Codes that have a section of their own: why an approval does not count."""

COMPUTED: dict[tuple[str, str], Callable[[], set[str]]] = {
    ("engine/recording.py", "f'approval-{refusal.code}'"): set,  # the reasons have a list of their own
    ("forge/deciding.py", "f'request-{what}'"): lambda: {"request-changed", "request-withdrawn"},
    ("forge/deciding.py", "problem.code"): set,
    ("forge/deciding.py", "verdict.code"): set,
    ("gitstore/drafts.py", "code"): _kinds,
    ("gitstore/strict_yaml.py", "code"): _yaml,
    ("gitstore/validation.py", "f'schema-{_kebab(problem.validator)}'"): _schema,
    ("sitebuilder/article_html.py", "code"): _texts,
    ("sitebuilder/images.py", "problem.code"): _pictures,
    ("sitebuilder/internal_links.py", "problem"): lambda: set(internal_links._SAYS),
    ("sitebuilder/markdown_events.py", "problem.code"): _references,
    ("sitebuilder/public_form.py", "problem.code"): _references,
    ("sitebuilder/references.py", "code"): _references,
    ("sitebuilder/theme.py", "code"): lambda: arguments("sitebuilder/theme.py", "_problem"),
    ("targets/git_branch.py", "code"): lambda: arguments("targets/git_branch.py", "_not_taken"),
    ("workers/confirm.py", "code"): lambda: {f"public-{verdict}" for verdict in Verdict if verdict is not Verdict.CONFIRMED},
}
"""(file, expression in the place of the code) → the codes that it can be."""


def refusals() -> set[tuple[int, str]]:
    """(exit code, code) of every refusal in the source, the reasons of ``ELSEWHERE`` aside where they are passed on."""
    found: set[tuple[int, str]] = set()
    for file in files():
        for call in calls(file, *EXITS):
            name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr  # type: ignore[attr-defined]
            if not call.args:
                continue
            said = ast.unparse(call.args[0])
            known = literals(call.args[0])
            assert known or (file, said) in COMPUTED, (
                f"{file}:{call.lineno} computes a code: {said}; COMPUTED must know from what"
            )
            found |= {(EXITS[name], code) for code in known or COMPUTED[file, said]()}
    return found


# --- what status says -------------------------------------------------------------------------------------------------------

DECIDING = "engine/deciding.py"
_POSITIONS = {"_person": 1, "_input": 1, "_nothing": 1, "_run": 3}
_PASSED_ON = frozenset(
    {
        "history.failed.code",
        "problem.code",
        "code",
        "step.name",
        "_next(view)",
        "f'{step}-unknown'",
        "f'approval-{refusal.code}'",
    }
)
"""Expressions that pass on a refusal's code, a step's name or a reason: ``decisions`` adds what they can be, where that is not said."""


def decisions() -> set[str]:
    """The codes of ``next.code`` in ``status --json`` that are no refusal's code passed on."""
    found = {f"{step}-unknown" for step in {*BEGINS[EventType.DEPLOY_INTENT].values(), "announce"}}
    found |= {step for _, step in WORKERS}
    for call in calls(DECIDING, "Decision", *_POSITIONS):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        place = _POSITIONS.get(name)
        named = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
        for node in named if place is None else call.args[place : place + 1]:
            assert literals(node) or ast.unparse(node) in _PASSED_ON, f"a code is computed: {ast.unparse(node)}"
            found |= literals(node)
    return found


# --- audit, doctor, announcements -----------------------------------------------------------------------------------------------------


def findings() -> set[str]:
    """The codes of an audit's own findings; a refusal met while reading is passed on under its own code."""
    rooms = [file for file in files() if file.startswith("engine/audit")]
    names = ("problem", "_problem", "warn", "unproven")
    return set().union(*(arguments(file, name) for file in rooms for name in names))


def examined() -> set[str]:
    """The codes of ``doctor``'s own findings; a refusal that a run would meet is passed on under its own code."""
    rooms = ["engine/examining.py", *(file for file in files() if file.startswith("cli/doctor"))]
    named = [word.value for file in rooms for call in calls(file, "warning") for word in call.keywords if word.arg == "code"]
    return set().union(*(arguments(file, "problem", 1) for file in rooms), *map(literals, named))


def reviewed() -> set[str]:
    """The codes of ``review``'s own findings; a refusal that a run would meet is passed on under its own code."""
    rooms = [file for file in files() if file.startswith("engine/review")]
    found = set().union(*(arguments(file, name) for file in rooms for name in ("problem", "warn", "note", "leak")))
    found |= arguments("engine/review_plans.py", "_article", 4) | returned("engine/review_plans.py", "_closed")
    differences = calls("domain/configuration_changes.py", "Difference")
    named = [word.value for call in differences for word in call.keywords if word.arg == "code"]
    return found.union(*map(literals, named)) | {code for code, _, _ in review_files.BY_PUBLISHER.values()} | {"and-more"}


def outcomes() -> set[str]:
    """The codes that the record of a send may carry, those that hold a number aside."""
    rooms = [file for file in files() if file.startswith("notify/")]
    found = set().union(*(arguments(file, name) for file in rooms for name in ("sent", "refused", "unknown", "_Declined")))
    return found | returned("notify/smtp_delivery.py", "_code_of")
