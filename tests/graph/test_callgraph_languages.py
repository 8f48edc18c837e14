"""In each language, a small repository with a known answer: who calls, implements, is touched; complete and exact."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

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

DART = Case(
    "dart",
    {
        "shop/lib/shop.dart": "export 'src/store.dart';\nexport 'src/cache.dart' show Cache;\n",
        "shop/lib/src/store.dart": """
part 'disk.dart';
abstract class Store {}
mixin Logging on Store {}
class Response {}
""",
        "shop/lib/src/disk.dart": "part of 'store.dart';\nclass Disk extends Store with Logging {}\n",
        "shop/lib/src/cache.dart": "import 'store.dart';\nclass Cache<T> implements Store {}\nclass Hidden {}\n",
        "plugins/web/lib/web.dart": """
import 'dart:io';
import 'package:http/http.dart';
import 'package:shop/shop.dart' hide Disk;
class Remote extends Cache<int> {}
class Answer extends Unknown {}
""",
        "plugins/web/lib/page.dart": "import 'package:http/http.dart';\nclass Page extends Response {}\n",
    },
    implementers={
        "Store": {"shop/lib/src/store.dart:Logging", "shop/lib/src/disk.dart:Disk", "shop/lib/src/cache.dart:Cache"},
        "Logging": {"shop/lib/src/disk.dart:Disk"},
        "Cache": {"plugins/web/lib/web.dart:Remote"},
        "Response": set(),  # `Page` extends that of the other package
    },
)
CASES = {case.language: case for case in (PYTHON, JAVA, GO, JAVASCRIPT, TYPESCRIPT, RUBY, PHP, DART)}


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


# In each language, calls on receivers whose types are declared or plain from what was assigned: caller → callees.
TYPED: dict[str, tuple[dict[str, str], dict[str, set[str]]]] = {
    "go": (
        {
            "gin.go": """
package gin

type Engine struct{ trees methodTrees }
type methodTree struct{ root *node }
type methodTrees []methodTree
type node struct{}
type Handler func(n *node)

func (trees methodTrees) get(method string) *node { return nil }
func (n *node) addRoute(path string) {}
func (n *node) walk(each func(addRoute int)) { n.addRoute("") }
func (engine *Engine) addRoute(method string) {
	root := engine.trees.get(method)
	root.addRoute(method)
	for _, tree := range engine.trees {
		tree.root.walk(nil)
	}
	Handler(nil)
}
func open(walk func()) { walk() }
""",
        },
        {
            "Engine.addRoute": {"node.addRoute", "methodTrees.get", "node.walk"},
            "node.walk": {"node.addRoute"},
            "open": set(),
        },
    ),
    "java": (
        {
            "src/main/java/a/Store.java": """
package a;
public class Store {
    private final Disk disk = new Disk();
    Disk disk() { return disk; }
    void save(Log log, String key) {
        log.write(key);
        disk.write(key);
        disk().sync();
        key.write();
        for (var one : all()) one.sync();
        new Log().write(key);
    }
    java.util.List<Disk> all() { return null; }
}
""",
            "src/main/java/a/Disk.java": "package a;\nclass Disk { void write(String k) {} void sync() {} }\n",
            "src/test/java/a/Log.java": "package a;\nclass Log { void write(String k) {} }\n",
        },
        {"Store.save": {"Log.write", "Disk.write", "Disk.sync", "Store.disk", "Store.all", "Log"}},
    ),
    "python": (
        {
            "shop.py": """
class Disk:
    def write(self, key): ...
    def sync(self): ...

class Log:
    def write(self, key): ...

class Store:
    def __init__(self, log: Log):
        self.log = log
        self.disk = Disk()

    def save(self, key, write):
        self.log.write(key)
        self.disk.sync()
        write(key)
        key.write()
        cls = self.kind
        cls()

def write(key): ...

def both(flag):
    held = Disk()
    if flag:
        held = Log()
    held.write("x")
""",
        },
        {"Store.save": {"Log.write", "Disk.sync"}, "both": {"Disk", "Log"}},
    ),
    "typescript": (
        {
            "shop.ts": """
import { Disk } from './disk';
class Log { write(key: string) {} }
export class Store {
  private disk: Disk = make();
  constructor(private log: Log) {}
  save(key: string) { this.disk.write(key); this.log.write(key); key.write(); }
}
function make(): Disk { return new Disk(); }
""",
            "disk.ts": "export class Disk { write(key: string) {} }\n",
        },
        {"Store.save": {"Disk.write", "Log.write"}},
    ),
    "php": (
        {
            "a.php": """<?php
class Log { public function write($k) {} }
class Disk { public function write($k) {} public function log(): Log { return new Log(); } }
class Store {
    public function __construct(private Disk $disk) {}
    public function save($key) { $this->disk->write($key); $this->disk->log()->write($key); $key->write(); }
}
class Copy {
    public function __construct($other) { $this->log = new Log(); $other->disk = new Disk(); }
    public function save($key) { $this->log->write($key); $this->disk->write($key); }
}
class Clock { public function now() { return new \\Log(); } public function count() { return \\all(); } }
function all(Log ...$logs) { foreach ($logs as $key => $log) { $log->write($key); $key->write(1); } }
""",
        },
        {
            "Store.save": {"Disk.write", "Disk.log", "Log.write"},
            "Copy.save": {"Log.write"},
            "all": {"Log.write"},
            "Clock.now": set(),
            "Clock.count": set(),
        },
    ),
    "ruby": (
        {
            "a.rb": """
class Log
  def write(key)
  end
end
class Disk
  def write(key)
  end
end
class Store
  def initialize
    @disk = Disk.new
  end
  def save(key)
    @disk.write(key)
    log = Log.new
    log.write(key)
    key.write(key)
  end
end
""",
        },
        {"Store.save": {"Disk.write", "Log.write", "Log"}},
    ),
    "rust": (
        {
            "src/lib.rs": "mod disk;\npub use disk::Disk;\n",
            "src/disk.rs": """
pub struct Disk { log: Log }
struct Log;
impl Log { fn write(&self) {} }
impl Disk {
    pub fn new() -> Self { Disk { log: Log } }
    pub fn open() -> Result<Disk, ()> { Ok(Disk::new()) }
    pub fn write(&self) { self.log.write(); helper(); }
}
fn helper() {}
""",
            "src/store.rs": """
use crate::Disk;
pub fn save(disk: &Disk, other: Box<Disk>) -> Result<(), ()> {
    disk.write();
    let second = Disk::open()?;
    second.write();
    crate::disk::helper();
    other.clone().run();
    Ok(())
}
""",
            "src/copy.rs": """
use crate::{other, disk::{Disk as Block, helper as help}};
pub fn copy(block: &Block) { block.write(); help(); }
""",
        },
        {
            "Disk.write": {"Log.write", "helper"},
            "Disk.open": {"Disk.new"},
            "save": {"Disk.write", "Disk.open", "helper"},
            "copy": {"Disk.write", "helper"},
        },
    ),
    "c": (
        {
            "src/a.c": "static void close_it(int x) {}\nvoid a_run(void) { close_it(1); b_run(); both(); puts(); }\n",
            "src/b.c": "static void close_it(int x) {}\nvoid b_run(void) { close_it(2); }\n",
            "unix/c.c": "void both(void) {}\nint puts(void) { return 0; }\n",
            "win/c.c": "void both(void) {}\n",
        },
        {"a_run": {"src/a.c:close_it", "b_run"}, "b_run": {"src/b.c:close_it"}},
    ),
    "cpp": (
        {
            "disk.h": "class Disk { void write(int k); Log log(); };\nclass Log { void write(int k) {} };\n",
            "disk.cc": "void Disk::write(int k) { log().write(k); }\nLog Disk::log() { return Log(); }\n",
            "store.cc": """
#include "disk.h"
class Store {
  Disk disk_;
  void save(const Log& log, Disk* other) {
    disk_.write(1); log.write(2); auto l = other->log(); l.write(3); std::move(l);
  }
};
void move(int x) {}
""",
        },
        {"Disk.write": {"Disk.log", "Log.write"}, "Store.save": {"Disk.write", "Log.write", "Disk.log"}},
    ),
    "csharp": (
        {
            "Store.cs": """
partial class Store {
  private readonly Disk disk = new Disk();
  public Log Log { get; set; }
  void Save(string key) { disk.Write(key); Log.Write(key); var d = Open(); d.Write(key); key.Write(); Other(); }
  Disk Open() { return disk; }
}
""",
            "Store.More.cs": """
partial class Store {
  void Other() { }
  void Copy() { var d = Open(); d.Write("k"); }
  void Move(Log log) { Log other = log; other.Write("k"); }
  void Disk() { var made = new Disk(); made.Write("k"); }
}
""",
            "Disk.cs": "class Disk { void Write(string k) { } }\nclass Log { void Write(string k) { } }\n",
        },
        {
            "Store.Save": {"Disk.Write", "Log.Write", "Store.Open", "Store.Other"},
            "Store.Copy": {"Store.Open", "Disk.Write"},
            "Store.Move": {"Log.Write"},
            "Store.Disk": {"Disk", "Disk.Write"},
        },
    ),
    "kotlin": (
        {
            "a/Store.kt": """
package a
import b.Log
class Store(private val disk: Disk) {
  fun save(log: Log, key: String) { disk.write(key); log.write(key); val d = open(); d.write(key); key.write() }
  fun open(): Disk = disk
}
""",
            "a/Disk.kt": "package a\nclass Disk { fun write(k: String) {} }\n",
            "b/Things.kt": "package b\nclass Log { fun write(k: String) {} }\n",
        },
        {"Store.save": {"Disk.write", "Log.write", "Store.open"}},
    ),
}


@pytest.mark.parametrize("language", TYPED)
def test_a_known_call_goes_to_the_method_of_the_receivers_type(language: str) -> None:
    files, expected = TYPED[language]
    graph = graph_of(files, language)
    for caller, callees in expected.items():
        nodes = [node for node in graph.named(caller) if graph.symbol(node).name == caller]
        steps = [step for step in graph.walk(nodes, ("calls",), "out") if step.how != POSSIBLE]
        found = {(symbol.path, symbol.name) for symbol in (graph.symbol(step.node) for step in steps)}
        assert {f"{path}:{name}" if f"{path}:{name}" in callees else name for path, name in found} == callees, caller


# In each language, a function with parameters and statements, and the ways in which its `x` gets the type `Disk`.
BOUND: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "go": (
        "a.go",
        """
package a
type Disk struct{}
func (d *Disk) write() {}
type Log struct{}
func (l *Log) write() {}
type Both struct { Disk; log *Log; kept []Disk }
func NewDisk() *Disk { return nil }
func NewLog() *Log { return nil }
func Open() (*Disk, error) { return nil, nil }
func use(PARAMETERS) { BODY }
""",
        [
            ("x Disk", "x.write()"),
            ("y Log, x *Disk", "x.write()"),
            ("y, x *Disk", "x.write()"),
            ("", "var x Disk; x.write()"),
            ("", "var x = NewDisk(); x.write()"),
            ("", "var y, x = NewLog(), NewDisk(); x.write()"),
            ("", "x := NewDisk(); x.write()"),
            ("", "y, x := NewLog(), NewDisk(); x.write()"),
            ("", "x, err := Open(); x.write()"),
            ("", "x := &Disk{}; x.write()"),
            ("", "x := new(Disk); x.write()"),
            ("y any", "x := y.(*Disk); x.write()"),
            ("xs []*Disk", "for _, x := range xs { x.write() }"),
            ("xs map[string]Disk", "for _, x := range xs { x.write() }"),
            ("xs ...Disk", "for _, x := range xs { x.write() }"),
            ("xs [][]Disk", "xs[0][1].write()"),
            ("x Both", "x.Disk.write()"),
            ("x Both", "x.kept[0].write()"),
        ],
    ),
    "java": (
        "A.java",
        """
class Disk { void write() {} }
class Log { void write() {} }
class A {
  Disk disk, second; Disk[] kept; Log log;
  Disk open() { return disk; }
  java.util.List<Disk> all() { return null; }
  void use(PARAMETERS) { BODY }
}
""",
        [
            ("Disk x", "x.write();"),
            ("Log y, final Disk x", "x.write();"),
            ("Disk... xs", "for (var x : xs) x.write();"),
            ("Disk[] xs", "for (var x : xs) x.write();"),
            ("Disk[] xs", "xs[0].write();"),
            ("Disk... xs", "xs[0].write();"),
            ("", "Disk x = null; x.write();"),
            ("", "Disk y, x = null; x.write();"),
            ("", "var x = open(); x.write();"),
            ("", "var x = new Disk(); x.write();"),
            ("", "Disk x[] = null; x[0].write();"),
            ("", "for (Disk x : all()) x.write();"),
            ("", "for (var x : all()) x.write();"),
            ("Object y", "if (y instanceof Disk x) x.write();"),
            ("", "try (Disk x = open()) { x.write(); }"),
            ("", "try { open(); } catch (Disk x) { x.write(); }"),
            ("", "second.write();"),
            ("", "this.second.write();"),
            ("", "kept[0].write();"),
        ],
    ),
    "python": (
        "a.py",
        """
class Disk:
    def write(self): ...
class Log:
    def write(self): ...
def open_disk() -> Disk: ...
def all_disks() -> list[Disk]: ...
class A:
    def __init__(self):
        self.disk = Disk()
        self.log: Log = Log()
    def use(self, PARAMETERS):
        BODY
""",
        [
            ("x: Disk", "x.write()"),
            ("x: Disk | None", "x.write()"),
            ("x: 'Disk'", "x.write()"),
            ("x: Disk = None", "x.write()"),
            ("y: Log, *, x: Disk", "x.write()"),
            ("xs: dict[str, Disk]", "xs['a'].write()"),
            ("xs: list[Disk]", "xs[0].write()"),
            ("xs: list[Disk]", "for x in xs: x.write()"),
            ("", "x = Disk(); x.write()"),
            ("", "x: Disk = make(); x.write()"),
            ("", "x = open_disk(); x.write()"),
            ("", "for x in all_disks(): x.write()"),
            ("", "if (x := Disk()): x.write()"),
            ("", "x = self.disk; x.write()"),
            ("", "self.disk.write()"),
        ],
    ),
    "typescript": (
        "a.ts",
        """
class Disk { write() {} }
class Log { write() {} }
function open(): Disk { return new Disk(); }
function all(): Disk[] { return []; }
class A {
  disk: Disk; log = new Log(); made = new Disk();
  constructor(private kept: Disk, other: Log) { this.later = new Disk(); }
  use(PARAMETERS) { BODY }
}
""",
        [
            ("x: Disk", "x.write();"),
            ("x?: Disk", "x.write();"),
            ("x: Disk | null", "x.write();"),
            ("y: Log, x: Disk", "x.write();"),
            ("xs: Disk[]", "for (const x of xs) x.write();"),
            ("xs: Array<Disk>", "xs[0].write();"),
            ("xs: Map<string, Disk>", "for (const x of xs) x.write();"),
            ("", "const x = new Disk(); x.write();"),
            ("", "let x: Disk = make(); x.write();"),
            ("", "const x = open(); x.write();"),
            ("", "for (const x of all()) x.write();"),
            ("", "this.disk.write();"),
            ("", "this.made.write();"),
            ("", "this.kept.write();"),
            ("", "this.later.write();"),
        ],
    ),
    "php": (
        "a.php",
        """<?php
class Disk { function write() {} }
class Log { function write() {} }
function open(): Disk { return new Disk(); }
class A {
  private Disk $disk, $second; private Log $log;
  function __construct(private Disk $kept) { $this->later = new Disk(); }
  function all(): Disk { return $this->disk; }
  function use(PARAMETERS) { BODY }
}
""",
        [
            ("Disk $x", "$x->write();"),
            ("?Disk $x", "$x->write();"),
            ("Log $y, Disk $x", "$x->write();"),
            ("Disk ...$xs", "foreach ($xs as $x) { $x->write(); }"),
            ("Disk ...$xs", "foreach ($xs as $key => $x) { $x->write(); }"),
            ("Disk ...$xs", "foreach ($xs as &$x) { $x->write(); }"),
            ("", "$x = new Disk(); $x->write();"),
            ("", "$x = open(); $x->write();"),
            ("", "$x = $this->all(); $x->write();"),
            ("", "$this->disk->write();"),
            ("", "$this->second->write();"),
            ("", "$this->kept->write();"),
            ("", "$this->later->write();"),
        ],
    ),
    "rust": (
        "src/lib.rs",
        """
pub struct Disk;
impl Disk { pub fn open() -> Result<Disk, ()> { Ok(Disk) } pub fn write(&self) {} }
pub struct Log;
impl Log { pub fn write(&self) {} }
static KEPT: Disk = Disk;
fn make() -> Disk { Disk }
fn all() -> Vec<Disk> { vec![] }
struct A { disk: Disk, log: Log, kept: Vec<Disk> }
impl A { fn use_it(&self, PARAMETERS) { BODY } }
""",
        [
            ("x: Disk", "x.write();"),
            ("x: &Disk", "x.write();"),
            ("y: Log, x: &mut Disk", "x.write();"),
            ("mut x: Disk", "x.write();"),
            ("x: Box<Disk>", "x.write();"),
            ("x: &'a Disk", "x.write();"),
            ("xs: Vec<Disk>", "for x in xs { x.write(); }"),
            ("xs: &[Disk]", "xs[0].write();"),
            ("xs: [[Disk; 4]; 2]", "xs[0][1].write();"),
            ("", "let x = make(); x.write();"),
            ("", "let mut x = make(); x.write();"),
            ("", "let x: Disk = other(); x.write();"),
            ("", "let x = Disk {}; x.write();"),
            ("", "let x = Disk::open()?; x.write();"),
            ("", "for x in all() { x.write(); }"),
            ("", "self.disk.write();"),
            ("", "self.kept[0].write();"),
            ("", "KEPT.write();"),
        ],
    ),
    "cpp": (
        "a.cc",
        """
class Disk { public: void write() {} };
class Log { public: void write() {} };
Disk open();
Disk make() { return Disk(); }
std::vector<Disk> all() { return {}; }
class A {
  Disk disk_; Log log_; Disk *one_, *two_;
  void use(PARAMETERS) { BODY }
};
""",
        [
            ("Disk x", "x.write();"),
            ("const Disk& x", "x.write();"),
            ("Log y, Disk *x", "x->write();"),
            ("struct Disk *x", "x->write();"),
            ("Disk x = Disk()", "x.write();"),
            ("std::unique_ptr<Disk> x", "x->write();"),
            ("const std::vector<Disk>& xs", "for (const auto& x : xs) x.write();"),
            ("const std::vector<Disk>& xs", "for (const Disk& x : xs) x.write();"),
            ("const std::vector<Disk>& xs", "xs[0].write();"),
            ("", "Disk x; x.write();"),
            ("", "Disk y, x; x.write();"),
            ("", "Disk *x = open(); x->write();"),
            ("", "auto x = make(); x.write();"),
            ("", "for (auto x : all()) x.write();"),
            ("", "disk_.write();"),
            ("", "two_->write();"),
            ("", "this->disk_.write();"),
        ],
    ),
    "csharp": (
        "A.cs",
        """
class Disk { public void Write() { } }
class Log { public void Write() { } }
class A {
  Disk disk, second; Log log; List<Disk> kept;
  Disk Made { get; set; }
  Disk Open() { return disk; }
  List<Disk> All() { return kept; }
  void Use(PARAMETERS) { BODY }
}
""",
        [
            ("Disk x", "x.Write();"),
            ("Disk? x", "x.Write();"),
            ("Log y, ref Disk x", "x.Write();"),
            ("List<Disk> xs", "foreach (var x in xs) x.Write();"),
            ("List<Disk> xs", "foreach (Disk x in xs) x.Write();"),
            ("Disk[] xs", "xs[0].Write();"),
            ("", "Disk x = null; x.Write();"),
            ("", "Disk y, x = null; x.Write();"),
            ("", "var x = Open(); x.Write();"),
            ("", "var x = new Disk(); x.Write();"),
            ("", "foreach (var x in All()) x.Write();"),
            ("", "second.Write();"),
            ("", "this.disk.Write();"),
            ("", "Made.Write();"),
            ("", "kept[0].Write();"),
        ],
    ),
    "kotlin": (
        "A.kt",
        """
class Disk { fun write() {} }
class Log { fun write() {} }
fun open(): Disk = Disk()
fun all(): List<Disk> = listOf()
class A(private val kept: Disk, other: Log) {
  val disk: Disk = open()
  val made = open()
  val log = Log()
  fun use(PARAMETERS) { BODY }
}
""",
        [
            ("x: Disk", "x.write()"),
            ("x: Disk?", "x?.write()"),
            ("y: Log, x: Disk", "x.write()"),
            ("xs: List<Disk>", "for (x in xs) { x.write() }"),
            ("xs: List<Disk>", "xs[0].write()"),
            ("", "val x = Disk(); x.write()"),
            ("", "val x = open(); x.write()"),
            ("", "val x: Disk = other(); x.write()"),
            ("", "for (x in all()) { x.write() }"),
            ("", "disk.write()"),
            ("", "made.write()"),
            ("", "kept.write()"),
        ],
    ),
}


@pytest.mark.parametrize("language", BOUND)
def test_a_variable_has_its_type_however_it_gets_it(language: str) -> None:
    path, source, forms = BOUND[language]
    for parameters, body in forms:
        graph = graph_of({path: source.replace("PARAMETERS", parameters).replace("BODY", body)}, language)
        users = [node for name in ("use", "Use", "use_it") for node in graph.named(name)]
        steps = [step for step in graph.walk(users[:1], ("calls",), "out") if step.how != POSSIBLE]
        called = {graph.symbol(step.node).name for step in steps}
        assert {name for name in called if name.lower().endswith("write")} == {
            "Disk.Write" if language == "csharp" else "Disk.write"
        }, (parameters, body)


def test_a_rust_crate_of_the_workspace_is_found_by_the_folder_of_its_name() -> None:
    files = {
        "crates/my-disk/src/lib.rs": "pub fn sync() {}\n",
        "crates/other/src/lib.rs": "pub fn sync() {}\n",
        "crates/app/src/main.rs": "use my_disk::sync;\nfn main() { sync(); }\n",
    }
    graph = graph_of(files, "rust")
    (step,) = graph.walk(graph.named("main"), ("calls",), "out")
    assert graph.symbol(step.node).path == "crates/my-disk/src/lib.rs"


def test_a_go_module_by_its_address_is_the_package_at_the_root() -> None:
    files = {
        "top.go": "package repo\n\nfunc Top() {}\n",
        "cmd/main.go": 'package main\n\nimport "github.com/owner/repo"\n\nfunc main() { repo.Top() }\n',
        "other/top.go": "package other\n\nfunc Top() {}\n",
    }
    graph = graph_of(files, "go")
    (step,) = graph.walk(graph.named("main"), ("calls",), "out")
    assert graph.symbol(step.node).path == "top.go"


def test_the_only_method_of_that_name_on_an_unknown_receiver_is_only_possible() -> None:
    files = {"a.py": "class A:\n    def launch(self): pass\n", "b.py": "def run(thing):\n    thing.launch()\n"}
    graph = graph_of(files, "python")
    (step,) = graph.walk(graph.named("run"), ("calls",), "out")
    assert step.how == POSSIBLE


def test_a_bare_call_in_a_ruby_block_that_only_another_class_could_answer_is_only_possible() -> None:
    files = {
        "a.rb": "class A\n  def headers; end\nend\n",
        "b_spec.rb": "describe 'B' do\n  it 'works' do\n    headers()\n  end\nend\n",
    }
    graph = graph_of(files, "ruby")
    (step,) = graph.walk(graph.named("describe(B).it(works)"), ("calls",), "out")
    assert step.how == POSSIBLE


@pytest.mark.parametrize(
    "line",
    [
        "run if ready && other",
        "run unless ready",
        "ready ? 1 : 2",
        "x = [1, { key: ready }]",
        '"#{ready}"',
        "[1].each { |one| ready }",
        "[1].each do |one| ready end",
        "ready[0]",
        "case ready\n  when 1 then 2\n  end",
        "begin\n    1\n  ensure\n    ready\n  end",
        "total += ready",
        "!ready",
        "while ready do 1 end",
        "put(*ready)",
    ],
)
def test_a_bare_name_in_ruby_is_a_call_wherever_it_stands(line: str) -> None:
    graph = graph_of({"a.rb": f"class A\n  def ready; end\n  def go\n  {line}\n  end\nend\n"}, "ruby")
    steps = graph.walk(graph.named("A.go"), ("calls",), "out")
    assert names(graph, (step.node for step in steps)) == {"a.rb:A.ready"}


@pytest.mark.parametrize("line", ["[1].each { |ready| ready }", "ready = 1\n  !ready", "->(ready) { ready + 1 }"])
def test_a_variable_in_ruby_is_no_call(line: str) -> None:
    graph = graph_of({"a.rb": f"class A\n  def ready; end\n  def go\n  {line}\n  end\nend\n"}, "ruby")
    assert not graph.walk(graph.named("A.go"), ("calls",), "out")


def test_a_function_of_cpp_is_not_taken_for_a_class_of_that_name_in_another_header() -> None:
    files = {
        "chrono.h": "class get_locale { get_locale() {} };\n",
        "util.cc": "int get_locale(const char* name) { return 0; }\n",
        "test.cc": 'void run() { auto l = get_locale("C"); }\n',
    }
    graph = graph_of(files, "cpp")
    steps = graph.walk(graph.named("run"), ("calls",), "out")
    assert names(graph, (step.node for step in steps)) == {"util.cc:get_locale"}


def test_a_namespace_of_cpp_is_no_part_of_a_name() -> None:
    source = """
namespace shop {
class Disk { public: static Disk open() { return Disk(); } void write() {} };
void sell() {}
}
class Log { void write() {} };
void move() {}
void use() { shop::sell(); shop::Disk::open().write(); std::move(); }
"""
    graph = graph_of({"a.cc": source}, "cpp")
    steps = graph.walk(graph.named("use"), ("calls",), "out")
    assert names(graph, (step.node for step in steps)) == {"a.cc:sell", "a.cc:Disk.open", "a.cc:Disk.write"}


def test_a_test_of_cpp_calls_the_function_that_it_has_its_name_from() -> None:
    files = {
        "bigint.h": "inline int compare(int a, int b) { return a - b; }\n",
        "bigint-test.cc": "TEST(bigint_test, compare) {\n  compare(1, 2);\n}\n",
    }
    graph = graph_of(files, "cpp")
    steps = graph.walk(graph.named("bigint_test.compare"), ("calls",), "out")
    assert names(graph, (step.node for step in steps)) == {"bigint.h:compare"}


def test_a_method_of_the_outer_class_is_in_scope_of_an_inner_one() -> None:
    """Others have a method of that name too, so that it cannot be guessed."""
    other = "class {0} {{\n  int area(int x) {{ return x; }}\n}}\n"
    inner = "  class Inner {\n    int twice(int y) { return area(y) * 2; }\n  }\n"
    files = {
        "Outer.java": f"class Outer {{\n  int area(int x) {{ return x; }}\n{inner}}}\n",
        "Circle.java": other.format("Circle"),
        "Square.java": other.format("Square"),
    }
    graph = graph_of(files, "java")
    steps = graph.walk(graph.named("Outer.Inner.twice"), ("calls",), "out")
    assert names(graph, (step.node for step in steps)) == {"Outer.java:Outer.area"}


def test_a_type_is_found_by_the_whole_path_of_its_module() -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/shapes.py": "class Box:\n    def go(self):\n        return 1\n",
        "use.py": "import pkg.shapes\n\ndef run(one: pkg.shapes.Box):\n    return one.go()\n",
    }
    graph = graph_of(files, "python")
    steps = graph.walk(graph.named("Box.go"), ("calls",), "in", 1)
    assert names(graph, (step.node for step in steps)) == {"use.py:run"}


@pytest.mark.parametrize(
    ("alias", "call"),
    [
        ("", "Shop.Net.Pool.open(x)"),
        ("alias Shop.Net.Pool", "Pool.open(x)"),
        ("alias Shop.Net", "Net.Pool.open(x)"),
        ("alias Shop.Net.Pool, as: Workers", "Workers.open(x)"),
        ("alias Shop.Net.{Cart, Pool}", "Pool.open(x)"),
        ("import Shop.Net.Pool", "open(x)"),
    ],
)
def test_an_elixir_module_is_known_by_its_name_and_its_aliases(alias: str, call: str) -> None:
    module = "defmodule {} do\n  def open(x), do: x\nend\n"
    files = {
        "lib/net/pool.ex": module.format("Shop.Net.Pool"),
        "lib/door.ex": module.format("Shop.Door"),
        "lib/use.ex": f"defmodule Use do\n  {alias}\n  def run(x), do: {call}\nend\n",
    }
    graph = graph_of(files, "elixir")
    steps = graph.walk(graph.named("Shop.Net.Pool.open"), ("calls",), "in", 1)
    assert names(graph, (step.node for step in steps)) == {"lib/use.ex:Use.run"}
    assert not graph.walk(graph.named("Shop.Door.open"), ("calls",), "in", 1)


def test_elixir_calls_of_its_own_module_of_one_inside_it_and_of_none() -> None:
    source = """
        defmodule Shop do
          defmodule Cart do
            def sum(x), do: x
          end
          def pay(x), do: check(Cart.sum(x))
          def check(x), do: Enum.sum(x)
        end
    """
    graph = graph_of({"lib/shop.ex": dedent(source)}, "elixir")

    def callers(name: str) -> set[str]:
        return names(graph, (step.node for step in graph.walk(graph.named(name), ("calls",), "in", 1)))

    assert callers("Shop.check") == {"lib/shop.ex:Shop.pay"}
    assert callers("Shop.Cart.sum") == {"lib/shop.ex:Shop.pay"}


@pytest.mark.parametrize(
    ("language", "path", "source"),
    [
        (
            "swift",
            "Pool.swift",
            "class Pool {\n  func open(_ x: Int) -> Int { x }\n  func close(_ x: Int) -> Int { open(x) }\n}\n",
        ),
        (
            "scala",
            "Pool.scala",
            "class Pool {\n  def open(x: Int) = x\n  def close(x: Int) = open(x)\n}\n"
            "object Door { def open(x: Int) = x }\n",
        ),
    ],
)
def test_a_bare_call_in_a_class_is_of_its_own_method(language: str, path: str, source: str) -> None:
    graph = graph_of({path: source}, language)
    steps = graph.walk(graph.named("Pool.open"), ("calls",), "in", 1)
    assert names(graph, (step.node for step in steps)) == {f"{path}:Pool.close"}


def test_a_name_that_is_bound_again_among_others_loses_its_class_in_python() -> None:
    source = """
        class Client:
            def go(self): return 1

        class Server:
            def go(self): return 2

        def kept():
            one = Client()
            return one.go()

        def lost():
            one = Client()
            one, two = pair()
            return one.go()
    """
    graph = graph_of({"m.py": dedent(source)}, "python")
    steps = graph.walk(graph.named("Client.go"), ("calls",), "in", 1)
    assert names(graph, (step.node for step in steps)) == {"m.py:kept"}
