"""One entry of a JSON file with comments is set and removed; every other byte stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeline.service.cli.jsonc import read, remove_entry, set_entry

PATH = ("servers", "ours")
VALUE = {"command": "x", "args": ["y"]}
COMMENTED = """{
    // mine: "servers": {
    "theme": "dark, // not a comment", /* "ours" */
    "servers": {
        "other": {"command": "z"}, // keep
    },
    "last": [1, {"a": "}"}], // the end
}
"""


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "theme": "dark"\n}\n',
        '{"theme": "dark"}',
        '{\n\t"theme": "dark",\n\t"servers": {\n\t\t"other": {}\n\t}\n}\n',
        "{\n  // nothing yet\n}\n",
        COMMENTED,
    ],
)
def test_what_is_set_is_read_and_removing_it_gives_the_file_back(text: str) -> None:
    changed = set_entry(text, PATH, VALUE)
    before, after = read(text), read(changed)
    assert after["servers"].pop("ours") == VALUE
    assert after | {"servers": {}} == before | {"servers": {}} and after["servers"] == before.get("servers", {})
    assert set_entry(changed, PATH, VALUE) == changed
    assert remove_entry(changed, PATH) == text


def test_comments_stay_beside_what_they_are_about() -> None:
    changed = set_entry(COMMENTED, PATH, VALUE)
    assert '"other": {"command": "z"}, // keep\n        "ours": {\n            "command": "x",' in changed


def test_an_entry_is_replaced_where_it_is() -> None:
    text = '{"servers": {"ours": {"old": 1}, "other": 2}}'
    assert read(set_entry(text, PATH, VALUE)) == {"servers": {"ours": VALUE, "other": 2}}


@pytest.mark.parametrize("text", ["", "\n", "{}", "{\n}\n"])
def test_a_file_with_nothing_else_has_nothing_left(text: str) -> None:
    changed = set_entry(text, PATH, VALUE)
    assert read(changed) == {"servers": {"ours": VALUE}}
    assert remove_entry(changed, PATH) == ""


def test_what_is_not_there_is_not_removed() -> None:
    for text in ('{"servers": []}', '{"servers": {"other": 1}}', "{}", ""):
        assert remove_entry(text, PATH) == text


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": }', "x"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        set_entry(text, PATH, VALUE)


keys = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=5).filter(lambda key: key != "ours")
values = st.recursive(
    st.none() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(keys, values, min_size=1, max_size=4), st.sampled_from([None, 2, 4, "\t"]))
def test_any_object_is_given_back(whole: dict[str, object], indent: int | str | None) -> None:
    text = json.dumps(whole, indent=indent, ensure_ascii=False)
    for path in (("ours",), ("servers!", "ours")):
        changed = set_entry(text, path, VALUE)
        assert read(changed) == whole | ({"ours": VALUE} if len(path) == 1 else {"servers!": {"ours": VALUE}})
        assert remove_entry(changed, path) == text
