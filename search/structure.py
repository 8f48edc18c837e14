"""The forms of queries: structural questions ("what calls X") with the start of their walks, questions for a
definition, and locations (`sessions.py`, `src/app.py:12`, a line of a stack trace)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from treeline.corpus import roles
from treeline.corpus.frozen import frozen
from treeline.graph.callgraph import CallGraph, Direction
from treeline.graph.references import CONSTRUCTORS, Relation, last_of

CALLS: tuple[Relation, ...] = ("calls",)
INHERITS: tuple[Relation, ...] = ("implements", "extends")  # Python and Ruby implement by extending
EVERYTHING: tuple[Relation, ...] = ("calls", "extends", "implements", "uses")
# The impact of a change reaches several hops; ten hops cover a repository's graph.
IMPACT_DEPTH = 10
MEMBERS = 5  # functions that represent a class in a list: its constructor and the first methods
NEAR_NAMES = 3  # names to suggest for an unknown symbol

NAME = r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*"
MARKS = ("?", "!")  # end a name in Ruby (`valid?`, `save!`), or a question
# In the phrases below, a space matches any white space, and these placeholders are replaced:
PARTS = {
    "{x}": rf"[`\"']?(?P<symbol>{NAME}[?!]?)(?:\(\))?[`\"']?",
    "{of}": r"(?:the )?(?:(?:function|method|class|interface|type|trait|module|protocol|constant|variable) )?",
    "{end}": r"(?: (?:function|method|class|interface|protocol|trait|constant|variable))?\s*[?.!]*$",
    "{list}": r"^(?:please )?(?:(?:show|list|find|get|give|see)(?: me)? )?(?:all )?(?:the )?",
    "{who}": r"^(?:please )?(?:(?:show|list|find|get|give) (?:me )?)?"
    r"(?:(?:what|who|which)(?: else| all)?(?: is| are)?|(?:(?:which|what|all|the|every|any) )*"
    r"(?:everything|anything|everyone|anyone|functions?|methods?|classes|class|code|types?|structs?|places?|tests?)"
    r"(?: that| which| who)?(?: is| are)?)",
    "{we}": r"(?:do|does|did) (?:we|i|you|they|it|one|anyone|anything|the code|this|this project)",
    "{changing}": r"(?:changing|touching|modifying|editing|renaming|removing|deleting|refactoring)",
    "{change}": r"(?:change|touch|modify|edit|rename|remove|delete|break|refactor)",
}


@frozen
class Phrase:
    """One form of a question. If it is also ordinary English, the symbol must look like an identifier."""

    text: str
    relations: tuple[Relation, ...]
    direction: Direction = "in"
    depth: int = 1
    ordinary: bool = False
    tests: bool = False  # whether it asks for tests alone

    def search(self, question: str) -> tuple[str, int]:
        """The symbol that a question of this form is about ('' if it has another form), and how far to walk."""
        match = _pattern(self.text).search(question)
        if not match:
            return "", 0
        levels = match.groupdict().get("levels") or ""
        return match["symbol"], self.depth + levels.lower().count("of")


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compiled on first use: two dozen patterns would slow every start, and most questions need none."""
    for part, meaning in PARTS.items():
        text = text.replace(part, meaning)
    return re.compile(text.replace(" ", r"\s+"), re.IGNORECASE)


PHRASES = (
    Phrase(
        r"{list}(?:unit |integration |existing )?tests? (?:of|for|covering|calling|using|exercising) {of}{x}{end}",
        EVERYTHING,
        ordinary=True,
        tests=True,
    ),
    Phrase(
        r"{list}(?:(?:which|what) )?(?:unit |integration )?tests? (?:that |which )?"
        r"(?:call|use|cover|exercise|check|test)s? {of}{x}{end}",
        EVERYTHING,
        ordinary=True,
        tests=True,
    ),
    Phrase(r"^(?:what|who) tests {of}{x}{end}", EVERYTHING, ordinary=True, tests=True),
    Phrase(r"^(?:how|where) (?:is|are) {of}{x} tested\s*\??$", EVERYTHING, ordinary=True, tests=True),
    Phrase(r"{who} (?:calls?|calling|invokes?|invoking) {of}{x}{end}", CALLS),
    Phrase(r"{list}(?:callers|calls|callsites|call sites|invocations) (?:of|to) {of}{x}{end}", CALLS),
    Phrase(r"{list}(?P<levels>(?:callers of )+)callers of {of}{x}{end}", CALLS),
    Phrase(r"{list}(?:transitive|indirect|all direct and indirect) callers of {of}{x}{end}", CALLS, depth=IMPACT_DEPTH),
    Phrase(r"^where {we} (?:call|invoke) {of}{x}{end}", CALLS),
    Phrase(r"^where (?:is|are) {of}{x} (?:called|invoked)(?: from)?\s*\??$", CALLS),
    Phrase(r"^(?:what|who|which functions?) (?:does|do) {of}{x} (?:call|invoke)\s*\??$", CALLS, "out"),
    Phrase(r"{list}callees of {of}{x}{end}", CALLS, "out"),
    Phrase(r"{list}(?P<levels>(?:callees of )+)callees of {of}{x}{end}", CALLS, "out"),
    Phrase(r"^(?:functions?|methods?|what(?: is|'s)?) (?:called|invoked) (?:by|from|in) {of}{x}{end}", CALLS, "out"),
    Phrase(r"{who} (?:implements?|implementing|satisf(?:y|ies)|adopts?|adopting) {of}{x}{end}", INHERITS),
    Phrase(r"{who} (?:conforms?|conforming) to {of}{x}{end}", INHERITS),
    Phrase(r"^(?:implementations?|implementers?|implementors?) of {of}{x}{end}", INHERITS, ordinary=True),
    Phrase(r"{who} (?:extends?|extending|subclass(?:es|ing)?) {of}{x}{end}", INHERITS),
    Phrase(r"{who} (?:inherits?|inheriting|derives?|derived) from {of}{x}{end}", INHERITS),
    Phrase(r"^(?:all )?(?:sub-?classes|subtypes|derived classes) of {of}{x}{end}", INHERITS),
    Phrase(r"^(?:all )?(?:child(?:ren)?(?: classes)?|descendants) of {of}{x}{end}", INHERITS, ordinary=True),
    Phrase(r"^what does {of}{x} (?:extend|implement|inherit(?: from)?|derive from)\s*\??$", INHERITS, "out"),
    Phrase(r"^(?:base ?class(?:es)?|super-?class(?:es)?|supertypes?) of {of}{x}{end}", INHERITS, "out"),
    Phrase(r"^(?:parents?(?: class(?:es)?)?|interfaces) of {of}{x}{end}", INHERITS, "out", ordinary=True),
    Phrase(
        r"^what (?:all |else )?(?:changes|breaks|happens|(?:could|would|will|may|might) (?:change|break)|"
        r"(?:is|gets) (?:affected|impacted)) (?:if|when|once) (?:i|we|you|one|someone) {change} {of}{x}{end}",
        EVERYTHING,
        depth=IMPACT_DEPTH,
    ),
    Phrase(r"^what is (?:affected|impacted) by (?:{changing} )?{of}{x}{end}", EVERYTHING, depth=IMPACT_DEPTH),
    Phrase(r"^(?:impact|effects?|blast radius) of {changing} {of}{x}{end}", EVERYTHING, "in", IMPACT_DEPTH, True),
    Phrase(r"{who} (?:depends?|depending|relies|rely) (?:up)?on {of}{x}{end}", EVERYTHING, depth=IMPACT_DEPTH),
    Phrase(r"^(?:dependents|dependants) (?:of|on) {of}{x}{end}", EVERYTHING, depth=IMPACT_DEPTH),
    Phrase(r"{who} (?:uses?|using|references?|refers? to|mentions?) {of}{x}{end}", EVERYTHING, ordinary=True),
    Phrase(r"{list}(?:usages?|uses|users|references) (?:of|to) {of}{x}{end}", EVERYTHING, ordinary=True),
    Phrase(r"^(?:find|show|list|get) (?:all )?(?:the )?(?:usages?|references) {of}{x}{end}", EVERYTHING, ordinary=True),
    Phrase(r"^where {we} (?:use|need|reference) {of}{x}{end}", EVERYTHING, ordinary=True),
    Phrase(r"^where (?:is|are) {of}{x} (?:used|referenced|needed)\s*\??$", EVERYTHING, ordinary=True),
)
# Questions for a definition; in the last form a keyword declares the symbol.
DEFINITIONS = (
    (r"^where(?: is|'s| are) {of}{x} (?:defined|declared|implemented|located)\s*\??$", False),
    (r"{list}(?:definition|declaration|source|source code|code) (?:of|for) {of}{x}{end}", False),
    (r"^(?:go ?to|jump to) (?:definition |the definition )?(?:of )?{of}{x}{end}", False),
    (r"^(?:class|def|func|function|fn|struct|interface|enum|const|trait|type|method|constant) {x}\s*$", True),
)
# Every form above has one of these words; checking for them first avoids compiling the forms.
DEFINITION_WORDS = (
    *("where", "def", "declar", "source", "code", "go", "jump", "class", "fun", "fn", "struct", "interface", "enum"),
    *("const", "trait", "type", "method"),
)
# The depth at the end of a question: `depth 3`, `up to 2 levels`.
DEPTH = re.compile(
    r"[\s,;(]+(?:(?:with|at|to|up to|within) )*"
    r"(?:(?:depth|levels?)(?: of| =|:|=)? ?(\d{1,3})"
    r"|(\d{1,3}) (?:levels?|hops?|steps?|edges?|calls?)(?: (?:up|deep|away))?)"
    r"\)?\s*[?.!]*$",
    re.IGNORECASE,
)
# Every phrase above has a word that starts with one of these; other questions need not be tried.
SIGNS = re.compile(
    r"\b(?:call|invo|implement|satisf|adopt|conform|exten|sub-?class|subtyp|inherit|deriv|child|descend|base|super|parent|interface|"
    r"change|break|happen|affect|impact|effect|blast|depend|rel[iy]|us(?:e|ing|age)|refer|mention|need|tests?\b|tested)",
    re.IGNORECASE,
)


# A test by its name, in a file of code.
TEST_NAME = re.compile(r"(?:^|\.)(?:tests?\.|test_|Test[A-Z_]|test[A-Z]|(?:it|test|test_that|testset|It)\()|_test$")


def is_test(path: str, name: str) -> bool:
    """Whether a function is a test, or a part of one."""
    return roles.is_test(path) or TEST_NAME.search(name) is not None


def structural(question: str) -> Iterator[tuple[Phrase, str]]:
    """The phrases that match the question, each with the symbol, which may end in the question's own mark."""
    if SIGNS.search(question):
        said = DEPTH.search(question)
        if said:
            question = question[: said.start()]
        for phrase in PHRASES:
            symbol, depth = phrase.search(question)
            if symbol:
                depth = int(next(filter(None, said.groups()))) if said else depth
                yield replace(phrase, depth=max(1, min(depth, IMPACT_DEPTH))), symbol


def definition_symbol(question: str) -> tuple[str, bool]:
    """The symbol whose definition a question asks for ('' if none; it may end in the question's own mark), and whether
    that is certain: `class Foo` is, "where is the timeout defined" may be about the word."""
    words = question.lower()
    if not any(word in words for word in DEFINITION_WORDS):
        return "", False
    for form, certain in DEFINITIONS:
        match = _pattern(form).search(question)
        if match:
            return match["symbol"], certain
    return "", False


def seeds_of(graph: CallGraph, nodes: Sequence[int], relations: Sequence[Relation]) -> list[int]:
    """The nodes to start a walk from. If all relations count (uses, impact), a class brings its members along."""
    if set(relations) != set(EVERYTHING):
        return list(nodes)
    return [one for node in nodes for one in (node, *graph.members(node))]


def functions_of(graph: CallGraph, node: int) -> list[str]:
    """The ids of the functions that stand for a node.

    For a function, its own ids, the last definition first: it replaces earlier ones, which may be overloads without a
    body. For a class, the ids of its constructor and first public methods.
    """
    if not graph.is_class(node):
        return graph.ids(node)[::-1]
    owner = last_of(graph.symbol(node).name)

    def comes_later(member: int) -> tuple[bool, bool]:
        name = last_of(graph.symbol(member).name)
        return name not in CONSTRUCTORS and name != owner, name.startswith("_")

    members = sorted(graph.members(node), key=comes_later)[:MEMBERS]
    return [id_ for member in members for id_ in graph.ids(member)]


def units_of(graph: CallGraph, node: int) -> list[str]:
    """The ids of the units that stand for a node: its own, or for a class that is no unit its functions'."""
    return graph.ids(node)[::-1] or functions_of(graph, node)


# `path:12`, `path:12:5`, `https://…/path#L12-L20`
LINE = re.compile(r"(?P<path>.+?)(?::|#L)(?P<line>[0-9]{1,9})(?:[-:]L?[0-9]+)?")
EXTENSIONS = (
    "py pyi js jsx mjs cjs ts tsx go java rb php rs c h cc cpp cxx hpp hh cs kt kts scala swift ex exs hs lua sh bash "
    "zig dart jl r pl pm m mm ml mli clj cljs erl elm vue svelte sql html css scss less md rst adoc txt toml yaml yml "
    "json xml ini cfg conf lock gradle cmake tf proto graphql dockerfile makefile ipynb".split()
)
# What may be a path in a query: no blanks, and a slash or a file extension; `json.loads` is a name.
PATH = re.compile(
    rf"(?:[\w.@+~-]*/)+[\w.@+~-]*|[\w@+~-][\w.@+~-]*\.(?:{'|'.join(EXTENSIONS)})|(?:Make|Docker)file", re.IGNORECASE
)
# A place in a stack trace or a compiler's message: `File "a/b.py", line 12`; `at f (a/b.js:12:5)`, `a/b.rb:12:in 'f'`,
# `a/b.php(12): f()`, `in a/b.cs:line 12`.
# The second only has the end of the path: a pattern for all of it would take quadratic time.
CALLED_IN = re.compile(r'\bFile "([^"\n]{1,500})", line ([0-9]{1,9})')
LINE_OF = re.compile(rf"(\.(?:{'|'.join(EXTENSIONS)}))(?::line |[:(])([0-9]{{1,9}})\b", re.IGNORECASE)
NO_PATH = re.compile(r"[^\w.@+~/\\-]")
LONGEST_PATH = 500
LEAST_LETTERS, LEAST_LINES = 500, 4  # a shorter text is a question
PACKAGES_FOLDER = re.compile(r".*/(?:site|dist)-packages/")  # in front of a path in a package
NO_LINE = 0


@frozen
class Location:
    """A file or folder, and a line. The path may be a suffix of an indexed path, or the other way round."""

    path: str
    line: int = NO_LINE

    @property
    def certain(self) -> bool:
        """Whether it is certainly a path, with a line or a file extension. `either/or` may be words."""
        name = self.path.rpartition("/")[2]
        return bool(self.line) or name.rpartition(".")[2].lower() in EXTENSIONS

    def fits(self, path: str) -> bool:
        return ends_with(path, self.path) or ends_with(self.path, path)


def parse_location(reference: str) -> Location | None:
    """The location that a reference names, or None."""
    match = LINE.fullmatch(reference)
    return Location(_clean(match["path"]), int(match["line"])) if match else None


def parse_path(text: str) -> Location | None:
    """The file, folder or line that a whole query names, or None."""
    location = parse_location(text)
    if location is not None and not re.search(r"\s", text):
        return location
    return Location(_clean(text)) if PATH.fullmatch(text) else None


def parse_place(text: str) -> Location | None:
    """The line of a file that a stack trace names, or None. Python's last call comes last, elsewhere it comes first."""
    calls = CALLED_IN.findall(text)
    if calls:
        path, line = calls[-1]
        return Location(PACKAGES_FOLDER.sub("", _clean(path)), int(line))
    match = LINE_OF.search(text)
    if match is None:
        return None
    before = NO_PATH.split(text[max(0, match.start() - LONGEST_PATH) : match.end(1)])[-1]
    return Location(PACKAGES_FOLDER.sub("", _clean(before)), int(match[2]))


def ends_with(path: str, tail: str) -> bool:
    return f"/{path}".endswith(f"/{tail}")


def _clean(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./").rstrip("/")


def is_issue(text: str) -> bool:
    """Whether a text is too long, or has too many lines, to be a question."""
    return len(text) >= LEAST_LETTERS or sum(1 for line in text.split("\n", 50) if line.strip()) >= LEAST_LINES
