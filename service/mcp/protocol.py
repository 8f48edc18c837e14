"""The Model Context Protocol on standard input and output: tools over JSON-RPC, one message a line.

The protocol's own package takes two seconds of processor time to import, four times as long as a search; an agent
starts the server for each conversation. The tests talk to this one with that package's client.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO, NamedTuple, TypeVar

import orjson

from treeline.corpus.errors import InputError, TreelineError
from treeline.service.mcp.schema import Argument, arguments_of, input_schema, schema_of

# Versions that begin with `initialize`, oldest first; in the newest each request names its version itself.
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CACHE_HINTS = {"ttlMs": 3_600_000, "cacheScope": "private"}
AT_ONCE = 8  # calls that run side by side
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, OTHER_VERSION = -32700, -32600, -32601, -32602, -32022
log = logging.getLogger(__name__)
# An escaped backslash, a surrogate pair, or a lone surrogate, which is not a character.
ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<alone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


class Reply(NamedTuple):
    """A tool's answer: text for the model, and the same as data, if the tool declares an `output`."""

    text: str
    data: Mapping[str, Any] | None = None


Function = TypeVar("Function", bound=Callable[..., Reply | str])


class Tool(NamedTuple):
    """A tool as agents see it, and the function behind it, whose docstring is its description."""

    function: Callable[..., Reply | str]
    arguments: Mapping[str, Argument]
    reads: bool
    output: Any = None

    def describe(self) -> dict[str, Any]:
        hints = {"readOnlyHint": self.reads, "openWorldHint": False}
        about = {
            "name": self.function.__name__,
            "description": self.function.__doc__,
            "inputSchema": input_schema(self.arguments),
            "annotations": hints if self.reads else hints | {"destructiveHint": False, "idempotentHint": True},
        }
        return about | ({"outputSchema": schema_of(self.output)} if self.output else {})


class ProtocolError(Exception):
    """A request that no tool can answer."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({"data": data} if data else {})


class Server:
    """A server with tools. `answer` is the whole protocol; `serve` runs it on two streams."""

    def __init__(self, name: str, version: str, instructions: str) -> None:
        self._about = {"name": name, "version": version}
        self._instructions = instructions
        self.tools: dict[str, Tool] = {}
        self._withdrawn: set[Any] = set()  # ids of requests that the agent has cancelled

    def tool(self, *, reads: bool = True, output: Any = None) -> Callable[[Function], Function]:
        """A decorator that makes a function a tool: its docstring and hints are what agents are told."""

        def add(function: Function) -> Function:
            self.tools[function.__name__] = Tool(function, arguments_of(function), reads, output)
            return function

        return add

    def call(self, name: str, values: Mapping[str, Any]) -> Reply:
        """Call a tool with the arguments that an agent sent; wrong ones raise `InputError`."""
        tool = self.tools[name]
        if unknown := sorted(values.keys() - tool.arguments.keys()):
            raise InputError(f"{name} does not take {', '.join(unknown)}; it takes {', '.join(tool.arguments)}")
        if missing := [
            one for one, argument in tool.arguments.items() if argument.is_required and values.get(one) is None
        ]:
            raise InputError(f"{name} needs {', '.join(missing)}")
        reply = tool.function(**{one: argument.check(values.get(one)) for one, argument in tool.arguments.items()})
        return Reply(reply) if isinstance(reply, str) else reply

    def answer(self, message: Any) -> dict[str, Any] | None:
        """The response to a message; None to a notification, a response, or a request that was cancelled."""
        if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
            return _failure(None, INVALID_REQUEST, "a message is a JSON object with a method")
        params, id_ = message.get("params") or {}, message.get("id")
        if "id" not in message:
            if message.get("method") == "notifications/cancelled":
                self._withdrawn.add(params.get("requestId"))
            return None
        if "method" not in message:
            return None
        try:
            result = self._result(message["method"], params)
        except ProtocolError as error:
            return {"jsonrpc": "2.0", "id": id_, "error": error.error}
        if id_ in self._withdrawn:
            self._withdrawn.discard(id_)
            return None
        return {"jsonrpc": "2.0", "id": id_, "result": result}

    def _result(self, method: str, params: Any) -> dict[str, Any]:
        if not isinstance(params, dict):
            raise ProtocolError(INVALID_PARAMS, "params must be an object")
        version = (params.get("_meta") or {}).get(VERSION_KEY, "")
        if version and version not in (*HANDSHAKE, STATELESS):
            supported = {"supported": [*HANDSHAKE, STATELESS], "requested": version}
            raise ProtocolError(OTHER_VERSION, f"version {version} is not supported", supported)
        newest = {"resultType": "complete"} if version == STATELESS else {}
        hints = CACHE_HINTS if newest else {}
        if method == "initialize":
            choice = params.get("protocolVersion")
            choice = choice if choice in HANDSHAKE else HANDSHAKE[-1]
            return {"protocolVersion": choice, "serverInfo": self._about} | self._capabilities
        if method == "server/discover":
            about = {"_meta": {"io.modelcontextprotocol/serverInfo": self._about}}
            return newest | hints | about | {"supportedVersions": [STATELESS]} | self._capabilities
        if method == "ping":
            return {}
        if method == "tools/list":
            return newest | hints | {"tools": [tool.describe() for tool in self.tools.values()]}
        if method == "tools/call":
            return newest | self._call(params.get("name"), params.get("arguments") or {})
        raise ProtocolError(NO_METHOD, f"there is no method {method[:80]!r}")

    @property
    def _capabilities(self) -> dict[str, Any]:
        return {"capabilities": {"tools": {}}, "instructions": self._instructions}

    def _call(self, name: Any, values: Any) -> dict[str, Any]:
        """The result of a tool. An error is a result too: the agent reads it and can act on it."""
        if name not in self.tools or not isinstance(values, dict):
            raise ProtocolError(INVALID_PARAMS, f"tools/call needs a name of: {', '.join(self.tools)}, and arguments")
        try:
            text, data = self.call(name, values)
        except TreelineError as error:
            return _content(str(error), is_error=True)
        except Exception:
            log.exception("%s failed", name)
            return _content(f"{name} failed, which is a fault of Treeline; its log says more", is_error=True)
        return _content(text) | ({} if data is None else {"structuredContent": data})

    def serve(self, messages: BinaryIO, answers: BinaryIO) -> None:
        """Answer the messages, calls of tools in threads, until there are no more."""
        lock = threading.Lock()

        def respond(message: Any) -> None:
            if (response := self.answer(message)) is not None:
                line = orjson.dumps(response) + b"\n"
                with lock:
                    answers.write(line)
                    answers.flush()

        with ThreadPoolExecutor(AT_ONCE, "tool") as threads:
            for line in messages:
                try:
                    message = orjson.loads(without_lone_surrogates(line)) if line.strip() else {}
                except orjson.JSONDecodeError:
                    message = None
                if isinstance(message, dict) and message.get("method") == "tools/call":
                    threads.submit(respond, message)
                elif line.strip():
                    respond(message)


def _content(text: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _failure(id_: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


def without_lone_surrogates(line: bytes) -> bytes:
    """The JSON with U+FFFD for lone surrogates, which no JSON parser takes."""
    return ESCAPES.sub(lambda hit: rb"\ufffd" if hit["alone"] else hit[0], line)


def serve_standard_streams(server: Server) -> None:
    """Serve on standard input and output, which nothing else in this process or its children can then reach."""
    messages, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    server.serve(messages, answers)
