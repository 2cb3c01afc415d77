"""The documentation against the source: every code, verb and event type stands where a reader looks for it, and nothing else does."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from publisher.cli.main import VERBS, cli
from publisher.domain.alarms import Code
from publisher.domain.ledger_events import EventType
from publisher.forge.reasons import REASONS
from publisher.sitebuilder.theme import PAGES, default_theme
from publisher.targets import git_branch
from publisher.targets.directory import DirectoryTarget
from tests.support import codes

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
STOPS = "when-something-stops.md"
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PAGES_CHECKED = sorted([*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))])


def text_of(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def section(name: str, begins: str) -> str:
    """The text below the second-level heading that begins so, up to the next one."""
    found = [part for part in re.split(r"^## ", text_of(name), flags=re.MULTILINE) if part.startswith(begins)]
    assert len(found) == 1, f"{name} has {len(found)} sections that begin with {begins!r}"
    return found[0]


def rows(text: str) -> list[str]:
    """The first cells of a section's tables, where they are code."""
    return ROW.findall(text)


def require_same(documented: list[str], known: set[str]) -> None:
    twice = sorted({item for item in documented if documented.count(item) > 1})
    assert (sorted(known - set(documented)), sorted(set(documented) - known), twice) == ([], [], []), "missing, foreign, twice"


# --- codes --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exit_code", [1, 2, 3, 4, 5, 6, 7])
def test_every_refusal_stands_under_its_exit_code(exit_code: int) -> None:
    sections = re.split(r"^## ", text_of(STOPS), flags=re.MULTILINE)
    (found,) = [part for part in sections if part.split("\n", 1)[0].endswith(f"(exit {exit_code})")]
    require_same(rows(found), {code for exit_of, code in codes.refusals() if exit_of == exit_code})


def test_every_decision_stands_under_status() -> None:
    require_same(rows(section(STOPS, "What `status` says")), codes.decisions() | {"settled-did-not-happen"})


def test_every_reason_stands_under_approvals() -> None:
    require_same(rows(section(STOPS, "Why an approval")), set(REASONS))


def test_every_finding_stands_under_audit() -> None:
    require_same(rows(section(STOPS, "What `audit`")), codes.findings())


def test_every_alarm_stands_under_watch() -> None:
    require_same(rows(section(STOPS, "What `watch`")), {str(code) for code in Code})


def test_every_examined_thing_stands_under_doctor() -> None:
    require_same(rows(section(STOPS, "What `doctor`")), codes.examined())


def test_every_reviewed_thing_stands_under_review() -> None:
    told = section(STOPS, "What `review`")
    listed = [code for row in re.findall(r"^\| (`[^|]+) \|", told, re.MULTILINE) for code in re.findall(r"`([^`]+)`", row)]
    require_same(listed, codes.reviewed())


def test_every_outcome_stands_under_announcements() -> None:
    require_same(rows(section(STOPS, "What became of an announcement")), codes.outcomes() | {"interrupted"})


def test_a_code_that_nothing_documents_is_found() -> None:
    with pytest.raises(AssertionError, match="missing"):
        require_same(["busy"], {"busy", "crash"})


# --- verbs --------------------------------------------------------------------------------------------------------------------


def test_every_verb_has_a_section_of_its_own() -> None:
    headings = [line.removeprefix("## ") for line in text_of("commands.md").splitlines() if line.startswith("## ")]
    assert [name for name in VERBS if f"`{name}`" not in headings] == []
    assert [name for name in headings if name.startswith("`") and name.strip("`") not in VERBS] == []


def commands() -> Iterator[tuple[str, str, click.Command]]:
    """(verb, whole name, command) of each verb and of the verbs inside it."""
    context = click.Context(cli)
    for name in VERBS:
        command = cli.get_command(context, name)
        assert command is not None
        yield name, name, command
        if isinstance(command, click.Group):
            yield from ((name, f"{name} {inner}", item) for inner, item in command.commands.items())


@pytest.mark.parametrize(("verb", "name", "command"), [pytest.param(*item, id=item[1]) for item in commands()])
def test_every_option_is_named_in_its_verbs_section(verb: str, name: str, command: click.Command) -> None:
    told = section("commands.md", f"`{verb}`\n")
    assert f"publisher {name}" in told
    shown = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    common = {"--json", "--help"}
    missing = [one for option in shown for one in option.opts if one.startswith("--") and one not in common and one not in told]
    assert missing == []


# --- files --------------------------------------------------------------------------------------------------------------------


def test_every_event_type_stands_in_files() -> None:
    require_same(rows(section("files.md", "Ledger events")), {str(kind) for kind in EventType})


def test_every_template_and_word_stands_in_themes() -> None:
    told = text_of("themes.md")
    assert [page for page in PAGES if f"`{page}.html.j2`" not in told] == []
    assert [name for name in default_theme() if f"`{name}`" not in told] == []


def test_each_targets_own_guarantee_stands_in_guarantees() -> None:
    told = " ".join(text_of("guarantees.md").split())
    assert [words for words in (DirectoryTarget.guarantee, git_branch.JOINED, git_branch.APART) if words not in told] == []


def test_every_dependency_has_its_reason() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [*listed["project"]["dependencies"], *listed["project"]["optional-dependencies"]["github"]]
    wanted += [item for group in listed["dependency-groups"].values() for item in group]
    names = [re.split(r"[<>=]", item)[0].lower() for item in wanted]
    require_same([name.lower() for name in rows(text_of("dependencies.md"))], set(names))


# --- links and words ------------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = HEADING.findall(FENCED.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in PAGES_CHECKED if page.exists()]
)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in LINK.findall(FENCED.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert broken == []


def test_the_index_leads_to_every_page() -> None:
    linked = set(LINK.findall(text_of("README.md")))
    assert {page.name for page in DOCS.glob("*.md")} - {"README.md"} <= linked
    assert "decisions/README.md" in linked


def told_commands(text: str) -> Iterator[str]:
    """The verbs that a page tells its reader to type: in inline code, and as lines of fenced blocks."""
    for inline in re.findall(r"`([^`\n]+)`", FENCED.sub("", text)):
        yield from re.findall(r"(?:^|[;|&] *)publisher ([a-z]+)\b", inline)
    for block in FENCED.findall(text):
        yield from re.findall(r"^(?:\$ )?(?:[A-Z_]+=\S+ )?publisher ([a-z]+)\b", block, re.MULTILINE)


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in sorted(DOCS.glob("*.md"))])
def test_no_page_tells_to_type_a_verb_that_does_not_exist(page: Path) -> None:
    assert [verb for verb in told_commands(page.read_text("utf-8")) if verb not in VERBS] == []
