"""What the simulator models of GitHub, sentence by sentence. Each name is a switch, for the contract tests only.

``Simulator(without={"name"})`` leaves one of them out; the contract of that name must then fail.
"""

from __future__ import annotations

RULES: dict[str, str] = {
    # merging
    "merge-keeps-the-head": "a merge commit's second parent is the head of the request",
    "squash-makes-one-commit": "a squash puts one commit on the base; the head is not in its history",
    "rebase-makes-new-commits": "a rebase always makes new commits, even where nothing had to move",
    "merge-commit-sha-is-what-the-base-became": "merge_commit_sha is the merge, the squashed or the last rebased commit",
    "open-requests-have-a-test-merge": "before merging, merge_commit_sha is a test merge, which refs/pull/N/merge shows",
    "the-queue-merges-as-its-bot": "the merge queue's push and merged_by are github-merge-queue[bot]",
    "the-queue-lands-several-in-one-push": "several requests may land in one push of the queue",
    "merge-compares-the-head": "a merge that names a stale head is 409",
    "drafts-cannot-be-merged": "a draft is not merged (405)",
    "conflicts-cannot-be-merged": "a merge that is not clean is 405",
    "reachable-heads-are-merged": "a push that makes a request's head reachable marks it merged, whatever the rules",
    "indirect-merges-follow-the-own-line": "an indirect merge names the commit of the branch's own line that brought the head",
    # requests
    "one-open-request-for-a-branch": "a second open request of the same branch is 422",
    "pull-refs-stay": "refs/pull/N/head stays when the branch is gone, and follows it while the request is open",
    "pull-refs-cannot-be-pushed": "refs/pull is read-only",
    "forks-are-elsewhere": "a fork's branches are not here; its requests are, under refs/pull",
    "deleting-the-head-closes": "deleting the head's branch closes the request",
    "forced-heads-cannot-reopen": "a closed request whose head was force-pushed cannot be reopened",
    "actions-may-not-open": "GITHUB_TOKEN opens requests only where the settings let it",
    "files-end-at-3000": "the files of a request end at 3000",
    # commit to requests
    "a-commit-can-have-several-requests": "commits/{sha}/pulls can list several",
    "open-requests-hide-on-the-default-branch": "open requests are listed for commits outside the default branch only",
    "requests-without-merge-stay-unlisted": "a request that was closed unmerged is not listed",
    "the-index-may-lag": "commits/{sha}/pulls may show a merge late",
    # reviews
    "authors-cannot-approve": "nobody approves a request of their own (422)",
    "readers-may-review": "read access is enough to approve",
    "readers-do-not-count": "required reviews are counted from people with write access",
    "actions-may-not-approve": "GITHUB_TOKEN approves only where the settings let it",
    "bots-are-marked": "a bot's review has user.type Bot",
    "force-push-repoints-approvals": "after a force-push an approval may name the new head",
    "plain-pushes-leave-reviews": "after a plain push a review still names the head that it was given to",
    "dismissal-replaces-the-state": "a dismissed review is DISMISSED, no longer APPROVED",
    "readers-cannot-dismiss": "dismissing needs write access",
    "stale-approvals-are-dismissed": "with that option, a push that changes the diff dismisses approvals",
    "pending-is-private": "a pending review is its author's secret, and has no submitted_at",
    "deleted-reviewers-are-null": "a deleted account's review has no user",
    "lost-commits-are-null": "a review of a lost commit has no commit_id",
    "merged-requests-take-reviews": "reviews can be added after the merge",
    "reviews-are-chronological": "reviews are listed in the order in which they came",
    # moved refs
    "activity-tells-merges-from-pushes": "the activity of GitHub's own merges is pr_merge or merge_queue_merge",
    "activity-tells-forced-pushes": "a push that loses commits is force_push",
    "activity-has-the-servers-word": "before, after, actor and the server's time of each moved ref, whatever git says",
    "activity-has-cursors": "the pages of the activity are reached by cursor",
    "keys-push-as-their-owner": "a deploy key's push is its owner's",
    "timeline-tells-forced-pushes": "the timeline has head_ref_force_pushed with the server's time",
    "timeline-commits-have-their-own-dates": "committed events have the dates that the commit claims",
    "timeline-shows-reviews-as-they-are": "a reviewed event of a dismissed review says dismissed",
    # rules
    "rulesets-bind-pushes": "a push against a ruleset is refused as a whole",
    "rulesets-bind-merges": "a merge without the required reviews is 405",
    "rules-bind-admins": "a ruleset binds administrators",
    "bypass-actors-pass": "a bypass actor's push is accepted, and its rule suite says bypass",
    "exempt-leaves-no-trace": "an exempt actor's push leaves no rule suite",
    "actions-cannot-bypass": "GITHUB_TOKEN cannot be a bypass actor (422)",
    "last-pusher-does-not-count": "with require_last_push_approval the last pusher's approval does not count",
    "rules-are-readable": "rules/branches shows the rules to whoever can read",
    # tokens
    "tokens-have-permissions": "a token without the permission is 403",
    "what-is-invisible-is-not-there": "a repository that one may not see is 404",
    "wrong-tokens-are-refused": "an unknown token is 401",
    "apps-need-workflows-permission": "an App without it cannot push changes to .github/workflows",
    "check-runs-are-for-apps": "only Apps write check runs",
    "keys-have-no-api": "a deploy key cannot use the API",
    "bots-are-no-collaborators": "a bot's permission is 404",
    "logins-can-move": "a login can go to another id",
    # actions
    "the-actions-token-starts-nothing": "what GITHUB_TOKEN pushes starts no run",
    "dispatches-always-start": "a dispatch by GITHUB_TOKEN starts a run",
    "disabled-workflows-do-not-run": "a disabled workflow starts nothing and leaves no run",
    "schedules-come-from-the-default-branch": "a schedule counts when it is in the default branch's file",
    "reruns-keep-their-commit": "a re-run keeps number and commit, counts attempts, and has another triggering actor",
    # pages
    "the-actions-token-builds-no-pages": "what GITHUB_TOKEN pushes starts no build of Pages",
    "newer-builds-cancel-older": "a build is cancelled by a newer one",
    "one-deployment-at-a-time": "a deployment during another is 400",
    "a-version-is-one-deployment": "the same build version is the same deployment",
    # files, statuses, refs
    "large-files-have-no-content": "contents of a file above 1 MB are empty",
    "contents-compare-the-blob": "a file is replaced only against the blob that was named (409)",
    "descriptions-are-short": "a status description above 140 characters is 422",
    "newest-status-counts": "of a context, the newest status counts",
    "creating-a-ref-never-moves-it": "creating a ref that exists is 422",
    "moving-a-ref-is-a-fast-forward": "moving a ref without force is a fast-forward",
    # the wire
    "lists-have-pages": "lists come in pages, linked by the Link header",
    "a-page-has-at-most-100": "a page has 100 items at most",
    "requests-are-counted": "the hourly limit is 403 with X-RateLimit headers",
    "answers-have-the-servers-date": "the Date header is the server's clock",
    "bodies-are-judged": "a body that GitHub's schema refuses is 422: types, words, required fields, 50 annotations at most",
}
