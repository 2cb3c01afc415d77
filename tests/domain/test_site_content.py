"""What a site consists of after any order of deploys, corrections, withdrawals, rollbacks and baselines."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.domain.facts import Prepared, public_text_of
from publisher.domain.fingerprint import digest
from publisher.domain.site_content import Content, Deployment, Production, after, deployment_of, following, production
from publisher.errors import StoppedForSafety
from tests.support.values import BASE, RELEASE, built, deployed, history_of, launch, prepared, publication, put, up_to

LOOK = {"commit": "c" * 40, "output": 1, "digest": digest(b"look")}
OTHER_LOOK = {**LOOK, "digest": digest(b"other look")}


def puts(*numbers: int, text: str = "", **fields: Any) -> Prepared:
    return Prepared(payload="p", puts=tuple(public_text_of(put(number, text), "plan") for number in numbers), **fields)


def deploy(number: int, change: Prepared, **fields: Any) -> Deployment:
    made = {
        "number": number, "release": digest(f"release {number}".encode()), "base": "", "plan": f"plan-{number}", "prepared": change,
        "presentation": LOOK, "confirmed": True,
    }  # fmt: skip
    return Deployment(**{**made, **fields})


def of(*changes: Prepared) -> Production:
    return production(deploy(number, change) for number, change in enumerate(changes, start=1))


def shown(result: Production) -> list[str]:
    return [text.id for text in result.content.shown]


GONE = {"id": "a-0001", "url": "/text-1/", "answer": "gone"}


def back_to(number: int, text: str = "") -> dict[str, str]:
    return {"id": f"a-{number:04}", "digest": put(number, text)["digest"]}


# --- content ----------------------------------------------------------------------------------------------------------------------


def test_before_the_first_deploy_there_is_nothing() -> None:
    result = of()
    assert (result, result.release, result.deployment, shown(result)) == (Production(), "", 0, [])


def test_articles_stand_in_the_order_of_their_first_deploy() -> None:
    assert shown(of(puts(3, 1), puts(2))) == ["a-0003", "a-0001", "a-0002"]


def test_a_correction_changes_the_text_and_not_the_place() -> None:
    result = of(puts(1, 2), puts(3), puts(1, text=" better"))
    assert shown(result) == ["a-0001", "a-0002", "a-0003"]
    assert result.content.texts["a-0001"].digest == put(1, " better")["digest"]
    assert set(result.content.known) == {(item["id"], item["digest"]) for item in (put(1), put(2), put(3), put(1, " better"))}


@pytest.mark.parametrize("field", ["url", "guid", "date"])
def test_url_guid_and_date_never_change(field: str) -> None:
    moved = Prepared(payload="p", puts=(public_text_of({**put(1, " better"), field: "other"}, "plan"),))
    with pytest.raises(StoppedForSafety) as stop:
        of(puts(1), moved)
    assert stop.value.code == "identity-changed"
    assert "a-0001" in stop.value.says


def test_nor_do_they_change_by_a_way_round() -> None:
    """Withdrawn or hidden first, the identity still stands."""
    moved = Prepared(payload="p", puts=(public_text_of({**put(1), "url": "/other/"}, "plan"),))
    for before in (puts(withdraws=(GONE,)), puts(hides=("a-0001",))):
        with pytest.raises(StoppedForSafety):
            of(puts(1, 2), before, moved)


def test_what_is_withdrawn_is_not_shown_and_never_returns() -> None:
    result = of(puts(1, 2), puts(withdraws=(GONE,)))
    assert shown(result) == ["a-0002"]
    assert result.content.withdrawn == {"a-0001": GONE}
    again = of(puts(1, 2), puts(withdraws=(GONE,)), puts(1, text=" better"), puts(reverts=(back_to(1),)))
    assert shown(again) == ["a-0002"]


def test_what_is_hidden_stays_hidden_until_it_is_put_again() -> None:
    hidden = of(puts(1, 2), puts(hides=("a-0002",)), puts(3))
    assert shown(hidden) == ["a-0001", "a-0003"]
    assert "a-0002" in hidden.content.texts, "its id stays taken"
    reverted = of(puts(1, 2), puts(hides=("a-0002",)), puts(reverts=(back_to(2),)))
    assert shown(reverted) == ["a-0001"]
    restored = of(puts(1, 2), puts(hides=("a-0002",)), puts(2, text=" again"))
    assert shown(restored) == ["a-0001", "a-0002"]


def test_hiding_wins_over_a_text_put_by_the_same_plan() -> None:
    assert shown(of(puts(1), puts(1, text=" better", hides=("a-0001",)))) == []


def test_a_revert_shows_an_earlier_text_again() -> None:
    result = of(puts(1), puts(1, text=" worse"), puts(reverts=(back_to(1),)))
    assert result.content.texts["a-0001"].digest == put(1)["digest"]
    assert shown(result) == ["a-0001"]


@pytest.mark.parametrize("revert", [back_to(1, " never"), back_to(9), {"id": "a-0002", "digest": put(1)["digest"]}])
def test_a_text_that_was_never_public_cannot_be_shown_again(revert: dict[str, str]) -> None:
    with pytest.raises(StoppedForSafety) as stop:
        of(puts(1, 2), puts(reverts=(revert,)))
    assert stop.value.code == "text-unknown"


def test_after_leaves_its_argument_as_it_was() -> None:
    content = of(puts(1, 2)).content
    before = (dict(content.texts), dict(content.withdrawn), content.hidden, dict(content.known))
    after(content, puts(1, text=" x", withdraws=(GONE,), hides=("a-0002",)))
    assert (content.texts, content.withdrawn, content.hidden, content.known) == before


# --- deployments --------------------------------------------------------------------------------------------------------------------


def test_the_last_deployment_is_what_is_live() -> None:
    items = [deploy(1, puts(1)), deploy(2, puts(2), presentation=OTHER_LOOK), deploy(3, puts(3), presentation={})]
    result = production(items)
    assert (result.release, result.deployment) == (items[2].release, 3)
    assert result.presentation == OTHER_LOOK, "the last presentation that was released"
    assert result.releases == {item.release for item in items}
    assert result.deployments == tuple(items)


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_the_order_in_which_files_are_read_does_not_matter(order: tuple[int, ...]) -> None:
    items = [deploy(1, puts(1)), deploy(2, puts(1, text=" better")), deploy(3, puts(2))]
    assert production(items[place] for place in order) == production(items)


def test_two_records_of_one_deployment_stop() -> None:
    for numbers in ([1, 1], [1, 2, 2], [0], [-1]):
        with pytest.raises(StoppedForSafety) as stop:
            production(deploy(number, puts(place)) for place, number in enumerate(numbers, start=1))
        assert stop.value.code == "deployments-doubled"


def test_a_missing_deployment_stops_instead_of_taking_its_articles_away() -> None:
    for numbers in ([2], [1, 3], [1, 2, 4]):
        with pytest.raises(StoppedForSafety) as stop:
            production(deploy(number, puts(place)) for place, number in enumerate(numbers, start=1))
        assert stop.value.code == "deployment-missing"
    assert f"{3}" in stop.value.says


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_only_1_2_3_goes_through(numbers: list[int]) -> None:
    items = [deploy(number, puts(place)) for place, number in enumerate(numbers, start=1)]
    if sorted(numbers) == list(range(1, len(numbers) + 1)):
        assert production(items).deployment == len(numbers)
    else:
        with pytest.raises(StoppedForSafety):
            production(items)


# --- baselines ----------------------------------------------------------------------------------------------------------------------


def baseline(number: int, *articles: int, **fields: Any) -> Deployment:
    return deploy(number, puts(*articles, **fields), whole=True)


def test_a_ledger_that_begins_with_a_baseline_goes_on_from_its_number() -> None:
    result = production([baseline(5, 1, 2), deploy(6, puts(3))])
    assert (shown(result), result.deployment) == (["a-0001", "a-0002", "a-0003"], 6)
    with pytest.raises(StoppedForSafety):
        production([baseline(5, 1, 2), deploy(7, puts(3))])


def test_a_baseline_says_all_that_was_public() -> None:
    """The lost records had hidden the second article; it does not come back by the restore."""
    result = production([deploy(1, puts(1, 2)), baseline(2, 1), deploy(3, puts(3))])
    assert shown(result) == ["a-0001", "a-0003"]
    assert set(result.content.texts) == {"a-0001", "a-0002", "a-0003"}
    assert ("a-0002", put(2)["digest"]) in result.content.known


def test_a_baseline_shows_again_what_the_older_ledger_had_hidden() -> None:
    result = production([deploy(1, puts(1, 2)), deploy(2, puts(hides=("a-0002",))), baseline(3, 1, 2)])
    assert shown(result) == ["a-0001", "a-0002"]


def test_a_baseline_gives_the_order_that_the_public_has() -> None:
    assert shown(production([deploy(1, puts(1, 2)), baseline(2, 3, 2, 1)])) == ["a-0003", "a-0002", "a-0001"]


def test_before_a_baseline_numbers_may_be_missing() -> None:
    """A plan that a restore found public keeps its article in the baseline, and its own deploy is not counted."""
    assert shown(production([deploy(1, puts(1)), deploy(3, puts(3)), baseline(4, 1, 2, 3)])) == ["a-0001", "a-0002", "a-0003"]


def test_withdrawn_articles_stay_so_through_a_baseline() -> None:
    result = production([deploy(1, puts(1, 2)), deploy(2, puts(withdraws=(GONE,))), baseline(3, 2)])
    assert (shown(result), result.content.withdrawn) == (["a-0002"], {"a-0001": GONE})
    found = production([baseline(1, 2, withdraws=(GONE,))])
    assert (shown(found), found.content.withdrawn) == (["a-0002"], {"a-0001": GONE})


def test_deployment_by_deployment_the_content_is_the_same_as_in_one_go() -> None:
    items = [
        deploy(1, puts(1, 2)), deploy(2, puts(1, text=" better", withdraws=({**GONE, "id": "a-0002"},))), baseline(3, 4, 1),
        deploy(4, puts(reverts=(back_to(1, " better"),), hides=("a-0004",))), deploy(5, puts(5)),
    ]  # fmt: skip
    content = Content()
    for count, item in enumerate(items, start=1):
        content = following(content, item)
        assert content == production(items[:count]).content


def test_a_baseline_cannot_change_an_identity_either() -> None:
    moved = Prepared(payload="", puts=(public_text_of({**put(1), "guid": "other"}, "baseline"),))
    with pytest.raises(StoppedForSafety):
        production([deploy(1, puts(1)), deploy(2, moved, whole=True)])


# --- from a history -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["", "approved", "prepared", "built", "intended"])
def test_an_intent_is_no_deployment(stage: str) -> None:
    assert deployment_of("p", history_of(publication(), *up_to(stage, publication()))) is None


@pytest.mark.parametrize(("stage", "seen"), [("deployed", False), ("confirmed", True), ("announced", True)])
def test_an_observed_deploy_is_one(stage: str, seen: bool) -> None:
    plan = publication()
    item = deployment_of(plan.path, history_of(plan, *up_to(stage, plan)))
    assert item is not None
    assert (item.number, item.release, item.base, item.plan, item.confirmed, item.whole) == (
        1,
        RELEASE,
        "",
        plan.path,
        seen,
        False,
    )
    assert [text.id for text in item.prepared.puts] == ["a-0001", "a-0002"]
    assert item.presentation == built()[1]["presentation"]


def test_a_launch_is_deployed_like_any_other() -> None:
    plan = launch()
    item = deployment_of(plan.path, history_of(plan, *up_to("deployed", plan)))
    assert item is not None
    assert not item.confirmed


def test_the_base_is_kept() -> None:
    plan = publication()
    records = (*up_to("approved", plan), prepared(plan), built(RELEASE, BASE), deployed(RELEASE, 2, BASE))
    item = deployment_of(plan.path, history_of(plan, *records))
    assert item is not None
    assert (item.number, item.base) == (2, BASE)


def test_content_begins_empty() -> None:
    assert Content().shown == ()
