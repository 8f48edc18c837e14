"""The API reference page, made from the OpenAPI document, with forms to try each operation."""

from __future__ import annotations

from typing import Any

from apiflask import APIBlueprint, APIFlask
from flask import Response, current_app, render_template

from treeline.corpus.frozen import frozen

blueprint = APIBlueprint("reference", __name__, enable_openapi=False)

ORDER = ("Search", "Functions", "Files", "Sources", "Feedback", "Evaluation", "Service")


@frozen
class Parameter:
    name: str
    location: str
    mandatory: bool
    about: str
    kind: str
    choices: tuple[str, ...]
    default: str


@frozen
class Operation:
    """One method of one path."""

    method: str
    path: str
    summary: str
    about: str
    tag: str
    parameters: tuple[Parameter, ...]
    body: str
    responses: tuple[tuple[str, str], ...]

    @property
    def anchor(self) -> str:
        return f"{self.method}-{self.path.strip('/').replace('/', '-')}".lower().replace("{", "").replace("}", "")


@blueprint.get("/docs")
def docs() -> Response:
    assert isinstance(current_app, APIFlask) or current_app
    spec = current_app.spec  # type: ignore[attr-defined]
    page = render_template("docs.html", groups=groups(spec), version=spec["info"]["version"])
    return Response(page, headers={"Cache-Control": "private, no-cache"})


def groups(spec: dict[str, Any]) -> dict[str, list[Operation]]:
    """The operations by tag, the most used first."""
    by_tag: dict[str, list[Operation]] = {tag: [] for tag in ORDER}
    for path, methods in spec["paths"].items():
        for method, operation in methods.items():
            if method in {"get", "post"}:
                one = _operation(spec, path, method, operation, methods.get("parameters", []))
                by_tag.setdefault(one.tag, []).append(one)
    for operations in by_tag.values():
        operations.sort(key=lambda one: one.path != "/api/search")  # search first
    return {tag: operations for tag, operations in by_tag.items() if operations}


def _operation(
    spec: dict[str, Any], path: str, method: str, operation: dict[str, Any], common: list[dict[str, Any]]
) -> Operation:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    return Operation(
        method=method.upper(),
        path=path,
        summary=operation.get("summary", ""),
        about=operation.get("description", ""),
        tag=(operation.get("tags") or ["Service"])[0],
        parameters=tuple(_parameter(spec, one) for one in [*common, *operation.get("parameters", [])]),
        body=_example(_schema(spec, body)) if body else "",
        responses=tuple((code, answer.get("description", "")) for code, answer in operation["responses"].items()),
    )


def _parameter(spec: dict[str, Any], parameter: dict[str, Any]) -> Parameter:
    schema = _schema(spec, parameter.get("schema", {}))
    default = schema.get("default", "")
    return Parameter(
        name=parameter["name"],
        location=parameter["in"],
        mandatory=bool(parameter.get("required")),
        about=parameter.get("description") or schema.get("description", ""),
        kind=_limits(schema),
        choices=tuple(map(str, schema.get("enum", ("true", "false") if schema.get("type") == "boolean" else ()))),
        default=str(default).lower() if isinstance(default, bool) else str(default),
    )


def _limits(schema: dict[str, Any]) -> str:
    said = [str(schema.get("type", "string"))]
    if "minimum" in schema or "maximum" in schema:
        said.append(f"{schema.get('minimum', '')}–{schema.get('maximum', '')}")
    if "maxLength" in schema:
        said.append(f"at most {schema['maxLength']:,} characters")
    return ", ".join(said)


def _schema(spec: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    target = spec["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    assert isinstance(target, dict)
    return target


def _example(schema: dict[str, Any]) -> str:
    """An example body."""
    examples = {"query": "sort a list", "function": "0" * 32, "signal": "up"}
    lines = [f'  "{name}": "{examples[name]}"' for name in schema.get("properties", {}) if name in examples]
    return "{\n" + ",\n".join(lines) + "\n}"
