"""GET /api/eval: the evaluation's result files."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response

from treeline.service.api.answers import EvalShape
from treeline.service.api.parameters import Parameters
from treeline.service.api.problems import UNCHANGED
from treeline.service.evaluation.files import result_files
from treeline.service.http.context import context
from treeline.service.http.reply import REVALIDATE, entity_tag, json_reply, not_modified

blueprint = APIBlueprint("evaluation", __name__, url_prefix="/api", tag="Evaluation")


@blueprint.get("/eval")
@blueprint.input(Parameters, location="query", arg_name="parameters")
@blueprint.output(EvalShape)
@blueprint.doc(operation_id="evaluation", responses=UNCHANGED)
def evaluation(parameters: Parameters) -> Response:
    """What `treeline eval` measured: its runs, newest first, without the single queries' values."""
    runs, unreadable = result_files(context().settings)
    tag = entity_tag(*((run.name, run.modified) for run in runs), *unreadable)
    if (unchanged := not_modified(tag)) is not None:
        return unchanged
    left_out = {"texts": True, "worst": True, "systems": {"__all__": {"values"}}}
    rows = [{"name": run.name} | run.evaluation.model_dump(exclude=left_out) for run in runs]  # type: ignore[arg-type]
    return json_reply({"runs": rows, "unreadable": unreadable}, tag=tag, cache=REVALIDATE)
