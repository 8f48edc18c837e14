"""A tiny model of questions and functions for tests: a real ONNX file that counts a question's first word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, checker, helper, numpy_helper, save_model

from treeline.encoder.static import StaticEncoder

LIMITS = {"question": 16, "name": 16, "place": 12, "docstring": 24, "code": 64}
WEIGHTS = np.array([0, 8, 4, 2, 1, 0], dtype=np.float32)  # padding, name, place, docstring, code, question


def write_model(folder: Path, *, output: str = "scores", weights: NDArray[np.float32] = WEIGHTS, **config: Any) -> Path:
    """A folder with a model that scores how often a function has the question's first word, weighted by field.

    With fewer weights than fields it can be opened, but fails when it reads.
    """
    folder.mkdir(parents=True, exist_ok=True)
    number, real = TensorProto.INT64, TensorProto.FLOAT
    nodes = [
        helper.make_node("Slice", ["ids", "zero", "one", "one"], ["word"]),  # from 0 to 1 of axis 1
        helper.make_node("Equal", ["ids", "word"], ["same"]),
        helper.make_node("Cast", ["same"], ["counted"], to=real),
        helper.make_node("Gather", ["weights", "fields"], ["weight"]),
        helper.make_node("Mul", ["counted", "weight"], ["weighted"]),
        helper.make_node("ReduceSum", ["weighted", "one"], [output], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "pairs",
        [helper.make_tensor_value_info(name, number, ["batch", "length"]) for name in ("ids", "fields")],
        [helper.make_tensor_value_info(output, real, ["batch"])],
        [
            numpy_helper.from_array(np.array([0]), "zero"),
            numpy_helper.from_array(np.array([1]), "one"),
            numpy_helper.from_array(weights, "weights"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    checker.check_model(model)
    save_model(model, str(folder / "rerank.onnx"))
    defaults = {"version": "1", "static": StaticEncoder.shipped().name, "weight": 0.5, "depth": 30, "limits": LIMITS}
    (folder / "rerank.json").write_text(json.dumps(defaults | config))
    return folder
