"""In each language, a small repository with a known answer: who calls, implements, is touched; complete and exact."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from tests.graph.parsed import graph_of, names
from treeline.graph.callgraph import POSSIBLE, CallGraph
from treeline.graph.references import Relation

INHERITS: tuple[Relation, ...] = ("implements", "extends")
EVERYTHING: tuple[Relation, ...] = ("calls", "extends", "implements", "uses")


@dataclass(frozen=True)
class Case:
    """A repository, and the complete answers to questions about it."""

    language: str
    files: Mapping[str, str]
    callers: Mapping[str, set[str]] = field(default_factory=dict)
    callees: Mapping[str, set[str]] = field(default_factory=dict)
    implementers: Mapping[str, set[str]] = field(default_factory=dict)
    touched: Mapping[str, set[str]] = field(default_factory=dict)


PYTHON = Case(
    "python",
    {
        "net/__init__.py": "from .url import parse_url\n",
        "net/url.py": """
from urllib.parse import quote

def parse_url(text):
    return split(text), quote(text)

def split(text):
    return text.split(":")
""",
        "net/session.py": """
from . import parse_url
from .base import Base, Engine
import net.url as addresses

class Session(Base):
    def __init__(self):
        super().__init__()

    def send(self, url):
        self.check(url)
        return parse_url(url)

    def retry(self, url):
        return self.send(url)

def open_session(kind: Engine):
    session = Session()
    return addresses.split(kind)
""",
        "net/base.py": """
class Engine:
    def run(self): ...

class Base(Engine):
    def check(self, url):
        return url.strip()
""",
        "main.py": """
import net
from net.session import open_session

def main():
    net.parse_url("x")
    json.split("y")
    quote("z")

open_session(None)
""",
    },
    callers={
        "parse_url": {"net/session.py:Session.send", "main.py:main"},
        "url.split": {"net/url.py:parse_url", "net/session.py:open_session"},
        "check": {"net/session.py:Session.send"},
        "Session": {"net/session.py:open_session"},
        "Session.__init__": {"net/session.py:open_session"},
        "open_session": {"main.py:"},
        "quote": set(),
    },
    callees={
        "parse_url": {"net/url.py:split"},
        "Session.send": {"net/base.py:Base.check", "net/url.py:parse_url"},
    },
    implementers={"Engine": {"net/base.py:Base"}, "Base": {"net/session.py:Session"}},
    touched={
        "parse_url": {
            "net/session.py:Session.send",
            "net/session.py:Session.retry",
            "main.py:main",
        },
    },
)

JAVA = Case(
    "java",
    {
        "src/com/shop/Store.java": """
package com.shop;
public interface Store { void save(String key); }
""",
        "src/com/shop/DiskStore.java": """
package com.shop;
import com.tools.Paths;
public class DiskStore implements Store {
    public DiskStore() { }
    public void save(String key) { write(Paths.clean(key)); }
    private void write(String path) { }
}
""",
        "src/com/shop/CachedStore.java": """
package com.shop;
public class CachedStore extends DiskStore {
    public void save(String key) { super.save(key); }
    public void warm() { this.save("a"); new DiskStore(); }
}
""",
        "src/com/tools/Paths.java": """
package com.tools;
public class Paths { public static String clean(String p) { return p.trim(); } }
""",
    },
    callers={
        "Paths.clean": {"src/com/shop/DiskStore.java:DiskStore.save"},
        "DiskStore.write": {"src/com/shop/DiskStore.java:DiskStore.save"},
        "DiskStore.save": {"src/com/shop/CachedStore.java:CachedStore.save"},
        "CachedStore.save": {"src/com/shop/CachedStore.java:CachedStore.warm"},
        "DiskStore.DiskStore": {"src/com/shop/CachedStore.java:CachedStore.warm"},
    },
    implementers={
        "Store": {"src/com/shop/DiskStore.java:DiskStore"},
        "DiskStore": {"src/com/shop/CachedStore.java:CachedStore"},
    },
    touched={
        "Paths.clean": {
            "src/com/shop/DiskStore.java:DiskStore.save",
            "src/com/shop/CachedStore.java:CachedStore.save",
            "src/com/shop/CachedStore.java:CachedStore.warm",
        }
    },
)

GO = Case(
    "go",
    {
        "store/store.go": """
package store

type Store interface {
    Save(key string) error
    Load(key string) string
}

type Disk struct{ root string }

func (d *Disk) Save(key string) error { return d.write(clean(key)) }
func (d *Disk) Load(key string) string { return key }
""",
        "store/write.go": """
package store

func (d *Disk) write(path string) error { return nil }
func clean(path string) string { return path }
""",
        "store/null.go": """
package store

type Null struct{}

func (n Null) Save(key string) error { return nil }
""",
        "cmd/main.go": """
package main

import "github.com/owner/repo/store"

func main() { store.Open("x") }
""",
        "store/open.go": """
package store

func Open(root string) *Disk { return nil }
""",
    },
    callers={
        "clean": {"store/store.go:Disk.Save"},
        "Disk.write": {"store/store.go:Disk.Save"},
        "Open": {"cmd/main.go:main"},
    },
    implementers={"Store": {"store/store.go:Disk"}},
)

JAVASCRIPT = Case(
    "javascript",
    {
        "lib/url.js": """
export function parseUrl(text) { return splitUp(text); }
function splitUp(text) { return text.split(':'); }
""",
        "lib/index.js": "export { parseUrl } from './url';\n",
        "lib/client.js": """
import { parseUrl } from './url';
import * as urls from './url';
export class Base { check(url) { return url; } }
export class Client extends Base {
  constructor() { super(); }
  send(url) { this.check(url); return parseUrl(url); }
}
export function again(url) { return urls.parseUrl(url); }
""",
        "main.js": """
const client = require('./lib/client');
function main() { const c = new client.Client(); return client.again('x'); }
""",
    },
    callers={
        "parseUrl": {"lib/client.js:Client.send", "lib/client.js:again"},
        "splitUp": {"lib/url.js:parseUrl"},
        "check": {"lib/client.js:Client.send"},
        "again": {"main.js:main"},
        "Client": {"main.js:main"},
    },
    implementers={"Base": {"lib/client.js:Client"}},
    touched={
        "splitUp": {"lib/url.js:parseUrl", "lib/client.js:Client.send", "lib/client.js:again", "main.js:main"},
    },
)

TYPESCRIPT = Case(
    "typescript",
    {
        "src/engine.ts": "export interface Engine { run(q: string): string; }\n",
        "src/memory.ts": """
import { Engine } from './engine';
import { clean } from './text';
export class Memory implements Engine {
  run(q: string): string { return clean(q); }
}
export function make(): Engine { return new Memory(); }
""",
        "src/text.ts": "export function clean(q: string): string { return q.trim(); }\n",
    },
    callers={"clean": {"src/memory.ts:Memory.run"}, "Memory": {"src/memory.ts:make"}},
    implementers={"Engine": {"src/memory.ts:Memory"}},
)

RUBY = Case(
    "ruby",
    {
        "lib/store.rb": """
class Store
  def save(key)
    write(clean(key))
  end

  def write(path)
  end
end
""",
        "lib/text.rb": """
def clean(path)
  path.strip
end
""",
        "lib/cached.rb": """
require_relative 'store'
class Cached < Store
  def initialize
  end

  def warm
    self.save('a')
  end
end

def build
  Cached.new
end
""",
    },
    callers={
        "Store.write": {"lib/store.rb:Store.save"},
        "clean": {"lib/store.rb:Store.save"},
        "Store.save": {"lib/cached.rb:Cached.warm"},
        "Cached.initialize": {"lib/cached.rb:build"},
    },
    implementers={"Store": {"lib/cached.rb:Cached"}},
)

PHP = Case(
    "php",
    {
        "src/Store.php": """<?php
namespace App;
interface Store { public function save($key); }
""",
        "src/DiskStore.php": """<?php
namespace App;
use App\\Tools\\Paths;
class DiskStore implements Store {
    public function __construct() {}
    public function save($key) { $this->write(Paths::clean($key)); }
    private function write($path) {}
}
function make() { return new DiskStore(); }
""",
        "src/Tools/Paths.php": """<?php
namespace App\\Tools;
class Paths { public static function clean($p) { return trim($p); } }
""",
    },
    callers={
        "Paths.clean": {"src/DiskStore.php:DiskStore.save"},
        "write": {"src/DiskStore.php:DiskStore.save"},
        "__construct": {"src/DiskStore.php:make"},
    },
    implementers={"Store": {"src/DiskStore.php:DiskStore"}},
)

CASES = {case.language: case for case in (PYTHON, JAVA, GO, JAVASCRIPT, TYPESCRIPT, RUBY, PHP)}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(scope="module")
def graph(case: Case) -> CallGraph:
    return graph_of(case.files, case.language)


def test_what_calls_it(case: Case, graph: CallGraph) -> None:
    for name, expected in case.callers.items():
        steps = graph.walk(graph.named(name), ("calls",), "in")
        assert names(graph, (step.node for step in steps)) == expected, name


def test_what_it_calls(case: Case, graph: CallGraph) -> None:
    for name, expected in case.callees.items():
        steps = graph.walk(graph.named(name), ("calls",), "out")
        assert names(graph, (step.node for step in steps)) == expected, name


def test_what_implements_or_extends_it(case: Case, graph: CallGraph) -> None:
    for name, expected in case.implementers.items():
        steps = graph.walk([node for node in graph.named(name) if graph.is_class(node)], INHERITS, "in")
        assert names(graph, (step.node for step in steps)) == expected, name


def test_what_changes_when_it_is_touched(case: Case, graph: CallGraph) -> None:
    for name, expected in case.touched.items():
        steps = graph.walk(graph.named(name), EVERYTHING, "in", depth=10)
        assert names(graph, (step.node for step in steps)) == expected, name


def test_a_go_method_of_another_type_is_not_taken_for_the_receivers_own() -> None:
    files = {
        "gin.go": """
package gin

func (engine *Engine) addRoute(method string) {
	root := engine.trees.get(method)
	root.addRoute(method)
	engine.count()
}

func (engine *Engine) count() {}
""",
        "tree.go": """
package gin

type Engine struct{}
type node struct{}

func (n *node) addRoute(path string) { n.insert(path) }
func (n *node) insert(path string) {}
""",
    }
    graph = graph_of(files, "go")
    steps = graph.walk(graph.named("Engine.addRoute"), ("calls",), "out")
    assert names(graph, (step.node for step in steps)) == {"gin.go:Engine.count"}
    assert not graph.walk(graph.named("addRoute"), ("calls",), "in")


def test_the_only_method_of_that_name_on_an_unknown_receiver_is_only_possible() -> None:
    files = {"a.py": "class A:\n    def launch(self): pass\n", "b.py": "def run(thing):\n    thing.launch()\n"}
    graph = graph_of(files, "python")
    (step,) = graph.walk(graph.named("run"), ("calls",), "out")
    assert step.how == POSSIBLE
