"""Documents by their headings, configuration by its keys, and everything else in blocks."""

import json

from tests.ingest.parsers.parsing import units
from treeline.ingest.parsers.formats import MAX_CHARACTERS
from treeline.ingest.parsers.registry import language_of


def named(file: str, source: str) -> list[tuple[str, str]]:
    return [(unit.kind, unit.func_name) for unit in units(file, source)]


def test_the_unit_of_a_document_is_its_headings_and_a_section_its_text() -> None:
    whole, *_ = units(
        "guide.md", "# Guide\nWelcome.\n\n## Install\n### From source\nClone it.\n\nUsage\n-----\nCall `run`.\n"
    )
    assert whole.code == "Guide\n  Install\n    From source\n  Usage"
    (only,) = units("notes.md", "Some words.\nAnd more.\n")
    assert (only.code, only.docstring) == ("Some words.", "And more.")


def test_a_document_of_many_sections_is_cut_off() -> None:
    assert len(units("guide.md", "".join(f"# Title {number}\n" for number in range(500)))) == 400


def test_a_small_file_of_configuration_is_one_unit_and_a_larger_one_a_unit_for_each_key() -> None:
    assert named("small.toml", '[tool]\nname = "x"\n') == [("config", "small.toml")]
    assert len(named("small.toml", "[a]\n" + "b = 1\n" * 29)) == 1
    assert len(named("small.toml", "[a]\n" + "b = 1\n" * 30)) == 2
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
    assert [unit.address.lines for unit in units("ci.yaml", yaml)[1:]] == [(1, 32), (33, 38)]
    json = '{\n  "first": {\n' + '    "a": 1,\n' * 30 + '    "b": 2\n  },\n  "second": 2\n}\n'
    assert named("data.json", json)[1:] == [("config", "first"), ("config", "second")]


def test_targets_tables_and_stages_are_units() -> None:
    filler = "\t@echo\n" * 30
    assert ("config", "build") in named("Makefile", f"all: build\n{filler}# Builds it.\nbuild:\n\tcc\n")
    rows = "  id int,\n" * 30
    assert ("config", "users") in named("schema.sql", f"CREATE TABLE users (\n{rows});\nCREATE INDEX i;\n")
    steps = "RUN true\n" * 30
    assert ("config", "FROM python:3 AS base") in named("Dockerfile", f"FROM python:3 AS base\n{steps}FROM base\n")


def test_comments_above_a_key_belong_to_it_and_other_lines_to_the_key_before() -> None:
    filler = "\t@echo\n" * 30
    makefile = f"# All of it.\n\nall: build\n{filler}# Builds it.\n# Quickly.\nbuild:\n\tcc\n"
    whole, every, build = units("Makefile", makefile)
    assert whole.original_string == "# All of it.\nall\nbuild"
    assert every.address.lines == (3, 33)
    assert build.address.lines == (34, 37)
    assert build.original_string.startswith("# Builds it.\n# Quickly.\nbuild:")


def test_the_file_unit_of_perl_and_groovy_has_what_is_outside_of_functions() -> None:
    *_, perl = units("Shop.pm", "package Shop;\nour $limit = 3;\nsub add {\n    return 1;\n}\n")
    assert "our $limit" in perl.original_string and "return" not in perl.original_string
    inside = "    Other(int limit) {\n        wrong()\n    }\n    int add(int x) {\n        x + 1\n    }\n"
    stage = "stage('Build it') {\n    sh 'make'\n}\n"
    *_, groovy = units("Shop.groovy", f"package shop\nlimit = 3\n\nclass Shop {{\n{inside}}}\n\n{stage}")
    text = groovy.original_string
    assert "limit = 3" in text and "wrong()" in text and "class Shop" in text
    assert "x + 1" not in text and "sh 'make'" not in text


def test_any_other_text_is_cut_at_blank_lines() -> None:
    text = "\n\n".join("\n".join(f"line {block} {line}" for line in range(25)) for block in range(6))
    found = units("notes.unknown", text)
    assert {unit.kind for unit in found} == {"file"}
    assert len(found) == 3
    assert all(unit.original_string.startswith("line") for unit in found)
    assert "\n".join(unit.original_string for unit in found).split() == text.split()
    assert [unit.address.lines for unit in found] == [(1, 51), (53, 103), (105, 155)]
    assert [unit.func_name for unit in found] == ["notes.unknown", "notes.unknown:53", "notes.unknown:105"]


def test_text_without_breaks_is_cut_at_sixty_lines_or_four_thousand_characters() -> None:
    def lines(text: str) -> list[tuple[int, int] | None]:
        return [unit.address.lines for unit in units("notes.unknown", "word\n" + text)]

    assert lines("  word\n" * 59) == [(1, 60)]
    assert lines("  word\n" * 129) == [(1, 60), (61, 120), (121, 130)]
    assert lines(("  " + "w" * 1_100 + "\n") * 9) == [(1, 5), (6, 9), (10, 10)]


def test_text_is_cut_best_at_an_empty_line_before_one_without_indentation() -> None:
    def lines(text: str) -> list[tuple[int, int] | None]:
        return [unit.address.lines for unit in units("notes.unknown", "word\n" + text)]

    words = "  word\n" * 19
    assert lines(words + words + "\nword\n" + words + "\n" + words) == [(1, 39), (41, 80)]
    assert lines(words + words + "\n" + words + words) == [(1, 39), (41, 78)]
    assert lines(words + words + "word\n" + words + words) == [(1, 39), (40, 78)]
    assert lines("  word\n" * 10 + "\nword\n" + words * 4) == [(1, 60), (61, 89)]  # not in its first third


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


def test_a_long_line_is_kept_up_to_a_limit() -> None:
    for size in (3 * MAX_CHARACTERS, 5 * MAX_CHARACTERS):
        kept = max(len(unit.original_string) for unit in units("notes.txt", "x" * size))
        assert kept == min(size, 4 * MAX_CHARACTERS)
