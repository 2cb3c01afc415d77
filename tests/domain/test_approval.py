"""How long an approval may be used, and what its values hold."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from publisher.domain.approval import (
    NAMESPACE,
    ApprovalRules,
    NoApproval,
    Signer,
    Standing,
    Statement,
    Subject,
    window,
)

RULES = ApprovalRules()
DUE = datetime(2026, 12, 1, 1, tzinfo=UTC)
SECOND, HOUR, DAYS = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


def standing(merged_at: datetime, now: datetime, due: datetime = DUE, rules: ApprovalRules = RULES) -> Standing:
    return window(merged_at, due, rules).standing(now)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (-SECOND, Standing.EARLY),
        (timedelta(), Standing.VALID),
        (SECOND, Standing.VALID),
        (timedelta(hours=23, minutes=59, seconds=59), Standing.VALID),
        (timedelta(hours=23, minutes=59, seconds=59, microseconds=999999), Standing.VALID),
        (24 * HOUR, Standing.EXPIRED),
        (24 * HOUR + SECOND, Standing.EXPIRED),
    ],
)
@pytest.mark.parametrize("merged", [DUE - 5 * DAYS, DUE - SECOND, DUE, DUE + 3 * DAYS])
def test_it_is_valid_for_24_hours_from_the_later_of_merge_and_due(
    merged: datetime, after: timedelta, expected: Standing
) -> None:
    assert standing(merged, max(merged, DUE) + after) is expected


@pytest.mark.parametrize(
    ("lead", "expected"),
    [
        (14 * DAYS - SECOND, Standing.VALID),
        (14 * DAYS, Standing.VALID),
        (14 * DAYS + SECOND, Standing.TOO_FAR_AHEAD),
        (400 * DAYS, Standing.TOO_FAR_AHEAD),
    ],
)
def test_it_may_be_given_14_days_ahead_and_no_more(lead: timedelta, expected: Standing) -> None:
    assert standing(DUE - lead, DUE) is expected


def test_given_too_far_ahead_it_never_becomes_valid() -> None:
    for now in (DUE - 20 * DAYS, DUE, DUE + HOUR, DUE + 2 * DAYS):
        assert standing(DUE - 15 * DAYS, now) is Standing.TOO_FAR_AHEAD


def test_a_merge_in_the_future_is_not_valid_yet() -> None:
    """A clock that was stepped back, or a forged merge time."""
    assert standing(DUE + 2 * HOUR, DUE + HOUR) is Standing.EARLY


def test_the_rules_own_spans_count() -> None:
    rules = ApprovalRules(expires_after=HOUR, max_lead=2 * HOUR)
    assert standing(DUE, DUE + HOUR - SECOND, rules=rules) is Standing.VALID
    assert standing(DUE, DUE + HOUR, rules=rules) is Standing.EXPIRED
    assert standing(DUE - 2 * HOUR - SECOND, DUE, rules=rules) is Standing.TOO_FAR_AHEAD


def test_the_offset_of_a_time_does_not_matter() -> None:
    from zoneinfo import ZoneInfo

    merged = (DUE - HOUR).astimezone(ZoneInfo("America/New_York"))
    assert standing(merged, DUE, DUE.astimezone(ZoneInfo("Asia/Hong_Kong"))) is Standing.VALID


@given(
    st.datetimes(datetime(1000, 1, 3), datetime(9999, 12, 30), timezones=st.just(UTC)),
    st.datetimes(datetime(1000, 1, 3), datetime(9999, 12, 30), timezones=st.just(UTC)),
    st.timedeltas(timedelta(seconds=1), timedelta(days=999_999)),
)
def test_no_date_and_no_rule_makes_a_window_overflow(merged: datetime, due: datetime, span: timedelta) -> None:
    made = window(merged, due, ApprovalRules(expires_after=span, max_lead=span))
    assert made.opens == max(merged, due)
    assert made.closes - made.opens <= span


# --- values -----------------------------------------------------------------------------------------------------------------------


def test_signers_are_listed_for_the_namespace_they_are_trusted_in() -> None:
    bot = Signer(principal="bot@x", key="ssh-ed25519 AAAA", may_commit=True, may_approve=False)
    alice = Signer(principal="alice@x", key="ssh-ed25519 BBBB", may_commit=True, may_approve=True)
    boss = Signer(principal="boss@x", key="ssh-ed25519 CCCC", may_commit=False, may_approve=True)
    rules = ApprovalRules(signers=(bot, alice, boss))
    assert rules.allowed("git") == 'bot@x namespaces="git" ssh-ed25519 AAAA\nalice@x namespaces="git" ssh-ed25519 BBBB\n'
    approvers = rules.allowed(NAMESPACE)
    assert "bot@x" not in approvers
    assert approvers.splitlines() == [
        f'alice@x namespaces="{NAMESPACE}" ssh-ed25519 BBBB', f'boss@x namespaces="{NAMESPACE}" ssh-ed25519 CCCC',
    ]  # fmt: skip


def test_a_statement_signs_everything_it_says() -> None:
    made = Statement(
        instance="i", branch="main", path="plans/x.yaml", payload="sha256:0", revision=2, request=7, time="2026-12-01T00:00:00Z",
        decision="approve",
    )  # fmt: skip
    signed = json.loads(made.signed_bytes())
    assert signed == {"schema": "publisher.approval/1", **made.as_data()}
    assert set(made.as_data()) == set(made.__dataclass_fields__)


def test_the_rules_where_the_file_says_nothing() -> None:
    assert (RULES.count, RULES.expires_after, RULES.max_lead, RULES.content) == (1, 24 * HOUR, 14 * DAYS, "plan")
    assert Subject(path="plans/x.yaml", payload="sha256:0").revision == 1


def test_nobody_having_decided_is_its_own_answer() -> None:
    subject = Subject(path="plans/x.yaml", payload="sha256:0")
    assert NoApproval(subject=subject, code="absent").absent
    assert not NoApproval(subject=subject, code="author-approved").absent
