"""Diffs are read as what they change."""

import pytest

from treeline.search.impact import parse_diff

DIFF = """diff --git a/q.sql b/q.sql
--- a/q.sql
+++ b/q.sql
@@ -1,3 +1,2 @@
 select
--- a comment that looks like a header
-def old_name(x):
+def new_name(x):
@@ -9 +7,3 @@
 from
+
+where
diff --git a/gone.py b/gone.py
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-class Gone:
diff --git "a/\\303\\251.py" "b/\\303\\251.py"
--- "a/\\303\\251.py"
+++ "b/\\303\\251.py"
@@ -1,0 +2 @@
+x = 1
diff --git a/was.py b/is.py
rename from was.py
rename to is.py
"""


def test_a_diff_is_read_by_file_with_lines_words_and_names_that_are_gone() -> None:
    changes = {change.path: change for change in parse_diff(DIFF)}
    assert list(changes) == ["q.sql", "gone.py", "é.py", "is.py"]
    assert changes["q.sql"].lines == (2, 9) and changes["q.sql"].lost_names == ("old_name",)
    assert {"where", "header", "new_name"} < changes["q.sql"].words
    assert "old_name" in changes["q.sql"].lost_words and "def" not in changes["q.sql"].lost_words
    assert changes["gone.py"].lost_names == ("Gone",) and changes["é.py"].lines == (2,)
    assert parse_diff("no diff\n+at all") == []


@pytest.mark.parametrize(
    ("quoted", "path"),
    [
        ('"b/a\\tb\\"c\\\\.py"', 'a\tb"c\\.py'),
        ('"b/caf\\351.py"', "caf\\xe9.py"),  # as the index has a name that is not UTF-8
        ('"C:\\new\\x.py"', "C:\newx.py"),
        ('"b/\\N{DASH}\\Uffffffff\\xz\\', "N{DASH}Uffffffffxz\\"),
    ],
)
def test_any_quoted_name_in_a_diff_is_read(quoted: str, path: str) -> None:
    assert [change.path for change in parse_diff(f"+++ {quoted}\n@@ -0,0 +1 @@\n+x\n")] == [path]
