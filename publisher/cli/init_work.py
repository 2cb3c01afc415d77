"""What one ``init`` writes: worked out whole before the first byte, then written without replacing anything."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from publisher.cli import init_github
from publisher.cli.init_answers import Given, answers_for, read_people
from publisher.cli.new_instance import (
    HEAD_APPROVAL,
    HEAD_APPROVERS,
    HEAD_INSTANCE,
    HEAD_POLICY,
    HEAD_QUEUE,
    WELCOME,
    Answers,
    Who,
    approval_values,
    ignored,
    instance_values,
    policy_values,
    site_values,
)
from publisher.domain.instance import Instance, Site
from publisher.errors import UsageProblem

if TYPE_CHECKING:
    from publisher.gitstore.first_ledger import Begun
    from publisher.gitstore.gateway import Git


@dataclass(kw_only=True)
class InitWork:
    """One ``init`` on its way. ``files`` are those to write, all of them new; ``ignore`` are lines for ``.gitignore``."""

    root: Path
    git: Git
    now: datetime
    asks: bool
    files: dict[str, bytes] = field(default_factory=dict)
    ignore: list[str] = field(default_factory=list)
    added: Mapping[str, Any] | None = None
    wrote: list[str] = field(default_factory=list)
    instance: Instance | None = None
    site_id: str = ""
    nobody_approves: bool = False
    github: init_github.GithubAnswers | None = None

    @property
    def site(self) -> Site:
        assert self.instance is not None
        return self.instance.sites[self.site_id]

    # --- what to write --------------------------------------------------------------------------------------------------

    def prepare(self, given: Given, *, example: bool) -> None:
        """Works out everything before a byte is written. Refuses what does not go together."""
        from publisher.gitstore import working_tree

        there = working_tree.read_instance(self.root) if (self.root / working_tree.INSTANCE).exists() else None
        if not given.github and any((given.repository, given.site_repository, given.approver, given.uses)):
            raise UsageProblem("needs-github", "--repository, --site-repository, --approver and --uses go with --github")
        if given.github:
            self.github = init_github.answers_of(given, self.git.local_setting("remote.origin.url"))
            given = init_github.completed(given, self.github, there)
        answers = answers_for(given, there, self.root, self.now, asks=self.asks)
        if self.github:
            answers = init_github.placed(answers, self.github, there)
        self.site_id = answers.site
        people = read_people(given.reviewer, given.planner)
        if there is None:
            self._new_instance(given, answers, people)
        elif people or given.on_call:
            raise UsageProblem(
                "rules-exist", "approval.yaml and publisher.yaml exist; people are changed there, by an approved change",
                next="publisher init --site ID, without --reviewer, --planner and --on-call",
            )  # fmt: skip
        else:
            self.instance = there
            if answers.site not in there.sites:
                self.added = site_values(answers)
                self.instance = working_tree.with_site(self.root, answers.site, self.added)[1]
        self._site_files(answers, example=example)
        self._github_files(answers)
        self._ignore_targets()

    def _new_instance(self, given: Given, answers: Answers, people: tuple[Who, ...]) -> None:
        from publisher.gitstore import first_ledger, instance_files
        from publisher.gitstore.yaml_writing import render_yaml

        branch = first_ledger.checked_out_branch(self.root) or "main"
        values = instance_values(
            answers, instance_id=secrets.token_hex(8), forge=given.forge, default_branch=branch,
            state_branch=given.state_branch or branch, on_call=given.on_call,
            github=self.github.place.values() if self.github else None,
        )  # fmt: skip
        data = HEAD_INSTANCE.encode() + render_yaml(values)
        self.instance = instance_files.instance_of(data, "publisher.yaml")
        self.files["publisher.yaml"] = data
        approvers = init_github.approvers_of(self.github) if self.github else []
        head = HEAD_APPROVERS if self.github else HEAD_APPROVAL
        approval = head.encode() + render_yaml(approval_values(people, approvers))
        instance_files.rules_of(approval, "approval.yaml")
        self._add("approval.yaml", approval)
        self.nobody_approves = not approvers and not any(who.may_approve for who in people)

    def _site_files(self, answers: Answers, *, example: bool) -> None:
        from publisher.gitstore import instance_files, working_tree
        from publisher.gitstore.yaml_writing import render_yaml
        from publisher.sitebuilder.theme import default_theme

        site = answers.site
        policy = HEAD_POLICY.encode() + render_yaml(policy_values(answers, self.now))
        instance_files.policy_of(policy, f"plans/{site}/policy.yaml")
        self._add(f"plans/{site}/policy.yaml", policy)
        queue_path = f"plans/{site}/queue.yaml"
        articles: list[dict[str, str]] = []
        if example and not (self.root / queue_path).exists() and not working_tree.draft_sources(self.root, site):
            articles = [self._example(site)]
        self._add(queue_path, HEAD_QUEUE.encode() + render_yaml({"articles": articles}))
        if not any((self.root / f"site-src/{site}/theme").glob("*")):
            for name, data in default_theme().items():
                self._add(f"site-src/{site}/theme/{name}", data)

    def _github_files(self, answers: Answers) -> None:
        from publisher.gitstore import working_tree

        if self.github and self.instance:
            schemas = working_tree.schema_texts()
            for path, data in init_github.files_of(
                self.github, self.instance, answers.site, answers.publish_time, schemas
            ).items():
                self._add(path, data)

    def _example(self, site: str) -> dict[str, str]:
        from publisher.cli.new import front_matter
        from publisher.gitstore import working_tree

        article = working_tree.next_article_id(self.root)
        head = front_matter(article, "Hello", "The first article of this site, and how it becomes public.", "note")
        self._add(f"drafts/{site}/hello/index.md", head + WELCOME.encode())
        return {"id": article, "source": f"drafts/{site}/hello"}

    def _add(self, path: str, data: bytes) -> None:
        if not os.path.lexists(self.root / path):
            self.files[path] = data

    def _ignore_targets(self) -> None:
        """Releases inside the checkout are not committed."""
        from publisher.gitstore import working_tree

        lines = (working_tree.read_file(self.root, ".gitignore") or b"").decode("utf-8", "replace").splitlines()
        there = {line.strip().strip("/") for line in lines}
        for target in (self.site.target, self.site.staging):
            path = str(target.options.get("path", "")) if target and target.kind == "directory" else "/"
            folder = Path(os.path.normpath(self.root / Path(path).expanduser()))
            if folder.is_relative_to(self.root) and folder != self.root:
                inside = folder.relative_to(self.root)
                if there.isdisjoint(above.as_posix() for above in (inside, *inside.parents)):
                    self.ignore.append(ignored(inside.as_posix()))

    # --- the ledger -----------------------------------------------------------------------------------------------------

    def needs_ledger(self) -> bool:
        from publisher.gitstore import first_ledger

        assert self.instance is not None
        if self._own_branch:
            first_ledger.require_known_state(self.git, self.instance.state_branch)
        return not first_ledger.has_ledger(self.root, self.git, self.site_id, self.instance.state_branch)

    @property
    def _own_branch(self) -> bool:
        assert self.instance is not None
        return self.instance.state_branch != self.instance.default_branch

    # --- writing ----------------------------------------------------------------------------------------------------------

    def write(self, begins: bool) -> Begun | None:
        from publisher.gitstore import first_ledger, working_tree

        assert self.instance is not None
        for path, data in self.files.items():
            if working_tree.create_file(self.root / path, data):
                self.wrote.append(path)
        if self.added is not None:
            working_tree.write_file(
                self.root / "publisher.yaml", working_tree.with_site(self.root, self.site_id, self.added)[0]
            )
            self.wrote.append("publisher.yaml")
        if self.ignore:
            text = working_tree.read_file(self.root, ".gitignore") or b""
            text += b"" if not text or text.endswith(b"\n") else b"\n"
            working_tree.write_file(self.root / ".gitignore", text + "".join(f"{line}\n" for line in self.ignore).encode())
            self.wrote.append(".gitignore")
        if not begins:
            return None
        begun = first_ledger.begin(
            self.root, self.git, self.site_id, state_branch=self.instance.state_branch, own_branch=self._own_branch,
            now=self.now, epoch_id=secrets.token_hex(16),
        )  # fmt: skip
        if not begun.commit:
            self.wrote.append(begun.path)
        return begun
