"""What is kept of code between `#if` and `#endif`, and what is blanked so that brackets nest."""

import pytest

from treeline.ingest.parsers.languages.c_family import one_branch

BOTH = "{before}\n#if FAST\n{first}\n#else\n{second}\n#endif\n{after}\n"


def kept(before: str, first: str, second: str, after: str, *, inside: bool = False, every: bool = False) -> list[str]:
    """The lines that are left."""
    source = BOTH.format(before=before, first=first, second=second, after=after).encode()
    found = one_branch(source, inside=inside, every=every)
    assert len(found) == len(source) and found.count(b"\n") == source.count(b"\n")
    return [line for line in found.decode().splitlines() if line.strip()]


def test_branches_that_nest_are_all_kept() -> None:
    lines = kept("int a;", "int b() { return 1; }", "int b() { return 2; }", "int c;")
    assert len(lines) == 7


def test_of_branches_that_open_a_bracket_the_first_is_kept() -> None:
    assert kept("int f() {", "if (x > 1) {", "if (x) {", "} }") == ["int f() {", "if (x > 1) {", "} }"]


@pytest.mark.parametrize("before", ["int x =", "    int x;", "call("])
def test_within_a_definition_one_branch_is_kept(before: str) -> None:
    assert kept(before, "1", "2", ";", inside=True) == [before, "1", ";"]
    assert len(kept(before, "1", "2", ";")) == 7


@pytest.mark.parametrize("before", ["using Text;", "}", "    }\n}", "#define X", ""])
def test_between_definitions_all_branches_are_kept(before: str) -> None:
    lines = kept(before, "class A {}", "class B {}", "class C {}", inside=True)
    assert lines[-5:] == ["class A {}", "#else", "class B {}", "#endif", "class C {}"]


def test_every_condition_can_be_asked_for() -> None:
    assert kept("int a;", "int b;", "int c;", "int d;", every=True) == ["int a;", "int b;", "int d;"]
