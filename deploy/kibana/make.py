"""Writes `treeline.ndjson`: the data view, saved searches and dashboard that the compose file imports into Kibana.

Saved objects are JSON inside JSON strings, which cannot be reviewed, so they are generated here. A test checks that the
stored file is up to date, and that every field it uses is in the index's mapping.

    python deploy/kibana/make.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OUTPUT = Path(__file__).with_name("treeline.ndjson")
VIEW = "treeline-functions"
# The alias of all indexes' current generations, so that none is missing and nothing is counted twice.
PATTERN = "treeline-.current"
INDEX = "_index"  # the generation's name, which tells the index of a function
FUNCTIONS = "kind: *"  # the index also holds its artifacts: call graph, tree, manifest
VIEW_REFERENCE = "kibanaSavedObjectMeta.searchSourceJSON.index"
# Format versions of the objects, as exported by Kibana 8.19; older ones are migrated on import.
CORE_VERSION = "8.8.0"
VERSIONS = {"index-pattern": "8.0.0", "search": "10.5.0", "visualization": "8.5.0", "dashboard": "10.2.0"}
Object = dict[str, Any]


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def saved(kind: str, identity: str, attributes: Object, references: list[Object]) -> Object:
    return {
        "type": kind,
        "id": identity,
        "attributes": attributes,
        "references": references,
        "coreMigrationVersion": CORE_VERSION,
        "typeMigrationVersion": VERSIONS[kind],
        "managed": False,
    }


def view_reference() -> Object:
    return {"name": VIEW_REFERENCE, "type": "index-pattern", "id": VIEW}


def source(query: str = "") -> Object:
    whole = f"{FUNCTIONS} and ({query})" if query else FUNCTIONS
    asked = {"query": {"query": whole, "language": "kuery"}, "filter": [], "indexRefName": VIEW_REFERENCE}
    return {"searchSourceJSON": compact(asked)}


def data_view() -> Object:
    attributes = {"name": "Treeline functions", "title": PATTERN, "allowHidden": False, "fieldAttrs": "{}"}
    return saved("index-pattern", VIEW, attributes, [])


def search(identity: str, title: str, description: str, columns: list[str], query: str = "") -> Object:
    attributes = {
        "title": title,
        "description": description,
        "columns": columns,
        "sort": [],
        "grid": {},
        "hideChart": True,
        "isTextBasedQuery": False,
        "timeRestore": False,
        "kibanaSavedObjectMeta": source(query),
    }
    return saved("search", identity, attributes, [view_reference()])


def terms(field: str, size: int, label: str, schema: str) -> Object:
    params = {
        "field": field,
        "orderBy": "1",
        "order": "desc",
        "size": size,
        "otherBucket": schema == "segment" and size < 10,
        "otherBucketLabel": "Other",
        "missingBucket": False,
        "missingBucketLabel": "Missing",
        "customLabel": label,
    }
    return {"id": "2", "enabled": True, "type": "terms", "schema": schema, "params": params}


def visualization(identity: str, title: str, kind: str, params: Object, buckets: list[Object]) -> Object:
    count = {"id": "1", "enabled": True, "type": "count", "schema": "metric", "params": {"customLabel": "Functions"}}
    state = {"title": title, "type": kind, "params": params, "aggs": [count, *buckets]}
    attributes = {
        "title": title,
        "description": "",
        "visState": compact(state),
        "uiStateJSON": "{}",
        "version": 1,
        "kibanaSavedObjectMeta": source(),
    }
    return saved("visualization", identity, attributes, [view_reference()])


def table(identity: str, title: str, field: str, label: str) -> Object:
    params = {
        "perPage": 20,
        "showPartialRows": False,
        "showMetricsAtAllLevels": False,
        "showTotal": False,
        "totalFunc": "sum",
        "percentageCol": "Functions",
        "showToolbar": True,
    }
    return visualization(identity, title, "table", params, [terms(field, 100, label, "bucket")])


def donut(identity: str, title: str, field: str, label: str) -> Object:
    params = {
        "type": "pie",
        "addTooltip": True,
        "legendDisplay": "show",
        "legendPosition": "right",
        "isDonut": True,
        "labels": {"show": True, "values": True, "last_level": True, "truncate": 100},
    }
    return visualization(identity, title, "pie", params, [terms(field, 8, label, "segment")])


def figure(identity: str, title: str) -> Object:
    style = {"bgFill": "#000", "bgColor": False, "labelColor": False, "subText": "", "fontSize": 60}
    metric = {
        "percentageMode": False,
        "useRanges": False,
        "colorSchema": "Green to Red",
        "metricColorMode": "None",
        "colorsRange": [{"from": 0, "to": 10_000_000}],
        "labels": {"show": True},
        "invertColors": False,
        "style": style,
    }
    return visualization(identity, title, "metric", {"addTooltip": True, "type": "metric", "metric": metric}, [])


def dashboard(
    identity: str, title: str, description: str, panels: list[tuple[Object, tuple[int, int, int, int]]]
) -> Object:
    """Panels as (object, (x, y, width, height)) on Kibana's grid of 48 columns."""
    rows, references = [], []
    for number, (shown, (x, y, width, height)) in enumerate(panels, 1):
        index = str(number)
        rows.append(
            {
                "type": shown["type"],
                "panelIndex": index,
                "panelRefName": f"panel_{index}",
                "gridData": {"x": x, "y": y, "w": width, "h": height, "i": index},
                "embeddableConfig": {"enhancements": {}},
            }
        )
        references.append({"name": f"{index}:panel_{index}", "type": shown["type"], "id": shown["id"]})
    asked = {"query": {"query": "", "language": "kuery"}, "filter": []}
    attributes = {
        "title": title,
        "description": description,
        "panelsJSON": compact(rows),
        "optionsJSON": compact(
            {
                "useMargins": True,
                "syncColors": False,
                "syncCursor": True,
                "syncTooltips": False,
                "hidePanelTitles": False,
            }
        ),
        "timeRestore": False,
        "version": 1,
        "kibanaSavedObjectMeta": {"searchSourceJSON": compact(asked)},
    }
    return saved("dashboard", identity, attributes, references)


def objects() -> list[Object]:
    columns = [INDEX, "repo", "path", "func_name", "docstring", "language"]
    everything = search("treeline-all", "Functions", "Every function, where it is and what it is called.", columns)
    tests = search("treeline-tests", "Tests", "Functions that look like tests.", columns, "path: *test*")
    train = search(
        "treeline-partitions",
        "Outside training",
        "What evaluation may use.",
        [*columns, "partition"],
        "not partition: train",
    )
    documented = search(
        "treeline-documented", "With a docstring", "Functions that say what they do.", columns, "docstring: *"
    )
    silent = search(
        "treeline-undocumented", "Without a docstring", "Functions that do not.", columns, "not docstring: *"
    )
    conversions = search(
        "treeline-conversions",
        "Conversions",
        "A search in names, docstrings and code; type your own words over it.",
        [*columns, "code"],
        'docstring: "convert" or func_name: convert or code: "return str"',
    )
    count = figure("treeline-count", "Functions indexed")
    languages = donut("treeline-languages", "Languages", "language", "Language")
    partitions = donut("treeline-partition-shares", "Partitions", "partition", "Partition")
    indexes = table("treeline-indexes", "Indexes", INDEX, "Index and generation")
    repositories = table("treeline-repositories", "Repositories", "repo", "Repository")
    board = dashboard(
        "treeline-overview",
        "Treeline: what is indexed",
        "How many functions there are, in which indexes, languages and repositories.",
        [
            (count, (0, 0, 12, 12)),
            (languages, (12, 0, 18, 12)),
            (partitions, (30, 0, 18, 12)),
            (indexes, (0, 12, 12, 20)),
            (repositories, (12, 12, 12, 20)),
            (documented, (24, 12, 24, 20)),
            (silent, (0, 32, 48, 16)),
        ],
    )
    searches = [everything, tests, train, documented, silent, conversions]
    return [data_view(), *searches, count, languages, partitions, indexes, repositories, board]


def ndjson() -> str:
    return "".join(compact(each) + "\n" for each in objects())


if __name__ == "__main__":
    OUTPUT.write_text(ndjson(), encoding="utf-8")
