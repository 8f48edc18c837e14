"""Documents, configuration and plain text: split into sections, keys, targets or blocks, line by line.

No tree-sitter here. These formats need only their headings or keys, and a few regular expressions take less time than
loading a grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import orjson

from treeline.ingest.parsers.names import call_name

# Small enough to read at a glance, and for an encoder to take in whole.
MAX_LINES = 60
MAX_CHARACTERS = 4_000
# Configuration files below this are one unit.
WHOLE_LINES = 30
# A file beyond these limits is data: only its start becomes units.
MAX_BLOCKS = 400
MAX_TEXT = 200_000  # characters
MAX_OUTLINE = 4_000
MAX_HEADING = 120
MAX_LINE = 1_000


class Block(NamedTuple):
    """A unit of a file that is not a program. If `doc` is set, it is the prose and `code` is the rest."""

    kind: str
    name: str
    text: str
    first_line: int
    last_line: int
    doc: str = ""
    code: str = ""


# Where a new unit starts: line number from 0, depth, title.
Heading = tuple[int, int, str]


def blocks(language: str, text: str, file: str, first_line: int = 1) -> Iterator[Block]:
    """The units of a text in this format, at most `MAX_BLOCKS`."""
    lines = text.removeprefix("\ufeff").removesuffix("\n").split("\n")
    if len(text) > MAX_TEXT and language not in DOCUMENTS and language != "jupyter":
        # Data: its start is enough to find it.
        lead = text[:MAX_CHARACTERS]
        result = iter((Block("file", file, lead, first_line, first_line + len(lines) - 1),))
    elif language == "jupyter":
        result = _cells(text, file, len(lines))
    elif language in DOCUMENTS:
        result = _sections(DOCUMENTS[language](_readable(lines)), lines, file)
    elif language in DEFINITIONS:
        result = _definitions(language, lines, file)
    elif language in KEYS:
        result = _keys(KEYS[language](_readable(lines)), lines, file)
    else:
        result = _pieces("file", file, lines, 0, len(lines), first_line)
    for _, block in zip(range(MAX_BLOCKS), result, strict=False):
        yield block


def _readable(lines: list[str]) -> list[str]:
    """The lines with very long ones blanked, on which the regular expressions would take quadratic time."""
    return [line if len(line) <= MAX_LINE else "" for line in lines]


def _cells(text: str, file: str, last: int) -> Iterator[Block]:
    """The cells of a notebook: code under the last heading above it, and prose as sections."""
    try:
        cells = orjson.loads(text)["cells"]
        sources = [("".join(cell["source"]), cell["cell_type"] == "code") for cell in cells]
    except (ValueError, KeyError, TypeError):
        return
    title = file
    for number, (source, is_code) in enumerate(sources, 1):
        if not is_code and (heading := ATX.match(source.partition("\n")[0])):
            title = _title(heading[2])
        if source.strip():
            name = title if not is_code else f"{title}:{number}"
            yield Block("file" if is_code else "section", name, source, 1, last, "" if is_code else source, "")


def _sections(headings: list[Heading], lines: list[str], file: str) -> Iterator[Block]:
    """A unit for the file, with its headings, and one for each section, named by the path of its headings."""
    outline = "\n".join(f"{'  ' * (depth - 1)}{title}" for _, depth, title in headings)[:MAX_OUTLINE]
    first = headings[0][0] if headings else len(lines)
    lead = "\n".join(lines[:first]).strip()[:MAX_CHARACTERS]
    title = headings[0][2] if headings else ""
    if not headings:
        yield from _pieces("section", file, lines, 0, len(lines), doc=True)
        return
    yield Block("file", file, "\n".join(filter(None, (lead, outline))), 1, len(lines), lead or title, outline)
    path: list[tuple[int, str]] = []
    for (start, depth, title), (end, _, _) in pairwise([*headings, (len(lines), 0, "")]):
        while path and path[-1][0] >= depth:
            path.pop()
        path.append((depth, title))
        # The document's title adds nothing to the file's name and path.
        names = [name for _, name in path[1:]] or [title]
        yield from _pieces("section", " > ".join(names), lines, start, end, doc=True)


def _keys(keys: list[Heading], lines: list[str], file: str) -> Iterator[Block]:
    """One unit for a small file; for a larger one, a unit for the file with its keys, and one for each key."""
    if len(lines) <= WHOLE_LINES or not keys:
        yield from _pieces("config", file, lines, 0, len(lines))
        return
    outline = "\n".join(name for _, _, name in keys)[:MAX_OUTLINE]
    lead = "\n".join(lines[: keys[0][0]]).strip()[:MAX_CHARACTERS]
    yield Block("file", file, "\n".join(filter(None, (lead, outline))), 1, len(lines))
    for (start, _, name), (end, _, _) in pairwise([*keys, (len(lines), 0, "")]):
        yield from _pieces("config", name, lines, start, end)


def _definitions(language: str, lines: list[str], file: str) -> Iterator[Block]:
    """Functions and classes, each from the line that starts it to the closing brace at the same indentation.

    For languages whose tree-sitter grammar is unusable: Groovy's has no functions, Perl's scanner can hang.
    """
    definition = DEFINITIONS[language]
    pod = _Pod(lines) if language == "perl" else None
    rest: list[tuple[int, int]] = []
    signatures: list[str] = []
    at, owners = 0, list[tuple[int, str]]()
    for number, line in enumerate(lines):
        match = definition.match(line) if len(line) <= MAX_LINE else None
        if match is None or (pod is not None and number in pod.lines):
            continue
        parts = match.groupdict()
        while owners and owners[-1][0] <= number:
            owners.pop()
        if parts.get("package"):  # up to the next one
            owners[:] = [(len(lines), parts["package"])]
            doc = pod.docs.get("NAME", "") if pod is not None else ""
            doc = doc if doc.startswith(parts["package"]) else ""
            yield Block("class", parts["package"], line.strip(), number + 1, number + 1, doc, line.strip())
            continue
        owner, kind = owners[-1][1] if owners else "", "class" if parts["type"] else "function"
        name = parts["type"] or parts["name"] or _block_name(parts)
        if kind == "function" and (
            number < at  # inside another function
            or (parts.get("constructor") and parts["constructor"] != owner.rpartition(".")[2])
        ):
            continue
        end = _closing(lines, number, len(match["indent"]))
        name = name.strip("\"'")
        # Perl's packages do not nest.
        full_name = f"{owner}.{name}" if owner and not (pod is not None and kind == "class") else name
        start, floor = number, max(at, int(lines[0].startswith("#!")))
        while start > floor and lines[start - 1].lstrip().startswith(("#", "//", "*", "/*", "@")):
            start -= 1
        before = (one for one in lines[start:number] if not one.lstrip().startswith("@"))
        doc = "\n".join(re.sub(r"^\s*(?:#+|//+|/?\*+/?) ?|\*/\s*$", "", one) for one in before).strip()
        if pod is not None and not doc:
            doc = pod.docs.get(name, "")
        signatures.append(line.rstrip(" {"))
        if kind == "class":
            owners.append((end, full_name))
            yield Block(kind, full_name, line.strip(), number + 1, end, doc, line.strip())
            continue
        rest.append((at, start))
        at = end
        text = "\n".join(lines[number:end])
        yield Block("method" if owner else kind, full_name, text, number + 1, end, doc, text)
    rest.append((at, len(lines)))
    top = "\n".join(text for start, end in rest if (text := "\n".join(lines[start:end]).strip("\n")))
    content = "\n".join((*signatures, top[: 2 * MAX_CHARACTERS]))
    about = pod.docs.get("NAME", "") if pod is not None else ""
    yield Block("file", file, content, 1, len(lines), about, content if about else "")


def _block_name(parts: dict[str, str | None]) -> str:
    """A constructor, or a block that a call takes: `stage('Build') {`."""
    return parts.get("constructor") or call_name(parts.get("callee") or "", parts.get("argument") or "")


class _Pod:
    """Perl's documentation: which lines it takes, and the text under each heading by the heading's first name."""

    def __init__(self, lines: list[str]) -> None:
        self.lines: set[int] = set()
        self.docs: dict[str, str] = {}
        name, text, inside, is_over = "", list[str](), False, False
        for number, line in enumerate(lines):
            is_over = is_over or line.rstrip() in ("__END__", "__DATA__")
            if command := POD.match(line):
                self._keep(name, text)
                heading = POD_NAME.search(command[2])
                name, text, inside = heading[1] if heading else "", [], command[1] != "cut"
                self.lines.add(number)
            elif inside or is_over:
                self.lines.add(number)
                text.append(line)
        self._keep(name, text)

    def _keep(self, name: str, text: list[str]) -> None:
        prose = "\n".join(text).strip()
        if name and prose:
            self.docs.setdefault(name, prose[:MAX_CHARACTERS])


POD = re.compile(r"=(cut|pod|encoding|begin|end|for|over|back|head[1-6]|item)\b[ \t]*(.*)")
POD_NAME = re.compile(r"(?:->|::|^[*\s]*|[A-Z]<)(\w+)")


def _closing(lines: list[str], start: int, indent: int) -> int:
    """The line after the closing brace of what starts on this line."""
    if lines[start].rstrip().endswith("}"):
        return start + 1
    closing = " " * indent + "}"
    for number in range(start + 1, len(lines)):
        if lines[number].expandtabs(1).startswith(closing):
            return number + 1
    return len(lines)


def _pieces(
    kind: str, name: str, lines: list[str], start: int, end: int, first_line: int = 1, doc: bool = False
) -> Iterator[Block]:
    """Lines as one unit, or as several, cut at blank lines and where the indentation returns."""
    for number, (first, last) in enumerate(_spans(lines, start, end)):
        text = "\n".join(line.rstrip() for line in lines[first:last])
        if not text.strip():
            continue
        title = name if number == 0 else f"{name}:{first + first_line}"
        head, _, body = text.partition("\n")
        prose, code = (body.strip(), head) if doc and number == 0 and body.strip() else (text if doc else "", "")
        yield Block(kind, title, text[: 4 * MAX_CHARACTERS], first + first_line, last + first_line - 1, prose, code)


def _spans(lines: list[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of at most `MAX_LINES` lines, up to the one beyond `MAX_CHARACTERS`, cut where the text has a break."""
    while start < end:
        size, stop, best, worth = 0, start, 0, -1.0
        while stop < end and stop - start < MAX_LINES and size <= MAX_CHARACTERS:
            line = lines[stop]
            size += len(line) + 1
            stop += 1
            if stop < end and stop > start + MAX_LINES // 3:
                # A blank line before unindented text is best, then any blank line, then unindented text.
                after = lines[stop]
                value = 2.0 * (not line.strip()) + 1.0 * (bool(after.strip()) and not after[:1].isspace())
                if value >= worth:
                    best, worth = stop, value
        cut = end if stop >= end else (best or stop)
        first, last = start, cut
        while first < last and not lines[first].strip():
            first += 1
        while last > first and not lines[last - 1].strip():
            last -= 1
        if last > first:
            yield first, last
        start = cut


FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*\s*$")
SETEXT = re.compile(r" {0,3}(=+|-+)\s*$")
MARKUP = re.compile(r"<[^>]+>|[*_`]{1,3}|!?\[([^\]]*)\]\([^)]*\)|\{#[^}]*\}")


def _title(text: str) -> str:
    plain = MARKUP.sub(lambda match: match[1] or "", text).strip()
    return " ".join(plain.split())[:MAX_HEADING] or text.strip()[:MAX_HEADING]


def _markdown(lines: list[str]) -> list[Heading]:
    headings: list[Heading] = []
    fence = ""
    start = _front_matter(lines)
    for number in range(start, len(lines)):
        line = lines[number]
        if mark := FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if fence:
            continue
        if heading := ATX.match(line):
            if heading[2]:
                headings.append((number, len(heading[1]), _title(heading[2])))
        elif number > start and (under := SETEXT.match(line)) and len(under[1]) >= 3:
            before = lines[number - 1]
            if before.strip() and not before.startswith(("    ", "-", "*", ">", "|", "#")) and "|" not in before:
                headings.append((number - 1, 1 if under[1][0] == "=" else 2, _title(before)))
    return headings


def _front_matter(lines: list[str]) -> int:
    if not lines or lines[0].strip() != "---":
        return 0
    return next((number + 1 for number in range(1, min(len(lines), 100)) if lines[number].strip() == "---"), 0)


ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*$")


def _rest(lines: list[str]) -> list[Heading]:
    """reStructuredText: a title is underlined with punctuation of its length; levels are in order of first use."""
    headings: list[Heading] = []
    levels: list[str] = []
    for number in range(1, len(lines)):
        mark, title = ADORNMENT.match(lines[number]), lines[number - 1]
        if not mark or not title.strip() or ADORNMENT.match(title) or len(lines[number].rstrip()) < len(title.rstrip()):
            continue
        over = number >= 2 and lines[number - 2].rstrip() == lines[number].rstrip()
        if title[:1].isspace() and not over:
            continue
        style = mark[1] * (2 if over else 1)
        if style not in levels:
            levels.append(style)
        headings.append((number - 2 if over else number - 1, levels.index(style) + 1, _title(title)))
    return headings


def _by_mark(pattern: str) -> Callable[[list[str]], list[Heading]]:
    """Headings whose level is the number of repeated signs: `== Title`, `** Title`."""
    expression = re.compile(pattern)

    def headings(lines: list[str]) -> list[Heading]:
        matches = ((number, expression.match(line)) for number, line in enumerate(lines))
        return [(number, len(match[1]), _title(match[2])) for number, match in matches if match]

    return headings


def _by_name(pattern: str) -> Callable[[list[str]], list[Heading]]:
    """Lines that start a unit, named by the first group that matched. Comments above it belong to it."""
    expression = re.compile(pattern)

    def keys(lines: list[str]) -> list[Heading]:
        headings: list[Heading] = []
        for number, line in enumerate(lines):
            if match := expression.match(line):
                start = number
                floor = headings[-1][0] + 1 if headings else 0
                while start > floor and lines[start - 1].lstrip().startswith(("#", "//", "--", ";", "/*", "* ", "*/")):
                    start -= 1
                name = next((group for group in match.groups() if group), match[0])
                headings.append((start, 1, name.strip().strip("\"'`")[:MAX_HEADING]))
        return headings

    return keys


JSON_KEY = re.compile(r'^([ \t]*)"((?:[^"\\]|\\.)+)"\s*:')


def _json(lines: list[str]) -> list[Heading]:
    """The keys with the least indentation."""
    keys = [(number, len(key[1]), key[2]) for number, line in enumerate(lines) if (key := JSON_KEY.match(line))]
    outermost = min((depth for _, depth, _ in keys), default=0)
    return [(number, 1, key[:MAX_HEADING]) for number, depth, key in keys if depth == outermost]


DOCUMENTS: dict[str, Callable[[list[str]], list[Heading]]] = {
    "markdown": _markdown,
    "restructuredtext": _rest,
    "asciidoc": _by_mark(r"(={1,6})[ \t]+(\S.*)$"),
    "org": _by_mark(r"(\*{1,6})[ \t]+(\S.*)$"),
    "latex": _by_name(r"\\(?:chapter|section|subsection|subsubsection)\*?\{([^}]*)\}"),
    "typst": _by_mark(r"(={1,6})[ \t]+(\S.*)$"),
}
DEFINITIONS = {
    "perl": re.compile(
        r"(?P<indent>\s*)(?:(?:sub|method|fun)\s+(?P<name>[\w:']++)(?!\s*;)|package\s+(?P<type>[\w:]+)[^;]*\{"
        r"|package\s+(?P<package>[\w:]+)[^;{]*;|(?P<callee>subtest|test)\s+(?P<argument>\"[^\"]+\"|'[^']+')\s*=>\s*sub\b)"
    ),
    "groovy": re.compile(
        r"(?P<indent>\s*)(?:@\w+(?:\([^()]*\))?\s+)*(?:(?:public|private|protected|static|final|abstract|synchronized)\s+)*"
        r"(?:(?:class|interface|trait|enum|record|@interface)\s+(?P<type>\w+)"
        r"|(?!(?:return|else|new|throw|assert|in|as|case|if|for|while|switch|catch)\b)(?:def\s+)?(?:<[^<>]*>\s+)?"
        r"(?:def|void|[A-Za-z_][\w.]*(?:<[^{}()]*>)?(?:\[\])*)\s+(?P<name>\w+|\"[^\"]+\"|'[^']+')\s*\([^{};]*\)\s*"
        r"(?:throws\s[^{}]*)?\{"
        r"|(?P<constructor>[A-Z]\w*)\s*\([^{};=]*\)\s*\{"
        r"|(?:tasks\.)?(?P<callee>register|stage|task)\s*\(?\s*(?P<argument>\"[^\"]+\"|'[^']+'|(?<=task )\w+)[^{}]*\{)"
    ),
}
KEYS: dict[str, Callable[[list[str]], list[Heading]]] = {
    "toml": _by_name(r"\[\[?([^\]]+)\]\]?\s*(?:#.*)?$"),
    "ini": _by_name(r"\[([^\]]+)\]\s*$"),
    "properties": lambda lines: [],
    "yaml": _by_name(r"(?!---)([\w\"'./@$-][^#:\n]*):(?:\s|$)"),
    "json": _json,
    "dockerfile": _by_name(r"(?i)(FROM\s+\S.*)$"),
    "makefile": _by_name(r"([\w./%$(){}-][^:=#\n\t]*?)\s*::?(?![:=])|(?:define)\s+(\w+)"),
    "cmake": _by_name(r"(?i)(?:function|macro|add_library|add_executable|project)\s*\(\s*([\w.:${}-]+)"),
    "sql": _by_name(
        r"(?i)\s*(?:CREATE|ALTER)\s+(?:OR\s+REPLACE\s+)?(?:\w+\s+)*?(?:TABLE|VIEW|FUNCTION|PROCEDURE|TRIGGER|INDEX|TYPE|"
        r"SEQUENCE|SCHEMA|DATABASE|MATERIALIZED\s+VIEW|DOMAIN|AGGREGATE|POLICY|ROLE|EXTENSION|RULE|MACRO)\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w.\"`\[\]]+)"
        r"|\s*((?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+[\w.\"`]+)|--\s*name:\s*(\w+)"
    ),
    "html": _by_name(
        r"(?i)\s*(?:\{%-?\s*(?:block|macro)\s+(\w+)|<template[^>]*name=\"([^\"]+)\"|\{\{-?\s*define\s+\"([^\"]+)\""
        r"|<(?:section|form|table|nav|main|header|footer|article)\b[^>]*\bid=\"([^\"]+)\")"
    ),
    "xml": lambda lines: [],
    "css": lambda lines: [],
}
