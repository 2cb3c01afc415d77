"""The shape of the code (STYLE.md): direction of imports, one home for each library, no clock in decisions, sizes, start-up."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from publisher.domain.lines import LINES
from publisher.ports import EFFECTS
from publisher.workers.all_workers import WORKERS

ROOT = Path(__file__).parents[1]
FILES = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path for path in sorted(ROOT.glob("publisher/**/*.py"))
}
TREES = {name.removesuffix(".__init__"): ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}

ROOMS = {"engine", "workers", "gitstore", "forge", "sitebuilder", "targets", "providers", "verify", "notify", "simulation"}
BELOW = {
    "errors": set(), "domain": {"errors"}, "ports": {"domain", "errors"}, **{room: {"ports", "domain", "errors"} for room in ROOMS},
    "simulation": {"engine", "workers", "ports", "domain", "errors"},  # runs the decision code, so it stands above it
    "wiring": ROOMS | {"ports", "domain", "errors"}, "cli": {"wiring", "engine", "ports", "domain", "errors"}, "__main__": {"cli"},
}  # fmt: skip
ALSO = {
    r"cli\.init\w*": {"gitstore", "sitebuilder", "verify"},  # makes what wiring opens: there is no instance yet
    r"cli\.doctor\w*": {"gitstore", "notify"},  # examines each room's own options, which no door shows
    r"cli\.rules": {"gitstore"},  # edits the text of one file, comments and all, which no door shows
    r"cli\.simulate": {"simulation"},  # touches no repository, so nothing is wired
    r"cli\.(new|queue|schema|serve|drafts_site)": {"gitstore"},  # a person's own checkout, which no door reads on purpose
}
HOMES = {
    "git": "gitstore.gateway", "gitdb": "gitstore.gateway", "yaml": "gitstore", "ruamel": "gitstore", "jsonschema": "gitstore",
    "jinja2": "sitebuilder", "markdown_it": "sitebuilder", "mdit_py_plugins": "sitebuilder", "nh3": "sitebuilder",
    "pygments": "sitebuilder", "pyromark": "sitebuilder", "latex2mathml": "sitebuilder", "feedgenerator": "sitebuilder",
    "urllib3": "verify", "smtplib": "notify", "github": "forge",
    "click": "cli", "greenlet": "simulation", "cronsim": "engine", "boto3": "targets", "botocore": "targets",
}  # fmt: skip
HEAVY = {
    "git",
    "gitdb",
    "jsonschema",
    "jinja2",
    "urllib3",
    "ruamel",
    "github",
    "boto3",
    "markdown_it",
    "pygments",
    "nh3",
    "latex2mathml",
}
PURE = {
    "__future__", "collections", "dataclasses", "datetime", "enum", "functools", "hashlib", "itertools", "json", "re", "typing",
    "urllib.parse", "zoneinfo",
}  # fmt: skip
CLOCKS = {"now", "today", "utcnow", "time", "time_ns", "monotonic", "perf_counter", "fromtimestamp", "localtime", "gmtime"}
# Every door in one file; everything that is known about git.
LONG = {"publisher.ports": 700, "publisher.gitstore.gateway": 560}


def imported(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """(module, whether it is imported when this module is) for every import, at any depth."""
    top = {id(node) for node in ast.walk(tree) if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        top -= {id(node) for node in ast.walk(function)}
    for check in (node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        top -= {id(node) for node in ast.walk(check)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            assert node.module is not None
            yield node.module, id(node) in top
            yield from ((name, id(node) in top) for alias in node.names if (name := f"{node.module}.{alias.name}") in TREES)


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("name", [name for name in TREES if name != "publisher"])
def test_arrows_go_down_only(name: str) -> None:
    also = {room for place, rooms in ALSO.items() if re.fullmatch(place, name.removeprefix("publisher.")) for room in rooms}
    allowed = BELOW[room_of(name)] | {room_of(name)} | also
    wrong = {module for module, _ in imported(TREES[name]) if module.startswith("publisher") and room_of(module) not in allowed}
    assert not wrong


@pytest.mark.parametrize("name", TREES)
def test_each_library_has_one_home(name: str) -> None:
    for module in {module for module, _ in imported(TREES[name])}:
        library = module.split(".")[0]
        home = HOMES.get(library)
        if home:
            assert f"{name}.".startswith(f"publisher.{home}."), f"{library} belongs into {home}"
        else:
            assert library == "publisher" or library in sys.stdlib_module_names, f"{library} has no home in HOMES yet"


@pytest.mark.parametrize("name", [name for name in TREES if room_of(name) in ("domain", "errors")])
def test_the_domain_imports_nothing_that_touches_the_world(name: str) -> None:
    modules = {module for module, _ in imported(TREES[name]) if not module.startswith("publisher")}
    assert {module for module in modules if module not in PURE and module.split(".")[0] not in PURE} == set()


@pytest.mark.parametrize("name", [name for name in TREES if room_of(name) == "domain" or name == "publisher.engine.deciding"])
def test_rules_and_decisions_read_no_clock_file_or_environment(name: str) -> None:
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            reads = called in ("open", "input", "print", "exec", "eval", "__import__") or called.startswith(("os.", "sys."))
            assert not reads, f"line {node.lineno}: {called}"
            assert called.split(".")[-1] not in CLOCKS or called in ("time",), f"line {node.lineno}: {called}"


@pytest.mark.parametrize("name", FILES)
def test_files_are_short_and_packages_are_docstrings(name: str) -> None:
    lines = FILES[name].read_text(encoding="utf-8").count("\n")
    assert lines <= LONG.get(name, 400), "a file of this size wants to be split"
    if name.endswith("__init__"):
        body = TREES[name.removesuffix(".__init__")].body
        assert [type(node) for node in body] == [ast.Expr]


def test_a_module_listed_as_long_is_long() -> None:
    assert [name for name in LONG if FILES[name].read_text(encoding="utf-8").count("\n") <= 400] == []


@pytest.mark.parametrize(
    "start", ["publisher.__main__", "publisher.wiring", "publisher.ports", "publisher.workers.all_workers"]
)
def test_no_heavy_library_is_loaded_at_start_up(start: str) -> None:
    """Followed through imports at module level only: what stands inside a function waits until it is called."""
    seen, left = set(), [start]
    while left:
        name = left.pop()
        if name in seen or name not in TREES:
            continue
        seen.add(name)
        eager = {module for module, at_once in imported(TREES[name]) if at_once}
        assert not {module.split(".")[0] for module in eager} & HEAVY, f"{name}, imported by {start}"
        left += eager
    assert len(seen) > 1


def test_nothing_that_publishing_needs_is_ever_ignored() -> None:
    names = [
        "plans/x/build/y.yaml", "plans/s/daily/2026/2026-12-01.yaml", "site-src/s/articles/lib/index.md", "site-src/s/static/a.log",
        "site-src/s/articles/target/x.manifest", "site-src/s/theme/dist/base.html.j2", "ledger/x.log.jsonl", "ledger/s/env/2026.jsonl",
        "ledger/s/claims/2026.jsonl", "drafts/s/build/index.md", "drafts/s/dist/index.md", "publisher.yaml", "approval.yaml",
        "publisher/gitstore/schemas/plan.schema.json", "plans/s/public/x.yaml", "site-src/s/articles/public/index.md",
    ]  # fmt: skip
    ran = subprocess.run(["git", "check-ignore", "--no-index", *names], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")


@pytest.mark.parametrize("key", WORKERS, ids="-".join)
def test_a_worker_declares_only_effects_that_there_are(key: tuple[str, str]) -> None:
    assert WORKERS[key].step == key[1]
    assert set(WORKERS[key].effects) <= set(EFFECTS)


def test_every_step_that_can_run_has_a_worker_and_no_worker_is_without_a_step() -> None:
    steps = {(kind, step.name) for kind in ("publication", "change") for step in LINES[kind]}
    assert set(WORKERS) == steps | {("launch", "build"), ("launch", "release")}


@pytest.mark.parametrize("name", FILES)
def test_no_push_can_overwrite_what_was_not_read(name: str) -> None:
    for node in ast.walk(TREES[name.removesuffix(".__init__")]):
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        assert text not in ("--force", "--force-with-lease", "--mirror"), f"line {node.lineno}"
        if isinstance(node, ast.JoinedStr) and "--force-with-lease" in ast.unparse(node):
            expected = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
            assert len(expected) == 2, f"line {node.lineno}: a lease names the ref and the full id that was read"
            assert ast.unparse(expected[1]) == "expected"
