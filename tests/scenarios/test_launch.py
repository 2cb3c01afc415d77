"""The launch chain: build, a person's decision about exactly that release, release."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from publisher.domain.fingerprint import short
from publisher.sitebuilder.theme import default_theme
from tests.support.instance import draft, first_epoch
from tests.support.scene import Scene, scene_of

LAUNCH = "shop/launch"
HELLO = "drafts/shop/hello/index.md"


class ShopScene(Scene):
    """The instance's second site, ``shop``, is the one that is launched and looked at."""

    def chain(self, now: str, check: int = 0, **driver: str) -> dict[str, object]:
        return self.run(now, "--site", "shop", check=check, **driver).plan(LAUNCH)

    @property
    def live(self) -> dict[str, bytes]:
        return files_below(self, "shop")

    @property
    def staged(self) -> dict[str, bytes]:
        return files_below(self, "shop-staging")

    @property
    def built(self) -> str:
        events = [event for event in self.instance.ledger(LAUNCH) if event["type"] == "built"]
        return str(events[-1]["release"])


def files_below(scene: Scene, name: str) -> dict[str, bytes]:
    current = scene.instance.folder / name / "current"
    root = current.resolve()
    found = {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
    found.pop(".well-known/publisher-claim.json", None)
    return found


def site_yaml(scene: Scene, *, staging: bool = True) -> str:
    folder = scene.instance.folder
    lines = f"""\
  shop:
    url: {scene.web.url}
    zone: Asia/Hong_Kong
    title: "Shop"
    description: "A second site"
    language: en
    author: "Test"
    tag_authority: "shop.example,2026"
    target: {{kind: directory, path: {folder}/shop}}
    confirm_within: 5s
"""
    return lines + (f"    staging: {{kind: directory, path: {folder}/shop-staging}}\n" if staging else "")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShopScene]:
    with scene_of(tmp_path_factory.mktemp("launch"), articles=2) as plain:
        scene = ShopScene(plain.folder, plain.web, plain.instance)
        scene.web.root = scene.instance.folder / "shop" / "current"
        theme = {f"site-src/shop/theme/{path}": data for path, data in default_theme().items()}
        scene.edit(
            {
                **theme, HELLO: draft(100, "guide"), "ledger/shop/claims/2026.jsonl": first_epoch(),
                "publisher.yaml": scene.text("publisher.yaml") + site_yaml(scene),
            }
        )  # fmt: skip
        sign_as_planner(scene, "ci")
        launch = scene.plan("12-01 08:00", "--launch", "--site", "shop", "--source", "drafts/shop/hello")
        scene.approve(launch, "12-01 08:05")
        scene.save("approved")
        assert scene.chain("12-01 08:10", check=4)["did"] == ["built", "requested G3 (request 2)"]
        scene.save("built")
        yield scene


def sign_as_planner(scene: Scene, who: str) -> None:
    """A run opens the requests of gates with the planner's key."""
    scene.instance.clone(who).setting("publisher.signingkey", str(scene.instance.folder / "keys" / "planner"))


@pytest.fixture
def approved(stage: ShopScene) -> ShopScene:
    stage.back_to("approved")
    return stage


@pytest.fixture
def built(stage: ShopScene) -> ShopScene:
    stage.back_to("built")
    return stage


def code(plan: dict[str, object]) -> str:
    following = plan["problem"] or plan["next"]
    assert isinstance(following, dict)
    return str(following["code"])


def next_command(plan: dict[str, object]) -> str:
    following = plan["next"]
    assert isinstance(following, dict)
    return str(following["command"])


def require_released(scene: ShopScene) -> None:
    page = scene.page("/hello/")
    assert page is not None
    assert b"marker-0100" in page
    assert scene.live == scene.staged
    deployed = [event for event in scene.instance.ledger(LAUNCH) if event["type"] == "deployed"]
    assert [event["release"] for event in deployed] == [scene.built]
    assert scene.events(LAUNCH).count("confirmed") == 1


def test_build_decide_release_and_nothing_more(built: ShopScene) -> None:
    """The acceptance test of the line: the whole chain, and once more on the same day."""
    assert built.live == {}
    assert b"marker-0100" in built.staged["hello/index.html"]
    gate = built.instance.remote.git("show", f"publisher/requests/2:plans/shop/gates/g3-{short(built.built)}-1.yaml")
    assert built.built in gate
    before = built.refs()
    waiting = built.chain("12-01 08:20", check=4)
    assert (code(waiting), next_command(waiting)) == ("approval-absent", "publisher approve 2")
    assert built.refs() == before, "a request that is open is asked for once"

    built.approve(2, "12-01 09:00")
    assert built.chain("12-01 09:05")["did"] == ["released"]
    require_released(built)
    refs, public, alerts = built.refs(), built.live, built.instance.alerts
    done = built.run("12-01 09:10", "--site", "shop")
    assert (done.data["sites"][0]["pushes"], done.data["sites"][0]["plans"]) == (0, [])
    assert (built.refs(), built.live, built.instance.alerts) == (refs, public, alerts)


def test_a_rejected_release_is_over(built: ShopScene) -> None:
    built.approve(2, "12-01 09:00", "--reject")
    plan = built.chain("12-01 09:05")
    assert (plan["did"], plan["stage"]) == (["canceled"], "canceled")
    assert built.live == {}
    before = built.refs()
    built.run("12-01 09:10", "--site", "shop")
    assert (built.refs(), built.live) == (before, {})


@pytest.mark.parametrize(("now", "exit_code"), [("12-02 08:59:30", 0), ("12-02 09:00", 4)], ids=["inside", "outside"])
def test_a_decision_holds_for_a_day(built: ShopScene, now: str, exit_code: int) -> None:
    built.approve(2, "12-01 09:00")
    plan = built.chain(now, check=exit_code)
    if exit_code == 0:
        require_released(built)
        return
    assert plan["did"] == ["requested G3 (request 3)"]
    assert built.live == {}
    # The same release is asked for once more by the next numbered file; its approval releases it.
    asked = built.instance.remote.git("show", f"publisher/requests/3:plans/shop/gates/g3-{short(built.built)}-2.yaml")
    assert built.built in asked
    assert code(built.chain("12-02 09:10", check=4)) == "approval-absent"
    built.approve(3, "12-02 10:00")
    built.chain("12-03 09:59:30")
    require_released(built)


def test_a_request_whose_branch_was_deleted(built: ShopScene) -> None:
    """Nobody decided: it is reported, and a person asks anew; what they asked for can be rejected like any other."""
    built.instance.remote.git("update-ref", "-d", "refs/heads/publisher/requests/2")
    plan = built.chain("12-01 08:20", check=4)
    assert (code(plan), next_command(plan)) == ("request-closed", f"publisher plan --again {LAUNCH}")
    assert [alert["id"].split("/")[2].split(":")[0] for alert in built.instance.alerts] == ["approval-absent", "request-closed"]
    again = built.do("planner", "plan", "--again", LAUNCH, "--json", now="12-01 08:30").data["proposed"][0]
    assert again["files"] == [f"plans/shop/gates/g3-{short(built.built)}-2.yaml"]
    assert built.do("planner", "plan", "--again", LAUNCH, "--json", now="12-01 08:31").data["proposed"][0] == again
    waiting = built.chain("12-01 08:35", check=4)
    assert (code(waiting), next_command(waiting)) == ("approval-absent", f"publisher approve {again['request']}")
    built.save("asked-again")
    built.approve(again["request"], "12-01 08:40")
    built.chain("12-01 08:45")
    require_released(built)
    built.back_to("asked-again")
    built.approve(again["request"], "12-01 08:40", "--reject")
    assert built.chain("12-01 08:45")["stage"] == "canceled"
    assert built.live == {}


@pytest.mark.parametrize("where", ["before:staging.store:1", "after:records.publish:2", "after:requests.open:1"])
def test_a_kill_between_the_build_and_its_request(approved: ShopScene, where: str) -> None:
    """A fresh clone finds the release that was built, puts it on staging, and asks once."""
    approved.run("12-01 08:10", "--site", "shop", check=-9, at=f"kill:{where}")
    release = approved.built if "built" in approved.events(LAUNCH) else ""
    approved.instance.fresh_clone("elsewhere")
    sign_as_planner(approved, "elsewhere")
    plan = approved.run("12-01 08:30", "--site", "shop", check=4, who="elsewhere").plan(LAUNCH)
    assert code(plan) == "approval-absent"
    assert approved.built == (release or approved.built)
    assert b"marker-0100" in approved.staged["hello/index.html"]
    requests = [name for name in approved.refs() if "publisher/requests/" in name]
    assert requests == ["refs/heads/publisher/requests/2"]
    assert approved.events(LAUNCH).count("requested") == 1
    approved.approve(2, "12-01 09:00")
    approved.chain("12-01 09:05")
    require_released(approved)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [("    staging: {kind: directory, path: {folder}/shop-staging}\n", "", "no-staging"),
     ("on_call: [ops@example.org]", "on_call: []", "no-on-call")],
)  # fmt: skip
def test_what_running_unattended_needs(approved: ShopScene, old: str, new: str, expected: str) -> None:
    text = approved.text("publisher.yaml")
    old = old.replace("{folder}", str(approved.instance.folder))
    assert old in text
    approved.edit({"publisher.yaml": text.replace(old, new)})
    assert code(approved.chain("12-01 08:10", check=3)) == expected
    assert (approved.live, "built" in approved.events(LAUNCH)) == ({}, False)
    approved.edit({"publisher.yaml": text})
    assert code(approved.chain("12-01 08:20", check=4)) == "approval-absent"


def test_staging_on_a_branch_of_the_ledgers_own_repository(approved: ShopScene) -> None:
    """As ``init --github`` writes it: the branch moves in one push with the record that the release was built."""
    text = approved.text("publisher.yaml")
    folder = f"{{kind: directory, path: {approved.instance.folder}/shop-staging}}"
    assert folder in text
    approved.edit({"publisher.yaml": text.replace(folder, "{kind: git-branch, branch: staging/shop}")})
    approved.run("12-01 08:10", "--site", "shop", check=-9, at="kill:before:records.publish:2")
    assert "built" not in approved.events(LAUNCH)
    assert "refs/heads/staging/shop" not in approved.refs()
    assert approved.chain("12-01 08:30", check=4)["did"] == ["built", "requested G3 (request 2)"]
    assert "marker-0100" in approved.instance.remote.git("show", "staging/shop:hello/index.html")
    before = approved.refs()
    assert code(approved.chain("12-01 08:40", check=4)) == "approval-absent"
    assert approved.refs() == before
    approved.approve(2, "12-01 09:00")
    approved.chain("12-01 09:05")
    assert [event["release"] for event in approved.instance.ledger(LAUNCH) if event["type"] == "deployed"] == [approved.built]


def test_the_release_gate_is_taken_back_before_the_switch(built: ShopScene) -> None:
    """The gate's file is edited by a push after the intent: what was approved is not what stands there any more."""
    built.approve(2, "12-01 09:00")
    gate = f"plans/shop/gates/g3-{short(built.built)}-1.yaml"
    with built.stopped("12-01 09:05", "after:records.publish:2", "--site", "shop") as held:
        assert built.events(LAUNCH)[-1] == "deploy-intent"
        built.edit({gate: None}, "Not yet")
        done = held.go_on()
    assert done.code == 7, done.text
    assert built.live == {}
    assert "deploy-closed" in built.events(LAUNCH)


def test_a_launched_site_is_not_launched_again(built: ShopScene) -> None:
    built.approve(2, "12-01 09:00")
    built.chain("12-01 09:05")
    refused = built.do(
        "planner", "plan", "--launch", "--site", "shop", "--source", "drafts/shop/hello", now="12-01 10:00", check=4
    )
    assert "already-public" in refused.err
    assert json.loads(built.live[".well-known/publisher.json"])["site"] == "shop"
