"""The launch chain's two steps: build (a release that people can look at before they decide) and release (gate G3)."""

from __future__ import annotations

from publisher.domain.facts import Built
from publisher.domain.fingerprint import short
from publisher.errors import NeedsPerson
from publisher.ports import Bench
from publisher.workers import build as building
from publisher.workers import confirm, deploy, prepare


def build(bench: Bench) -> None:
    """Prepared, built, put on the staging target, so that the gate's reviewer can see it, and then recorded."""
    prepare.work(bench)
    made = building.make(bench)
    if bench.staging:
        live = bench.staging.look()
        if live.release != made.id:
            bench.progress("putting the release on staging")
            bench.staging.store(made, base=live.release, fence=bench.fence)
            bench.staging.switch(made, base=live.release, fence=bench.fence, record=bench.announced_in())
    # Recorded last: whoever finds the record finds the release on staging.
    bench.commit(f"{bench.site.id} launch: built release {short(made.id)}")


def release(bench: Bench) -> None:
    """Deploys exactly the release that the gate approved, and sees it in public."""
    built = bench.history.built
    assert built is not None
    if not bench.history.deployed:
        _require_same(bench, built)
        deploy.work(bench)
    confirm.work(bench)


def _require_same(bench: Bench, built: Built) -> None:
    if built.base != bench.production.release:
        raise NeedsPerson(
            "base-moved", f"release {short(built.release)} was approved on another base; it must be built and asked for again",
            next=f'publisher revise {bench.plan.path} --reason "…"', plan=bench.plan.path,
        )  # fmt: skip
