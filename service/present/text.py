"""Makes untrusted and technical text presentable: hidden characters written out, summaries, sentences, safe links."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from markupsafe import Markup, escape

from treeline.corpus.counting import counted, day_of

if TYPE_CHECKING:  # numpy takes longer to import than a file to be searched
    from treeline.graph.history import Commit
    from treeline.search.answer import Answer
    from treeline.search.commits import CommitAnswer, CommitRow
    from treeline.search.relatives import Neighbour

# Controls except tab and newline, bidirectional controls, zero-width and other invisible characters.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
# How a query was understood, and how it was expanded, in words.
ROUTES = {
    "conceptual": "understood as a description",
    "identifier": "understood as a name",
    "structural": "understood as a question about calls and uses",
    "mixed": "understood as words and names",
    "issue": "understood as an issue",
}
STAGES = {
    "exact": "exact words",
    "fuzzy": "near spellings",
    "chunks": "parts of it",
}
EACH = 4  # files and definitions of a commit
WEB = frozenset({"http", "https"})


def widened_to(answer: Answer) -> str:
    """The ways, after that of exact words, by which keywords found a result that is shown."""
    stages = {one.stage for result in answer.results for one in result.candidate.contributions}
    return ", then ".join(STAGES[stage] for stage in answer.relaxed if stage in stages)


def code_point(character: str) -> str:
    return f"U+{ord(character):04X}"


def character_name(character: str) -> str:
    """`U+202E RIGHT-TO-LEFT OVERRIDE`"""
    return f"{code_point(character)} {unicodedata.name(character, 'CONTROL')}"


def describe_commit(commit: Commit) -> str:
    """Hash, day, author and subject."""
    return f"{commit.hash[:7]}  {day_of(commit.time)}  {commit.author}: {commit.subject}"


def describe_row(row: CommitRow) -> Iterator[str]:
    """A commit, then the files and the definitions that it touched."""
    yield visible(describe_commit(row.commit))
    yield f"    {_first(list(map(visible_name, row.paths))) or 'no file'}"
    if row.units:
        places = [f"{hit.address.path}:{(hit.address.lines or (0,))[0]} {hit.address.func_name}" for hit in row.units]
        yield f"    {_first(list(map(visible_name, places)))}"


def _first(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - EACH} more" if len(texts) > EACH else ""
    return f"{', '.join(texts[:EACH])}{more}"


def describe_commits(answer: CommitAnswer) -> Iterator[str]:
    """The people of an answer, then its commits with the files that they touched."""
    for person in answer.people:
        yield visible(f"{person.name}  {counted(person.commits, 'commit')}, last on {day_of(person.time)}")
    for row in answer.rows:
        yield from describe_row(row)


def visible(text: str) -> str:
    """The text with every hidden character written out as `[U+202E]`; still to be escaped for HTML.

    Nothing is left that moves a terminal's cursor, makes code look different from what runs, or only an agent sees.
    """
    return INVISIBLE.sub(lambda match: f"[{code_point(match[0])}]", text.replace("\r\n", "\n"))


def visible_name(text: str) -> str:
    """The same of a name or path, on one line: a line end in it would look like the next result."""
    return visible(text).replace("\n", f"[{code_point(chr(10))}]")


def web_address(url: str) -> str:
    """The URL if it leads to the web, else '': `javascript:`, `data:` and `file:` never become links."""
    if INVISIBLE.search(url) or url != url.strip():
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in WEB and parts.netloc else ""


def quoted_path(path: str) -> str:
    """A path, quoted for a URL."""
    return quote(path, safe="/@:~!$&'()*+,;=", errors="surrogatepass")


def file_address(repo: str, path: str = "", line: int = 0) -> str:
    """The URL of the page of a file, a folder (ends in a slash), or a repository."""
    return f"/files/{quoted_path(repo)}/{quoted_path(path)}" + (f"#L{line}" if line else "")


SUMMARY_LENGTH = 220
UNDERLINE = re.compile(r"\A([^\w\s])\1{3,}\s*\n\s*")  # of a heading of reStructuredText
SENTENCE_END = re.compile(r"(?<=[^\s.][.!?])\s|\n\s*\n")  # not after the dots of `., ..`
PARAMETERS = re.compile(r"[:@](param|type|return|rtype|raise)|(Args|Arguments|Parameters|Returns)\s*(:|\n\s*-)")

# reStructuredText: a directive before the first sentence, HTML inside one, and inline code.
DIRECTIVE = re.compile(r"\.\. (?P<name>[\w-]+)::[ \t]*(\S*[ \t]*(\n|$))?")  # with one word after it: a version, `html`
TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
INLINE_CODE = re.compile(r"(?<!`)(?:``|:[\w:]{1,40}:`)~?([^`]+)`{1,2}(?!`)")


def summary(docstring: str, length: int = SUMMARY_LENGTH) -> str:
    """The first sentence of a docstring, on one line; '' if it starts with a list of parameters."""
    text = UNDERLINE.sub("", docstring.strip())
    first = SENTENCE_END.split(_without_directive(text), maxsplit=1)[0]
    if PARAMETERS.match(first):
        return ""
    line = " ".join(INLINE_CODE.sub(r"`\1`", first).split())
    return line if len(line) <= length else line[:length].rsplit(" ", 1)[0] + " …"


def _without_directive(text: str) -> str:
    """The text without its first directive; for `raw`, also without HTML tags."""
    begin = DIRECTIVE.match(text)
    if not begin:
        return text
    rest = text[begin.end() :].strip()
    return TAG.sub("", rest) if begin["name"] == "raw" else rest


def describe_neighbours(neighbours: Sequence[Neighbour], *, by_name: bool = False) -> str:
    """`2 functions, also the top level of main.py`; with `by_name`, `2 functions (pay, refund), also …` or ''."""
    from treeline.search.structural_answer import first_named

    functions = distinct_functions(neighbours)
    names = f" ({first_named([each.name for each in neighbours if each.id])})" if by_name else ""
    others = first_named([location(each) for each in neighbours if not each.id])
    parts = [f"{counted(functions, 'function')}{names}"] if functions else []
    parts += [others] if others else []
    return ", also ".join(parts)


def distinct_functions(neighbours: Sequence[Neighbour]) -> int:
    return len({each.id for each in neighbours if each.id})


def location(neighbour: Neighbour) -> str:
    """The location of a neighbour that is not a function of the index."""
    if neighbour.kind == "module":
        return f"the top level of {neighbour.path}"
    return f"{neighbour.kind} {neighbour.name} in {neighbour.path}"


BACKTICKS = re.compile(r"`([^`]+)`")
TITLES = {
    "index_missing": "There is nothing to search yet",
    "encoder_mismatch": "The index needs another encoder",
    "engine_unavailable": "The index cannot be reached",
    "index_damaged": "The index is damaged",
    "index_outdated": "The index needs to be rebuilt",
    "not_found": "Not found",
    "too_many_requests": "Too many requests",
}


def title(code: str, status: int = 500) -> str:
    """The title of an error page."""
    return TITLES.get(code, "Something went wrong" if status >= 500 else "That did not work")


def sentence(text: str) -> Markup:
    """`try `this`` → `Try <code>this</code>.`, escaped."""
    text = visible(text.strip())
    text = text[:1].upper() + text[1:]
    if text and text[-1] not in ".!?…":
        text += "."
    return code_markup(text)


def code_markup(text: str, escape_part: Callable[[str], Markup] = escape) -> Markup:
    """The text as escaped HTML, with `<code>` for what is in backticks."""
    return Markup("").join(
        Markup("<code>{}</code>").format(escape_part(part)) if number % 2 else escape_part(part)
        for number, part in enumerate(BACKTICKS.split(text))
    )
