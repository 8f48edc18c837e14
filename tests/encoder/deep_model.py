"""A tiny deep encoder for tests: a real ONNX file that reads tokens in order, made in a millisecond."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, checker, helper, numpy_helper, save_model

LIMITS = {"name": 16, "place": 12, "docstring": 48, "code": 116}
LEARNT = 255
ROWS = 61  # token ids share rows, so that the file is small
STRENGTH = 0.05  # how far the tokens move a function from its static vector


def write_model(folder: Path, version: str = "1", *, seed: int = 0, **config: Any) -> Path:
    """A folder with a deep encoder: the static vector plus token vectors, weighted by 1 / position and by field."""
    folder.mkdir(parents=True, exist_ok=True)
    table, weights = tables(seed)
    number, text = TensorProto.INT64, TensorProto.FLOAT
    nodes = [
        helper.make_node("Mod", ["ids", "rows"], ["row"]),
        helper.make_node("Gather", ["table", "row"], ["vector"]),
        helper.make_node("Gather", ["weights", "fields"], ["weight"]),
        helper.make_node("Sign", ["fields"], ["present"]),
        helper.make_node("CumSum", ["present", "one"], ["position"]),
        helper.make_node("Max", ["position", "one"], ["positive"]),
        helper.make_node("Cast", ["positive"], ["divisor"], to=text),
        helper.make_node("Div", ["weight", "divisor"], ["share"]),
        helper.make_node("Unsqueeze", ["share", "last"], ["column"]),
        helper.make_node("Mul", ["vector", "column"], ["weighted"]),
        helper.make_node("ReduceSum", ["weighted", "tokens"], ["summed"], keepdims=0),
        helper.make_node("Add", ["static", "summed"], ["moved"]),
        helper.make_node("LpNormalization", ["moved"], ["vectors"], axis=-1, p=2),
    ]
    graph = helper.make_graph(
        nodes,
        "deep",
        [
            helper.make_tensor_value_info("ids", number, ["batch", "length"]),
            helper.make_tensor_value_info("fields", number, ["batch", "length"]),
            helper.make_tensor_value_info("static", text, ["batch", LEARNT]),
        ],
        [helper.make_tensor_value_info("vectors", text, ["batch", LEARNT])],
        [
            numpy_helper.from_array(np.array(ROWS), "rows"),
            numpy_helper.from_array(np.array(1), "one"),
            numpy_helper.from_array(np.array([1]), "tokens"),
            numpy_helper.from_array(np.array([-1]), "last"),
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(weights, "weights"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    checker.check_model(model)
    save_model(model, str(folder / "deep.onnx"))
    (folder / "deep.json").write_text(json.dumps({"version": version, "limits": LIMITS, **config}))
    return folder


def tables(seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The token vectors, and the weight of each field and of a question; padding has none."""
    table = STRENGTH * np.random.default_rng(seed).standard_normal((ROWS, LEARNT))
    return table.astype(np.float32), np.array([0, 4, 1, 2, 3, 5], dtype=np.float32)


def expected(ids: list[int], fields: list[int], static: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the model gives for one function without padding, in numpy."""
    table, weights = tables()
    share = weights[fields] / np.arange(1, len(ids) + 1)
    moved = static + share.astype(np.float32) @ table[np.array(ids) % ROWS]
    return np.asarray(moved / np.linalg.norm(moved), dtype=np.float32)
