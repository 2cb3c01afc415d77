"""What ``doctor`` says of the people who may approve at GitHub, and of CODEOWNERS, which asks them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from publisher.cli.doctor_seen import HIDDEN, Seen
from publisher.engine.examining import Finding, good, problem, warning
from publisher.errors import EXIT_INPUT

if TYPE_CHECKING:
    from publisher.domain.approval import ApprovalRules, Approver

MAY_WRITE = ("admin", "maintain", "write")
OWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where GitHub looks, in its order."""
OWNED = {"plans/": "plans/site/daily/2026/2026-01-01.yaml", "approval.yaml": "approval.yaml"}
"""What should have owners, and a path that stands for it."""


# --- people -----------------------------------------------------------------------------------------------------------------------


def look(seen: Seen, rules: ApprovalRules) -> Iterator[Finding]:
    """Each is the account that is meant, a person, and may write; and there are enough of them."""
    able, unseen = [], False
    for approver in rules.approvers:
        finding = _wrong_with(seen, approver)
        if finding is None:
            may = _may_write(seen, approver)
            able += [approver.login] if may is not False else []
            unseen = unseen or may is None
            finding = None if may is not False else _only_reads(approver)
        if finding:
            yield finding
    yield _enough(rules, able, unseen=unseen)


def _wrong_with(seen: Seen, approver: Approver) -> Finding | None:
    account = seen.ask(f"/user/{approver.id}", "the accounts of approval.yaml")
    if account is HIDDEN:
        return None
    if account is None:
        return problem(
            "approvers", "approver-unknown", f"there is no account {approver.id}, which approval.yaml names {approver.login}",
            next=f"gh api users/{approver.login} --jq .id, then correct approval.yaml by a reviewed request", exit_code=EXIT_INPUT,
        )  # fmt: skip
    if account["type"] != "User":
        return problem(
            "approvers", "approver-not-person", f"{approver.login} ({approver.id}) is not a person's account, and never counts",
            next="take it out of approval.yaml by a reviewed request", exit_code=EXIT_INPUT,
        )  # fmt: skip
    if account["login"].casefold() != approver.login.casefold():
        return problem(
            "approvers", "approver-differs",
            f"account {approver.id} is {account['login']}, and approval.yaml names it {approver.login}; the number decides",
            next="correct approval.yaml by a reviewed request", exit_code=EXIT_INPUT,
        )  # fmt: skip
    return None


def _may_write(seen: Seen, approver: Approver) -> bool | None:
    """None where it is not seen."""
    permission = seen.ask(f"collaborators/{approver.login}/permission", "what approvers may do here")
    if permission is HIDDEN:
        return None
    return isinstance(permission, dict) and permission.get("permission") in MAY_WRITE


def _only_reads(approver: Approver) -> Finding:
    return warning(
        "approvers", f"{approver.login} may not write here, so a review by them does not count",
        next=f"give {approver.login} the role write", code="approver-cannot-write",
    )  # fmt: skip


def _enough(rules: ApprovalRules, able: list[str], *, unseen: bool) -> Finding:
    """A request's author never counts. Those of the planner are opened by an App or a run, so all approvers are left."""
    named = ", ".join(able[:5]) + (f" and {len(able) - 5} more" if len(able) > 5 else "")
    if len(able) < rules.count:
        return problem(
            "approvers", "too-few-approvers", f"{rules.count} must approve, and {named or 'nobody'} can",
            next="add approvers (login and id) to approval.yaml by a reviewed request, and give them the role write",
        )  # fmt: skip
    alone = "; what one of them requests, nobody else can approve" if len(able) == rules.count else ""
    return good(
        "approvers", f"{named} can approve, {rules.count} needed{alone}" + ("; their roles are not seen" if unseen else "")
    )


# --- CODEOWNERS -------------------------------------------------------------------------------------------------------------------


def owners(root: Path) -> Iterator[Finding]:
    """Whether the file that asks people for reviews names somebody for what approvals are about."""
    from publisher.gitstore.working_tree import read_file

    path = next((path for path in OWNERS if (root / path).is_file()), "")
    if not path:
        yield warning(
            "CODEOWNERS", "there is none: nobody is asked to review plans by themselves", next="publisher init --github writes one",
            code="no-codeowners",
        )  # fmt: skip
        return
    text = (read_file(root, path) or b"").decode("utf-8", "replace")
    missing = [what for what, example in OWNED.items() if not owners_of(text, example)]
    if missing:
        yield warning(
            "CODEOWNERS", f"{path} names nobody for {' and '.join(missing)}", next=f"add lines such as: /{missing[0]} @somebody",
            code="codeowners-gap", where=f"{path}:1:1",
        )  # fmt: skip
    else:
        yield good("CODEOWNERS", f"{path} names owners of plans/ and approval.yaml")


def owners_of(text: str, path: str) -> tuple[str, ...]:
    """Who owns a path: the last line whose pattern fits it decides, and one without owners takes them away."""
    found: tuple[str, ...] = ()
    for line in text.splitlines():
        pattern, *names = line.split("#", 1)[0].split() or [""]
        if pattern and _pattern(pattern).fullmatch(path):
            found = tuple(names)
    return found


def _pattern(pattern: str) -> re.Pattern[str]:
    """Patterns are those of gitignore, less negation and ranges (GitHub, "About code owners")."""
    anchored = "/" in pattern.rstrip("/")
    text = pattern.strip("/")
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(parts.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*\*|\*|\?)", text))
    # A folder's pattern holds what is below it; "docs/*" holds files directly in docs alone.
    below = "/.*" if pattern.endswith("/") else "" if text.endswith("/*") else "(?:/.*)?"
    return re.compile(("" if anchored or pattern.startswith("/") else "(?:.*/)?") + body + below)
