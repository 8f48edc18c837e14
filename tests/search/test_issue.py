"""A pasted text is taken apart: what is a frame, a name, a message, a template."""

import pytest

from treeline.search.issue import read_issue
from treeline.search.structure import Location, is_issue

ISSUE = """Cookie path is ignored when the session is refreshed

<!-- Thanks for taking the time! Please search first. -->
### Describe the bug
After `Session.refresh()` the cookie has the path `/` -again-, although "SESSION_COOKIE_PATH" is set.
repo:other lang:go -word /regex/

```python
app = Flask(__name__)
session.refresh()
```

```
Traceback (most recent call last):
  File "/home/me/env/lib/python3.11/site-packages/webapp/sessions.py", line 42, in save
    self.set_cookie(name)
  File "/home/me/env/lib/python3.11/site-packages/webapp/cookies.py", line 7, in set_cookie
    raise CookieError("path must not be empty here")
webapp.errors.CookieError: path must not be empty here
```

See https://github.com/me/webapp/blob/main/webapp/config.py#L12

- [x] I have searched the existing issues
**Environment**
- Python version: 3.11
- OS: Linux, with UnrelatedName
"""


def test_a_long_or_many_lined_text_is_an_issue() -> None:
    assert is_issue(ISSUE)
    assert is_issue("word " * 100)
    assert not is_issue("how are cookies signed")
    assert not is_issue('File "a.py", line 3\nValueError: no')


def test_the_title_is_the_first_line() -> None:
    assert read_issue(ISSUE).title == "Cookie path is ignored when the session is refreshed"
    assert read_issue(f"\n\n# {ISSUE}").title == "Cookie path is ignored when the session is refreshed"


def test_frames_come_last_call_first_and_then_links() -> None:
    assert read_issue(ISSUE).places[:3] == (
        Location("webapp/cookies.py", 7),
        Location("webapp/sessions.py", 42),
        Location("webapp/config.py", 12),
    )


def test_names_of_prose_go_before_those_of_code() -> None:
    names = read_issue(ISSUE).names
    assert {"Session.refresh", "SESSION_COOKIE_PATH", "set_cookie", "CookieError"} <= set(names)
    assert names.index("Session.refresh") < names.index("set_cookie")


def test_messages_are_read_without_their_class() -> None:
    assert read_issue(ISSUE).messages == ("path must not be empty here",)


def test_templates_and_the_machine_are_left_out() -> None:
    issue = read_issue(ISSUE)
    assert "UnrelatedName" not in issue.names
    assert not {"Thanks", "searched", "Linux"} & set(issue.prose.split())


def test_the_words_of_the_title_count_most() -> None:
    words = read_issue(ISSUE).words
    assert words.count("cooki") > words.count("signatur")
    assert max(set(words), key=words.count) in {"cooki", "path", "ignor", "session", "refresh", "when"}


def test_a_diff_has_its_changed_lines_as_places() -> None:
    diff = (
        "fix\n\ndiff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -10,7 +10,8 @@ def f\n-old\n+new\n"
    )
    assert Location("src/a.py", 13) in read_issue(diff).places


def test_compilers_messages_are_places() -> None:
    log = "build fails\n\nsrc/lib/parse.c:12:5: error: unknown type\n  at load (src/app/load.js:3:4)\n\n"
    assert read_issue(log).places == (Location("src/lib/parse.c", 12), Location("src/app/load.js", 3))


@pytest.mark.parametrize("text", ["", "\n\n\n\n", "```\n" * 600, "<!--" * 400, "`" * 5_000, "#" * 5_000, "a/" * 9_000])
def test_odd_texts_are_read(text: str) -> None:
    read_issue(text)


def test_reading_is_linear() -> None:
    import time

    for piece in (
        "a.b",
        "x::",
        "`a",
        "/a",
        "a_",
        'File "',
        "<!-- ",
        "Error: ",
        "**a",
        "(a",
        "- [",
        "A: ",
        "",
        " ",
        "\t",
        "http://",
    ):
        start = time.process_time()
        read_issue(f"title\n{piece * 30_000}\n" + f"{piece}\n" * 5_000)
        assert time.process_time() - start < 2.0, piece


JAVA = """Exception in thread "main" java.lang.IllegalStateException: Expected BEGIN_OBJECT but was STRING
\tat com.google.gson.stream.JsonReader.beginObject(JsonReader.java:393)
Caused by: java.io.EOFException: End of input
"""
GO = """panic: runtime error: invalid memory address [recovered]

goroutine 34 [running]:
testing.tRunner.func1.2({0x8a2b40, 0xc7d6f0})
\t/home/me/gin/context.go:174
exit status 2
"""
PHP = """PHP Fatal error:  Uncaught TypeError: normalizePath(): Argument #1 must be of type string
Stack trace:
#0 /srv/src/Util/Filesystem.php(412): Util\\Filesystem->normalizePath(NULL)
"""
SHARP = """System.InvalidOperationException: Sequence contains no elements
   at Shop.Orders.Load(Int32 id) in C:\\src\\Shop\\Orders.cs:line 44
"""
CI = """2024-05-01T10:00:01.1234567Z ##[group]Run make test
2024-05-01T10:00:09.3234567Z src/unix/core.c:512:9: error: implicit declaration of function
"""
MAIL = """From: Jane <jane@example.org>
Date: Mon, 3 Jun 2024 10:11:12 +0200
Subject: Re: [PATCH] prompts hang on Windows

It comes from termui.py.
"""


@pytest.mark.parametrize(
    ("text", "title", "place", "message"),
    [
        (JAVA, "Exception in thread", Location("JsonReader.java", 393), "End of input"),
        (GO, "panic: runtime error", Location("/home/me/gin/context.go", 174), "runtime error: invalid memory"),
        (PHP, "PHP Fatal error", Location("/srv/src/Util/Filesystem.php", 412), "normalizePath(): Argument"),
        (SHARP, "System.InvalidOperationException", Location("/src/Shop/Orders.cs", 44), "Sequence contains no"),
        (CI, "src/unix/core.c:512:9", Location("src/unix/core.c", 512), "implicit declaration"),
        (MAIL, "prompts hang on Windows", Location("termui.py"), ""),
    ],
)
def test_the_message_is_the_title_of_a_traceback_and_frames_of_many_languages_are_places(
    text: str, title: str, place: Location, message: str
) -> None:
    issue = read_issue(text)
    assert issue.title.startswith(title) and place in issue.places
    assert any(one.startswith(message) for one in issue.messages) or not message
