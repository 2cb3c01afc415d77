"""What a machine without space or with a failing disk does to a run: it waits, and nothing is blamed on a step.

Doors turn the errors of their own places into refusals. What is left is scratch space: where releases are built, and git's own
temporary files. That such a write fails says nothing about a plan, so nothing is recorded as failed; the next run does it again.
"""

from __future__ import annotations

import errno

from publisher.errors import ComeBackLater

OF_THE_DISK = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM,
)  # fmt: skip


def disk_trouble(error: BaseException) -> ComeBackLater | None:
    """The refusal for an error of the machine itself; None for any other error, which is a bug."""
    if not isinstance(error, OSError) or error.errno not in OF_THE_DISK:
        return None
    return ComeBackLater(
        "disk-trouble", f"a temporary file could not be written or read ({errno.errorcode[error.errno]})",
        next="free space on the disk (TMPDIR names where), then publisher run",
    )  # fmt: skip
