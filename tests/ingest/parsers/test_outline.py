"""A lone function's references and imports come in the order of its text; the parser hands them out in none."""

from treeline.ingest.parsers.outline import outline, single
from treeline.ingest.parsers.registry import grammars

NAMES = [f"name_{number}" for number in range(200)]
SOURCE = "def many():\n" + "".join(f"    {name}()\n    {name}()\n" for name in NAMES)
IMPORTING = "def late():\n" + "".join(f"    import package.{name} as it\n" for name in NAMES)


def test_each_name_is_told_once_at_its_first_line_in_order() -> None:
    seen = single(grammars()["python"], SOURCE.encode(), "many", first_line=10)
    assert [one.target for one in seen.references] == NAMES
    assert [one.line for one in seen.references] == [11 + 2 * number for number in range(200)]


def test_imports_are_told_in_order_so_that_the_last_of_one_name_holds() -> None:
    seen = single(grammars()["python"], IMPORTING.encode(), "late")
    assert [one.module for one in seen.imports] == [f"package.{name}" for name in NAMES]


def test_the_symbol_spans_the_lines_of_the_text() -> None:
    symbol = single(grammars()["python"], b"def f():\n    return 1", "Stored.f", first_line=7).symbol
    assert (symbol.name, symbol.first_line, symbol.last_line) == ("Stored.f", 7, 8)


def test_functions_inside_a_function_are_marked_with_their_bytes() -> None:
    source = b"def outer():\n    def inner(): pass\n    return inner"
    assert single(grammars()["python"], source, "outer").marks.inner == [("inner", 17, 34)]


def test_lines_stay_what_they_are_where_a_macro_over_several_lines_is_blanked() -> None:
    source = b"""int f(const char* text, int x) __attribute__((format(printf,
  1, 2))) ;
static DWORD WINAPI run(void* data) { return 0; }

int after(void) { return 1; }
"""
    defined = outline(grammars()["cpp"], source)
    assert ("after", 5) in {(one.name, one.first_line) for one in defined.definitions}
