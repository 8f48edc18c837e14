"""The commands of the lab refuse what cannot be written in one line, before they read or train anything."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lab import export_onnx, train, tree, write_questions

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (tree.command, "--export /not/there/x.json", "cannot write /not/there/x.json: /not/there is no folder"),
        (tree.command, "--export /dev/null/x.graphml", "/dev/null is no folder"),
        (write_questions.command, "some/model . --out /not/there/x.jsonl", "/not/there is no folder"),
        (train.command, "teacher some/model . --out /dev/null/x", "/dev/null is no folder"),
        (export_onnx.command, "some/model /dev/null/x", "/dev/null is no folder"),
    ],
)
def test_what_cannot_be_written_is_refused(command: click.Command, arguments: str, message: str) -> None:
    refused = CliRunner().invoke(command, arguments.split())
    assert refused.exit_code == 2
    assert message in " ".join(refused.output.replace("│", "").split())


def test_bad_input_is_one_line_and_exit_code_2() -> None:
    command = [sys.executable, "-m", "lab.export_onnx", "some/model", "/dev/null/x"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "/dev/null is no folder" in done.stderr and done.stderr.count("\n") == 1
