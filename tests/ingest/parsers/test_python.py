"""Python: what is a function, where it begins and ends, what its docstring is, what it refers to."""

from __future__ import annotations

import pytest

from tests.ingest.parsers.parsing import see

SOURCE = '''
    import os.path as osp
    from .net import fetch as get, Client
    from deep import *

    class Store(Base, metaclass=Meta):
        """A store."""

        @property
        def size(self) -> int:
            """How many."""
            return len(self.items)

        class Inner(abc.ABC):
            def go(self):
                return get().close()

    @cached
    def load(path: Path, retries=3):
        # a remark before the docstring
        """Load it.

        With a second paragraph.
        """
        def helper():
            return deep_call(path)
        try:
            Client.open(path, callback=on_done, again=retries)
        except OSError as error:
            raise LoadError(error)
        return helper
        # left over

    if True:
        def under_condition(): "One line."; return 1
'''


def test_functions_and_methods_are_found_with_their_classes_and_inner_functions_belong_to_the_outer() -> None:
    assert see(".py", SOURCE).names == ["Store.size", "Store.Inner.go", "load", "under_condition"]


def test_lines_run_from_def_to_the_last_statement() -> None:
    seen = see(".py", SOURCE)
    assert seen.lines["Store.size"] == (9, 11)
    assert seen.lines["load"] == (18, 30)


def test_the_docstring_is_taken_out_of_the_code_and_nothing_else_is() -> None:
    load = see(".py", SOURCE).functions["load"]
    assert load.docstring == "Load it.\n\n    With a second paragraph."
    assert load.docstring_tokens == ("Load", "it", ".")
    assert "Load it" in load.original_string
    assert load.code == load.original_string.replace('    """Load it.\n\n    With a second paragraph.\n    """\n', "")


def test_a_docstring_with_code_behind_it_on_its_line_is_taken_out() -> None:
    function = see(".py", SOURCE).functions["under_condition"]
    assert function.docstring == "One line."
    assert "One line" not in function.code
    assert function.code.endswith("return 1")


@pytest.mark.parametrize(
    ("literal", "docstring"),
    [
        ('"""Text."""', "Text."),
        ("'Text.'", "Text."),
        (r'r"""A \d."""', r"A \d."),
        ('u"""Text."""', "Text."),
        ('"""One """ """two."""', "One two."),
        ('f"""No {docstring}."""', ""),
        ('b"""No docstring."""', ""),
        ('x = """No docstring."""', ""),
        ('"""No""".format()', ""),
    ],
)
def test_what_counts_as_a_docstring(literal: str, docstring: str) -> None:
    function = see(".py", f"def f():\n    {literal}\n    return 1\n").functions["f"]
    assert function.docstring == docstring
    assert (literal in function.code) is not bool(docstring)


def test_a_function_that_is_only_its_docstring_keeps_its_header() -> None:
    assert see(".py", 'def f():\n    """Only this."""\n').functions["f"].code == "def f():"


def test_python_2_is_read_too() -> None:
    assert (
        see(".py", 'def f(x):\n    """Old."""\n    print "x", x\n    raise E, "y"\n').functions["f"].docstring == "Old."
    )


def test_references_are_dotted_names_with_the_calls_on_the_way() -> None:
    seen = see(".py", SOURCE)
    assert seen.targets("calls", "load") == ["deep_call", "Client.open", "LoadError"]
    assert seen.targets("calls", "Store.Inner.go") == ["get().close", "get"]
    assert seen.targets("extends") == ["Base", "abc.ABC"]


def test_a_name_passed_as_an_argument_is_used_unless_it_is_bound_in_the_function() -> None:
    uses = see(".py", SOURCE).targets("uses", "load")
    assert {"Path", "on_done", "OSError"} <= set(uses)
    assert not {"path", "retries", "error"} & set(uses)


def test_imports_say_module_name_and_alias() -> None:
    assert see(".py", SOURCE).imports == [
        ("os.path", "", "osp"),
        (".net", "fetch", "get"),
        (".net", "Client", "Client"),
        ("deep", "*", ""),
    ]


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm() -> None:
    function = see(".py", '\ufeffdef f():\r\n    """Doc."""\r\n    return 1\r\n').functions["f"]
    assert function.docstring == "Doc."
    assert function.code == "def f():\r\n    return 1"
