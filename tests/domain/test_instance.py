"""Sites as configuration describes them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from publisher.domain.instance import GithubHost, TargetSpec
from tests.support.values import SITE


def test_a_guid_is_a_tag_uri_that_outlives_addresses() -> None:
    assert SITE.guid_of("a-0001") == "tag:handbook.example,2026-01-01:handbook/a-0001"
    assert replace(SITE, url="https://moved.example").guid_of("a-0001") == SITE.guid_of("a-0001")


def test_the_zone_is_the_one_named() -> None:
    assert SITE.zone.key == "Asia/Hong_Kong"


@pytest.mark.parametrize("field", ["id", "url", "zone_name", "title", "description", "language", "author", "tag_authority"])
def test_what_shapes_the_sites_bytes_is_part_of_its_presentation(field: str) -> None:
    changed = replace(SITE, **{field: "Europe/Paris" if field == "zone_name" else "other"})
    assert changed.presentation_data() != SITE.presentation_data()


def test_where_it_is_put_and_who_is_told_is_not() -> None:
    other = TargetSpec(kind="s3", options={"bucket": "x"})
    changed = replace(SITE, target=other, staging=None, announce={"channels": ["mail"]})
    assert changed.presentation_data() == SITE.presentation_data()


@pytest.mark.parametrize(
    ("server", "api", "own", "shown"),
    [
        ("", "", "", "git@github.com:ann/site.git"),
        ("https://github.example.org", "https://api.elsewhere.example", "", "git@github.example.org:ann/site.git"),
        ("", "https://github.example.org/api/v3", "", "git@github.example.org:ann/site.git"),
        ("https://github.com", "", "ssh://git@10.0.0.7:2222/site", "ssh://git@10.0.0.7:2222/site"),
    ],
)
def test_where_a_hosts_repository_is_reached_by_ssh(server: str, api: str, own: str, shown: str) -> None:
    assert GithubHost(repository="ann/site", api=api, state_remote=own).ssh_url(server) == shown
