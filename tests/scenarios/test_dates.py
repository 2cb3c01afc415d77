"""A date is computed once, when the plan is made; whenever it is run, page, feeds and manifest keep the saved one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from xml.etree import ElementTree

import pytest

from tests.support.scene import Scene, daily, scene_of

ATOM = "{http://www.w3.org/2005/Atom}"
HONG_KONG, NEW_YORK = "Asia/Hong_Kong", "America/New_York"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(tmp_path_factory.mktemp("dates")) as scene:
        yield scene


@pytest.fixture
def scene(stage: Scene) -> Scene:
    stage.back_to("new")
    return stage


def configure(scene: Scene, zone: str, publish_time: str) -> None:
    policy = scene.text("plans/blog/policy.yaml")
    policy = policy.replace("shares:", f'publish_time: "{publish_time}"\nshares:') if publish_time else policy
    files = {"plans/blog/policy.yaml": policy, "publisher.yaml": scene.text("publisher.yaml")}
    scene.edit({path: text.replace(HONG_KONG, zone) for path, text in files.items()})


def require_date(scene: Scene, day: str, publish_at: str) -> None:
    """Manifest, both feeds and the page say when the plan said it would be, in every spelling that they use."""
    instant = datetime.fromisoformat(publish_at)
    listed = json.loads(scene.live[".well-known/publisher.json"])["articles"]
    assert [item["date"] for item in listed] == [publish_at] * 2
    rss = ElementTree.fromstring(scene.live["feed.xml"])
    assert [parsedate_to_datetime(item.findtext("pubDate") or "") for item in rss.iter("item")] == [instant] * 2
    atom = ElementTree.fromstring(scene.live["atom.xml"])
    published = [datetime.fromisoformat(entry.findtext(f"{ATOM}published") or "") for entry in atom.iter(f"{ATOM}entry")]
    assert published == [instant] * 2
    page = scene.page("/article-0001/")
    assert page is not None
    assert day.encode() in page


@pytest.mark.parametrize(
    ("zone", "publish_time", "planned", "run", "day", "publish_at"),
    [
        (HONG_KONG, "", "2026-12-31T23:30:00+08:00", "2027-01-01T23:00:00+08:00", "2026-12-31", "2026-12-31T00:00:00+08:00"),
        (HONG_KONG, "09:00", "2028-02-29T08:00:00+08:00", "2028-03-01T08:30:00+08:00", "2028-02-29", "2028-02-29T09:00:00+08:00"),
        (NEW_YORK, "02:30", "2027-03-14T01:00:00-05:00", "2027-03-15T02:00:00-04:00", "2027-03-14", "2027-03-14T03:30:00-04:00"),
        (NEW_YORK, "01:30", "2027-11-06T23:00:00-04:00", "2027-11-07T05:31:00+00:00", "2027-11-06", "2027-11-06T01:30:00-04:00"),
        (NEW_YORK, "01:30", "2027-11-07T00:30:00-04:00", "2027-11-07T05:31:00+00:00", "2027-11-07", "2027-11-07T01:30:00-04:00"),
    ],
    ids=["year's end", "leap day", "clocks go forward", "before they go back", "clocks go back"],
)  # fmt: skip
def test_the_saved_date_goes_out(
    scene: Scene, zone: str, publish_time: str, planned: str, run: str, day: str, publish_at: str
) -> None:
    configure(scene, zone, publish_time)
    made = scene.do("planner", "plan", "--json", now=planned).data["proposed"][0]
    assert [plan["date"] for plan in made["plans"]] == [day]
    scene.approve(made["request"], planned)
    scene.run(run)
    require_date(scene, day, publish_at)


def test_the_date_is_the_editors_at_midnight(scene: Scene) -> None:
    """Half a minute before and after midnight in Hong Kong, late in the afternoon in UTC; the machine's own zone has no say."""
    for now, day in (("2026-12-01T15:59:30+00:00", "2026-12-01"), ("2026-12-01T16:00:30+00:00", "2026-12-02")):
        for zone in ("UTC", "America/Los_Angeles"):
            scene.instance.environment["TZ"] = zone
            made = scene.do("planner", "plan", "--local", "--json", now=now).data["proposed"][0]
            assert [plan["date"] for plan in made["plans"]] == [day]
            scene.pulled()
            scene.instance.clone("planner").git("clean", "-fdq")
    del scene.instance.environment["TZ"]


def test_a_year_later_it_still_has_its_date(scene: Scene) -> None:
    path = daily("12-31")
    scene.approve(scene.plan("12-31 08:00"), "12-31 08:05")
    assert scene.run("2027-12-31 10:00", check=4).code_of(path) == "missed"
    again = scene.do("planner", "plan", "--again", path, "--json", now="2027-12-31 10:05").data["proposed"][0]
    scene.approve(again["request"], "2027-12-31 10:10")
    scene.run("2027-12-31 10:15")
    require_date(scene, "2026-12-31", "2026-12-31T00:00:00+08:00")
    assert b"2027" not in scene.live["article-0001/index.html"]


def test_no_flag_runs_a_future_date(scene: Scene) -> None:
    path = daily("12-02")
    scene.approve(scene.plan("12-01 08:00", "--date", "2026-12-02"), "12-01 08:05")
    for argv in ((path, "--yes"), (path, "--yes", "--wait", "1m"), (path, "--yes", "--site", "blog")):
        done = scene.run("12-01 23:58", *argv, check=5)
        assert (done.code_of(path), done.data["sites"][0]["pushes"]) == ("not-due", 0)
    for argv in ((), ("--scheduled",), (path, "--yes", "--scheduled")):
        assert scene.run("12-01 23:58", *argv).data["sites"][0]["pushes"] == 0
    assert scene.live == {}
    scene.run("12-02 00:00:01")
    assert scene.articles() == ["a-0001", "a-0002"]


def test_zone_and_language_of_the_machine_change_no_byte(scene: Scene) -> None:
    scene.approve(scene.plan("12-31 23:30"), "12-31 23:31")
    scene.save("approved")
    releases = []
    warm, scene.instance.warm = scene.instance.warm, None  # fresh interpreters, that read the environment as they start
    try:
        for zone, language, seed in (("Pacific/Kiritimati", "de_DE.UTF-8", "1"), ("America/Los_Angeles", "C", "2")):
            scene.back_to("approved")
            scene.instance.environment |= {"TZ": zone, "LANG": language, "LC_ALL": language, "PYTHONHASHSEED": seed}
            scene.run("12-31 23:40")
            releases.append(scene.live)
    finally:
        scene.instance.warm = warm
        for name in ("TZ", "LANG", "LC_ALL", "PYTHONHASHSEED"):
            scene.instance.environment.pop(name, None)
    assert releases[0] == releases[1]
    require_date(scene, "2026-12-31", "2026-12-31T00:00:00+08:00")
