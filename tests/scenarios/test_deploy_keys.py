"""A private instance that deploys into a public site's repository over ssh, with keys that live in the environment only.

The drafts are read with a key that may only read, the site is written with a deploy key, and the records are pushed with a key too:
the repositories take nothing that comes another way.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scenarios.test_arrangements import with_private_drafts
from tests.support import copies
from tests.support.gitrepos import Repository, bare
from tests.support.instance import Instance
from tests.support.ssh_server import SSHD, SshServer, ssh_server
from tests.support.stage import BranchSite
from tests.support.warm import Warm
from tests.support.web import serving

pytestmark = pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: openssh-server)")

EVENING = "2026-03-01T08:00:00+08:00"
DUE = "2026-03-01T09:01:00+08:00"
PLAN = "blog/daily/2026/2026-03-01"
ONLY_BY_SSH = """\
while read old new ref; do
    case $ref in */publisher-state|*/pages) [ -n "$SSH_CONNECTION" ] || exit 1;; esac
done"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ssh_server(tmp_path_factory.mktemp("ssh") / "server") as running:
        yield running


@pytest.fixture(scope="module")
def prepared(server: SshServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """The plan is approved. A copy is kept beside it."""
    folder = tmp_path_factory.mktemp("keys") / "i"
    with serving(BranchSite(root=folder / "site.git")) as web:
        web.date = None
        made, _ = with_private_drafts(folder, web.url)
        made.warm = Warm()
        bare(folder / "site.git")
        editor = made.clone("editor")
        text = (editor.path / "publisher.yaml").read_text()
        for old, new in (
            (f"{{kind: directory, path: {made.public}}}",
             f"{{kind: git-branch, branch: pages, repository: {server.url(folder / 'site.git')}, key: SITE_KEY}}"),
            (f"{{repository: {folder / 'drafts.git'}, branch: main}}",
             f"{{repository: {server.url(folder / 'drafts.git')}, branch: main, key: DRAFTS_KEY}}\n"
             f"github: {{repository: ann/site, state_key: STATE_KEY, state_remote: {server.url(made.remote.path)}}}"),
        ):  # fmt: skip
            assert text.count(old) == 1
            text = text.replace(old, new)
        editor.commit({"publisher.yaml": text})
        editor.push()
        made.environment |= {"DRAFTS_KEY": server.key("reader"), "PUBLISHER_KNOWN_HOSTS": server.known_hosts}
        made.driven("planner", "plan", now=EVENING, check=0)
        made.driven("reviewer", "approve", "1", "--yes", now=EVENING, check=0)
        made.environment |= {"SITE_KEY": server.key("writer"), "STATE_KEY": server.key("writer")}
        for name in ("remote.git", "site.git"):
            Repository(folder / name).hook("pre-receive", ONLY_BY_SSH)
        copies.replace(folder.with_name("saved"), folder)
        yield made
        made.warm.close()


@pytest.fixture
def instance(prepared: Instance) -> Iterator[Instance]:
    copies.replace(prepared.folder, prepared.folder.with_name("saved"))
    environment = dict(prepared.environment)
    yield prepared
    prepared.environment = environment


def state_of(instance: Instance) -> str:
    return instance.remote.git("rev-parse", "publisher-state")


def test_everything_goes_over_ssh_with_its_own_key(server: SshServer, instance: Instance) -> None:
    done = instance.driven("ci", "run", now=DUE, check=0)
    assert instance.ledger(PLAN, "publisher-state")[-1]["type"] == "confirmed"
    site = Repository(instance.folder / "site.git")
    assert "marker-0001" in site.git("grep", "-h", "marker-0001", "pages")
    everything = done.stdout + done.stderr + instance.remote.git("log", "-p", "--all") + site.git("log", "-p", "--all")
    for who in ("writer", "reader"):
        assert not any(line in everything for line in server.key(who).splitlines()[1:-1])
    before = state_of(instance)
    instance.driven("ci", "run", now="2026-03-01T09:05:00+08:00", check=0)
    assert state_of(instance) == before, "the second run adds nothing"


def test_a_deploy_key_that_may_only_read_publishes_nothing_and_is_recovered_from(server: SshServer, instance: Instance) -> None:
    instance.environment["SITE_KEY"] = server.key("reader")
    instance.driven("ci", "run", now=DUE, check=6)
    again = instance.driven("ci", "run", now="2026-03-01T09:03:00+08:00", check=5)
    assert "[fence-not-taken]" in again.stderr and "SITE_KEY may not write" in again.stderr
    assert not Repository(instance.folder / "site.git").refs()
    instance.environment["SITE_KEY"] = server.key("writer")
    instance.driven("ci", "run", now="2026-03-01T09:05:00+08:00", check=0)
    assert instance.ledger(PLAN, "publisher-state")[-1]["type"] in ("confirmed", "noticed")


def test_without_its_state_key_nothing_is_claimed(instance: Instance) -> None:
    """Where the variable is empty, records are pushed as everything else is; here a rule keeps that out."""
    before = state_of(instance)
    instance.environment["STATE_KEY"] = ""
    done = instance.driven("ci", "run", now=DUE, check=5)
    assert "[push-refused]" in done.stderr
    assert state_of(instance) == before


@pytest.mark.parametrize(
    ("name", "value", "code", "status"),
    [
        ("DRAFTS_KEY", "", "key-missing", 4),
        ("STATE_KEY", "not a key", "key-unusable", 4),
        ("PUBLISHER_KNOWN_HOSTS", "", "host-keys-unknown", 4),
    ],
)
def test_what_is_wrong_with_a_key_is_said_by_name(instance: Instance, name: str, value: str, code: str, status: int) -> None:
    before = state_of(instance)
    instance.environment[name] = value
    done = instance.driven("ci", "run", now=DUE, check=status)
    assert f"[{code}]" in done.stderr
    assert name in done.stderr or name == "PUBLISHER_KNOWN_HOSTS"
    assert state_of(instance) == before


def test_a_site_whose_key_is_missing_waits_for_a_person(instance: Instance) -> None:
    del instance.environment["SITE_KEY"]
    done = instance.driven("ci", "run", now=DUE, check=4)
    assert "[key-missing]" in done.stderr and "SITE_KEY" in done.stderr
    assert not Repository(instance.folder / "site.git").refs()
