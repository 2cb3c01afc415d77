"""The launch chain's two steps: build (a release that people can look at before they decide) and release (gate G3)."""

from __future__ import annotations

from publisher.domain.article import Release
from publisher.domain.facts import Built
from publisher.domain.fingerprint import short
from publisher.errors import NeedsPerson
from publisher.ports import Bench, BranchUpdate
from publisher.workers import build as building
from publisher.workers import confirm, deploy, prepare


def build(bench: Bench) -> None:
    """Prepared, built, put on the staging target, so that the gate's reviewer can see it, and then recorded."""
    prepare.work(bench)
    made = building.make(bench)
    joined = _put_on_staging(bench, made)
    # Recorded last, or in the same push: whoever finds the record finds the release on staging.
    bench.commit(f"{bench.site.id} launch: built release {short(made.id)}", joined)


def _put_on_staging(bench: Bench, made: Release) -> list[BranchUpdate]:
    """What a staging branch of the ledger's own repository moves with the record; elsewhere it is switched here."""
    staging = bench.staging
    live = staging.look() if staging else None
    if staging is None or live is None or live.release == made.id:
        return []
    bench.progress("putting the release on staging")
    if staging.joins_ledger:
        return [staging.joined_update(made, base=live.release, fence=bench.fence)]
    staging.store(made, base=live.release, fence=bench.fence)
    staging.switch(made, base=live.release, fence=bench.fence, record=bench.announced_in())
    return []


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
