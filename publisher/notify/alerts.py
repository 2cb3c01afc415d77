"""Notices to the people on call. The ledger decides what is worth a notice and was not said before; this delivers it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from publisher.domain.instance import ChannelSpec
from publisher.domain.wording import one_line
from publisher.errors import InputProblem, NeedsPerson
from publisher.notify.channels import make_channel
from publisher.notify.github_issue import KIND, GithubIssues
from publisher.notify.recipients import is_address
from publisher.ports import Alerts, Channel, HostWrites, Message

ON_CALL = "on-call"


class Notices:
    """``Alerts`` through a channel. A message's id is made from the notice's id and its recipient, so a repetition of the
    same notice is written once by a file, and recognisable in mail.
    """

    def __init__(self, channel: Channel, recipients: Sequence[str]) -> None:
        self._channel = channel
        self._recipients = tuple(recipients)

    def say(self, notice_id: str, text: str, *, thread: str = "", over: bool = False) -> None:
        """Tells everybody on call; the first line is the subject.

        Being told twice does less harm than not being told: unless somebody was surely reached, ``NeedsPerson``
        (``alert-undelivered``), and the notice is not counted as said.
        """
        if not text:
            return  # a matter ends, and there is nothing to say of it
        subject = text.strip().split("\n", 1)[0][:200]
        results = [
            self._channel.send(Message(id=f"{notice_id} to {recipient}", recipient=recipient, subject=subject, text=text))
            for recipient in self._recipients
        ]
        if not any(result.outcome == "sent" for result in results):
            codes = ", ".join(sorted({result.code for result in results})) or "nobody is on call"
            raise NeedsPerson(
                "alert-undelivered", f"nobody on call was surely told of {notice_id} ({codes})",
                next="check alerts and on_call in publisher.yaml, then publisher doctor",
            )  # fmt: skip


class StderrAlerts:
    """``Alerts`` for a person who watches, and for a CI log."""

    def say(self, notice_id: str, text: str, *, thread: str = "", over: bool = False) -> None:
        # Each line has a beginning of ours, so that no line can be a command to the CI's log reader ("::add-mask::").
        for line in text.strip().splitlines():
            sys.stderr.write(f"notice: {one_line(line).replace('##[', '## [')}\n")
        sys.stderr.flush()


def no_host() -> HostWrites:
    raise InputProblem(
        "alerts-without-host", "alerts as issues need a pull-request host", where="publisher.yaml",
        next="correct alerts in publisher.yaml",
    )  # fmt: skip


def make_alerts(
    spec: ChannelSpec | None,
    base: Path,
    secrets: Mapping[str, str],
    on_call: Sequence[str],
    host: Callable[[], HostWrites] = no_host,
) -> Alerts:
    """The alerts of an instance: its channel, or stderr where none is configured. A file has one line per notice.

    ``host`` is the pull-request host, for alerts that are issues; it is asked for when something is said.
    """
    if spec is None:
        return StderrAlerts()
    if spec.kind == KIND:
        return GithubIssues(spec, base, on_call, host)
    channel = make_channel(spec, base, secrets)
    if spec.kind == "file":
        return Notices(channel, (ON_CALL,))
    if not on_call or not all(is_address(person) for person in on_call):
        raise InputProblem(
            "on-call", "alerts by mail need on_call to be a list of e-mail addresses", where="publisher.yaml",
            next="correct on_call in publisher.yaml",
        )  # fmt: skip
    return Notices(channel, on_call)
