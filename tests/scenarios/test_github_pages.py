"""Publishing to GitHub Pages from jobs of Actions: two runs and an upload, and what GitHub can do to them in between."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.github.pages_site import TOKEN
from tests.support.pages_stage import Job, PagesStage, pages_stage
from tests.support.stage import DATE, NEXT, PLAN
from tests.support.warm import Warm

TOMORROW = f"blog/daily/2026/{NEXT}"
A_DAY = 24 * 3600
REASON = ("--reason", "seen by a person")


@pytest.fixture(scope="module")
def made(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagesStage]:
    with pages_stage(tmp_path_factory.mktemp("pages"), warm) as stage:
        stage.approved(DATE, 0, 1)
        stage.save("approved")
        yield stage


@pytest.fixture
def stage(made: PagesStage) -> PagesStage:
    """One date is approved, and nothing is public yet."""
    made.back_to("approved")
    return made


@pytest.fixture
def published(made: PagesStage) -> PagesStage:
    """The first date is public, and the next one approved."""
    if "published" not in made._saved:
        made.back_to("approved")
        made.publish(10)
        made.approved(NEXT, A_DAY, 2)
        made.save("published")
    made.back_to("published")
    return made


def uploaded(stage: PagesStage, seconds: float = 10) -> Job:
    """A job whose release is uploaded and not deployed yet."""
    job = stage.job()
    job.run_publisher(seconds, "--scheduled")
    job.upload()
    return job


def is_open(stage: PagesStage) -> bool:
    """Whether a deploy is begun and its end not recorded."""
    words = [word for word in stage.events(PLAN) if word.startswith("deploy")]
    return words[-1] == "deploy-intent"


def require_published_once(stage: PagesStage, plan: str = PLAN) -> None:
    events = stage.events(plan)
    assert events.count("deployed") == events.count("confirmed") == 1
    assert b"marker-0001" in stage.public_text


# --- the quiet day --------------------------------------------------------------------------------------------------------------


def test_a_job_exports_uploads_and_deploys(stage: PagesStage) -> None:
    job = stage.job()
    first = job.run_publisher(10, "--scheduled")
    assert first.code_of(PLAN) == "artifact-wanted"
    assert job.outputs["pages_artifact"].startswith("github-pages-")
    assert not stage.pages.deployments and not stage.live
    assert stage.events(PLAN) == ["approved", "prepared", "built"], "nobody is told of what the next step ends"
    job.upload()
    second = job.run_publisher(15, "--scheduled")
    assert second.plan(PLAN)["did"][-2:] == ["deployed", "confirmed"]
    assert job.outputs == {}, "nothing is left to upload"
    require_published_once(stage)
    [deployment] = stage.pages.deployments
    record = stage.instance.remote.git("show", "--format=", deployment.version)
    assert '"type":"deploy-intent"' in record and '"type":"deployed"' not in record
    assert stage.pages.cancels == 0


def test_the_whole_chain_twice_adds_nothing(stage: PagesStage) -> None:
    stage.publish(10)
    commits, posts, files = stage.instance.commits(), list(stage.pages.posts), dict(stage.pages.files)
    again = stage.job()
    assert again.run_publisher(60, "--scheduled").data["sites"][0]["pushes"] == 0
    assert again.outputs == {}
    again.run_publisher(65, "--scheduled")
    assert (stage.instance.commits(), stage.pages.posts, stage.pages.files) == (commits, posts, files)


def test_the_next_day_is_built_on_it(published: PagesStage) -> None:
    before = set(published.live)
    published.publish(A_DAY + 10)
    require_published_once(published)
    assert published.events(TOMORROW).count("confirmed") == 1
    assert before < set(published.live)
    assert len({one.version for one in published.pages.deployments}) == 2, "each deployment has a version of its own"


def test_two_dates_are_published_one_after_the_other(stage: PagesStage) -> None:
    """What a job exports is one release. The other date waits for the next upload, and is not let past."""
    stage.approved(NEXT, 5, 2)
    for seconds, confirmed in ((15 * 3600, [1, 0]), (15 * 3600 + 60, [1, 1])):
        job = uploaded(stage, seconds)
        job.run_publisher(seconds + 5, "--scheduled")
        assert [stage.events(plan).count("confirmed") for plan in (PLAN, TOMORROW)] == confirmed


# --- what the upload may be ----------------------------------------------------------------------------------------------------


def test_an_artifact_of_another_release_is_not_deployed(published: PagesStage) -> None:
    old = published.pages.deployments[0].artifact
    job = published.job()
    job.run_publisher(A_DAY + 10, "--scheduled")
    job.artifact = str(old.id)
    done = job.run_publisher(A_DAY + 15, "--scheduled")
    assert done.code_of(TOMORROW) == "artifact-wanted"
    assert len(published.pages.deployments) == 1
    job.upload()  # it was asked for once more
    job.run_publisher(A_DAY + 20, "--scheduled")
    assert published.events(TOMORROW).count("confirmed") == 1


@pytest.mark.parametrize("spoil", ["another-run", "another-name", "expired", "gone"])
def test_an_artifact_that_is_not_this_run_s_is_not_deployed(stage: PagesStage, spoil: str) -> None:
    job = uploaded(stage)
    artifact = stage.pages.artifacts[int(job.artifact)]
    if spoil == "another-run":
        artifact.run = "7"
    elif spoil == "another-name":
        artifact.name = "github-pages"
    elif spoil == "expired":
        artifact.expired = True
    else:
        stage.pages.artifacts.clear()
    done = job.run_publisher(15, check=5)
    assert done.code_of(PLAN) == "artifact-wanted"
    assert not stage.pages.deployments


def test_another_attempt_uploads_under_another_name(stage: PagesStage) -> None:
    first = uploaded(stage)
    second = Job(stage, first.run, attempt=2)
    second.run_publisher(60, "--scheduled")
    second.upload()  # fails on a name that is taken
    second.run_publisher(65, "--scheduled")
    require_published_once(stage)


def test_outside_of_actions_nothing_is_begun_and_nothing_has_failed(stage: PagesStage) -> None:
    instance = stage.instance
    instance.environment |= {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": stage.pages.api_url}
    try:
        done = instance.driven("ci", "run", "--json", now="2026-03-01T10:00:10+08:00")
    finally:
        instance.environment.clear()
    assert done.returncode == 5 and "not-in-actions" in done.stdout
    assert "failed" not in stage.events(PLAN)
    stage.publish(60)
    require_published_once(stage)


# --- what may become of a deployment ----------------------------------------------------------------------------------------------


def test_a_time_out_cancels_nothing_and_is_recorded_once_it_has_landed(stage: PagesStage) -> None:
    job = uploaded(stage)
    stage.pages.fate = "hangs"
    job.run_publisher(15, check=6)
    assert stage.pages.cancels == 0 and is_open(stage)
    early = stage.job()
    waits = early.run_publisher(900, check=None)
    assert waits.code_of(PLAN) == "deployment-under-way"
    assert "unknown" not in stage.events(PLAN), "it is not a person's yet"
    stage.pages.land(stage.pages.deployments[0])
    later = stage.job()
    later.run_publisher(1800)
    require_published_once(stage)
    assert [event["how"] for event in stage.instance.ledger(PLAN) if event["type"] == "deployed"] == ["seen"]
    assert len(stage.pages.deployments) == 1 and later.outputs == {}


def test_a_lost_deployment_that_landed_is_seen(stage: PagesStage) -> None:
    job = uploaded(stage)
    stage.pages.fate = "lands-and-is-lost"
    job.run_publisher(15)
    require_published_once(stage)


def test_a_lost_deployment_that_did_not_land_is_a_person_s(stage: PagesStage) -> None:
    job = uploaded(stage)
    stage.pages.fate = "lost"
    job.run_publisher(15, check=6)
    done = stage.job().run_publisher(60, check=6)
    assert done.code_of(PLAN) == "deploy-unknown"
    assert stage.events(PLAN)[-1] in ("unknown", "noticed")
    stage.instance.driven("reviewer", "settle", PLAN, "deploy", "--did-not", *REASON, check=0, now="2026-03-01T10:02:00+08:00")
    stage.instance.driven("reviewer", "retry", PLAN, "deploy", *REASON, check=0, now="2026-03-01T10:03:00+08:00")
    stage.pages.fate = "lands"
    stage.publish(240)
    require_published_once(stage)
    assert len({one.version for one in stage.pages.deployments}) == 2, "a recovery is a new deployment, never the old one again"


def test_a_failed_deployment_is_a_failure_and_not_an_open_question(stage: PagesStage) -> None:
    job = uploaded(stage)
    stage.pages.fate = "failed"
    done = job.run_publisher(15, check=4)
    assert done.code_of(PLAN) == "deployment-failed"
    assert [word for word in stage.events(PLAN) if word.startswith(("deploy", "failed"))] == [
        "deploy-intent", "deploy-closed", "failed",
    ]  # fmt: skip
    stage.instance.driven("reviewer", "retry", PLAN, "deploy", *REASON, check=0, now="2026-03-01T10:03:00+08:00")
    stage.pages.fate = "lands"
    stage.publish(240)
    require_published_once(stage)


def test_while_another_deployment_runs_it_comes_back_later(stage: PagesStage) -> None:
    job = uploaded(stage)
    stage.pages.fate = "busy"
    done = job.run_publisher(15, check=5)
    assert done.code_of(PLAN) == "pages-busy"
    assert not is_open(stage)
    stage.pages.fate = "lands"
    stage.publish(60)
    require_published_once(stage)


@pytest.mark.parametrize("fate", ["unanswered", "unanswered-and-never-begun"])
def test_an_answer_that_is_lost_is_found_out(stage: PagesStage, fate: str) -> None:
    job = uploaded(stage)
    stage.pages.fate = fate
    job.run_publisher(15, check=0 if fate == "unanswered" else 6)
    assert sum(path == "pages/deployments" for path, _ in stage.pages.posts) == 1, "it is never asked for twice"
    if fate == "unanswered":
        require_published_once(stage)
    else:
        assert is_open(stage)


def test_a_job_without_the_permission_says_so_before_anything_is_begun(stage: PagesStage) -> None:
    job = uploaded(stage)
    real, stage.pages.environment = stage.pages.environment, lambda run, attempt=1: {  # type: ignore[method-assign]
        name: value for name, value in real(run, attempt).items() if not name.startswith("ACTIONS_ID")
    }  # fmt: skip
    try:
        done = job.run_publisher(15, check=4)
    finally:
        stage.pages.environment = real  # type: ignore[method-assign]
    assert done.code_of(PLAN) == "no-identity-token"
    assert not stage.pages.deployments and not is_open(stage)


# --- deaths, and holders that come late ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["after:target.switch:1", "before:records.publish:3"])
def test_killed_between_the_deployment_and_its_record(stage: PagesStage, when: str) -> None:
    job = uploaded(stage)
    job.run_publisher(15, check=-signal.SIGKILL, at=f"kill:{when}")
    assert stage.events(PLAN)[-1] == "deploy-intent"
    fresh = stage.job()
    fresh.run_publisher(60)
    require_published_once(stage)
    assert len(stage.pages.deployments) == 1 and fresh.outputs == {}


def test_killed_before_the_deployment_is_a_person_s_to_settle(stage: PagesStage) -> None:
    """Nobody can tell whether the request will still come: the target cannot shut the holder out."""
    job = uploaded(stage)
    job.run_publisher(15, check=-signal.SIGKILL, at="kill:before:target.switch:1")
    done = stage.job().run_publisher(60, check=6)
    assert done.code_of(PLAN) == "deploy-unknown"
    assert not stage.live


@pytest.mark.parametrize("when", ["before:target.store:1", "after:target.store:1", "before:records.publish:2"])
def test_killed_anywhere_before_the_intent_the_next_job_does_it_all(stage: PagesStage, when: str) -> None:
    job = uploaded(stage)
    job.run_publisher(15, check=-signal.SIGKILL, at=f"kill:{when}")
    stage.publish(60)
    require_published_once(stage)
    assert len(stage.pages.deployments) == 1


def test_a_stale_deployment_after_a_newer_one_is_detected_and_repaired(published: PagesStage) -> None:
    published.publish(A_DAY + 10)
    newest = dict(published.live)
    published.pages.land(published.pages.deployments[0])  # a request of yesterday's, taken up only now
    assert published.live != newest
    plan = published.approved("2026-03-03", 2 * A_DAY, 3)
    found = published.job().run_publisher(2 * A_DAY + 10, check=7)
    assert found.code_of(plan) == "older-live"
    job = published.job()
    job.do(2 * A_DAY + 20, "reconcile", check=7)
    wanted = job.do(2 * A_DAY + 30, "reconcile", "blog", "--repair", *REASON, check=5)
    assert "artifact-wanted" in wanted.text
    job.upload()
    job.do(2 * A_DAY + 30, "reconcile", "blog", "--repair", *REASON)  # inside the first one's lease: it gave its claim back
    assert published.live == newest
    published.instance.driven("reviewer", "retry", plan, "deploy", *REASON, now="2026-03-03T10:02:00+08:00")
    published.publish(2 * A_DAY + 180)
    assert published.events(plan).count("confirmed") == 1
    assert set(newest) < set(published.live)


# --- looking ----------------------------------------------------------------------------------------------------------------------


def test_a_foreign_deployment_is_never_built_upon(published: PagesStage) -> None:
    published.pages.by_hand({"index.html": b"by hand"})
    done = published.job().run_publisher(A_DAY + 10, check=7)
    assert done.code_of(TOMORROW) == "foreign-live"
    assert published.live == {"index.html": b"by hand"}


def test_one_changed_byte_on_one_page_is_seen(published: PagesStage) -> None:
    page = next(path for path in published.pages.files if path.startswith("article-"))
    published.pages.by_hand({**published.pages.files, page: published.pages.files[page] + b" "})
    done = published.job().run_publisher(A_DAY + 10, check=7)
    assert done.code_of(TOMORROW) == "foreign-live"


def test_caches_are_passed_by(published: PagesStage) -> None:
    """Whoever asks for a page as it was asked for before gets it as it was. No question of ours is asked twice."""
    published.publish(A_DAY + 10)
    busted = [target for target in published.pages.asked if "publisher-look=" in target]
    assert len(busted) > 10 and len(set(busted)) == len(busted)


def test_a_site_that_cannot_be_read_is_no_empty_site(published: PagesStage) -> None:
    published.pages.private = True
    done = published.job().run_publisher(A_DAY + 10, check=5)
    assert done.code_of(TOMORROW) == "target-unreachable"
    published.pages.private = False
    published.pages.missing.add("index.html")
    assert published.job().run_publisher(A_DAY + 60, check=5).code_of(TOMORROW) == "target-unreachable"
    published.pages.missing.clear()
    published.publish(A_DAY + 120)
    assert published.events(TOMORROW).count("confirmed") == 1


def test_no_token_is_anywhere(stage: PagesStage) -> None:
    first, second = stage.publish(10)
    everything = first.text + second.text + stage.instance.remote.git("log", "-p", "main")
    for folder in stage.folder.glob("machine-*"):
        everything += "".join(path.read_text("utf-8", "replace") for path in Path(folder).rglob("*") if path.is_file())
    assert "marker-0001" in everything, "the folders were read"
    for secret in (TOKEN, "request-1", "identity-1"):
        assert secret not in everything
