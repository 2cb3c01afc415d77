"""What the files of a clone tell about it before git is asked: where its git directory is, and whether history is whole."""

from __future__ import annotations

from pathlib import Path

from publisher.errors import ComeBackLater, InputProblem, StoppedForSafety


def git_dir_of(root: Path) -> Path:
    """The git directory of a working tree (which may be a linked one) or of a bare repository."""
    marker = root / ".git"
    if marker.is_dir():
        return marker
    if marker.is_file():
        text = marker.read_text(encoding="utf-8", errors="surrogateescape")
        if text.startswith("gitdir: "):
            return (root / text.removeprefix("gitdir: ").rstrip("\n")).resolve()
    if (root / "HEAD").is_file() and (root / "objects").is_dir() and (root / "refs").is_dir():
        return root
    raise InputProblem("not-a-repository", "there is no git repository here", next="publisher init", where=str(root))


def common_dir_of(git_dir: Path) -> Path:
    """The directory that linked working trees share."""
    link = git_dir / "commondir"
    return (git_dir / link.read_text(encoding="utf-8").rstrip("\n")).resolve() if link.is_file() else git_dir


def refuse_incomplete(common: Path) -> None:
    """Refuses a clone whose history is cut short, grafted, or borrowed: each gives wrong answers about who introduced what."""
    if _is_filled(common / "shallow"):
        raise StoppedForSafety(
            "shallow-history", "this clone lacks history, and what is missing changes the answers",
            next="git fetch --unshallow (in CI: fetch-depth: 0)",
        )  # fmt: skip
    if _is_filled(common / "info" / "grafts"):
        raise StoppedForSafety("grafted-history", "info/grafts changes this clone's history", next="git clone again")
    borrowed = common / "objects" / "info"
    if _is_filled(borrowed / "alternates") or _is_filled(borrowed / "http-alternates"):
        raise StoppedForSafety(
            "alternate-objects", "this clone borrows objects from another repository",
            next="git repack -a -d, then remove objects/info/alternates",
        )  # fmt: skip


def _is_filled(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def quoted(path: Path) -> str:
    """A path for GIT_ALTERNATE_OBJECT_DIRECTORIES, whose entries are parted by colons unless quoted."""
    text = str(path)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if ":" in text or text.startswith('"') else text


def not_written() -> ComeBackLater:
    """Git could not put an object into this clone. Nothing that is there is wrong, and nothing has left."""
    return ComeBackLater(
        "clone-not-written", "git could not write into this clone: no space, no permission, or an object there is damaged",
        next="look at the disk (git fsck looks at the objects), then publisher run",
    )  # fmt: skip
