"""What GitHub makes of a merge: commits, the meaning of ``merge_commit_sha``, indirect merges, and commits found in requests."""

from __future__ import annotations

from datetime import timedelta

from tests.support.github.world import World


def merge_keeps_the_head(w: World) -> None:
    n = w.opened()
    head = w.tip("plan")
    made = w.sim.pulls.merge(w.rae, n)
    parents = [one["sha"] for one in w.get(f"commits/{made}")["parents"]]
    assert parents[1:] == [head] and w.tip() == made


def squash_makes_one_commit(w: World) -> None:
    n = w.opened()
    w.sim.commit(w.bot, "plan", {"more.txt": "more\n"})
    before, head = w.tip(), w.tip("plan")
    made = w.call(
        w.rae, "PUT", f"pulls/{n}/merge", {"merge_method": "squash", "commit_title": "One", "commit_message": "text"}
    ).body["sha"]
    commit = w.get(f"commits/{made}")
    assert [one["sha"] for one in commit["parents"]] == [before]
    assert commit["commit"]["message"] == "One\n\ntext"
    assert not w.sim.git.is_ancestor(head, made)
    assert {one["filename"] for one in commit["files"]} == {"plan.txt", "more.txt"}


def rebase_makes_new_commits(w: World) -> None:
    n = w.opened()
    w.sim.commit(w.bot, "plan", {"more.txt": "more\n"}, "second")
    heads = [one["sha"] for one in w.get(f"pulls/{n}/commits")]
    w.later()
    made = w.sim.pulls.merge(w.rae, n, "rebase")
    assert w.sim.git.commit(made).message == "second"
    landed = w.sim.git.between(w.sim.git.branch("plan~2"), made)
    assert len(landed) == 2 and not set(landed) & set(heads)
    assert (
        w.get(f"commits/{made}")["committer"]["login"] == "rae"
        and w.get(f"commits/{made}")["author"]["login"] == "publisher[bot]"
    )


def merge_commit_sha_is_what_the_base_became(w: World) -> None:
    for method in ("merge", "squash", "rebase", "queue"):
        n = w.opened(f"plan-{method}")
        made = w.sim.pulls.merge(w.rae, n, method)
        found = w.get(f"pulls/{n}")
        assert (found["merged"], found["state"], found["merge_commit_sha"]) == (True, "closed", made)
        assert w.tip() == made


def open_requests_have_a_test_merge(w: World) -> None:
    n = w.opened()
    found = w.get(f"pulls/{n}")
    refs = w.sim.git.refs("refs/pull")
    assert found["merge_commit_sha"] == refs[f"refs/pull/{n}/merge"]
    assert w.sim.git.commit(found["merge_commit_sha"]).parents == (w.tip(), w.tip("plan"))
    assert found["merged"] is False and found["merged_at"] is None and found["mergeable"] is True
    w.sim.commit(w.ann, "main", {"other.txt": "x\n"})
    assert w.get(f"pulls/{n}")["merge_commit_sha"] != found["merge_commit_sha"]


def the_queue_merges_as_its_bot(w: World) -> None:
    n = w.opened()
    w.sim.pulls.merge(w.rae, n, "queue")
    assert w.get(f"pulls/{n}")["merged_by"]["login"] == "github-merge-queue[bot]"
    entry = w.get("activity", ref="main")[0]
    assert (entry["activity_type"], entry["actor"]["login"]) == ("merge_queue_merge", "github-merge-queue[bot]")


def the_queue_lands_several_in_one_push(w: World) -> None:
    numbers, before = [w.opened("one"), w.opened("two")], w.tip()
    w.sim.pulls.merge(w.rae, numbers, "queue")
    entries = w.get("activity", ref="main", activity_type="merge_queue_merge")
    assert [(one["before"], one["after"]) for one in entries] == [(before, w.tip())]
    merged = [w.get(f"pulls/{n}")["merge_commit_sha"] for n in numbers]
    assert merged[1] == w.tip() and w.sim.git.commit(merged[1]).parents[0] == merged[0]


def merge_compares_the_head(w: World) -> None:
    n, before = w.opened(), w.tip()
    seen = w.tip("plan")
    w.sim.commit(w.bot, "plan", {"late.txt": "x\n"})
    assert w.does(w.rae, "PUT", f"pulls/{n}/merge", {"sha": seen}) == 409
    assert w.tip() == before
    assert w.does(w.rae, "PUT", f"pulls/{n}/merge", {"sha": w.tip("plan")}) == 200


def drafts_cannot_be_merged(w: World) -> None:
    n = w.opened(draft=True)
    assert w.get(f"pulls/{n}")["draft"] is True
    assert w.does(w.rae, "PUT", f"pulls/{n}/merge", {}) == 405


def conflicts_cannot_be_merged(w: World) -> None:
    n = w.opened(files={"README.md": "mine\n"})
    w.sim.commit(w.ann, "main", {"README.md": "theirs\n"})
    assert w.get(f"pulls/{n}")["mergeable"] is False
    assert {w.does(w.rae, "PUT", f"pulls/{n}/merge", {"merge_method": one}) for one in ("merge", "squash", "rebase")} == {405}


def reachable_heads_are_merged(w: World) -> None:
    n = w.opened()
    w.sim.protect("main", required_reviews=2, bypass=[w.ann])
    w.sim.push_as(w.ann, w.tip("plan"), "main")
    found = w.get(f"pulls/{n}")
    assert found["merged"] is True
    assert (found["merged_by"]["login"], found["merge_commit_sha"]) == ("ann", w.tip())
    assert w.get("activity", ref="main")[0]["activity_type"] == "push"
    assert [one["number"] for one in w.get(f"commits/{w.tip()}/pulls")] == [n]


def indirect_merges_follow_the_own_line(w: World) -> None:
    n = w.opened("plan")
    other = w.opened("other")
    w.sim.push_as(w.rae, merged(w, "other", "plan"), "other")
    brought = w.tip("other")
    w.sim.commit(w.rae, "other", {"last.txt": "x\n"})
    w.sim.push_as(w.ann, w.tip("other"), "main")
    assert w.get(f"pulls/{n}")["merge_commit_sha"] == brought != w.tip()
    assert w.get(f"pulls/{other}")["merged"] is True


def merged(w: World, ours: str, theirs: str) -> str:
    """A merge commit that somebody made at home."""
    from tests.support.github.merging import person

    who = person(w.rae, w.sim.seconds)
    tree = w.sim.git.merged_tree(w.tip(ours), w.tip(theirs))
    return w.sim.git.committed(tree, (w.tip(ours), w.tip(theirs)), "by hand\n", who, who)


# --- requests ---------------------------------------------------------------------------------------------------------------


def one_open_request_for_a_branch(w: World) -> None:
    n = w.opened()
    again = {"head": "plan", "base": "main", "title": "again"}
    reply = w.call(w.bot, "POST", "pulls", again)
    assert reply.status == 422 and "already exists" in reply.body["errors"][0]["message"]
    w.sim.pulls.close(w.bot, n)
    assert w.does(w.bot, "POST", "pulls", again) == 201


def pull_refs_stay(w: World) -> None:
    n = w.opened()
    ref = f"refs/pull/{n}/head"
    w.sim.commit(w.bot, "plan", {"more.txt": "x\n"})
    head = w.tip("plan")
    assert w.sim.git.refs(ref) == {ref: head}
    w.sim.push_as(w.bot, "", "plan")
    assert w.sim.git.refs(ref) == {ref: head} and not w.tip("plan")


def pull_refs_cannot_be_pushed(w: World) -> None:
    n, clone = w.opened(), w.clone(w.ann)
    clone.commit({"forged.txt": "x\n"})
    done = w.git(clone, *w.credentials(w.ann), "push", "--force", "origin", f"HEAD:refs/pull/{n}/head")
    assert done.returncode == 1 and "hidden ref" in done.stderr
    assert w.git(clone, *w.credentials(w.ann), "fetch", "origin", f"refs/pull/{n}/head").returncode == 0


def forks_are_elsewhere(w: World) -> None:
    w.sim.commit(w.eve, "eve:idea", {"idea.txt": "x\n"})
    n = w.sim.pulls.open(w.eve, "eve:idea")
    found = w.get(f"pulls/{n}")["head"]
    assert (found["label"], found["repo"]["full_name"], found["repo"]["fork"]) == ("eve:idea", "eve/site", True)
    clone, token = w.clone(w.ann), w.credentials(w.ann)
    assert w.git(clone, *token, "ls-remote", "origin").stdout.count("idea") == 0
    pushed = w.sim.commit(w.eve, "eve:idea", {"more.txt": "x\n"})
    assert w.get(f"pulls/{n}")["head"]["sha"] == pushed
    assert w.git(clone, *token, "fetch", "origin", f"refs/pull/{n}/head").returncode == 0
    assert [one["number"] for one in w.get("pulls", head="eve:idea")] == [n] and w.get("pulls", head="ann:idea") == []
    made = w.sim.pulls.merge(w.rae, n)
    assert w.get(f"pulls/{n}")["merge_commit_sha"] == made == w.tip()
    w.sim.delete_account(w.eve)
    gone = w.get(f"pulls/{n}")
    assert (gone["head"]["repo"], gone["user"]["login"]) == (None, "ghost")


def deleting_the_head_closes(w: World) -> None:
    n = w.opened()
    assert w.does(w.bot, "DELETE", "git/refs/heads/plan") == 204
    assert w.get(f"pulls/{n}")["state"] == "closed" and w.get(f"pulls/{n}")["merged"] is False
    assert w.kinds(n) == ["committed", "head_ref_deleted", "closed"]


def forced_heads_cannot_reopen(w: World) -> None:
    n = w.opened()
    w.sim.pulls.close(w.bot, n)
    assert w.does(w.bot, "PATCH", f"pulls/{n}", {"state": "open"}) == 200
    w.sim.pulls.close(w.bot, n)
    w.sim.push_as(w.bot, rewritten(w), "plan", force=True)
    assert w.does(w.bot, "PATCH", f"pulls/{n}", {"state": "open"}) == 422


def rewritten(w: World, branch: str = "plan", text: str = "rewritten\n") -> str:
    """Another commit in the place of a branch's last one; not pushed."""
    git = w.sim.git
    old = git.commit(w.tip(branch))
    tree = git.tree_with(old.sha, {f"{branch}.txt": text})
    return git.committed(tree, old.parents, "rewritten\n", old.author, old.committer)


def actions_may_not_open(w: World) -> None:
    w.sim.commit(w.job, "plan", {"plan.txt": "x\n"})
    asked = {"head": "plan", "base": "main", "title": "by a job"}
    assert w.does(w.job, "POST", "pulls", asked) == 403
    w.sim.actions_may_create_pull_requests = True
    reply = w.call(w.job, "POST", "pulls", asked)
    assert reply.status == 201 and reply.body["user"]["login"] == "github-actions[bot]"


def files_end_at_3000(w: World) -> None:
    git, tip = w.sim.git, w.tip()
    blob = git.run("hash-object", "-w", "--stdin", stdin=b"x\n")
    tree = git.tree_with(tip, {f"many/{n:05d}": blob for n in range(3001)}, blobs=True)
    who = git.commit(tip).author
    n = w.opened("seed")
    w.sim.push_as(w.bot, git.committed(tree, (tip,), "many\n", who, who), "seed", force=True)
    assert w.get(f"pulls/{n}")["changed_files"] == 3001
    last = w.get(f"pulls/{n}/files", per_page=100, page=30)
    assert len(last) == 100 and w.get(f"pulls/{n}/files", per_page=100, page=31) == []


# --- from a commit to its requests ------------------------------------------------------------------------------------------


def a_commit_can_have_several_requests(w: World) -> None:
    n = w.opened()
    w.sim.push_as(w.rae, w.tip("plan"), "twin")
    twin = w.sim.pulls.open(w.rae, "twin")
    head = w.tip("plan")
    w.sim.pulls.merge(w.rae, n)
    assert {one["number"] for one in w.get(f"commits/{head}/pulls")} == {n, twin}
    assert w.get(f"pulls/{twin}")["merged"] is True
    side = w.opened("side")
    w.sim.push_as(w.ann, w.tip(), "other-base")
    w.sim.pulls.edit(w.bot, side, base="other-base")
    brought = w.tip("side")
    w.sim.pulls.merge(w.rae, side)
    onwards = w.sim.pulls.open(w.rae, "other-base")
    w.sim.pulls.merge(w.rae, onwards)
    assert {one["number"] for one in w.get(f"commits/{brought}/pulls")} == {side, onwards}


def open_requests_hide_on_the_default_branch(w: World) -> None:
    n = w.opened()
    head, before = w.tip("plan"), w.tip()
    assert [one["number"] for one in w.get(f"commits/{head}/pulls")] == [n]
    w.sim.push_as(w.ann, head, "main")
    w.sim.commit(w.rae, "main", {"later.txt": "x\n"})
    w.sim.push_as(w.ann, before, "release")
    w.sim.commit(w.rae, "next", {"next.txt": "x\n"})
    late = w.sim.pulls.open(w.rae, "next", base="release")
    assert [one["number"] for one in w.get(f"commits/{head}/pulls")] == [n]
    assert late in {one["number"] for one in w.get(f"commits/{w.tip('next')}/pulls")}


def requests_without_merge_stay_unlisted(w: World) -> None:
    n = w.opened()
    w.sim.pulls.close(w.bot, n)
    assert w.get(f"commits/{w.tip('plan')}/pulls") == []


def the_index_may_lag(w: World) -> None:
    w.sim.faults.delay_index(30)
    n = w.opened()
    made = w.sim.pulls.merge(w.rae, n)
    assert w.get(f"commits/{made}/pulls") == []
    w.sim.advance(timedelta(seconds=31))
    assert [one["merge_commit_sha"] for one in w.get(f"commits/{made}/pulls")] == [made]


CONTRACTS = (
    merge_keeps_the_head, squash_makes_one_commit, rebase_makes_new_commits, merge_commit_sha_is_what_the_base_became,
    open_requests_have_a_test_merge, the_queue_merges_as_its_bot, the_queue_lands_several_in_one_push, merge_compares_the_head,
    drafts_cannot_be_merged, conflicts_cannot_be_merged, reachable_heads_are_merged, indirect_merges_follow_the_own_line,
    one_open_request_for_a_branch, forks_are_elsewhere, pull_refs_stay, pull_refs_cannot_be_pushed, deleting_the_head_closes,
    forced_heads_cannot_reopen, actions_may_not_open, files_end_at_3000, a_commit_can_have_several_requests,
    open_requests_hide_on_the_default_branch, requests_without_merge_stay_unlisted, the_index_may_lag,
)  # fmt: skip
