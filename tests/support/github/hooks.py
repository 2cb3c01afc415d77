"""The hooks of the bare repository: protection before a push, a note of every moved ref after it. Shell only, so a push stays cheap.

The environment says who pushes (``REMOTE_USER``) and which push it is (``SIM_PUSH``). ``protection`` holds one line for each rule
(``pattern rule ,who,may,bypass, mode``), ``moves`` receives one line for each verdict and each moved ref.
"""

from __future__ import annotations

from pathlib import Path

PRE_RECEIVE = r"""#!/bin/sh
zero=0000000000000000000000000000000000000000
status=0
say() { echo "error: GH013: Repository rule violations found for $1." >&2; echo "- $2" >&2; }
while read -r old new ref; do
  result=
  if [ -n "$SIM_NO_WORKFLOWS" ] && [ "$new" != $zero ]; then
    touched=$(git rev-list -1 "$new" --not --all -- .github/workflows)
    if [ -n "$touched" ]; then
      echo "error: refusing to allow a GitHub App to create or update workflow without \`workflows\` permission" >&2
      status=1
    fi
  fi
  while read -r pattern rule free mode; do
    case "$ref" in $pattern) ;; *) continue ;; esac
    bypass=
    case "$free" in *",$REMOTE_USER,"*) bypass=$mode ;; esac
    [ "$bypass" = exempt ] && continue
    [ -n "$result" ] || result=pass
    broken=
    case "$rule" in
      creation) [ "$old" = $zero ] && broken="Cannot create ref due to creations being restricted." ;;
      update) [ "$old" != $zero ] && [ "$new" != $zero ] && broken="Cannot update this protected ref." ;;
      deletion) [ "$new" = $zero ] && broken="Cannot delete this branch" ;;
      non_fast_forward)
        if [ "$old" != $zero ] && [ "$new" != $zero ]; then
          git merge-base --is-ancestor "$old" "$new" || broken="Cannot force-push to this branch"
        fi ;;
      pull_request) [ "$new" != $zero ] && [ "$old" != $zero ] && broken="Changes must be made through a pull request." ;;
      required_status_checks) [ "$new" != $zero ] && [ "$old" != $zero ] && broken="Required status checks are expected." ;;
      required_linear_history)
        if [ "$new" != $zero ] && [ "$old" != $zero ]; then
          [ -n "$(git rev-list -1 --min-parents=2 "$old..$new")" ] && broken="This branch must not contain merge commits."
        fi ;;
    esac
    [ -n "$broken" ] || continue
    if [ "$bypass" = always ]; then
      [ $result = fail ] || result=bypass
      continue
    fi
    say "$ref" "$broken"
    result=fail
    status=1
  done < protection
  [ -z "$result" ] || printf 'suite %s %s %s %s %s %s\n' "$SIM_PUSH" "$REMOTE_USER" "$old" "$new" "$ref" $result >> moves
done
exit $status
"""
POST_RECEIVE = r"""#!/bin/sh
while read -r old new ref; do
  printf 'moved %s %s %s %s %s -\n' "$SIM_PUSH" "$REMOTE_USER" "$old" "$new" "$ref" >> moves
done
"""


def install(bare: Path) -> None:
    (bare / "protection").write_text("", encoding="utf-8")
    (bare / "moves").write_text("", encoding="utf-8")
    for name, script in (("pre-receive", PRE_RECEIVE), ("post-receive", POST_RECEIVE)):
        path = bare / "hooks" / name
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)


class HookLog:
    """Reads on where it stopped."""

    def __init__(self, bare: Path) -> None:
        self._path, self._read = bare / "moves", 0

    def new(self) -> list[list[str]]:
        """Rows of (kind, push, key, before, after, ref, result)."""
        if self._path.stat().st_size == self._read:
            return []
        data = self._path.read_bytes()[self._read :]
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        return [line.split(" ") for line in whole.decode("utf-8").splitlines()]
