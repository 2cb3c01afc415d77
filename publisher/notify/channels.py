"""The kinds of channel. A literal table, so that a configuration can name a kind and never code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from publisher.domain.instance import ChannelSpec
from publisher.errors import InputProblem
from publisher.notify.file_channel import FileChannel
from publisher.notify.smtp_channel import SmtpChannel
from publisher.ports import Channel

KINDS: dict[str, Callable[[ChannelSpec, Path, Mapping[str, str]], Channel]] = {
    "file": FileChannel,
    "smtp": SmtpChannel,
}


def make_channel(spec: ChannelSpec, base: Path, secrets: Mapping[str, str]) -> Channel:
    """The channel of a configuration entry. ``base`` is the instance's checkout; ``secrets`` are looked up by name later."""
    if spec.kind not in KINDS:
        raise InputProblem(
            "channel-kind", f"channel {spec.name} is of a kind that does not exist; there are {', '.join(KINDS)}",
            where="publisher.yaml", next=f"correct the channel {spec.name} in publisher.yaml",
        )  # fmt: skip
    return KINDS[spec.kind](spec, base, secrets)
