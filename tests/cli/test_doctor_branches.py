"""Answers that the simulated host does not give: the older kind of protection, several rulesets, an organisation, Actions off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from publisher.cli import doctor_branches, doctor_github
from publisher.cli.doctor_seen import Seen
from publisher.domain.instance import GithubHost, TargetSpec
from publisher.engine.examining import Finding, Level
from publisher.errors import ComeBackLater, NeedsPerson
from tests.support.values import INSTANCE, NOW, SITE

ON_GITHUB = replace(INSTANCE, forge="github", github=GithubHost(repository="ann/site"))
SITES = [replace(SITE, target=TargetSpec(kind="git-branch", options={"branch": "gh-pages"}))]
FORBIDDEN = NeedsPerson("host-forbidden", "may not")
REPOSITORY = {
    "full_name": "ann/site",
    "private": True,
    "default_branch": "main",
    "owner": {"type": "User"},
    "permissions": {"admin": True},
}


class Answers:
    """A host with prepared answers: a path that is not among them holds nothing."""

    repository = "ann/site"

    def __init__(self, **answers: Any) -> None:
        self.answers = {path.replace("__", "/"): answer for path, answer in answers.items()}

    def get(self, path: str, **query: Any) -> Any:
        answer = self.answers.get(path)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def pages(self, path: str, **query: Any) -> Iterator[Any]:
        yield from self.get(path) or ()


def seen(variables: dict[str, str] | None = None, secrets: set[str] | None = None, **answers: Any) -> Seen:
    host: Any = Answers(**answers)
    return Seen(host=host, private=True, variables=variables, secrets=None if secrets is None else frozenset(secrets))


def look(view: Seen, instance: Any = ON_GITHUB, sites: Any = ()) -> list[Finding]:
    return list(doctor_branches.look(view, instance, sites))


def codes(findings: list[Finding]) -> set[str]:
    return {item.code for item in findings if item.level is not Level.OK}


def rule(kind: str, ruleset: int, **parameters: Any) -> dict[str, Any]:
    return {"type": kind, "ruleset_id": ruleset, **({"parameters": parameters} if parameters else {})}


def passing(*actors: str, mode: str = "always") -> dict[str, Any]:
    return {"bypass_actors": [{"actor_type": actor, "actor_id": 1, "bypass_mode": mode} for actor in actors]}


# --- rules ------------------------------------------------------------------------------------------------------------------------


def test_the_older_kind_of_protection_is_never_taken_for_good():
    found = look(seen(branches__main={"protected": True}))
    assert codes(found) == {"rules-classic", "ledger-classic", "pushes-unclear"} and not any(
        item.level is Level.OK for item in found
    )


def test_no_rules_at_all():
    found = look(seen(branches__main={"protected": False}))
    assert codes(found) == {"no-request-rule", "ledger-unprotected"}
    assert "the run's token may push to main" in found[-1].says


def test_rules_that_are_not_seen_are_remembered_and_nothing_is_said_of_them():
    view = seen(rules__branches__main=FORBIDDEN)
    assert look(view) == [] and view.hidden == ["the rules of main"]


def test_a_refusal_that_is_no_lack_of_permission_goes_through():
    with pytest.raises(ComeBackLater):
        look(seen(rules__branches__main=ComeBackLater("host-busy", "wait")))


def test_parameters_of_several_rulesets_are_read_together():
    rows = [
        rule("pull_request", 1, required_approving_review_count=1),
        rule("pull_request", 2, dismiss_stale_reviews_on_push=True),
    ]
    found = look(seen(rules__branches__main=rows, rulesets__1=passing(), rulesets__2=passing()))
    assert "stale-reviews" not in codes(found) and "1 approving review" in found[0].says


# --- pushes -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (passing("Integration"), passing("Integration", "Team"), set()),
        (passing("Integration"), passing("Team"), {"cannot-push"}),
        (passing("Integration", mode="pull_request"), passing("Integration"), {"cannot-push"}),
        (passing("Integration"), {}, {"pushes-unclear"}),
        (passing("Integration"), FORBIDDEN, {"pushes-unclear"}),
        (passing("Integration", mode="exempt"), passing("Integration"), set()),
    ],
)
def test_every_ruleset_must_let_it_through(first, second, expected):
    rows = [rule("update", 1), rule("required_signatures", 2), rule("deletion", 3), rule("non_fast_forward", 3)]
    view = seen({"PUBLISHER_APP_CLIENT_ID": "x"}, rules__branches__main=rows, rulesets__1=first, rulesets__2=second)
    assert codes(look(view)) - {"no-request-rule"} == expected


def test_who_may_pass_is_not_asked_of_rules_that_keep_nobody_out():
    rows = [rule("deletion", 3), rule("non_fast_forward", 3)]
    assert codes(look(seen({}, rules__branches__main=rows))) == {"no-request-rule"}


def test_an_organisations_variable_is_not_seen_here():
    rows = [rule("update", 1), rule("deletion", 1), rule("non_fast_forward", 1)]
    view = seen({}, rules__branches__main=rows, rulesets__1=passing("Integration"))
    assert "cannot-push" in codes(look(view))
    view.organization = True
    assert "pushes-unclear" in codes(look(view)) and "cannot-push" not in codes(look(view))


def test_branches_of_sites_are_told_together_and_bounded():
    sites = [
        replace(SITES[0], id=f"s{n}", staging=TargetSpec(kind="git-branch", options={"branch": f"staging/s{n}"}))
        for n in range(25)
    ]
    elsewhere = TargetSpec(kind="git-branch", options={"branch": "far", "repository": "git@github.com:ann/far.git"})
    found = look(seen({}), sites=[*sites, replace(SITES[0], target=elsewhere)])
    (free,) = [item.says for item in found if item.about == "pushes" and item.level is Level.OK]
    assert free.startswith("the run's own token may push to main, gh-pages, staging/s0, staging/s1, ") and "far" not in free
    assert free.count(",") == 20
    (more,) = [item for item in found if item.code == "branches-not-seen"]
    assert more.says.startswith("6 more branches")


# --- Pages ------------------------------------------------------------------------------------------------------------------------

SHOWN = {"build_type": "legacy", "source": {"branch": "gh-pages", "path": "/"}}


@pytest.mark.parametrize(
    ("pages", "variables", "code", "says"),
    [
        (SHOWN, {}, "pages-no-build", "does not build it"),
        (SHOWN, None, "pages-unclear", "whether runs act as an App is not seen"),
        (SHOWN, {"PUBLISHER_APP_CLIENT_ID": "x"}, "", "builds it after each push"),
        ({**SHOWN, "source": {"branch": "main"}}, {}, "", "shows the branch main"),
        (None, {}, "", "shows no branch"),
        ({"build_type": "workflow", "source": None}, {}, "", "shows no branch"),
    ],
)
def test_whether_a_push_becomes_a_page(pages, variables, code, says):
    (found,) = [item for item in look(seen(variables, pages=pages), sites=SITES) if item.about == "Pages"]
    assert found.code == code and says in found.says


def test_pages_that_is_not_seen():
    view = seen({}, pages=FORBIDDEN)
    assert not [item for item in look(view, sites=SITES) if item.about == "Pages"] and "how Pages is set up" in view.hidden


# --- the repository ---------------------------------------------------------------------------------------------------------------


def asked(tmp_path: Any, repository: dict[str, Any], **answers: Any) -> list[Finding]:
    """Everything that is asked of a host, for an empty checkout."""
    host: Any = Answers(**{"": repository, **answers})
    environment = {"GH_TOKEN": "x"}
    wired: Any = SimpleNamespace(
        root=tmp_path, environment=environment, progress=lambda text: None, host_of=lambda instance: host,
        clock=SimpleNamespace(now=lambda: NOW),
    )  # fmt: skip
    return list(doctor_github.look(wired, ON_GITHUB, [], root="", offline=False))


def test_an_archived_repository(tmp_path):
    assert "repository-closed" in codes(asked(tmp_path, {**REPOSITORY, "archived": True}))


def test_actions_switched_off(tmp_path):
    found = asked(tmp_path, REPOSITORY, actions__permissions={"enabled": False})
    assert "actions-off" in codes(found)


def test_an_organisation_that_may_have_an_app(tmp_path):
    answers = {
        "actions/permissions/workflow": {"can_approve_pull_request_reviews": False},
        "actions/variables": {"total_count": 0, "variables": []},
    }
    found = asked(tmp_path, {**REPOSITORY, "owner": {"type": "Organization"}}, **answers)
    assert "requests-unclear" in codes(found) and "actions-no-requests" not in codes(found)
    assert "actions-no-requests" in codes(asked(tmp_path, REPOSITORY, **answers))


def test_a_role_is_named(tmp_path):
    for permissions, words in (({"push": True}, "who may write"), ({"pull": True}, "who may read"), (None, "who may read")):
        found = asked(tmp_path, {**REPOSITORY, "permissions": permissions}, **{"/user": {"login": "ann", "type": "User"}})
        assert [item.says for item in found if item.about == "token"] == [f"GH_TOKEN, of ann, {words}"]


def test_a_setting_that_is_hidden_by_saying_that_there_is_none(tmp_path):
    found = asked(tmp_path, REPOSITORY)
    (hidden,) = [item for item in found if item.code == "not-visible"]
    for what in (
        "whether Actions is on",
        "the repository's variables",
        "which secrets there are",
        "whether workflows are switched on",
    ):
        assert what in hidden.says
    assert not codes(found) & {"variable-missing", "workflow-not-there", "actions-off", "actions-no-requests"}


def test_more_variables_than_one_page_holds():
    some = [{"name": f"V{number}", "value": "x"} for number in range(40)]
    first = {"total_count": 40, "variables": some[:30]}
    host: Any = SimpleNamespace(get=lambda path: first, pages=lambda path: some)
    assert len(Seen(host=host).settings("actions/variables", "variables", "x")) == 40
