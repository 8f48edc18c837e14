"""Functions that do nothing are recognised in many languages, and others are not taken for them."""

import pytest

from treeline.rerank.accessors import LONGEST, asks_for_accessors, is_accessor

ACCESSORS = {
    "c": "LIBEVENT_THREAD *get_worker_thread(int id) {\n    return &threads[id];\n}",
    "c++": "int MPEG::Properties::bitrate() const\n{\n  return d->bitrate;\n}",
    "c++ constructor": "text_style(uint64_t style) noexcept : style_(style) {}",
    "c#": "public Type? Type => type;",
    "dart": "Duration? get sendTimeout => _sendTimeout;",
    "elixir": "def cancel_job(_conf, _job), do: :ok",
    "erlang": "name(#user{name = Name}) -> Name.",
    "go": "func (r *Raft) LastIndex() (uint64, error) {\n\treturn r.store.LastIndex()\n}",
    "java": "@Override\n  public String toString() {\n    return field.toString();\n  }",
    "java setter": "public void setName(String name)\n  {\n    this.name = name;\n  }",
    "kotlin": "override fun toString(): String = name",
    "kotlin interface": "fun removeDatabase(db: DB): Boolean",
    "php": "public function reason(): string\n    {\n        return $this->reason;\n    }",
    "python": "def __len__(self) -> int:\n    return self._size",
    "python in one line": "def __len__(self) -> int: return self._size",
    "python without a body": "async def send(self, item: bytes) -> None:",
    "ruby": "def on_resume\nend",
    "ruby in one line": "def size; @size end",
    "ruby field": "def size\n  @records.size\nend",
    "rust": "pub fn exit_code(&self) -> ExitCode {\n    self.exit_code\n}",
    "scala": "override def toString() = s",
    "swift": 'public var description: String { "HTTPClientError.cancelled" }',
    "typescript": "get valueSchema() {\n    return this._def.valueType;\n  }",
}
WORKING = {
    "an argument": "def ready(self):\n    return notify(READY)",
    "an operator": "int area() { return width * height; }",
    "a choice": "fn state(&self) -> S { if self.open { self.a } else { self.b } }",
    "a call that takes something away": "def acquire(self):\n    return self.free.pop()",
    "two statements": "void reset() { a = 0; b = 0; }",
    "a call without brackets": "def ready\n  notify READY\nend",
    "a closure": "(fn) => inst.check(fn)",
    "a one-line method of Ruby": "def put(uri) request(PUT, uri) end",
    "forwarding with an argument": "public var size: Int { measure(self) }",
    "one line of Python": "def area(a: int, b: int = 1) -> int: return multiply(a, b)",
    "one line of Python that returns nothing": "def notify(self): send(self, READY)\n",
    "one line of Ruby without parameters": "def ready; notify(READY) end",
    "one line of Elixir without parameters": "def ready, do: notify(:ready)",
    "one line of Erlang": "area(A, B) -> multiply(A, B).",
    "a Lisp": "(defn ready [x]\n  (notify x))",
    "one line of a Lisp": "(define (ready x) (notify x 1))",
    "an appended item": "def pipeTo(next: proc) = ProcGroup(commands :+ next)",
}


@pytest.mark.parametrize("code", ACCESSORS.values(), ids=ACCESSORS)
def test_what_only_returns_or_sets_a_value_is_an_accessor(code: str) -> None:
    assert is_accessor(code)


@pytest.mark.parametrize("code", WORKING.values(), ids=WORKING)
def test_what_does_something_is_none(code: str) -> None:
    assert not is_accessor(code)


def test_long_code_is_none() -> None:
    assert is_accessor(f"def name(self):\n    return {'x' * 20}")
    assert not is_accessor(f"def name(self):\n    return {'x' * LONGEST}")


def test_a_query_may_ask_for_accessors() -> None:
    assert asks_for_accessors("string representation of an error")
    assert asks_for_accessors("getter for the name")
    assert not asks_for_accessors("how are connections dispatched to worker threads")
