"""The role of a file, by its path."""

import pytest

from treeline.corpus.roles import is_aside, role_of


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("src/cart.py", "code"),
        ("src/contest/latest.py", "code"),
        ("tests/cart.py", "test"),
        ("Tests/Cart.swift", "test"),
        ("src/cart_test.go", "test"),
        ("src/jvmTest/Cart.kt", "test"),
        ("src/CartTest.java", "test"),
        ("src/CartIT.java", "test"),
        ("src/TypeSpec.java", "code"),
        ("src/tests.rs", "test"),
        ("test/fixtures/cart.json", "test"),
        ("docs/examples/test_cart.py", "test"),
        ("docs/examples/cart.py", "example"),
        ("docs/conf.py", "docs"),
        ("src/README.md", "docs"),
        ("CMakeLists.txt", "code"),
        ("vendor/tests/cart.go", "vendored"),
        ("venv/cart.py", "vendored"),
        ("dist/cart.js", "generated"),
        ("src/cart.pb.go", "generated"),
        ("src/cart.d.ts", "generated"),
    ],
)
def test_a_path_has_the_first_role_that_fits(path: str, role: str) -> None:
    assert role_of(path) == role


def test_documents_beside_code_are_not_aside_but_those_in_their_folder_are() -> None:
    assert not any(map(is_aside, ("src/cart.py", "src/README.md")))
    assert all(map(is_aside, ("docs/cart.md", "src/cart_test.go", "examples/cart.py", "typings/cart.pyi")))
