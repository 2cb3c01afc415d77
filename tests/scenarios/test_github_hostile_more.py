from __future__ import annotations
import json
from pathlib import Path
import pytest
from tests.support.github_world import PLAN, OTHER_PLAN, REQUEST, RULES, github_world, plan_text, rules_text
from tests.support.github_instance import github_instance
from tests.support.github.merging import person

@pytest.fixture
def world(tmp_path):
    with github_world(tmp_path) as made:
        yield made

def test_force_back(world):
    world.approved(); then = world.tip()
    world.approved({PLAN: None}, branch="publisher/requests/withdraw")
    world.push(then, "main", world.wes, force=True)
    print("FORCEBACK", world.code())

def test_rejection_dos(world):
    base = world.tip()
    world.commit("wes-junk", {PLAN: plan_text(), "spam.md": "spam\n"}, world.wes, start=base)
    world.approved()
    print("DOS before", world.code())
    n = world.open("wes-junk", world.wes)
    world.tick(); world.sim.pulls.close(world.rae, n)
    print("DOS after closing junk", world.code())
    world.tick(); world.sim.pulls.reopen(world.wes, n); world.tick(); world.sim.pulls.close(world.wes, n)
    print("UNDONE by the author", world.code())

def test_moved_marker(world):
    # a bot's status of the writer overwrites publisher's own failing one
    number = world.propose(); head = world.tip(REQUEST)
    world.tick(); world.api().send("POST", f"statuses/{head}", {"state": "failure", "context": "publisher/payload", "description": "leak"})
    world.review(number)
    world.tick(); world.api(world.wes).send("POST", f"statuses/{head}", {"state": "success", "context": "publisher/payload", "description": "ok"})
    world.merge(number)
    print("STATUS overwritten by wes", world.code())

def test_decide_after_forge_switch(tmp_path):
    with github_instance(tmp_path, publish_time="09:00", articles=12) as instance:
        wes = instance.sim.user("wes", "write"); instance.people["wes"] = wes
        instance.go_to("11-30 18:00")
        instance.environment |= {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ATTEMPT": "1"}
        form = json.dumps({"decision": "pause", "site": "blog", "reason": "because"})
        r = instance.do("wes", "decide", "--form", form, now="11-30 18:00", check=None)
        print("DECIDE github", r.returncode, r.stderr[-300:])
        text = instance.sim.git.run("show", "main:publisher.yaml")
        new = text.replace("forge: github", "forge: git") + "\n"
        import re
        for variant in (new, re.sub(r"github: \{.*\}\n", "", new)):
            by = person(wes, instance.sim.seconds)
            tip = instance.sim.git.branch("main")
            made = instance.sim.git.committed(instance.sim.git.tree_with(tip, {"publisher.yaml": variant}), (tip,), "x", by, by)
            instance.sim.push_as(wes, made, "main")
            r = instance.do("wes", "decide", "--form", form, now="11-30 18:05", check=None)
            print("DECIDE git", r.returncode, r.stdout[-200:], r.stderr[-300:])
