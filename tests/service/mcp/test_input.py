"""Half of a surrogate pair from an agent is answered like any other text."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.search.small_index import small_store
from treeline.service.mcp.protocol import without_lone_surrogates


@pytest.mark.parametrize(
    ("line", "cleaned"),
    [
        (rb'"\ud800"', rb'"\ufffd"'),
        (rb'"\uD83D\uDE00 \udc00"', rb'"\uD83D\uDE00 \ufffd"'),
        (rb'"\\ud800"', rb'"\\ud800"'),
        (rb'"\\\ud800"', rb'"\\\ufffd"'),
        (rb'"\ud800\ud800\udc00"', rb'"\ufffd\ud800\udc00"'),
    ],
    ids=["alone", "a pair and one", "no escape", "behind a backslash", "one and a pair"],
)
def test_only_lone_surrogates_are_replaced(line: bytes, cleaned: bytes) -> None:
    assert without_lone_surrogates(line) == cleaned


def test_a_question_with_a_lone_surrogate_is_answered(tmp_path: Path) -> None:
    small_store(tmp_path)
    environment = os.environ | {"TREELINE_HOME": str(tmp_path), "TREELINE_INDEX": "small"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    call = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search_code"}})
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call.replace('"search_code"', r'"search_code", "arguments": {"query": "sort \ud800 a list"}'),
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "treeline.service.cli", "mcp"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin and server.stdout
        for line in lines:
            print(line, file=server.stdin, flush=True)
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["content"]
