"""Why there is no approval: every code with its sentence for people, in one place.

A code is stable and stands for one way in which evidence fails; tests and scripts may rely on it. The sentence may be followed
by a detail (short ids and hashes only).
"""

from __future__ import annotations

REASONS: dict[str, str] = {
    # the file and its newest change
    "absent": "nobody has decided about this file yet",
    "not-recorded": "the ledger has no approval of it, and the pull-request host was not asked",
    "deleted": "the file is no longer on the default branch",
    "not-a-plain-file": "the file is a link, a submodule or executable",
    "put-aside": "a later change of the file was put beside the default branch's own line of commits",
    "case-twin": "another file's name differs only by case or Unicode form",
    "no-request": "it was pushed without a reviewed request",
    "edited-without-request": "it was edited on the default branch without a reviewed request",
    "restored-without-request": "it was put back without a reviewed request",
    "statement-without-merge": "its newest change carries statements, but is no merge of a request",
    "octopus-merge": "its newest change is a merge of more than two parents",
    "payload-unreadable": "the merged file cannot be read",
    "payload-differs": "the merged file has another payload",
    "no-rules": "there were no approval rules when it was merged",
    # the request that was merged
    "nothing-brought-in": "the merge brings no commit of its own",
    "unrelated-history": "the request does not start from the default branch",
    "request-not-linear": "the request contains a merge",
    "request-touches-more": "the request touches more than plans and approval.yaml",
    "request-deletes": "the request removes a file",
    "merge-differs": "the merge holds other bytes than the request",
    "evil-merge": "the merge changes something that the request does not",
    "unsigned-commit": "a commit of the request is not signed",
    "unknown-signer": "a commit of the request is signed by nobody listed in approval.yaml",
    "bad-commit-signature": "a commit's signature does not fit the commit",
    "author-not-signer": "a commit names another author than its signer",
    "unsigned-merge": "the merge is not signed by anybody listed in approval.yaml",
    # the signed statements
    "no-statement": "the merge carries no signed statement",
    "broken-statement": "the merge's statements cannot be read",
    "other-path": "the statements are about other files",
    "unknown-key": "the statement is signed with a key that approval.yaml does not list",
    "key-not-yet-trusted": "the statement is signed with a key that approval.yaml did not list before this merge",
    "shared-key": "the statement is signed with a key that approval.yaml lists for several people",
    "bot-cannot-approve": "the statement is signed by somebody who may commit but not approve",
    "other-namespace": "the signature was made for another purpose",
    "bad-signature": "the signature does not fit the statement",
    "other-instance": "the statement is for another instance",
    "other-branch": "the statement is for another branch",
    "other-revision": "the statement is for another revision",
    "other-payload": "the statement is for another payload",
    "other-request": "the statement's request number is not valid here",
    "not-an-approval": "the statement does not say approve",
    "bad-time": "the statement's time cannot be read",
    "from-the-future": "the statement's time has not come yet",
    "after-its-merge": "the statement is later than the merge that carries it",
    "spent-statement": "the statement is older than an earlier change of the file",
    "own-approval": "the approver wrote the request",
    "last-pusher": "the approver pushed the request's last commit",
    "merge-not-by-approver": "the merge is signed by somebody who did not approve it",
    "too-few": "not enough people approved",
    # at GitHub: how it came onto the default branch
    "other-base": "its request was merged into another branch",
    "ambiguous-request": "several merged requests claim its newest change",
    "request-not-found": "the default branch moved by a merge, but no merged request belongs to it",
    "request-not-merged": "its request is not merged",
    "indirect-merge": "its request counts as merged only because somebody pushed its commits",
    "movement-unknown": "the record of pushes does not show how it came onto the default branch",
    "branch-rewritten": "a forced push moved the default branch over it",
    "head-not-merged": "the merge is not one of the request's head",
    "merged-in-the-future": "the time of its merge has not come yet",
    "rule-bypassed": "its request was merged past the rules of the default branch",
    "check-failed": "its request was merged although publisher's check had failed",
    "request-too-large": "its request has more commits or files than GitHub lists",
    "renamed-in-request": "the request made it from another file",
    "hidden-change": "a commit of the request changes a file that the request as a whole does not show",
    # at GitHub: who reviewed it
    "not-reviewed": "its request was merged without a review",
    "commented-only": "its request was commented on, and not approved",
    "approval-dismissed": "the approving review was dismissed",
    "approval-withdrawn": "the approver asked for changes afterwards",
    "changes-requested": "somebody entitled asked for changes",
    "reviewed-after-merge": "it was approved only after its request was merged",
    "review-by-bot": "the review is by a bot or an app",
    "reviewer-not-listed": "the reviewer's account is not listed in approval.yaml",
    "login-differs": "the reviewer's account has another number or name than approval.yaml lists",
    "reviewer-without-write": "the reviewer may not write to the repository",
    "pushed-after-own-review": "the approver pushed to the request after approving it",
    # at GitHub: what the review saw
    "review-of-older-head": "commits were pushed after the review",
    "force-pushed-after-review": "the request was replaced by a forced push after the review",
    "updated-after-review": "the default branch was merged into the request after the review",
    "retargeted-after-review": "the request was pointed at another branch after the review",
    "freshness-unknown": "nothing shows that the review came after the last push, and it does not name the payload",
    "review-names-another-payload": "the review names another payload",
}


def sentence(code: str, detail: str = "") -> str:
    """The sentence of a code, with a detail."""
    return REASONS[code] + (f" ({detail})" if detail else "")


class Unproven(Exception):
    """Evidence that does not prove an approval; becomes ``NoApproval`` or, for a person about to sign, a refusal."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.says = sentence(code, detail)
