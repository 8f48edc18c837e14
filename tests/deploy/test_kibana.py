"""Kibana's objects are what the maker makes, refer to each other correctly, and use fields that exist."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from treeline.engine.elasticsearch import mapping
from treeline.engine.names import ALL_CURRENT

FOLDER = Path(__file__).parents[2] / "deploy" / "kibana"
objects: list[dict[str, Any]] = [
    json.loads(line) for line in (FOLDER / "treeline.ndjson").read_text("utf-8").splitlines()
]
by_key = {(each["type"], each["id"]): each for each in objects}

SOURCE = {"type": "object", "required": ["searchSourceJSON"], "properties": {"searchSourceJSON": {"type": "string"}}}
# What Kibana's documentation of the saved objects API and of data views requires of each kind.
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "index-pattern": {
        "required": ["title"],
        "properties": {
            "title": {"type": "string"},
            "name": {"type": "string"},
            "allowHidden": {"type": "boolean"},
            "fieldAttrs": {"type": "string"},
        },
        "additionalProperties": False,
    },
    "search": {
        "required": ["title", "columns", "sort", "kibanaSavedObjectMeta"],
        "properties": {
            "title": {"type": "string"},
            "description": {"type": "string"},
            "columns": {"type": "array", "items": {"type": "string"}},
            "sort": {"type": "array"},
            "grid": {"type": "object"},
            "hideChart": {"type": "boolean"},
            "isTextBasedQuery": {"type": "boolean"},
            "timeRestore": {"type": "boolean"},
            "kibanaSavedObjectMeta": SOURCE,
        },
        "additionalProperties": False,
    },
    "visualization": {
        "required": ["title", "visState", "uiStateJSON", "version", "kibanaSavedObjectMeta"],
        "properties": {
            "title": {"type": "string"},
            "description": {"type": "string"},
            "visState": {"type": "string"},
            "uiStateJSON": {"type": "string"},
            "version": {"const": 1},
            "kibanaSavedObjectMeta": SOURCE,
        },
        "additionalProperties": False,
    },
    "dashboard": {
        "required": ["title", "panelsJSON", "optionsJSON", "timeRestore", "kibanaSavedObjectMeta"],
        "properties": {
            "title": {"type": "string"},
            "description": {"type": "string"},
            "panelsJSON": {"type": "string"},
            "optionsJSON": {"type": "string"},
            "timeRestore": {"const": False},
            "version": {"const": 1},
            "kibanaSavedObjectMeta": SOURCE,
        },
        "additionalProperties": False,
    },
}
SAVED_OBJECT = {
    "type": "object",
    "required": ["type", "id", "attributes", "references", "coreMigrationVersion", "typeMigrationVersion"],
    "properties": {
        "type": {"enum": list(ATTRIBUTES)},
        "id": {"type": "string", "pattern": "^treeline-[a-z-]+$"},
        "attributes": {"type": "object"},
        "references": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "type", "id"],
                "properties": {"name": {"type": "string"}, "type": {"type": "string"}, "id": {"type": "string"}},
                "additionalProperties": False,
            },
        },
        "coreMigrationVersion": {"const": "8.8.0"},
        "typeMigrationVersion": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "managed": {"type": "boolean"},
    },
    "additionalProperties": False,
}


def test_the_stored_file_is_what_the_maker_makes() -> None:
    spec = importlib.util.spec_from_file_location("kibana_make", FOLDER / "make.py")
    assert spec and spec.loader
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert (FOLDER / "treeline.ndjson").read_text(encoding="utf-8") == maker.ndjson()


def test_there_is_a_data_view_some_searches_and_a_dashboard() -> None:
    kinds = [each["type"] for each in objects]
    assert kinds.count("index-pattern") >= 1
    assert kinds.count("search") >= 2
    assert kinds.count("dashboard") == 1
    assert len(by_key) == len(objects)


@pytest.mark.parametrize("saved", objects, ids=lambda each: each["id"])
def test_each_object_has_the_documented_shape(saved: dict[str, Any]) -> None:
    jsonschema_rs.validate(SAVED_OBJECT, saved)
    jsonschema_rs.validate({"type": "object", **ATTRIBUTES[saved["type"]]}, saved["attributes"])


@pytest.mark.parametrize("saved", objects, ids=lambda each: each["id"])
def test_references_point_to_objects_that_come_before_and_names_in_the_text_have_one(saved: dict[str, Any]) -> None:
    earlier = objects[: objects.index(saved)]
    for reference in saved["references"]:
        assert any((each["type"], each["id"]) == (reference["type"], reference["id"]) for each in earlier)
    names = {reference["name"] for reference in saved["references"]}
    source = json.loads(saved["attributes"].get("kibanaSavedObjectMeta", {}).get("searchSourceJSON", "{}"))
    if "indexRefName" in source:
        assert source["indexRefName"] in names
    for panel in json.loads(saved["attributes"].get("panelsJSON", "[]")):
        assert f"{panel['panelIndex']}:{panel['panelRefName']}" in names


def test_panels_fit_the_grid_and_do_not_overlap() -> None:
    [board] = [each for each in objects if each["type"] == "dashboard"]
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(board["attributes"]["panelsJSON"]):
        grid = panel["gridData"]
        assert grid["i"] == panel["panelIndex"]
        cells = {
            (x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert max(x for x, _ in cells) < 48
        assert not cells & taken
        taken |= cells


def used_fields() -> set[str]:
    found: set[str] = set()
    for saved in objects:
        attributes = saved["attributes"]
        found.update(attributes.get("columns", []))
        for aggregation in json.loads(attributes.get("visState", "{}")).get("aggs", []):
            found.update({aggregation["params"]["field"]} if "field" in aggregation["params"] else set())
        source = json.loads(attributes.get("kibanaSavedObjectMeta", {}).get("searchSourceJSON", "{}"))
        found.update(re.findall(r"(\w+)\s*:", source.get("query", {}).get("query", "")))
    return found


def test_the_data_view_covers_the_current_generation_of_every_index() -> None:
    [view] = [each for each in objects if each["type"] == "index-pattern"]
    assert view["attributes"]["title"] == ALL_CURRENT


def test_saved_searches_look_into_names_docstrings_and_code() -> None:
    text = {name for name, field in mapping.PROPERTIES.items() if field["type"] == "text" and "analyzer" in field}
    queried = {
        field
        for saved in objects
        if saved["type"] == "search"
        for field in re.findall(
            r"(\w+)\s*:", json.loads(saved["attributes"]["kibanaSavedObjectMeta"]["searchSourceJSON"])["query"]["query"]
        )
    }
    assert {"func_name", "docstring", "code"} <= queried & text


def test_every_field_in_use_is_in_the_mapping_and_what_is_counted_by_is_a_keyword() -> None:
    properties = mapping.PROPERTIES | {"_index": {"type": "keyword"}}  # which every document has
    assert used_fields() <= properties.keys()
    for saved in objects:
        for aggregation in json.loads(saved["attributes"].get("visState", "{}")).get("aggs", []):
            if aggregation["type"] == "terms":
                assert properties[aggregation["params"]["field"]]["type"] == "keyword"
