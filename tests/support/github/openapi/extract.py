"""Takes the schemas of the simulated endpoints out of GitHub's own OpenAPI description.

The description is the npm package ``@octokit/openapi`` (MIT; ``VERSION`` below), file ``generated/api.github.com.json``. To renew::

    npm install --prefix FOLDER @octokit/openapi@VERSION
    python tests/support/github/openapi/extract.py FOLDER/node_modules/@octokit/openapi/generated/api.github.com.json

What it does:
* keeps the operations of ``OPERATIONS`` with their query parameters, the body that they take, and each status's answer;
* keeps every schema that these reach, once, under ``$defs``; drops prose and examples, which would be nine tenths of the size;
* writes ``nullable`` (OpenAPI 3.0) as JSON Schema does, so that ``jsonschema`` can judge;
* closes each object whose fields are listed (``additionalProperties: false``) and is not part of a composition, so that the
  simulator cannot make up a field;
* corrects the one place where the description is known to be wrong: a request from a deleted fork has no head repository.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

VERSION = "23.0.2"
HERE = Path(__file__).parent
REPO = "/repos/{owner}/{repo}"
# Below the repository, unless they begin with a slash.
LISTED = {
    "operations-pulls.json": """
commits/{commit_sha}/pulls: GET
pulls: GET POST
pulls/{pull_number}: GET PATCH
pulls/{pull_number}/commits: GET
pulls/{pull_number}/files: GET
pulls/{pull_number}/merge: GET PUT
pulls/{pull_number}/update-branch: PUT
pulls/{pull_number}/reviews: GET POST
pulls/{pull_number}/reviews/{review_id}: GET PUT
pulls/{pull_number}/reviews/{review_id}/dismissals: PUT
issues: GET POST
issues/{issue_number}: GET PATCH
issues/{issue_number}/comments: GET POST
issues/comments/{comment_id}: GET PATCH DELETE
issues/{issue_number}/timeline: GET
issues/{issue_number}/labels: GET POST
issues/{issue_number}/labels/{name}: DELETE
labels: GET POST
labels/{name}: GET
""",
    "operations-repository.json": """
.: GET
activity: GET
rules/branches/{branch}: GET
rulesets: GET
rulesets/{ruleset_id}: GET
rulesets/rule-suites: GET
branches: GET
branches/{branch}: GET
collaborators/{username}/permission: GET
commits: GET
commits/{ref}: GET
contents/{path}: GET PUT DELETE
git/blobs/{file_sha}: GET
git/commits/{commit_sha}: GET
git/ref/{ref}: GET
git/matching-refs/{ref}: GET
git/refs: POST
git/refs/{ref}: PATCH DELETE
statuses/{sha}: POST
commits/{ref}/status: GET
commits/{ref}/statuses: GET
commits/{ref}/check-runs: GET
check-runs: POST
check-runs/{check_run_id}: GET PATCH
check-runs/{check_run_id}/annotations: GET
/users/{username}: GET
/user/{account_id}: GET
/user: GET
/rate_limit: GET
""",
    "operations-actions.json": """
actions/workflows: GET
actions/workflows/{workflow_id}: GET
actions/workflows/{workflow_id}/enable: PUT
actions/workflows/{workflow_id}/disable: PUT
actions/workflows/{workflow_id}/dispatches: POST
actions/workflows/{workflow_id}/runs: GET
actions/runs: GET
actions/runs/{run_id}: GET
actions/artifacts/{artifact_id}: GET
actions/runs/{run_id}/artifacts: GET
actions/permissions: GET
actions/permissions/workflow: GET
actions/variables: GET
actions/variables/{name}: GET
actions/secrets: GET
environments: GET
environments/{environment_name}: GET
pages: GET
pages/builds: GET POST
pages/builds/latest: GET
pages/builds/{build_id}: GET
pages/deployments: POST
pages/deployments/{pages_deployment_id}: GET
pages/deployments/{pages_deployment_id}/cancel: POST
""",
}


def operations(listed: str) -> list[str]:
    """``METHOD path`` as the description names them."""
    found = []
    for line in filter(None, listed.splitlines()):
        path, methods = line.split(": ")
        full = path if path.startswith("/") else REPO if path == "." else f"{REPO}/{path}"
        found += [f"{method} {full}" for method in methods.split(" ")]
    return found


OPERATIONS = {name: operations(listed) for name, listed in LISTED.items()}
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
            if status.startswith(("2", "3")):
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
            elif key not in PROSE and key != "nullable" and not key.startswith("x-"):
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
    for name in ("pull-request", "pull-request-simple"):
        head = extract.schemas[name]["properties"]["head"]["properties"]
        head["repo"] = nullable(head["repo"])
    written(HERE / "schemas.json", extract.schemas)


def written(path: Path, what: Json) -> None:
    rows = [f"{json.dumps(name)}: {json.dumps(what[name], separators=(',', ':'), sort_keys=True)}" for name in sorted(what)]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
