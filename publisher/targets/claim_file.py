"""The claim file that stands beside a live release, and the rule which fences a target accepts.

Rules (DESIGN.md, sections 5 and 6):
* the claim file is outside the release's id: it says which claim made the release public, and on which base;
* a lower fence than the highest accepted is refused, whatever else it brings;
* an equal number belongs to one holder: another nonce or another epoch id is somebody else's and is refused;
* a claim file that does not read, or that names another site, stops; it is never taken for "no fence yet".
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from publisher.domain.claim import Fence, fence_of
from publisher.domain.fingerprint import canonical_json, is_digest
from publisher.errors import StoppedForSafety

LARGEST_CLAIM = 4096
"""Bytes. A claim file has some 400; anything much larger is not one."""


@dataclass(frozen=True, kw_only=True)
class ClaimFile:
    """``base`` and ``release`` are release ids, "" for none (a fence raised before the first release)."""

    fence: Fence
    base: str
    release: str
    site: str

    def as_bytes(self) -> bytes:
        data = {**self.fence.as_data(), "base": self.base, "release": self.release, "site": self.site}
        return canonical_json(data) + b"\n"


def read_claim(data: bytes, *, site: str) -> ClaimFile:
    """The claim file in ``data``. ``StoppedForSafety`` when it does not read or belongs to another site."""
    fields = _mapping(data, site)
    base, release = fields.get("base"), fields.get("release")
    if not all(text == "" or is_digest(text) for text in (base, release)):
        raise _corrupt(site)
    return ClaimFile(fence=_fence(fields, site), base=str(base), release=str(release), site=site)


def read_fence(data: bytes, *, site: str) -> Fence:
    """The fence in a fence record (the claim file's fields without base and release); refusals as for ``read_claim``."""
    return _fence(_mapping(data, site), site)


def fence_record(fence: Fence, *, site: str) -> bytes:
    """What ``read_fence`` reads."""
    return canonical_json({**fence.as_data(), "site": site}) + b"\n"


def _mapping(data: bytes, site: str) -> dict[str, object]:
    if len(data) > LARGEST_CLAIM:
        raise _corrupt(site)
    try:
        fields = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise _corrupt(site) from None
    if not isinstance(fields, dict) or not isinstance(fields.get("site"), str):
        raise _corrupt(site)
    if fields["site"] != site:
        raise StoppedForSafety(
            "target-foreign", f"the target configured for {site} carries the claim of another site", next="publisher doctor"
        )
    return fields


def _fence(fields: dict[str, object], site: str) -> Fence:
    try:
        return fence_of(fields)
    except ValueError:
        raise _corrupt(site) from None


def _corrupt(site: str) -> StoppedForSafety:
    return StoppedForSafety(
        "claim-corrupt",
        f"the claim that stands at the target of {site} cannot be read, so the fence it has accepted is not known",
        next="publisher reconcile",
    )


def require_fence(held: Fence | None, offered: Fence, *, site: str) -> None:
    """Refuses ``offered`` when the target has accepted a higher fence, or an equal one of another holder."""
    if held is None or held == offered:
        return
    if offered < held:
        whose = ""
    elif held.epoch == offered.epoch and held.epoch_id != offered.epoch_id:
        # Two restores that both started this epoch: their numbers cannot be compared.
        whose = " of another epoch id"
    elif held < offered:
        return
    else:
        whose = " from another holder"
    reason = f"the target of {site} has accepted {_named(held)}{whose}; {_named(offered)} is refused and changes nothing"
    raise StoppedForSafety("fence-refused", reason, next="publisher status")


def _named(fence: Fence) -> str:
    return f"fence {fence.number} (epoch {fence.epoch})"


def require_base(live: str, *, release: str, base: str, site: str) -> None:
    """Refuses a switch when neither ``base`` nor already ``release`` is live."""
    if live not in (base, release):
        raise base_moved(live, base=base, site=site)


def base_moved(live: str, *, base: str, site: str) -> StoppedForSafety:
    """The refusal of a switch from a base that is not live; full ids, since a person compares them with the ledger."""
    return StoppedForSafety(
        "base-moved",
        f"the target of {site} holds {live or 'nothing'}, and this switch starts from {base or 'nothing'}; it changes nothing",
        next="publisher reconcile",
    )
