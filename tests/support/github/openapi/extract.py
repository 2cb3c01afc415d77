"""Takes the schemas of the simulated endpoints out of GitHub's own OpenAPI description.

The description is the npm package ``@octokit/openapi`` (MIT; ``VERSION`` below), file ``generated/api.github.com.json``. To renew::

    npm install --prefix FOLDER @octokit/openapi@VERSION
    python tests/support/github/openapi/extract.py FOLDER/node_modules/@octokit/openapi/generated/api.github.com.json

What it does:
* keeps the operations of ``OPERATIONS`` with their query parameters, the body that they take, and each status's answer;
* keeps every schema that these reach, once, under ``$defs``; drops prose and examples, which would be nine tenths of the size;
* writes ``nullable`` (OpenAPI 3.0) as JSON Schema does, so that ``jsonschema`` can judge;
* closes each object whose fields are listed (``additionalProperties: false``) and is not part of a composition, so that the
  simulator cannot make up a field.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

VERSION = "23.0.2"
HERE = Path(__file__).parent
REPO = "/repos/{owner}/{repo}"
OPERATIONS = {
    "operations-pulls.json": [
        f"GET {REPO}/commits/{{commit_sha}}/pulls", f"GET {REPO}/pulls", f"POST {REPO}/pulls", f"GET {REPO}/pulls/{{pull_number}}",
        f"PATCH {REPO}/pulls/{{pull_number}}", f"GET {REPO}/pulls/{{pull_number}}/commits", f"GET {REPO}/pulls/{{pull_number}}/files",
        f"GET {REPO}/pulls/{{pull_number}}/merge", f"PUT {REPO}/pulls/{{pull_number}}/merge",
        f"PUT {REPO}/pulls/{{pull_number}}/update-branch", f"GET {REPO}/pulls/{{pull_number}}/reviews",
        f"POST {REPO}/pulls/{{pull_number}}/reviews", f"GET {REPO}/pulls/{{pull_number}}/reviews/{{review_id}}",
        f"PUT {REPO}/pulls/{{pull_number}}/reviews/{{review_id}}", f"PUT {REPO}/pulls/{{pull_number}}/reviews/{{review_id}}/dismissals",
        f"GET {REPO}/issues", f"POST {REPO}/issues", f"GET {REPO}/issues/{{issue_number}}", f"PATCH {REPO}/issues/{{issue_number}}",
        f"GET {REPO}/issues/{{issue_number}}/comments", f"POST {REPO}/issues/{{issue_number}}/comments",
        f"GET {REPO}/issues/comments/{{comment_id}}", f"PATCH {REPO}/issues/comments/{{comment_id}}",
        f"DELETE {REPO}/issues/comments/{{comment_id}}", f"GET {REPO}/issues/{{issue_number}}/timeline",
        f"GET {REPO}/issues/{{issue_number}}/labels", f"POST {REPO}/issues/{{issue_number}}/labels",
        f"DELETE {REPO}/issues/{{issue_number}}/labels/{{name}}", f"GET {REPO}/labels", f"POST {REPO}/labels", f"GET {REPO}/labels/{{name}}",
    ],
    "operations-repository.json": [
        f"GET {REPO}", f"GET {REPO}/activity", f"GET {REPO}/rules/branches/{{branch}}", f"GET {REPO}/rulesets",
        f"GET {REPO}/rulesets/{{ruleset_id}}", f"GET {REPO}/rulesets/rule-suites", f"GET {REPO}/branches", f"GET {REPO}/branches/{{branch}}",
        f"GET {REPO}/collaborators/{{username}}/permission", f"GET {REPO}/commits", f"GET {REPO}/commits/{{ref}}",
        f"GET {REPO}/contents/{{path}}", f"PUT {REPO}/contents/{{path}}", f"DELETE {REPO}/contents/{{path}}",
        f"GET {REPO}/git/blobs/{{file_sha}}", f"GET {REPO}/git/commits/{{commit_sha}}", f"GET {REPO}/git/ref/{{ref}}",
        f"GET {REPO}/git/matching-refs/{{ref}}", f"POST {REPO}/git/refs", f"PATCH {REPO}/git/refs/{{ref}}", f"DELETE {REPO}/git/refs/{{ref}}",
        f"POST {REPO}/statuses/{{sha}}", f"GET {REPO}/commits/{{ref}}/status", f"GET {REPO}/commits/{{ref}}/statuses",
        f"GET {REPO}/commits/{{ref}}/check-runs", f"POST {REPO}/check-runs", f"GET {REPO}/check-runs/{{check_run_id}}",
        f"PATCH {REPO}/check-runs/{{check_run_id}}", f"GET {REPO}/check-runs/{{check_run_id}}/annotations",
        "GET /users/{username}", "GET /user/{account_id}", "GET /user", "GET /rate_limit",
    ],
    "operations-actions.json": [
        f"GET {REPO}/actions/workflows", f"GET {REPO}/actions/workflows/{{workflow_id}}", f"PUT {REPO}/actions/workflows/{{workflow_id}}/enable",
        f"PUT {REPO}/actions/workflows/{{workflow_id}}/disable", f"POST {REPO}/actions/workflows/{{workflow_id}}/dispatches",
        f"GET {REPO}/actions/workflows/{{workflow_id}}/runs", f"GET {REPO}/actions/runs", f"GET {REPO}/actions/runs/{{run_id}}",
        f"GET {REPO}/actions/runs/{{run_id}}/artifacts", f"GET {REPO}/actions/permissions", f"GET {REPO}/actions/permissions/workflow",
        f"GET {REPO}/actions/variables", f"GET {REPO}/actions/variables/{{name}}", f"GET {REPO}/actions/secrets",
        f"GET {REPO}/environments", f"GET {REPO}/environments/{{environment_name}}",
        f"GET {REPO}/pages", f"GET {REPO}/pages/builds", f"POST {REPO}/pages/builds", f"GET {REPO}/pages/builds/latest",
        f"GET {REPO}/pages/builds/{{build_id}}", f"POST {REPO}/pages/deployments", f"GET {REPO}/pages/deployments/{{pages_deployment_id}}",
        f"POST {REPO}/pages/deployments/{{pages_deployment_id}}/cancel",
    ],
}  # fmt: skip
PROSE = ("description", "example", "examples", "externalDocs", "title", "x-github", "deprecated", "default", "readOnly")
Json = dict[str, Any]


class Extract:
    """One pass over a description; ``schemas`` gathers what the operations reach."""

    def __init__(self, description: Json) -> None:
        self.description = description
        self.schemas: Json = {}

    def followed(self, ref: str) -> Any:
        found: Any = self.description
        for part in ref.removeprefix("#/").split("/"):
            found = found[part]
        return found

    def operation(self, name: str) -> Json:
        method, path = name.split(" ")
        found = self.description["paths"][path][method.lower()]
        given = [self.followed(one["$ref"]) if "$ref" in one else one for one in found.get("parameters", ())]
        made: Json = {"query": sorted(one["name"] for one in given if one["in"] == "query"), "answers": {}}
        body = found.get("requestBody", {}).get("content", {}).get("application/json")
        if body:
            made["body"] = self.schema(body["schema"], part=True)
        for status, answer in found["responses"].items():
            if status.startswith("2") or status.startswith("3"):
                answer = self.followed(answer["$ref"]) if "$ref" in answer else answer
                content = answer.get("content", {}).get("application/json")
                made["answers"][status] = self.schema(content["schema"]) if content else None
        return made

    def schema(self, found: Any, *, part: bool = False) -> Any:
        """``part``: within a composition or a request, where an object must stay open."""
        if "$ref" in found:
            name = found["$ref"].rsplit("/", 1)[1] + ("~" if part else "")
            if name not in self.schemas:
                self.schemas[name] = {}
                self.schemas[name] = self.schema(self.followed(found["$ref"]), part=part)
            return {"$ref": f"#/$defs/{name}"}
        made: Json = {}
        for key, value in found.items():
            if key in ("anyOf", "oneOf", "allOf"):
                made[key] = [self.schema(one, part=True) for one in value]
            elif key == "properties":
                made[key] = {name: self.schema(one, part=part and "type" not in found) for name, one in value.items()}
            elif key in ("items", "additionalProperties", "not") and isinstance(value, dict):
                made[key] = self.schema(value, part=key == "not")
            elif key not in PROSE and key != "nullable":
                made[key] = value
        if "properties" in made and not part and not set(made) & {"anyOf", "oneOf", "allOf", "additionalProperties"}:
            made["additionalProperties"] = False
        return nullable(made) if found.get("nullable") else made


def nullable(schema: Json) -> Json:
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    if "type" not in schema and "enum" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return schema


def main(source: Path) -> None:
    extract = Extract(json.loads(source.read_text(encoding="utf-8")))
    for name, operations in OPERATIONS.items():
        written(HERE / name, {one: extract.operation(one) for one in operations})
    written(HERE / "schemas.json", extract.schemas)


def written(path: Path, what: Json) -> None:
    rows = [f"{json.dumps(name)}: {json.dumps(what[name], separators=(',', ':'), sort_keys=True)}" for name in sorted(what)]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
