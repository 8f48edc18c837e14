"""Function text, names, paths, docstrings and URLs are untrusted: shown, never run."""

from flask.testing import FlaskClient
from pytest import fixture, mark

from treeline.service.present.highlight import mark_code, preview
from treeline.service.present.text import visible, web_address


@fixture
def hostile(client: FlaskClient) -> str:
    rows = client.get("/api/search?q=steal+cookies&k=5").get_json()["results"]
    return next(str(row["id"]) for row in rows if row["repo"].startswith("evil"))


def check(page: str) -> None:
    for payload in ("<script>alert", "<img src=x", "<b onclick", "</code><script", "javascript:"):
        assert payload not in page.lower()
    assert "\u202e" not in page and "\u2066" not in page
    assert "U+202E" in page


def test_a_hostile_record_is_harmless_in_the_list_and_on_its_page(client: FlaskClient, hostile: str) -> None:
    check(client.get("/search?q=steal+cookies").get_data(as_text=True))
    check(client.get(f"/functions/{hostile}?q=steal+cookies").get_data(as_text=True))
    check(client.get(f"/functions/{hostile}/code").get_data(as_text=True))


def test_a_hostile_question_is_harmless(client: FlaskClient) -> None:
    question = '"><script>alert(1)</script>\u202e'
    page = client.get("/search", query_string={"q": question, "repo": question, "path": question}).get_data(
        as_text=True
    )
    assert "<script>alert" not in page


def test_only_the_web_is_linked(client: FlaskClient, hostile: str) -> None:
    assert 'target="_blank"' not in client.get(f"/functions/{hostile}").get_data(as_text=True)
    good = client.get("/search?q=open+the+jar+and+eat+cookies").get_data(as_text=True)
    assert 'href="https://example.org/good/cookies/blob/main/jar.py#L10-L12" rel="noopener noreferrer' in good


@mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        " javascript:alert(1)",
        "JavaScript://x/%0aalert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//evil.example/x",
        "https:evil",
        "http://[",
        "https://good.example/\u202e",
        "java\nscript:alert(1)",
        "",
    ],
)
def test_addresses_that_are_not_of_the_web_become_no_link(url: str) -> None:
    assert web_address(url) == ""


def test_web_addresses_stay_as_they_are() -> None:
    url = "https://github.com/a/b/blob/c/d.py#L1-L2"
    assert web_address(url) == url


def test_hidden_characters_are_written_out() -> None:
    assert visible("a\u202eb\u200bc\x00d\u00ade") == "a[U+202E]b[U+200B]c[U+0000]d[U+00AD]e"
    assert visible("a\x1b[2Jb") == "a[U+001B][2Jb"
    assert visible("tab\tand\r\nnewline") == "tab\tand\nnewline"
    assert visible("naïve 漢字 😀\tx\n") == "naïve 漢字 😀\tx\n"
    assert 'title="U+202E RIGHT-TO-LEFT OVERRIDE">U+202E</span>' in mark_code("x = '\u202e'", "python", frozenset())


def test_an_unknown_language_is_shown_plainly() -> None:
    assert preview("klingon", "Qapla' <b>", frozenset()).html == "Qapla&#39; &lt;b&gt;"
