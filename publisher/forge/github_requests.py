"""Requests at GitHub: one branch, one commit and one pull request for each thing that is proposed.

Rules:
* a repetition finds its own request by its branch, which is named by the marker; what is open and brings the same plans on
  another branch is somebody else's, and is neither changed nor doubled;
* an open request is brought up to date only while every byte on its branch is as it was composed here, and nobody reviewed it;
* branches move under an exact lease, and only a read of the remote says where they are; a pull request is asked for once, and
  after anything but a plain yes the open ones are looked at before anything else is done;
* what is proposed was chosen from ``tips``: where requests or plans of the same site moved since, it is chosen again. Of two
  that were opened at the same moment the higher number is withdrawn: who closes their own request rejects nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NoReturn, Protocol
from urllib.parse import urlsplit

from publisher.domain.approval import Approval
from publisher.errors import ComeBackLater, NeedsPerson, OutcomeUnknown, Refusal
from publisher.forge.github_open_pulls import PREFIX, OpenPull, OpenPulls
from publisher.forge.incoming import RULES_PATH
from publisher.forge.proposals import (
    Files,
    content_of,
    is_as_composed,
    message_of,
    require_proposable,
    sites_in,
    still_fits,
)
from publisher.forge.request_branches import RequestBranches
from publisher.forge.tree_changes import Trees
from publisher.ports import GitWrites, HostWrites, OpenRequest, Tips

LONGEST_TITLE = 250
AGAIN = "publisher plan"
NOBODY = ("publisher", "publisher@localhost")
"""Author of commits where the token does not say whose it is: those of GitHub Apps do not. No account has this address."""


class Forge(Protocol):
    """What is asked of the reading door."""

    @property
    def branch(self) -> str:
        """The default branch's name."""

    @property
    def trees(self) -> Trees: ...

    def open_requests(self, tips: Tips) -> tuple[OpenRequest, ...]: ...


class GithubRequests:
    """Implements ``Requests``."""

    def __init__(
        self, git: GitWrites, forge: Forge, host: HostWrites, *, clock: Callable[[], datetime], remote: str = "origin"
    ) -> None:
        self._git = git
        self._forge = forge
        self._host = host
        self._clock = clock
        self._trees = forge.trees
        self._branches = RequestBranches(git, remote, forge.branch)
        self._pulls = OpenPulls(host, forge.branch)
        self._heads: dict[int, str] = {}
        """Where requests stand that this process opened or moved, whatever ``tips`` says."""
        self._pages: dict[int, str] = {}
        self.left_alone: set[int] = set()
        self._account: Mapping[str, Any] | None = None

    # --- reading ----------------------------------------------------------------------------------------------------------

    def branches(self) -> Mapping[int, str]:
        """Number and branch of every open request of this repository."""
        return {pull.number: pull.branch for pull in self._listed()}

    def page_of(self, number: int) -> str:
        """The address at which people decide a request."""
        if number not in self._pages:
            self._pages[number] = self._pulls.page(number)
        return self._pages[number]

    def decide(self, tips: Tips, number: int, approve: bool, now: datetime) -> tuple[Approval, ...]:
        """Always refuses: at GitHub people decide on the pull request's own page, and nobody signs for them."""
        try:
            page = self.page_of(number)
        except Refusal:
            page = ""
        raise NeedsPerson(
            "decide-on-host", f"request {number} is decided on its own page: by a review and a merge, or by closing it",
            next=page or f"open pull request {number} of {self._host.repository}",
        )  # fmt: skip

    def _listed(self) -> tuple[OpenPull, ...]:
        pulls = self._pulls.listed()
        self._pages |= {pull.number: pull.page for pull in pulls}
        return pulls

    # --- opening ----------------------------------------------------------------------------------------------------------

    def open(self, tips: Tips, files: Files, title: str, marker: str, body: str = "") -> int:
        """The number of the open request that proposes exactly ``files``."""
        require_proposable(self._git, tips.default, files)
        title, branch = title_of(title), branch_of(marker)
        pulls = self._listed()
        own = next((pull for pull in pulls if pull.branch == branch), None)
        if own:
            self._bring_up_to_date(own, tips, files, title, marker, body)
            return own.number
        number = self._brought_by_another(tips, files)
        if number in {pull.number for pull in pulls}:
            if not still_fits(self._git, self._trees, tips.default, tips.requests[number], files):
                self.left_alone.add(number)
            return number
        self._require_unraced(tips, pulls, files)
        commit = self._put(tips, files, title, marker, expected=None)
        pull = self._ask(branch, commit, title, body)
        self._heads[pull.number], self._pages[pull.number] = commit, pull.page
        self._require_first(pull, tips, files)
        return pull.number

    def _brought_by_another(self, tips: Tips, files: Files) -> int:
        """The open request of another branch that brings all these files already, 0 where there is none."""
        known = [item for item in self._forge.open_requests(tips) if set(files) <= set(item.paths)]
        return known[0].number if known else 0

    def _bring_up_to_date(self, pull: OpenPull, tips: Tips, files: Files, title: str, marker: str, body: str) -> None:
        if pull.head not in (self._heads.get(pull.number), tips.requests.get(pull.number)):
            raise _raced(f"request {pull.number} moved meanwhile")
        fits = still_fits(self._git, self._trees, tips.default, pull.head, files)
        told = (pull.title, _plain(pull.body)) == (title, _plain(body))
        if fits and told:
            return
        if not is_as_composed(self._git, self._trees, tips.default, pull.head, marker) or self._pulls.is_reviewed(pull):
            self.left_alone |= set() if fits else {pull.number}
            return
        if not fits:
            self._heads[pull.number] = self._put(tips, files, title, marker, expected=pull.head)
        if not told:
            self._rewrite(pull.number, title, body)

    def _rewrite(self, number: int, title: str, body: str) -> None:
        try:
            self._pulls.rewrite(number, title, body)
        except OutcomeUnknown:
            now = next((pull for pull in self._pulls.listed() if pull.number == number), None)
            if now is None or (now.title, _plain(now.body)) != (title, _plain(body)):
                raise ComeBackLater(
                    "request-text-unknown", f"the text of request {number} may be an older one", next=AGAIN
                ) from None

    # --- the branch -------------------------------------------------------------------------------------------------------

    def _put(self, tips: Tips, files: Files, title: str, marker: str, *, expected: str | None) -> str:
        """One commit of ``files`` on the default branch, put where the marker's branch is ``expected``; None: wherever it is.

        A branch without an open request is left over from one that was decided, or whose opening was interrupted.
        """
        ref = f"refs/heads/{branch_of(marker)}"
        live = self._branches.look(self._branches.default, ref)
        if self._plans_moved(tips, live.get(self._branches.default, ""), files):
            raise _raced("plans of this site were merged meanwhile")
        known = live.get(ref, "") if expected is None else expected
        name, address = self._author()
        commit = self._git.compose(
            parents=[tips.default], base_tree=tips.default, changes=dict(files), author=name, email=address, at=self._clock(),
            message=message_of(title, marker, content_of(files)),
        )  # fmt: skip
        for _ in range(2):
            seen = self._branches.put(commit, ref, known)
            if seen == commit:
                return commit
            if seen != known:
                raise _raced("the request's branch was taken meanwhile")
        raise ComeBackLater(
            "push-refused", f"the remote does not take {branch_of(marker)}: the token needs contents: write, and no rule may "
            f"close branches below {PREFIX}", next="publisher doctor",
        )  # fmt: skip

    def _plans_moved(self, tips: Tips, live: str, files: Files) -> bool:
        if live in ("", tips.default):
            return False
        self._branches.fetch(self._branches.default)
        places = [place if place == RULES_PATH else f"plans/{place}" for place in sites_in(files)]
        return any(self._trees.entry(live, place) != self._trees.entry(tips.default, place) for place in places)

    def _author(self) -> tuple[str, str]:
        me = self._me()
        if not me.get("login") or not me.get("id"):
            return NOBODY
        server = urlsplit(str(me.get("html_url", ""))).hostname or "github.com"
        return str(me["login"]), f"{me['id']}+{me['login']}@users.noreply.{server}"

    def _me(self) -> Mapping[str, Any]:
        """The account that the token belongs to; empty for an App's, which may not ask."""
        if self._account is None:
            try:
                found = self._host.get("/user")
            except NeedsPerson:
                found = None
            self._account = found if isinstance(found, dict) else {}
        return self._account

    # --- the pull request -------------------------------------------------------------------------------------------------

    def _ask(self, branch: str, commit: str, title: str, body: str) -> OpenPull:
        """Asks for the pull request once. Whatever the answer, one that is open for this branch is the one."""
        answer: Refusal | None = None
        try:
            pull = self._pulls.open(branch, title, body)
        except Refusal as refusal:
            answer, pull = refusal, None
        pull = pull or self._pulls.of_branch(branch)
        if pull is None:
            self._not_opened(answer, branch, commit)
        if pull.head != commit:
            raise _raced(f"request {pull.number} holds another proposal")
        return pull

    def _not_opened(self, answer: Refusal | None, branch: str, commit: str) -> NoReturn:
        ref = f"refs/heads/{branch}"
        if answer and answer.code == "host-refused" and self._branches.look(ref).get(ref) != commit:
            raise _raced("the request's branch was taken meanwhile")
        if answer and answer.code in ("host-forbidden", "host-refused"):
            raise NeedsPerson(
                "may-not-open", "GitHub does not let this token open a pull request here",
                next="allow it under Settings, Actions, General, Workflow permissions (Allow GitHub Actions to create and approve "
                "pull requests), or give publisher the token of a GitHub App with pull_requests: write as PUBLISHER_TOKEN",
            )  # fmt: skip
        if answer and not isinstance(answer, OutcomeUnknown):
            raise answer
        raise ComeBackLater("request-not-seen", "GitHub gave no answer, and shows no pull request for it yet", next=AGAIN)

    # --- races ------------------------------------------------------------------------------------------------------------

    def _require_unraced(self, tips: Tips, pulls: tuple[OpenPull, ...], files: Files) -> None:
        rivals = self._rivals(tips, pulls, files)
        if rivals:
            raise _raced(f"request {rivals[0].number} was opened meanwhile")

    def _rivals(self, tips: Tips, pulls: tuple[OpenPull, ...], files: Files) -> list[OpenPull]:
        """Open requests about the same site that the choice of ``files`` did not know of."""
        new = [pull for pull in pulls if pull.number not in tips.requests and pull.number not in self._heads]
        return [pull for pull in new if sites_in(self._pulls.paths(pull.number)) & sites_in(files)]

    def _require_first(self, pull: OpenPull, tips: Tips, files: Files) -> None:
        """Two can open at the same moment, each before the other is listed. The numbers say who came second."""
        rivals = [rival for rival in self._rivals(tips, self._pulls.listed(), files) if rival.number < pull.number]
        if rivals:
            self._pulls.close(pull.number)
            self._branches.remove(f"refs/heads/{pull.branch}", pull.head)
            raise _raced(f"request {rivals[0].number} was opened at the same moment, and {pull.number} is withdrawn")


def branch_of(marker: str) -> str:
    """The branch of whatever a marker stands for: readable, never a plain number, and another one for every other marker."""
    readable = re.sub(r"[^a-z0-9]+", "-", marker.lower())[:48].strip("-")
    return f"{PREFIX}{readable or 'request'}-{hashlib.sha256(marker.encode()).hexdigest()[:12]}"


def title_of(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def _plain(body: str) -> str:
    """A text as it is compared: forms in browsers send other line ends."""
    return body.replace("\r\n", "\n").strip()


def _raced(says: str) -> ComeBackLater:
    return ComeBackLater("request-raced", says, next=AGAIN)
