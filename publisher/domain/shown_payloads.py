"""The payloads of a request in one short line: what its commit status says, and what an approver can compare.

One plan's payload stands there itself. Several are named together by one digest over their paths and payloads.
"""

from __future__ import annotations

from collections.abc import Mapping

from publisher.domain.fingerprint import short, tree_digest

LONGEST = 140
"""What a pull-request host keeps of a status's description."""


def shown_payloads(payloads: Mapping[str, str]) -> str:
    """The line for plans given as path → payload hash; at most ``LONGEST`` characters."""
    if not payloads:
        return "no plan in this request"
    if len(payloads) == 1:
        return next(iter(payloads.values()))
    text = f"{len(payloads)} payloads, together {tree_digest(payloads)}"
    each = f" ({', '.join(short(payloads[path]) for path in sorted(payloads))})"
    return text + each if len(text) + len(each) <= LONGEST else text
