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

TEXT, LIST, THING, YES_OR_NO = ({"type": kind} for kind in ("string", "array", "object", "boolean"))


def shape(required: str, **properties: object) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties, "additionalProperties": False}


SOURCE = shape("searchSourceJSON", searchSourceJSON=TEXT)
NAMES = {"title": TEXT, "description": TEXT}
# What Kibana's documentation of the saved objects API and of data views requires of each kind.
ATTRIBUTES = {
    "index-pattern": shape("title", title=TEXT, name=TEXT, allowHidden=YES_OR_NO, fieldAttrs=TEXT),
    "search": shape(
        "title columns sort kibanaSavedObjectMeta", **NAMES, columns=LIST | {"items": TEXT}, sort=LIST, grid=THING,
        hideChart=YES_OR_NO, isTextBasedQuery=YES_OR_NO, timeRestore=YES_OR_NO, kibanaSavedObjectMeta=SOURCE,
    ),
    "visualization": shape(
        "title visState uiStateJSON version kibanaSavedObjectMeta",
        **NAMES, visState=TEXT, uiStateJSON=TEXT, version={"const": 1}, kibanaSavedObjectMeta=SOURCE,
    ),
    "dashboard": shape(
        "title panelsJSON optionsJSON timeRestore kibanaSavedObjectMeta", **NAMES, panelsJSON=TEXT, optionsJSON=TEXT,
        timeRestore={"const": False}, version={"const": 1}, kibanaSavedObjectMeta=SOURCE,
    ),
}  # fmt: skip
SAVED_OBJECT = shape(
    "type id attributes references coreMigrationVersion typeMigrationVersion",
    type={"enum": list(ATTRIBUTES)},
    id=TEXT | {"pattern": "^treeline-[a-z-]+$"},
    attributes=THING,
    references=LIST | {"items": shape("name type id", name=TEXT, type=TEXT, id=TEXT)},
    coreMigrationVersion={"const": "8.8.0"},
    typeMigrationVersion=TEXT | {"pattern": r"^\d+\.\d+\.\d+$"},
    managed=YES_OR_NO,
)


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
    jsonschema_rs.validate(ATTRIBUTES[saved["type"]], saved["attributes"])


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
