"""GitHub workflows as files: what they are for, when they start, what they may do and hand on, and what is passed over."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from publisher.errors import InputProblem
from publisher.gitstore.workflow_files import FOLDER, Workflows, read
from publisher.gitstore.workflow_reading import WHOLE, Workflow, workflow_of

SHA = "0123456789abcdef0123456789abcdef01234567"


def flow(text: str, path: str = f"{FOLDER}/publish.yml") -> Workflow:
    return workflow_of(dedent(text).encode(), path)


def running(script: str) -> Workflow:
    steps = "".join(f"\n          {line}" for line in script.splitlines())
    return flow(f"on: push\njobs:\n  a:\n    steps:\n      - run: |{steps}\n")


def workflows(root: Path, **files: str) -> Workflows:
    for name, text in files.items():
        path = root / FOLDER / f"{name}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return read(root)


# --- what it is for ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "roles"),
    [
        ("python -m publisher run --scheduled", {"publish"}),
        ("publisher plan --days 7", {"plan"}),
        ("python3 -m publisher --quiet review", {"review"}),
        (".venv/bin/publisher watch", {"watch"}),
        ("set -e\ncd x && publisher approve --record", {"approve"}),
        ('"$HOME/bin/publisher" decide', {"decisions"}),
        ("echo 'publisher' run", {"publish"}),  # a shell's words are not understood, only seen
        ("publisher decide\npublisher run", {"decisions", "publish"}),
        ("x=$(publisher run --json)", {"publish"}),
        ("pip install publisher\nrun it", set()),
        ("publisher sites --due --json", {"due"}),
        ("publisher runs", set()),
        ("publisher run-all", set()),
        ("my-publisher run", set()),
        ("publisherx run", set()),
        ("publisher preview handbook/run", set()),
        ("npm run build", set()),
    ],
)
def test_what_a_script_calls(script, roles):
    assert running(script).roles == roles


@pytest.mark.parametrize(
    ("use", "run", "roles"),
    [
        (f"ann/publisher@{SHA}", "run --scheduled", {"publish"}),
        ("ann/publisher@v1", "watch", {"watch"}),
        ("./", "plan --days 7", {"plan"}),
        ("$/", "plan", {"plan"}),
        (f"ann/publisher@{SHA}", "status", set()),
        (f"ann/publisher@{SHA}", "", set()),
        ("ann/other@v1", "run", set()),
        ("./other", "run", set()),
    ],
)
def test_what_the_action_is_handed(use, run, roles):
    assert flow(f"on: push\njobs:\n  a:\n    steps:\n      - uses: {use}\n        with: {{run: '{run}'}}\n").roles == roles


@pytest.mark.parametrize(
    ("use", "roles"),
    [
        (f"ann/publisher/.github/workflows/publish.yml@{SHA}", {"publish"}),
        ("ann/publisher/.github/workflows/watch.yaml@main", {"watch"}),
        ("ann/publisher/.github/workflows/decisions.yml@v1", {"decisions"}),
        ("ann/publisher/.github/workflows/pages.yml@v1", {"publish"}),
        ("ann/publisher/.github/workflows/ci.yml@v1", set()),
        ("./.github/workflows/publish.yml", set()),  # looked into, and not known by its name
    ],
)
def test_a_reusable_workflow_from_elsewhere_is_known_by_its_name(use, roles):
    assert flow(f"on: push\njobs:\n  a:\n    uses: {use}\n").roles == roles


def test_a_local_one_is_looked_into(tmp_path):
    found = workflows(
        tmp_path,
        morning="""\
            on: {schedule: [{cron: '17 9 * * *', timezone: Asia/Hong_Kong}]}
            jobs:
              go:
                uses: ./.github/workflows/inner.yml
                secrets: {MAIL: '${{ secrets.MAIL }}'}
            """,
        inner="""\
            on: workflow_call
            permissions: {contents: read}
            concurrency: {group: publish, queue: max}
            jobs:
              decide:
                steps: [{run: publisher sites --due}]
              site:
                needs: decide
                permissions: {contents: write}
                env: {MAIL: '${{ secrets.MAIL }}', OTHER: '${{ secrets.OTHER }}', HERE: '${{ vars.PUBLISHER_ROOT }}'}
                steps: [{run: publisher run}]
            """,
    )
    (morning,) = found.of("publish")
    assert morning.name == "morning.yml" and [job.id for job in morning.jobs] == ["go.decide", "go.site"]
    decide, site = morning.jobs
    assert decide.permissions == {"contents": "read"} and site.permissions == {"contents": "write"}
    assert not decide.waits and site.waits
    assert site.group is not None and site.group.queue == "max"
    assert morning.passed("MAIL") and not morning.passed("OTHER"), "what the caller does not hand on is not there"
    assert "PUBLISHER_ROOT" in site.variables
    assert {item.name for item in found.found} == {"inner.yml", "morning.yml"}, "the callable one is read too"


def test_callers_in_a_circle_end(tmp_path):
    found = workflows(
        tmp_path,
        a="on: push\njobs: {x: {uses: ./.github/workflows/b.yml}, y: {steps: [{run: publisher run}]}}\n",
        b="on: push\njobs: {x: {uses: ./.github/workflows/a.yml}}\n",
    )
    assert {item.name for item in found.of("publish")} == {"a.yml", "b.yml"}


# --- when it starts ---------------------------------------------------------------------------------------------------------------


def test_triggers_and_schedule():
    read = flow(
        """\
        on:
          push: {branches: [main]}
          workflow_dispatch:
          schedule:
            - cron: '17 9 * * *'
              timezone: Asia/Hong_Kong
            - cron: "47 12 * * *"
        jobs: {a: {steps: [{run: publisher run}]}}
        """
    )
    assert read.triggers == {"push", "workflow_dispatch", "schedule"}
    assert [(line.expression, line.zone) for line in read.crons] == [("17 9 * * *", "Asia/Hong_Kong"), ("47 12 * * *", "")]
    assert read.crons[0].where == f"{FOLDER}/publish.yml:5:13"
    assert flow("on: push\njobs: {}\n").triggers == {"push"}
    assert flow("on: [push, pull_request]\njobs: {}\n").triggers == {"push", "pull_request"}
    assert flow("on: {schedule: }\njobs: {}\n").crons == ()


def test_what_a_colleague_wrote_oddly_is_no_crash():
    read = flow(
        "on: {schedule: [7, {cron: 7}, {cron: '1 2 3 4 5', timezone: 8}]}\npermissions: [x]\nconcurrency: [x]\n"
        "jobs: {a: {steps: [7, {run: 7, uses: 8, env: [x], with: x}], env: x, secrets: 7}, b: 7, c: {steps: x}}\n"
    )
    assert [line.zone for line in read.crons] == [""] and [job.id for job in read.jobs] == ["a", "c"]


# --- what it may, and hands on ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("permissions: {}", {}),
        ("permissions: {contents: write, id-token: write}", {"contents": "write", "id-token": "write"}),
        ("permissions: write-all", {WHOLE: "write"}),
        ("permissions: read-all", {WHOLE: "read"}),
        ("permissions:", {}),
        ("name: nothing", None),
    ],
)
def test_permissions(written, read):
    assert flow(f"on: push\n{written}\njobs: {{}}\n").permissions == read
    (job,) = flow(f"on: push\njobs:\n  a:\n    {written}\n    steps: []\n").jobs
    assert job.permissions == read


@pytest.mark.parametrize(
    ("written", "queue", "cancels"),
    [
        ("concurrency: publish", "single", False),
        ("concurrency: {group: publish, queue: max}", "max", False),
        ("concurrency: {group: publish, cancel-in-progress: true}", "single", True),
        ("concurrency: {group: publish, cancel-in-progress: '${{ github.ref }}'}", "single", True),
        ("concurrency: {group: publish, cancel-in-progress: false, queue: max}", "max", False),
    ],
)
def test_concurrency(written, queue, cancels):
    group = flow(f"on: push\n{written}\njobs: {{}}\n").group
    assert group is not None and (group.queue, group.cancels) == (queue, cancels)


@pytest.mark.parametrize("written", ["concurrency: {group: ''}", "concurrency: {queue: max}", "name: x"])
def test_no_group_is_none(written):
    assert flow(f"on: push\n{written}\njobs: {{}}\n").group is None


def test_the_names_of_secrets_on_their_way():
    read = flow(
        """\
        on: push
        env: {A: '${{ secrets.A_1 }}', plain: secrets.NOT}
        jobs:
          one:
            env: {B: "x-${{ secrets['B_1'] || secrets.B_2 }}"}
            steps:
              - run: publisher run
                env: {C: '${{ secrets.C_1 }}', D: '${{ vars.D_1 }}'}
              - uses: x/y@v1
                with: {private-key: '${{ secrets.APP_KEY }}'}
          two: {uses: ./x.yml, secrets: inherit}
        """
    )
    one, two = read.jobs
    assert one.passes == {
        "A": {"A_1"}, "B": {"B_1", "B_2"}, "C": {"C_1"}, "private-key": {"APP_KEY"},
    }  # fmt: skip
    assert one.variables == {"D_1"}
    assert two.passes == {"A": {"A_1"}, WHOLE: {WHOLE}}
    assert read.passed("C") and read.passed("ANYTHING")
    everything = flow("on: push\njobs: {a: {env: {ALL: '${{ toJSON( secrets ) }}'}, steps: [{run: publisher run}]}}\n")
    assert everything.passed("ANYTHING")


@pytest.mark.parametrize(
    ("what", "pinned", "local", "name"),
    [
        (f"actions/checkout@{SHA}", True, "", "actions/checkout"),
        ("actions/checkout@v4", False, "", "actions/checkout"),
        ("actions/checkout@main", False, "", "actions/checkout"),
        ("actions/checkout@0123456", False, "", "actions/checkout"),
        ("actions/checkout", False, "", "actions/checkout"),
        ("./", True, ".", "./"),
        ("./.github/workflows/x.yml", True, ".github/workflows/x.yml", "./.github/workflows/x.yml"),
        ("$/", True, ".", "$/"),
    ],
)
def test_what_is_used(what, pinned, local, name):
    (job,) = flow(f"on: push\njobs: {{a: {{steps: [{{uses: '{what}'}}]}}}}\n").jobs
    assert [(use.what, use.pinned, use.local, use.name) for use in job.uses] == [(what, pinned, local, name)]


# --- files ------------------------------------------------------------------------------------------------------------------------


def test_only_what_speaks_of_publisher_is_told(tmp_path):
    found = workflows(
        tmp_path,
        broken="on: push\njobs: {a: &x {steps: [{run: publisher run}]}}\n",
        foreign="on: push\njobs: {a: &x {steps: [{run: make}]}}\n",
        other="on: push\njobs: {a: {steps: [{run: make}]}}\n",
        empty="",
        publish="on: push\njobs: {a: {steps: [{run: publisher run}]}}\n",
    )
    assert [item.name for item in found.found] == ["publish.yml"]
    assert [(item.code, item.where) for item in found.unread] == [("yaml-anchor", f"{FOLDER}/broken.yml:2:11")]


def test_line_ends_of_windows_and_both_endings_are_read(tmp_path):
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "a.yaml").write_bytes(b"on: push\r\njobs:\r\n  a:\r\n    steps:\r\n      - run: publisher run\r\n")
    (tmp_path / FOLDER / "notes.txt").write_bytes(b"publisher run")
    assert [item.name for item in read(tmp_path).found] == ["a.yaml"]


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere.yml").write_text("on: push\njobs: {a: {steps: [{run: publisher run}]}}\n")
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / FOLDER / "publish.yml").symlink_to(tmp_path / "elsewhere.yml")
    found = read(tmp_path)
    assert found.found == () and [item.code for item in found.unread] == ["not-a-plain-file"]


def test_no_workflows_at_all(tmp_path):
    assert read(tmp_path) == Workflows(found=(), unread=())


def test_a_merely_callable_one_does_nothing_by_itself(tmp_path):
    called = "on: workflow_call\njobs: {a: {steps: [{run: publisher run}]}}\n"
    assert workflows(tmp_path, publish=called).of("publish") == ()
    both = called.replace("workflow_call", "[workflow_call, workflow_dispatch]")
    assert len(workflows(tmp_path, publish=both).of("publish")) == 1


@pytest.mark.parametrize("text", ["[]\n", "jobs: {}\n", "on: push\n", "on: push\njobs: []\n"])
def test_what_is_no_workflow(text):
    with pytest.raises(InputProblem) as refusal:
        flow(text)
    assert refusal.value.code == "not-a-workflow"
