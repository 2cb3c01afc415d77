"""The instance's own files as somebody proposes them: bytes in, values or a refusal with its place out. Nothing is looked up."""

from __future__ import annotations

from collections.abc import Sequence

from publisher.domain.approval import ApprovalRules
from publisher.domain.gates import GateFile
from publisher.domain.instance import Instance
from publisher.domain.plan import Plan
from publisher.domain.policy import Policy
from publisher.domain.queue import Queued
from publisher.gitstore import instance_files
from publisher.gitstore.strict_yaml import Document, load


class CheckedFiles:
    """Implements ``ports.ProposedFiles``."""

    def __init__(self) -> None:
        self._last: tuple[bytes, str, Document] | None = None

    def instance(self, data: bytes, path: str) -> Instance:
        return instance_files.instance_of(data, path)

    def rules(self, data: bytes, path: str) -> ApprovalRules:
        return instance_files.rules_of(data, path)

    def policy(self, data: bytes, path: str) -> Policy:
        return instance_files.policy_of(data, path)

    def queue(self, data: bytes, path: str) -> tuple[Queued, ...]:
        return instance_files.queue_of(data, path)

    def plan(self, data: bytes, path: str) -> Plan:
        return instance_files.plan_of_file(data, path)

    def gate(self, data: bytes, path: str) -> GateFile:
        return instance_files.gate_of_file(data, path)

    def where(self, data: bytes, path: str, place: Sequence[str | int]) -> str:
        """``path:line:col`` of a value; of the nearest thing above it where there is no such value."""
        # A review asks for many places of one file.
        if self._last is None or self._last[:2] != (data, path):
            self._last = (data, path, load(data, path, most=instance_files.MOST_QUEUE))
        return self._last[2].where(place)
