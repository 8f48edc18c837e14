"""TypeScript and TSX: JavaScript's functions, with interfaces and types."""

from __future__ import annotations

import pytest

from tests.ingest.parsers.parsing import see

SOURCE = """
    import type { Engine } from './engine';

    export interface Lane extends Named { search(query: string): Hit[]; }

    export abstract class Keyword<T> extends Base<T> implements Lane, Closeable {
      /** Finds. */
      async search(query: Query, k?: number): Promise<Hit[]> { return this.engine.find(query); }
      private later = (hit: Hit) => { log(hit); };
      abstract close(): void;
    }

    export const toText = (value: unknown): string => String(value);
    export default function (options: Options) { return start(options); }
"""


@pytest.mark.parametrize("suffix", [".ts", ".tsx"])
def test_functions_are_found(suffix: str) -> None:
    seen = see(suffix, SOURCE)
    assert seen.names[:3] == ["Keyword.search", "Keyword.later", "toText"]
    assert seen.functions["Keyword.search"].docstring == "Finds."
    assert {function.language for function in seen.functions.values()} == {"typescript"}


def test_who_extends_and_implements_whom_and_which_types_are_used() -> None:
    seen = see(".ts", SOURCE)
    assert seen.targets("implements") == ["Lane", "Closeable"]
    assert seen.targets("extends") == ["Named", "Base"]
    assert {"Query", "Hit"} <= set(seen.targets("uses", "Keyword.search"))
    assert seen.targets("calls", "Keyword.search") == ["this.engine.find"]
    assert ("Lane.search", "function") in seen.symbols
    assert ("Keyword.close", "function") in seen.symbols
    assert seen.imports == [("./engine", "Engine", "Engine")]


def test_markup_in_tsx_is_read() -> None:
    seen = see(".tsx", "export function Page() { return <Main title={text()} />; }\n")
    assert seen.names == ["Page"]
    assert "Main" in seen.targets("uses", "Page")
    assert seen.targets("calls", "Page") == ["text"]


def test_a_constant_names_the_callback_that_makes_it() -> None:
    source = """
        export const ZodType: Maker<Type> = core.$constructor("ZodType", (inst, def) => {
          inst.def = def;
          inst.parse = (data) => parse(inst, data);
          inst.check = () => true;
          return inst;
        });
    """
    assert see(".ts", source).names == ["ZodType"]


def test_variance_and_type_exports_are_read() -> None:
    source = """
        export type * as core from "./core";
        interface Box<in out T, out U extends string = string> { value: T }
        function after() { return 1; }
    """
    seen = see(".ts", source)
    assert seen.names == ["after"]
    assert ("interface", "Box") in seen.units
