"""The plan of a query: everything that is decided before the lanes run.

`Planner.plan` checks the query, parses its text, maps its filters to the index's spelling, corrects misspelt words,
determines the route, and chooses the lanes and their depth. Nothing after it parses the text again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Literal

from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.roles import NAMES
from treeline.engine.patterns import as_in_shell
from treeline.engine.protocol import NO_FILTERS, Engine, Filters
from treeline.graph.callgraph import Direction
from treeline.graph.references import Relation, dotted, last_of
from treeline.rerank.evidence import ASKED_FOR, INTERCHANGEABLE, LANGUAGES, WORDS, NamedLanguage, named_language
from treeline.rerank.fusion import KINDS_IN_WORDS, QueryTraits, fusion
from treeline.search.executor import Run
from treeline.search.issue import Issue, read_issue
from treeline.search.query import (
    COMMIT,
    IDENTIFIER,
    ROLE_NAMES,
    WORD,
    Corrections,
    Parts,
    Query,
    bare,
    combine,
    correct,
    doubtful,
    identifiers,
    is_identifier,
    narrowing,
    parse,
)
from treeline.search.settings import MODES, QUALITIES, Settings
from treeline.search.structure import (
    CALLS,
    EVERYTHING,
    INHERITS,
    MARKS,
    Location,
    definition_symbol,
    is_issue,
    parse_path,
    parse_place,
    structural,
)

KEYWORD, DENSE, EXACT, GRAPH = "keyword", "dense", "exact", "graph"
TEXT_CALLS, PATH = "text_calls", "path"
DEFINITIONS, PLACES, HISTORY = "definitions", "places", "history"
Kind = Literal["identifier", "structural", "conceptual", "mixed", "issue"]
Facets = Mapping[str, Mapping[str, int]]
FACETS = ("language", "repo", "partition", "kind")  # filters of whole values

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")  # no word contains them, and engines refuse some
QUOTES = re.compile(r"`([^`\s]+)`|\"([^\"\s]+)\"|(?<!\w)'([^'\s]+)'(?!\w)")
# Words beside an identifier that only mean "show me this one".
PADDING = frozenset(
    "a an the is are of in on for to me my show find get where what which who how does do did defined definition "
    "declared function functions method methods class classes code source implementation implemented called named "
    "usage use example look up python java javascript go ruby php please".split()
)
QUESTION = re.compile(r"(?:how|where|what|which|why|when|who|does|is|can)\b", re.IGNORECASE)
ENGLISH = re.compile(r"[A-Za-z][\w']*")
ONE_WORD = re.compile(r"[^\W\d]\w+")  # `Flask`, `open`: a word like any other, and maybe the name of something
VERBATIM = re.compile(r"\"[^\"]*\"|`[^`]*`")  # text in quotes is never corrected
LONGEST_STRUCTURAL = 200  # characters; a longer text is not a question about one symbol
# A shorter query occurs verbatim in unrelated places: with 3 the judged questions lose .006 of NDCG@10, with 4 nothing.
VERBATIM_WORDS = 4
SPELLING_TIMEOUT_S = 0.5  # for the engine to find near spellings; after that the query runs as typed
# Factor on the depth if words are excluded: engines can find functions with a word, not those without it. Even if only
# one in 200 functions lacks the word, a page is left.
DEEPER = 8
MOST_HINTED = 5  # values named in a hint
# What the call graph knows. "what uses node" asks for the uses of one of these if there is one of that name.
IN_GRAPH = Filters(kind="function,method,class,interface,type,enum")
PRONOUNS = frozenset("it this that them these those one each all both".split())
Defines = Callable[[str], bool]


def nothing(_name: str) -> bool:
    return False


@frozen
class Route:
    """The kind of a query, its symbols, and its number of words; for a structural question, which edges to follow from
    the symbols, and how far."""

    kind: Kind
    symbols: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    direction: Direction = "in"
    depth: int = 1
    words: int = 0
    is_question: bool = False  # whether it begins with a word that asks
    tests: bool = False  # whether only tests are asked for
    location: Location | None = None  # the file, folder or line that the whole query names

    @property
    def alone(self) -> bool:
        """Whether the query is only a name, or asks for its definition."""
        return self.kind == "identifier" and self.words == 1 and len(self.symbols) == 1

    @property
    def asks_for_uses(self) -> bool:
        """Whether the question is "what uses X"."""
        return self.relations == EVERYTHING and self.depth == 1 and not self.tests

    @property
    def traits(self) -> QueryTraits:
        return QueryTraits(self.kind, self.words, self.is_question)

    def lanes(self) -> tuple[str, ...]:
        """The lanes of a hybrid search."""
        path = (PATH,) if self.location else ()
        if self.kind == "issue":
            return (KEYWORD, DENSE, DEFINITIONS, PLACES, HISTORY)
        if self.kind == "conceptual":
            return (KEYWORD, DENSE, *path)
        in_text = self.relations in (CALLS, INHERITS) or self.asks_for_uses
        text_calls = (TEXT_CALLS,) if in_text and self.direction == "in" else ()
        if self.kind == "identifier" or (self.kind == "structural" and is_identifier(self.symbols[0])):
            return (KEYWORD, GRAPH, *text_calls, *path)
        # "what calls parse" may be a question about calls, or the start of an ordinary sentence.
        return (KEYWORD, DENSE, GRAPH, *text_calls, *path)


@frozen
class Plan:
    """The words, filters, route and lanes of one search."""

    query: Query  # as asked
    words: str  # its text without filters and excluded words, as typed
    filters: Filters  # from switches and text, in the index's spelling
    excluded: tuple[str, ...]  # words that no result may contain
    phrases: tuple[str, ...]  # quoted text that every result must contain
    regex: str  # a pattern that every result must match
    corrections: Corrections
    language: NamedLanguage  # the language that the text names, and the text without it
    route: Route
    lanes: tuple[str, ...]
    depth: int  # results that each lane brings
    limit: int  # results that are fused and re-ranked
    issue: Issue | None = None  # the parts of a pasted text

    @property
    def text(self) -> str:
        """The words that rank results: of a pasted text the title; without the phrases, which every result has, unless
        nothing else is left."""
        if self.issue:
            return self.issue.title
        rest = VERBATIM.sub(" ", self.corrections.text).strip() if self.phrases else ""
        return rest if WORD.search(rest) else self.corrections.text

    @property
    def asks_for_commits(self) -> bool:
        return COMMIT in self.filters.values("kind").include

    @property
    def code_first(self) -> bool:
        """Whether tests and vendored code come after other code whatever words they have."""
        in_words = self.route.kind in (*KINDS_IN_WORDS, "issue")
        return in_words and not self.filters.role and not ASKED_FOR.search(self.text)

    @property
    def has_requirements(self) -> bool:
        """Whether results must contain a phrase or match a pattern."""
        return bool(self.phrases or self.regex)

    @property
    def verbatim(self) -> bool:
        """Whether the words may be a quotation, such as an error message."""
        return (
            not self.regex
            and not self.issue
            and self.route.words >= VERBATIM_WORDS
            and self.phrases != (self.words[1:-1],)
        )

    @property
    def corrected_text(self) -> str:
        """The query text to reuse with the filters: corrected, with the excluded words."""
        return Parts(self.corrections.text, excluded_words=self.excluded, regex=self.regex).text

    @property
    def narrowing_text(self) -> str:
        """`only repo flask, path src/; without “xml”`; empty where nothing narrows the search."""
        return narrowing(self.filters, self.excluded)


class Planner:
    """Makes plans for one open generation."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine, self._settings = engine, settings

    def plan(self, query: Query, run: Run, lanes: Sequence[str] | None = None) -> Plan:
        """The plan of a query, with the lanes of its mode and route unless they are given; raises `InputError`."""
        self._check(query)
        if query.mode == "hybrid" and is_issue(query.text) and (issue := read_issue(query.text)).title:
            return self._issue_plan(query, issue, lanes)
        parts = Parts(query.text) if query.literal else parse(query.text)
        filters = self._filters(query, parts.filters)
        words = CONTROL.sub(" ", parts.words).strip()
        if parts.regex:
            check_regex(parts.regex)
        else:
            _check_words(words, filters, parts.excluded_words)
        defines = partial(self._defines, run=run)
        way = route(words, defines)
        corrections = self._correct(query, words, way, run)
        if corrections.words:
            way = route(corrections.text, defines)
        depth = self._settings.lane_depth
        plan = Plan(
            query=query,
            words=words,
            filters=as_indexed(filters, self._facets) if filters else filters,
            excluded=parts.excluded_words,
            # In `what calls "parse"` and `File "a.py", line 3` quotes only mark the name.
            phrases=() if way.relations or way.location else parts.phrases,
            regex=parts.regex,
            corrections=corrections,
            language=NamedLanguage("", ""),
            route=way,
            lanes=tuple(self._lanes(query.mode, way, parts) if lanes is None else lanes),
            depth=DEEPER * depth if parts.excluded_words else depth,
            limit=max(query.offset + query.k, self._settings.rerank_depth),
        )
        return replace(plan, language=named_language(plan.text))

    def _filters(self, query: Query, filters: Filters) -> Filters:
        """The filters of a query, from beside its text and in it."""
        filters = combine(query.filters, filters)
        if not filters.path:
            return filters
        return as_in_shell(filters, query.folder, lambda path: self._engine.count(Filters(path=path)) > 0)

    def _issue_plan(self, query: Query, issue: Issue, lanes: Sequence[str] | None) -> Plan:
        """The plan of a pasted text: nothing in it is syntax, and nothing is corrected."""
        way = Route("issue", issue.names, words=len(issue.words))
        return Plan(
            query=query,
            words=issue.title,
            filters=as_indexed(self._filters(query, NO_FILTERS), self._facets) if query.filters else NO_FILTERS,
            excluded=(),
            phrases=(),
            regex="",
            corrections=Corrections(issue.title),
            language=NamedLanguage("", ""),
            route=way,
            lanes=tuple(self._with_vectors(way.lanes()) if lanes is None else lanes),
            depth=self._settings.lane_depth,
            limit=max(query.offset + query.k, self._settings.rerank_depth),
            issue=issue,
        )

    def hints(self, plan: Plan, *, has_results: bool, has_exclusions: bool) -> list[str]:
        """Sentences about what the index does not have: the query's filters if nothing was found, else its language.
        `excluded`: results were dropped because they contain an excluded word."""
        hints = filter_hints(plan.filters, self._facets) if plan.filters and not has_results else []
        if has_exclusions and not has_results:
            words = " or ".join(f"“{word}”" for word in plan.excluded)
            hints.append(f"everything that was found contains {words}, which the question excludes")
        return hints or self._language_hint(plan)

    def _check(self, query: Query) -> None:
        settings = self._settings
        check_length(query.text, settings)
        if query.mode not in MODES:
            raise InputError(f"unknown mode {query.mode!r}", f"choose one of: {', '.join(MODES)}")
        if query.quality not in QUALITIES:
            raise InputError(f"unknown quality {query.quality!r}", f"choose one of: {', '.join(QUALITIES)}")
        if not 1 <= query.k <= settings.max_k:
            raise InputError(f"k is {query.k}, it must be from 1 to {settings.max_k}")
        if query.offset < 0:
            raise InputError(f"offset is {query.offset}, it must not be negative")
        fusion(query.fusion)

    def _defines(self, name: str, run: Run) -> bool:
        """Whether the call graph's units include one of this name; no if the engine does not say so in time."""
        last = last_of(dotted(name))
        look = {"names": lambda: self._engine.named(last, 1, IN_GRAPH)}
        return bool(run(look, {"names": SPELLING_TIMEOUT_S}).values.get("names"))

    def _correct(self, query: Query, text: str, way: Route, run: Run) -> Corrections:
        """The corrected text; as typed if the engine does not find near spellings in time."""
        sentence = way.kind in ("conceptual", "mixed") and not query.as_typed
        words = doubtful(VERBATIM.sub(" ", text), way.symbols if way.words > 1 else ()) if sentence else []
        if not words:
            return Corrections(text)
        look = {"spelling": lambda: {word: self._engine.spellings(word) for word in words}}
        near = run(look, {"spelling": SPELLING_TIMEOUT_S}).values.get("spelling")
        if near is None:
            return Corrections(text, unsure=True)
        pieces = [correct(piece, near) for piece in VERBATIM.split(text)]
        quotes = [*VERBATIM.findall(text), ""]
        result = "".join(piece.text + other for piece, other in zip(pieces, quotes, strict=True))
        return Corrections(result, tuple(dict.fromkeys(word for piece in pieces for word in piece.words)))

    def _lanes(self, mode: str, way: Route, parts: Parts) -> Sequence[str]:
        if not WORD.search(parts.words):
            return (EXACT,)
        has_requirements = bool(parts.regex or parts.phrases) and not (way.relations or way.location)
        verbatim = mode == "hybrid" and way.words >= VERBATIM_WORDS and not way.relations
        lanes = self._with_vectors(way.lanes()) if mode == "hybrid" else (mode,)
        return (*lanes, EXACT) if has_requirements or verbatim else lanes

    def _with_vectors(self, lanes: tuple[str, ...]) -> tuple[str, ...]:
        """The lanes without those for which the index has no vectors."""
        return lanes if self._engine.info.encoders else tuple(lane for lane in lanes if lane != DENSE)

    def _language_hint(self, plan: Plan) -> list[str]:
        name, rest = plan.language
        if not name or rest == plan.text:  # no language named, or the word may be the topic
            return []
        languages = self._facets.get("language", {})
        there = name in languages or INTERCHANGEABLE.get(name) in languages
        return [] if there or not languages else [_missing("language", name, languages)]

    @cached_property
    def _facets(self) -> Facets:
        return self._engine.facets()


def check_length(text: str, settings: Settings) -> None:
    """Raise `InputError` for a query that is too long."""
    if len(text) > settings.max_query_length:
        raise InputError(
            f"the question has {len(text):,} characters, at most {settings.max_query_length:,} are read",
            "ask in fewer words",
        )


def check_regex(pattern: str) -> None:
    """Raise `InputError` for a regular expression that cannot be compiled."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise InputError(f"/{pattern}/ is no regular expression: {error}", "escape what is meant as text") from None


def _check_words(words: str, filters: Filters, exclusions: tuple[str, ...]) -> None:
    hint = "say in a few words what the code does"
    if not words and (exclusions or filters):
        raise InputError(f"there is no word to look for ({narrowing(filters, exclusions)})", hint)
    if not words:
        raise InputError("the question is empty", hint)
    if not WORD.search(words):
        raise InputError(f"there is no word in the question {words[:20]!r}", hint)


def route(text: str, defines: Defines = nothing) -> Route:
    """The route of a query. `defines` tells whether the index has a definition of a name, where the text leaves it open
    whether a word is a name."""
    text = text.strip()
    quotes = tuple(dict.fromkeys(next(filter(None, result.groups())) for result in QUOTES.finditer(text)))
    words = len(text.split())
    location = parse_path(text)
    if location is not None and location.certain and not is_identifier(text):
        return Route("identifier", (location.path.rpartition("/")[2],), words=words, location=location)
    result = (
        _structural(text, quotes, words, defines)
        or _definition(text, quotes, words, defines)
        or _by_names(text, quotes, words)
    )
    return replace(
        result,
        symbols=tuple(map(dotted, result.symbols)),
        location=location or parse_place(text),
        is_question=bool(QUESTION.match(text)),
    )


def _without_mark(symbol: str, quotes: tuple[str, ...], defines: Defines) -> str:
    """The symbol without the question's mark behind it: `valid?` only if it is quoted or something has that name."""
    is_name = not symbol.endswith(MARKS) or symbol in quotes or defines(symbol)
    return symbol if is_name else symbol[:-1]


def _structural(text: str, quotes: tuple[str, ...], words: int, defines: Defines) -> Route | None:
    if len(text) > LONGEST_STRUCTURAL:
        return None
    for phrase, name in structural(text):
        symbol = _without_mark(name, quotes, defines)
        certain = symbol in quotes or symbol.endswith(MARKS) or is_identifier(symbol) or symbol[0].isupper()
        # "children of node" may be about trees even if there is a `node`; "what uses node" is not.
        may_be_name = phrase.relations == EVERYTHING and symbol.lower() not in PRONOUNS
        if certain or not phrase.ordinary or (may_be_name and defines(symbol)):
            return Route(
                "structural", (symbol,), phrase.relations, phrase.direction, phrase.depth, words, tests=phrase.tests
            )
    return None


def _definition(text: str, quotes: tuple[str, ...], words: int, defines: Defines) -> Route | None:
    """The route of a question for one definition: the same as for its name alone."""
    if len(text) > LONGEST_STRUCTURAL:
        return None
    symbol, certain = definition_symbol(text)
    if not symbol:
        return None
    symbol = _without_mark(symbol, quotes, defines)
    if certain or symbol in quotes or symbol.endswith(MARKS) or is_identifier(symbol) or symbol[0].isupper():
        return Route("identifier", (symbol,), words=1)
    return Route("mixed", (symbol,), words=words)


def _by_names(text: str, quotes: tuple[str, ...], words: int) -> Route:
    symbols = tuple(dict.fromkeys([*map(bare, quotes), *identifiers(text)]))
    if not symbols:
        return Route("mixed", (text,), words=words) if ONE_WORD.fullmatch(text) else Route("conceptual", words=words)
    rest = IDENTIFIER.sub(" ", QUOTES.sub(" ", text))
    others = len(symbols) > 1 or any(word.lower() not in PADDING for word in ENGLISH.findall(rest))
    return Route("mixed" if others else "identifier", symbols, words=words)


def as_indexed(filters: Filters, facets: Facets) -> Filters:
    """The filters in the index's spelling: its case, and `js` for `javascript`."""

    def spelling(name: str, value: str) -> str:
        values = facets.get(name, {})
        if name == "language" and value not in values:
            value = LANGUAGES.get(value.lower()) or WORDS.get(value.lower()) or value
        if name == "role":
            return ROLE_NAMES.get(value.lower(), value)
        return value if value in values else next((one for one in values if one.casefold() == value.casefold()), value)

    def spellings(name: str) -> str:
        include, exclude = filters.values(name)
        return ",".join(
            [*(spelling(name, value) for value in include), *(f"-{spelling(name, value)}" for value in exclude)]
        )

    return replace(filters, **{name: spellings(name) for name in (*FACETS, "role") if getattr(filters, name)})


def filter_hints(filters: Filters, facets: Facets) -> list[str]:
    """A sentence for each filter that matches nothing in the index."""
    known = {name: facets.get(name, {}) for name in FACETS} | {"role": dict.fromkeys(NAMES, 0)}
    hints = [
        _missing(name, value, values)
        for name, values in known.items()
        for value in filters.values(name).include
        if value not in values
    ]
    if (paths := filters.values("path").include) and not hints:
        hints.append(f"path {','.join(paths)}: nothing that was found has such a path (case counts)")
    return hints


def _missing(name: str, value: str, values: Mapping[str, int]) -> str:
    if not any(values):
        return f"{name} {value}: this index has no {name}s at all"
    near = get_close_matches(value, values, n=MOST_HINTED, cutoff=0.5)
    most = sorted(filter(None, values), key=lambda one: -values[one])[:MOST_HINTED]
    return f"{name} {value}: there is none; {'near it' if near else 'there is'}: {', '.join(near or most)}"
