"""A function, what is like it and what is around it as plain rows for JSON: one shape for the API and the command
line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treeline.corpus.function import Function
from treeline.search.alike import Alike
from treeline.search.question.exact import Written
from treeline.search.question.structure import Neighbour
from treeline.service.shown.answer_rows import place_row


def function_row(function: Function) -> dict[str, Any]:
    return place_row(function.id, function.address) | {
        "original_string": function.original_string,
        "code": function.code,
        "docstring": function.docstring,
        "sha": function.sha,
        "partition": function.partition,
    }


def similar_row(function_id: str, found: Alike) -> dict[str, Any]:
    return {
        "id": function_id,
        "cluster": found.cluster,
        "cluster_label": found.label,
        "results": [
            place_row(hit.id, hit.address) | {"score": hit.score, "same_cluster": same} for hit, same in found.hits
        ],
    }


def around_row(callers: Sequence[Neighbour], written: Written, callees: Sequence[Neighbour]) -> dict[str, Any]:
    """What calls it, how many more have such a call in their code, and what it calls."""
    return {
        "callers": neighbour_rows(callers),
        "written": written.functions,
        "all_written": written.all,
        "callees": neighbour_rows(callees),
    }


def neighbour_rows(found: Sequence[Neighbour]) -> list[dict[str, Any]]:
    return [
        {
            "id": one.id,
            "name": one.name,
            "kind": one.kind,
            "repo": one.repo,
            "path": one.path,
            "language": one.language,
            "line": one.line,
            "relation": one.relation,
        }
        for one in found
    ]
