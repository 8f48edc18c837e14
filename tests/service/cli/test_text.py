"""Results in the terminal: code stands straight, and nothing in it can move the cursor."""

import pytest

from treeline.service.cli.text import level


@pytest.mark.parametrize(
    ("cut_out", "straight"),
    [
        ("def f(self):\n        return 1", "def f(self):\n    return 1"),
        ("def f(\n        self,\n    ) -> None:\n        pass", "def f(\n    self,\n) -> None:\n    pass"),
        ("def f():\n    return 1", "def f():\n    return 1"),
        ("int f() {\n        return 1;\n    }", "int f() {\n    return 1;\n}"),
        ("def f\n    1\n  end", "def f\n  1\nend"),
        ("lambda: 1", "lambda: 1"),
        ("def f():\n\n        return 1", "def f():\n\n    return 1"),
    ],
)
def test_a_method_cut_out_of_its_class_is_set_straight(cut_out: str, straight: str) -> None:
    assert level(cut_out) == straight
