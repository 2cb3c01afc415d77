"""The registry: one line per step. A literal table, so that a plan can never name code.

``effects`` lists what a worker may cause outside beside the journal's own pushes (``records.publish``); the crash sweep fails a
worker that causes anything else.
"""

from __future__ import annotations

from publisher.ports import Worker
from publisher.workers import announce, build, confirm, deploy, prepare, release

PUSH = "records.publish"

WORKERS: dict[tuple[str, str], Worker] = {
    ("publication", "prepare"): Worker(step="prepare", effects=(), work=prepare.work),
    ("publication", "build"): Worker(step="build", effects=(), work=build.work, vouch=build.vouch),
    ("publication", "deploy"): Worker(step="deploy", effects=(PUSH, "target.store", "target.switch"), work=deploy.work),
    ("publication", "confirm"): Worker(step="confirm", effects=(PUSH, "target.show"), work=confirm.work),
    ("publication", "announce"): Worker(step="announce", effects=(PUSH, "channel.send"), work=announce.work),
    ("change", "prepare"): Worker(step="prepare", effects=(), work=prepare.work),
    ("change", "build"): Worker(step="build", effects=(), work=build.work, vouch=build.vouch),
    ("change", "deploy"): Worker(step="deploy", effects=(PUSH, "target.store", "target.switch"), work=deploy.work),
    ("change", "confirm"): Worker(step="confirm", effects=(PUSH, "target.show"), work=confirm.work),
    ("launch", "build"): Worker(
        step="build", effects=(PUSH, "staging.store", "staging.switch"), work=release.build, vouch=build.vouch
    ),
    ("launch", "release"): Worker(
        step="release", effects=(PUSH, "target.store", "target.switch", "target.show"), work=release.release
    ),
}
