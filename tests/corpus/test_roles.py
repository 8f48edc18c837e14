"""What a path says about its file, by the three rules."""

import pytest

from treeline.corpus.roles import is_aside, is_test, why_left_out


@pytest.mark.parametrize(
    ("path", "left_out", "aside", "test"),
    [
        ("src/cart.py", "", False, False),
        ("src/contest/latest.py", "", False, False),
        ("tests/cart.py", "test", True, True),
        ("src/cart_test.go", "test", True, True),
        ("src/jvmTest/Cart.kt", "test", True, False),
        ("src/CartTest.java", "test", True, True),
        ("src/CartIT.java", "test", False, True),
        ("src/TypeSpec.java", "", True, True),
        ("Tests/Cart.swift", "", True, True),
        ("test/fixtures/cart.json", "test", True, True),
        ("fixtures/cart.json", "test", True, False),
        ("examples/cart.py", "", True, False),
        ("vendor/github.com/cart.go", "vendored", True, False),
        ("venv/cart.py", "vendored", False, False),
        ("dist/cart.js", "generated", True, False),
        ("src/cart.pb.go", "generated", True, False),
        ("src/cart.d.ts", "generated", True, False),
        ("typings/cart.pyi", "", True, False),
    ],
)
def test_loading_wants_certainty_and_ranking_likelihood(path: str, left_out: str, aside: bool, test: bool) -> None:
    assert (why_left_out(path), is_aside(path), is_test(path)) == (left_out, aside, test)
