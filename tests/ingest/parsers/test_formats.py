"""Documents by their headings, configuration by its keys, and everything else in blocks."""

from __future__ import annotations

import json
from textwrap import dedent

from treeline.corpus.function import Function
from treeline.ingest.parsers.registry import grammar_of, language_of
from treeline.ingest.parsers.units import FileLocation, parse_file
from treeline.ingest.source import MAX_FUNCTION_BYTES


def units(file: str, source: str) -> list[Function]:
    text = dedent(source).lstrip("\n").encode()
    grammar = grammar_of(file, text)
    assert grammar is not None
    location = FileLocation("o/r", file, "", "file:///f")
    return list(parse_file(grammar, text, location, file, MAX_FUNCTION_BYTES).functions)


def named(file: str, source: str) -> list[tuple[str, str]]:
    return [(unit.kind, unit.func_name) for unit in units(file, source)]


def test_markdown_sections_are_named_by_the_path_of_their_headings() -> None:
    found = units(
        "guide.md",
        """
        # Guide
        Welcome.

        ## Install
        ```sh
        # not a heading
        pip install shop
        ```

        ### From source
        Clone it.

        Usage
        -----
        Call `run`.
        """,
    )
    assert [(unit.kind, unit.func_name) for unit in found] == [
        ("file", "guide.md"),
        ("section", "Guide"),
        ("section", "Install"),
        ("section", "Install > From source"),
        ("section", "Usage"),
    ]
    assert found[3].docstring == "Clone it."
    assert found[3].address.lines == (10, 11)
    assert "From source" in found[0].original_string


def test_restructured_text_takes_levels_from_the_order_of_its_underlines() -> None:
    source = """
    =====
    Guide
    =====

    Install
    =======
    Do it.

    Source
    ------
    Clone.
    """
    assert named("guide.rst", source) == [
        ("file", "guide.rst"),
        ("section", "Guide"),
        ("section", "Install"),
        ("section", "Install > Source"),
    ]


def test_asciidoc_and_org_headings_are_sections() -> None:
    assert ("section", "Install") in named("guide.adoc", "= Guide\n\n== Install\nDo it.\n")
    assert ("section", "Install") in named("guide.org", "* Guide\n** Install\nDo it.\n")


def test_a_small_file_of_configuration_is_one_unit_and_a_larger_one_a_unit_for_each_key() -> None:
    assert named("small.toml", '[tool]\nname = "x"\n') == [("config", "small.toml")]
    long = "".join(f"[table{number}]\n" + "key = 1\n" * 20 for number in range(3))
    assert named("long.toml", long) == [
        ("file", "long.toml"),
        ("config", "table0"),
        ("config", "table1"),
        ("config", "table2"),
    ]


def test_yaml_and_json_are_split_at_their_outermost_keys() -> None:
    yaml = "# The jobs.\njobs:\n" + "  a: 1\n" * 30 + "steps:\n" + "  b: 1\n" * 5
    assert named("ci.yaml", yaml)[1:] == [("config", "jobs"), ("config", "steps")]
    json = '{\n  "first": {\n' + '    "a": 1,\n' * 30 + '    "b": 2\n  },\n  "second": 2\n}\n'
    assert named("data.json", json)[1:] == [("config", "first"), ("config", "second")]


def test_targets_tables_and_stages_are_units() -> None:
    filler = "\t@echo\n" * 30
    assert ("config", "build") in named("Makefile", f"all: build\n{filler}# Builds it.\nbuild:\n\tcc\n")
    rows = "  id int,\n" * 30
    assert ("config", "users") in named("schema.sql", f"CREATE TABLE users (\n{rows});\nCREATE INDEX i;\n")
    steps = "RUN true\n" * 30
    assert ("config", "FROM python:3 AS base") in named("Dockerfile", f"FROM python:3 AS base\n{steps}FROM base\n")


def test_perl_and_groovy_functions_are_found_by_their_braces() -> None:
    perl = """
    package Shop;
    our $limit = 3;
    # Adds one.
    sub add {
        my ($x) = @_;
        return $x + 1;
    }
    sub close { 1 }
    """
    found = units("Shop.pm", perl)
    assert [(unit.kind, unit.func_name) for unit in found] == [
        ("class", "Shop"),
        ("method", "Shop.add"),
        ("method", "Shop.close"),
        ("file", "Shop.pm"),
    ]
    assert found[1].docstring == "Adds one."
    assert "our $limit" in found[-1].original_string and "return" not in found[-1].original_string
    groovy = "class Shop {\n    def add(int x) {\n        x + 1\n    }\n}\n"
    assert named("Shop.groovy", groovy)[:2] == [("class", "Shop"), ("method", "Shop.add")]


def test_any_other_text_is_cut_at_blank_lines() -> None:
    text = "\n\n".join("\n".join(f"line {block} {line}" for line in range(25)) for block in range(6))
    found = units("notes.unknown", text)
    assert {unit.kind for unit in found} == {"file"}
    assert len(found) == 3
    assert all(unit.original_string.startswith("line") for unit in found)
    assert "\n".join(unit.original_string for unit in found).split() == text.split()


def test_a_huge_data_file_is_one_unit_that_shows_its_start() -> None:
    (only,) = units("data.json", '{"a": 1}\n' * 40_000)
    assert only.kind == "file" and len(only.original_string) <= 4_000


def test_a_file_that_no_name_tells_is_known_by_its_first_bytes() -> None:
    assert language_of("bin/run", b"#!/usr/bin/env python3\n") == "python"
    assert language_of("bin/run", b"#!/bin/sh\n") == "bash"
    assert language_of("bin/run", b"\x7fELF\0\0") is None
    assert language_of("picture.png", b"text") is None
    assert language_of("notes", b"Some words.\n") == "text"
    assert language_of("yarn.lock", b"text") is None
    assert language_of("list.h", b"struct a { int b; };\n") == "c"
    assert language_of("list.h", b"namespace a { class B; }\n") == "cpp"


def test_a_notebook_is_its_cells() -> None:
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Load\n", "Read the table."]},
            {"cell_type": "code", "source": ["rows = read()\n", "rows.head()"], "outputs": ["x" * 1000]},
        ]
    }
    found = units("study.ipynb", json.dumps(notebook))
    assert [(unit.kind, unit.func_name) for unit in found] == [("section", "Load"), ("file", "Load:2")]
    assert found[1].original_string == "rows = read()\nrows.head()"
    assert units("broken.ipynb", "{") == []


def test_the_text_above_the_first_heading_describes_the_file() -> None:
    whole, *_ = units("guide.md", "One.\nTwo.\nThree.\n\n# Title\nText.\n\n## Second\nMore.\n")
    assert (whole.kind, whole.docstring, whole.code) == ("file", "One.\nTwo.\nThree.", "Title\n  Second")
