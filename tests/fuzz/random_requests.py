"""Random requests to the whole service in one process: any method, address, parameter, body and header.

`python -m tests.fuzz.random_requests --count 100000 --seed 1` sends so many and lists those that were answered with
5xx, raised an exception or took too much processor time. A request is repeated by its number: --seed N --count 1.
With --keys every caller is a stranger who needs one: half of them have it, the others have none or a wrong one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flask import Flask

from tests.fuzz.bad_texts import BAD_TEXTS
from tests.fuzz.hostile_files import index_repository
from tests.made_up_source import MadeUpSource, made_up
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.pipeline import LoadOptions, load
from treeline.search.settings import Settings
from treeline.service.app import create_app
from treeline.service.http.keys import KeyRing

FUNCTIONS = 300
MOST_SECONDS = 5.0  # of processor time for one request
EVERY = 5_000  # requests between two lines of progress
LONG_TEXT = 0.01  # of texts: up to a megabyte
METHODS = ("GET",) * 12 + ("POST",) * 3 + ("HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "x")
NUMBERS = ("-1", "0", "1", "10", "100", "1e9", "99999999999999999999", "NaN", "-inf", "0x10", "1.5", "", "١", "true")
QUESTIONS = (
    "parse json",
    "read a file with backoff",
    "parse_json_0",
    "what calls read_json_1?",
    "what does write_json_2 call",
    "classes that inherit from Base",
    '"value = parse"',
    "/retr(y|ies)=[0-9]+/",
    "src/json/parse.py",
    "parse.py:12",
    "in python: sort -merge",
    "repo:owner/repo1 kind:function fetch",
    "exponentialbackof",
    "for(){if(){return}}",
)
CONTENT_TYPES = ("application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "/")
HEADERS = {
    "Accept": ("text/html", "application/json", "*/*;q=" + "9" * 500, "text/csv", ""),
    "Accept-Encoding": ("gzip", "br;q=-1, *", "gzip;q=nan"),
    "Accept-Language": ("de", "*;q=x", "x" * 2_000),
    "Authorization": ("Bearer x", "Basic eDp5", "Basic ???", "Bearer " + "a" * 5_000),
    "Content-Length": ("-5", "99999999999", "x", "0"),
    "Cookie": ("=;" * 500, "session=x"),
    "Host": ("[::1", "x" * 300, "example.org:99999", ""),
    "If-None-Match": ("*", '"' * 500, 'W/"x"'),
    "Origin": ("null", "https://example.org"),
    "Range": ("bytes=9999999999999-0", "bytes=0-0,1-1", "x"),
    "Sec-Fetch-Site": ("cross-site", "same-origin"),
    "Transfer-Encoding": ("chunked",),
    "X-Forwarded-For": ("1.2.3.4", "1.2.3.4, " * 200, "::"),
    "X-Request-ID": ("x" * 5_000, "a\tb", "é"),
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as the test client takes it."""

    path: str
    options: dict[str, Any]


@dataclass
class Requests:
    """Makes requests for the addresses and parameters of an application; a number always makes the same one."""

    routes: list[str]
    parameters: list[str]
    choices: dict[str, list[str]] = field(default_factory=dict)
    units: list[str] = field(default_factory=list)  # ids and files of the hostile repository
    key: str = ""

    @classmethod
    def of(cls, app: Flask, key: str = "") -> Requests:
        document = app.test_client().get("/openapi.json").get_json()
        operations = [one for path in document["paths"].values() for one in path.values() if isinstance(one, dict)]
        documented = [one for operation in operations for one in operation.get("parameters", ()) if "name" in one]
        choices = {one["name"]: list(map(str, one.get("schema", {}).get("enum", ()))) for one in documented}
        routes = sorted({str(rule) for rule in app.url_map.iter_rules()})
        addresses = app.extensions["treeline"].searcher.engine.addresses()
        hostile = [(id_, f"hostile/{where.path}") for id_, where in addresses if where.repo == "hostile"]
        return cls(routes, sorted(choices), choices, [text for unit in hostile for text in unit], key)

    def make(self, number: int) -> Request:
        chance = random.Random(number)
        path = chance.choice(self.routes)
        while "<" in path:
            before, _, rest = path.partition("<")
            path = (
                before + quote(self._text(chance, ids=True).encode("utf-8", "surrogatepass")) + rest.partition(">")[2]
            )
        if chance.random() < 0.05:
            text = self._text(chance).lstrip("/")  # the test client takes what follows two slashes for a host
            path = "/" + quote(text.encode("utf-8", "surrogatepass"), safe="/%?#")
        pairs = [self._pair(chance) for _ in range(chance.choice((0, 1, 1, 2, 3, 6, 40)))]
        if pairs:
            path += "?" + "&".join(pairs)
        options: dict[str, Any] = {"method": chance.choice(METHODS), "headers": self._headers(chance)}
        if self.key:
            options["environ_base"] = {"REMOTE_ADDR": "203.0.113.9"}
            options["headers"] |= chance.choice(
                ({"X-API-Key": self.key}, {"X-API-Key": self.key}, {"X-API-Key": "x"}, {})
            )
        if options["method"] != "GET" or chance.random() < 0.1:
            options["data"] = self._body(chance)
            options["content_type"] = chance.choice(CONTENT_TYPES)
        return Request(path, options)

    def _pair(self, chance: random.Random) -> str:
        name = "q" if chance.random() < 0.4 else chance.choice([*self.parameters, "unknown"])
        known = self.choices.get(name)
        text = chance.choice(known) if known and chance.random() < 0.6 else self._text(chance, ids=name != "q")
        return f"{quote(name)}={quote(text.encode('utf-8', 'surrogatepass'))}"

    def _text(self, chance: random.Random, *, ids: bool = False) -> str:
        kind = chance.random()
        if ids and kind < 0.15 and self.units:
            return chance.choice(self.units)
        if ids and kind < 0.3:
            function = made_up(chance.randrange(FUNCTIONS))
            return chance.choice((function.id, function.path, function.repo, function.func_name, f"{function.repo}/"))
        if kind < 0.45:
            return chance.choice(QUESTIONS)
        if kind < 0.55:
            return chance.choice(NUMBERS)
        if kind < 0.75:
            text = chance.choice(list(BAD_TEXTS.values()))
            return text if chance.random() < LONG_TEXT else text[: chance.choice((1, 20, 200, 900))]
        if kind < 0.9:
            return "".join(chance.choice((*QUESTIONS, *NUMBERS))[:: chance.choice((1, -1))] for _ in range(3))
        return "".join(chr(chance.choice((chance.randrange(128), chance.randrange(0x11_0000)))) for _ in range(30))

    def _body(self, chance: random.Random) -> bytes:
        kind = chance.random()
        if kind < 0.1:
            return chance.randbytes(chance.choice((0, 1, 50, 5_000)))
        fields = ("query", "function_id", "event", "source", "name", "value", "rank", "position", "x")
        values: dict[str, object] = {name: self._value(chance) for name in fields if chance.random() < 0.5}
        data = json.dumps(self._value(chance) if kind < 0.2 else values).encode()
        return data[: chance.randrange(len(data) + 1)] if kind > 0.9 else data

    def _value(self, chance: random.Random) -> object:
        text = self._text(chance, ids=True)
        scalars = (text, text, text, "up", "down", "undo", 1, -1, 1e308, 2**70, True, None, float("nan"))
        return chance.choice((*scalars, [text], {text: text}, [[]] * 50))

    @staticmethod
    def _headers(chance: random.Random) -> dict[str, str]:
        some = chance.sample(list(HEADERS), chance.choice((0, 0, 1, 3)))
        return {name: chance.choice(HEADERS[name]) for name in some}


@contextmanager
def application(home: Path, *, keys: bool = False) -> Iterator[Flask]:
    """The service over made-up functions and a hostile file in every language."""
    index_repository(home, per_language=1)
    load(EmbeddedStore(home), "default", [MadeUpSource(FUNCTIONS)], LoadOptions(work=home / ".loading", workers=0))
    rule = "all" if keys else "writes"
    app = create_app(Settings(home=str(home), rate_per_address=0, rate_per_key=0, keys_required=rule))
    app.config["PROPAGATE_EXCEPTIONS"] = False
    try:
        yield app
    finally:
        app.extensions["treeline"].searcher.close()


def fault_of(app: Flask, request: Request) -> tuple[int, str]:
    """The status, and what is wrong with the answer if anything is."""
    begin = time.process_time()
    try:
        with app.test_client().open(request.path, **request.options) as answer:  # closes the file of a static answer
            body = answer.get_data()
    except Exception as error:  # noqa: BLE001 - it is what is looked for
        return 0, f"{type(error).__name__}: {error}"
    spent = time.process_time() - begin
    if answer.status_code >= 500:
        return answer.status_code, f"{answer.status_code}: {body[:200]!r}"
    if b"Traceback (most recent call last)" in body:
        return answer.status_code, "a traceback in the answer"
    return answer.status_code, f"took {spent:.1f} s of processor time" if spent > MOST_SECONDS else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1, help="number of the first request")
    parser.add_argument("--keys", action="store_true", help="require a key of every caller")
    chosen = parser.parse_args()
    statuses: Counter[int] = Counter()
    faults = 0
    with tempfile.TemporaryDirectory() as folder, application(home := Path(folder) / "home", keys=chosen.keys) as app:
        key = KeyRing(home / ".keys.json").create("fuzz", ["write"]) if chosen.keys else ""
        requests = Requests.of(app, key)
        for number in range(chosen.seed, chosen.seed + chosen.count):
            request = requests.make(number)
            status, fault = fault_of(app, request)
            statuses[status] += 1
            if fault:
                faults += 1
                method = request.options["method"]
                print(
                    f"request {number}: {fault}\n  {method} {request.path[:300]} {request.options}"[:1_500], flush=True
                )
            if (number - chosen.seed + 1) % EVERY == 0:
                print(
                    f"{number - chosen.seed + 1:,} requests, {faults} faults, {time.process_time():.0f} s", flush=True
                )
    print(f"{chosen.count:,} requests, {faults} faults; " + ", ".join(f"{s}: {n}" for s, n in sorted(statuses.items())))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
