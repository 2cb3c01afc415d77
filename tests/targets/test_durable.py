"""Durable writes, and which refusal each of the system's errors becomes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from publisher.errors import NeedsPerson
from publisher.targets.durable import replace_file, system_errors, write_new


def test_a_new_file_never_replaces_one_nor_follows_a_link(tmp_path: Path) -> None:
    kept, link = tmp_path / "kept", tmp_path / "link"
    kept.write_bytes(b"kept")
    link.symlink_to("kept")
    for path in (kept, link):
        with pytest.raises(FileExistsError):
            write_new(path, iter((b"other",)))
    assert kept.read_bytes() == b"kept"


def test_a_file_is_replaced_whole_even_where_writes_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, bytes(data)[:3]))
    (tmp_path / "file").write_bytes(b"old")
    replace_file(tmp_path / "file", b"the new bytes", scratch=tmp_path / "scratch")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"the new bytes"}


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.EACCES, "target-not-writable"),
        (errno.EROFS, "target-not-writable"),
        (errno.ENOSPC, "target-full"),
        (errno.EDQUOT, "target-full"),
        (errno.EIO, "target-failed"),
        (None, "target-failed"),
    ],
)
def test_the_system_s_own_words_are_never_passed_on(number: int | None, code: str) -> None:
    with pytest.raises(NeedsPerson) as refusal, system_errors("public"):
        raise OSError(number, "a private path")
    assert refusal.value.code == code
    assert "private" not in str(refusal.value)
    assert number is None or errno.errorcode[number] in refusal.value.says
