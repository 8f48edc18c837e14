"""The OpenAPI document is valid and says what the service does; no request, in its terms or not, breaks anything."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from apiflask import APIFlask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from openapi_spec_validator import validate
from schemathesis import GenerationMode

from tests.service.web.library import INDEX
from treeline.search.settings import Settings
from treeline.service.http.keys import KeyRing

OPERATIONS = [
    "GET /api/search",
    "GET /api/search.csv",
    "GET /api/suggest",
    "GET /api/complete",
    "GET /api/map",
    "GET /api/commits",
    "GET /api/functions/{function_id}",
    "GET /api/functions/{function_id}/similar",
    "GET /api/functions/{function_id}/neighbours",
    "GET /api/files",
    "GET /api/files/{where}",
    "GET /api/sources",
    "GET /api/sources/job",
    "POST /api/search",
    "POST /api/impact",
    "POST /api/sources",
    "POST /api/sources/stop",
    "POST /api/feedback",
    "GET /api/eval",
    "GET /api/indexes",
    "GET /api/status",
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
]
CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.response_schema_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.status_code_conformance,
]


@pytest.fixture(scope="module")
def served(
    library: Path, tmp_path_factory: pytest.TempPathFactory, make_app: Callable[[Settings], APIFlask]
) -> tuple[APIFlask, str]:
    """An application without rate limits, and a key that may write."""
    home = tmp_path_factory.mktemp("fuzzed") / "home"
    shutil.copytree(library, home)
    settings = Settings(home=str(home), index=INDEX, rate_per_address=0, rate_per_key=0)
    app = make_app(settings)
    return app, KeyRing(settings.key_path).create("fuzz", ["read", "write"])


@pytest.fixture(scope="module")
def document(served: tuple[APIFlask, str]) -> schemathesis.BaseSchema:
    config = schemathesis.Config()
    config.projects.default.generation.update(
        with_security_parameters=False
    )  # the key is given; made-up ones would all be refused
    return schemathesis.openapi.from_wsgi("/openapi.json", served[0], config=config)


def operations(document: schemathesis.BaseSchema) -> dict[str, Any]:
    return {found.ok().label: found.ok() for found in document.get_all_operations()}  # type: ignore[union-attr]


def test_the_list_of_operations_is_complete(document: schemathesis.BaseSchema) -> None:
    assert sorted(operations(document)) == sorted(OPERATIONS)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=str)
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_as_documented_and_none_is_a_5xx(
    document: schemathesis.BaseSchema, served: tuple[APIFlask, str], label: str, mode: GenerationMode
) -> None:
    headers = {"X-API-Key": served[1], "Accept-Encoding": "identity"}
    operation = operations(document)[label]
    if mode is GenerationMode.NEGATIVE and not (operation.path_parameters or operation.query or operation.body):
        pytest.skip("there is nothing to get wrong")

    @settings(max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        case.call_and_validate(checks=CHECKS, headers=headers)

    ask()


def test_the_document_is_valid(client: FlaskClient) -> None:
    validate(client.get("/openapi.json").get_json())


def test_limits_and_methods_of_the_settings_are_in_the_document(client: FlaskClient) -> None:
    spec = client.get("/openapi.json").get_json()
    parameters = {one["name"]: one["schema"] for one in spec["paths"]["/api/search"]["get"]["parameters"]}
    assert parameters["q"]["maxLength"] == Settings().max_query_length
    assert parameters["k"]["maximum"] == Settings().max_k
    assert {"default", "none", "algorithm2"} <= set(parameters["rerank"]["enum"])


def test_every_operation_has_a_name_for_those_who_make_clients_of_it(client: FlaskClient) -> None:
    paths = client.get("/openapi.json").get_json()["paths"]
    names = [operation.get("operationId") for methods in paths.values() for operation in methods.values()]
    assert all(names) and len(set(names)) == len(names) == len(OPERATIONS)


@pytest.mark.parametrize(("required", "free"), [("writes", True), ("all", False)])
def test_the_document_says_where_a_key_is_needed(
    library: Path, make_app: Callable[[Settings], APIFlask], required: str, free: bool
) -> None:
    app = make_app(Settings(home=str(library), index=INDEX, feedback=False, keys_required=required))
    document = app.test_client().get("/openapi.json").get_json()
    schemes = document["components"]["securitySchemes"]
    assert (schemes["bearer"]["scheme"], schemes["header"]["name"]) == ("bearer", "X-API-Key")
    assert ({} in document["paths"]["/api/search"]["get"]["security"]) is free
    assert {} not in document["paths"]["/api/feedback"]["post"]["security"]
    assert "security" not in document["paths"]["/healthz"]["get"]
