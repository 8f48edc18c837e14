"""A query: the text as typed, its switches, what its syntax says (`repo:flask`, `-word`), and its misspelt words.

`SWITCHES` declares every switch of a search once. The command line's options, the HTTP parameters, the agents' schema
and the page's form are made from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from typing import Any, Literal, NamedTuple, Self

from treeline.corpus.analysis import STOP_WORDS
from treeline.corpus.errors import InputError
from treeline.corpus.frozen import frozen
from treeline.corpus.roles import NAMES
from treeline.engine.protocol import NO_FILTERS, VALUE, Filters
from treeline.search.settings import FAST, MODES, QUALITIES, Settings

DEFAULT = "default"  # stands for the default method
COMMIT = "commit"  # the kind of results that are no units

Value = int | float | str | bool


@frozen
class Switch:
    """One switch of a search. `scope` says what it sets: the query, one of its filters, or how the answer is shown."""

    name: str
    default: Value
    help: str
    scope: Literal["query", "filter", "answer"] = "query"
    choices: tuple[str, ...] = ()
    methods: Literal["", "fusion", "rerank"] = ""  # its values are the names of these methods (see `method_names`)
    least: int = 0
    most: float | None = None  # the largest number, if no setting has it
    limit: str = ""  # the setting that has the largest number allowed
    setting: str = ""  # the setting that has its default
    metavar: str = ""  # on the command line

    @property
    def type(self) -> type[Value]:
        return type(self.default)

    @property
    def option(self) -> str:
        """Its command-line option: `-k`, `--as-typed`."""
        return f"-{self.name}" if len(self.name) == 1 else f"--{self.name.replace('_', '-')}"

    def default_in(self, settings: Settings) -> Value:
        """Its default under these settings."""
        value: Value = getattr(settings, self.setting) if self.setting else self.default
        return value


SWITCHES = (
    Switch("k", 10, "How many results.", least=1, limit="max_k", setting="results"),
    Switch("offset", 0, "How many results to skip.", limit="max_offset"),
    Switch(
        "mode",
        "hybrid",
        "Which searches run: all (`hybrid`), by words (`keyword`), by meaning (`dense`) or by calls (`graph`).",
        choices=MODES,
        setting="mode",
    ),
    Switch(
        "fusion",
        DEFAULT,
        "How the results of these searches are merged.",
        methods="fusion",
        setting="fusion",
        metavar="METHOD",
    ),
    Switch(
        "rerank",
        DEFAULT,
        "How the merged list is re-ranked; `none` leaves it as it is.",
        methods="rerank",
        setting="rerank",
        metavar="METHOD",
    ),
    Switch(
        "quality",
        FAST,
        "`best`: a model reads the first results together with the question, in about a tenth of a second.",
        choices=QUALITIES,
        setting="quality",
    ),
    Switch(
        "diversity",
        0.5,
        "How varied the results are: 0 by relevance alone, 1 the best of each part of the tree first.",
        most=1.0,
        setting="diversity",
        metavar="0..1",
    ),
    Switch("language", "", "Only these languages, with commas: `go,python`; `-go`: not this one.", scope="filter"),
    Switch("repo", "", "Only these repositories.", scope="filter", metavar="OWNER/NAME"),
    Switch("path", "", "Only paths that start with this, or match it: `src/**/test_*.py`.", scope="filter"),
    Switch("file", "", "Only files of this name, or path that ends so: `app.py`, `*_test.go`.", scope="filter"),
    Switch("ext", "", "Only files with this ending: `py`.", scope="filter"),
    Switch("kind", "", "Only these kinds of unit: `function,class`.", scope="filter"),
    Switch("role", "", f"Only files of this role: {', '.join(NAMES)}.", scope="filter"),
    Switch("partition", "", "Only this partition of CodeSearchNet (train, valid, test).", scope="filter"),
    Switch("expand", False, "Search again with words that the best results share.", setting="expand"),
    Switch("as_typed", False, "Don't correct words that look misspelt."),
    Switch("feedback", True, "Let votes on this query move results.", setting="feedback"),
    Switch("explain", False, "Say why each result is where it is.", scope="answer"),
    Switch("code", True, "Include each result's code.", scope="answer"),
)
BY_NAME = {switch.name: switch for switch in SWITCHES}


def method_names(switch: Switch) -> dict[str, str]:
    """The methods that a switch chooses from, each with a description; imported on demand."""
    if switch.methods == "fusion":
        from treeline.rerank.registry import FUSIONS

        return dict(FUSIONS)
    if switch.methods == "rerank":
        from treeline.rerank.registry import NAMES

        return dict(NAMES)
    return dict.fromkeys(switch.choices, "")


@frozen
class Query:
    """The text as typed, and its switches."""

    text: str
    k: int = 10
    offset: int = 0
    mode: str = "hybrid"
    fusion: str = DEFAULT
    rerank: str = DEFAULT
    quality: str = FAST
    diversity: float = 0.5
    filters: Filters = NO_FILTERS
    expand: bool = False
    as_typed: bool = False
    # Explanations take time to make. The query is the same with or without them, so this is not part of its `repr`,
    # the key of the answer cache.
    explain: bool = field(default=True, repr=False)
    feedback: bool = True
    folder: str = ""  # of the repository, that paths are relative to
    literal: bool = False  # whether the text is only words, without filters and `-word`

    @classmethod
    def of(cls, text: str, switches: Mapping[str, Any], settings: Settings, *, explain: bool = True) -> Self:
        """A query from switches by name; those that are absent or None take the settings' defaults."""
        values: dict[Switch, Any] = {
            switch: switches[switch.name] if switches.get(switch.name) is not None else switch.default_in(settings)
            for switch in SWITCHES
        }
        if unknown := sorted(switches.keys() - BY_NAME.keys()):
            raise InputError(f"there is no switch {unknown[0]!r}", f"choose from: {', '.join(BY_NAME)}")
        for switch, value in values.items():
            if switch.most is not None and not switch.least <= value <= switch.most:
                raise InputError(f"{switch.name} must be between {switch.least} and {switch.most:g}, not {value:g}")
            if switch.limit and value > getattr(settings, switch.limit):
                most = getattr(settings, switch.limit)
                raise InputError(f"{switch.name} must be at most {most:,}, not {value:,}")
        own = {switch.name: value for switch, value in values.items() if switch.scope == "query"}
        own["feedback"] = own["feedback"] and settings.feedback
        filters = Filters(**{switch.name: value for switch, value in values.items() if switch.scope == "filter"})
        return cls(text=text, filters=filters, explain=explain, **own)


def narrowing(filters: Filters, exclusions: tuple[str, ...]) -> str:
    """`only repo flask, path src/; not role test; without “xml”`; empty if nothing narrows the search."""
    values = [(row.name, filters.values(row.name)) for row in fields(Filters)]
    only = ", ".join(f"{name} {' or '.join(some.include)}" for name, some in values if some.include)
    without = ", ".join(f"{name} {' or '.join(some.exclude)}" for name, some in values if some.exclude)
    words = ", ".join(f"“{word}”" for word in exclusions)
    parts = (only and f"only {only}", without and f"not {without}", words and f"without {words}")
    return "; ".join(filter(None, parts))


KEYS = {"lang": "language", **{name: name for name in ("repo", "language", "path", "file", "ext", "kind", "role")}}
ROLE_NAMES = {name: name for name in NAMES} | {"tests": "test", "doc": "docs", "examples": "example"}
# Only a known key directly followed by a value is a filter: `path::join`, `file:///etc`, `error: no such file` and
# `lambda x: x` are words. A hyphen excludes only at the start of a word of two letters or more: `utf-8`, `-1`, `a - b`,
# `ls -l` and `--verbose` are words. Quoted text is not parsed. `/…/` is a regular expression unless there is a blank
# next to one of its slashes: `read / write` are words.
EXACT = r"\"(?:[^\"\\]|\\.)*\""
REGEX = r"/(?=\S)(?:[^/\\]|\\.)*(?<=\S)/"
PART = re.compile(
    r"(?<!\S)(?:"
    rf"(?P<any>(?:{EXACT}|{REGEX})(?:\s+(?-i:OR)\s+(?:{EXACT}|{REGEX}))+)"
    rf"|(?P<exact>{EXACT})|`[^`]*`"  # a phrase or a piece of code
    rf"|(?P<regex>{REGEX})"
    rf"|(?P<not>-?)(?P<key>{'|'.join(KEYS)}):(?!:|//)(?:\"(?P<quoted>[^\"]+)\"|(?P<value>[^\s\"]+))"
    r"|-(?:\"(?P<phrase>[^\"]*\w[^\"]*)\"|(?P<word>[^\W\d_](?:[\w.-]*\w)))"
    r")(?!\S)",
    re.IGNORECASE,
)


OR = re.compile(r"(?<!\S)OR(?!\S)")  # beside a word: a phrase is then no more required than the word
WORD = re.compile(r"[^\W_]")  # a letter or a digit of any script
ESCAPE = re.compile(r"\\([\"\\])")


class Parts(NamedTuple):
    """The words of a query (phrases included), its filters, the words that no result may contain, and the phrases and
    regular expression that every result must match."""

    words: str
    filters: Filters = NO_FILTERS
    excluded_words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    regex: str = ""

    @property
    def text(self) -> str:
        """The query text without its filters, to reuse with them."""
        exclusions = (f'-"{word}"' if " " in word else f"-{word}" for word in self.excluded_words)
        return " ".join(filter(None, [self.words, self.regex and f"/{self.regex}/", *exclusions]))


def parse(text: str) -> Parts:
    """The parts of a query's text; raises `InputError` for a second regular expression."""
    filters = NO_FILTERS
    excluded_words: list[str] = []
    phrases: list[str] = []
    regexes: list[str] = []
    is_required = not OR.search(PART.sub("", text))

    def take(match: re.Match[str]) -> str:
        nonlocal filters
        if match["any"]:
            regexes.append("|".join(map(_as_regex, re.findall(f"{EXACT}|{REGEX}", match["any"]))))
        elif match["regex"]:
            regexes.append(match["regex"][1:-1])
        elif match["key"]:
            one = _filter(match)
            if one is None:
                return match[0]
            filters = combine(filters, one)
        elif word := match["word"] or match["phrase"]:
            excluded_words.append(word.strip())
        else:
            if is_required and WORD.search(match["exact"] or ""):
                phrases.append(ESCAPE.sub(r"\1", match["exact"][1:-1]))
            return match[0]
        return ""

    words = PART.sub(take, text)
    if len(regexes) > 1:
        raise InputError(f"/{regexes[1]}/: a query has one regular expression", "put OR between several")
    if filters or excluded_words or regexes:
        words = " ".join(words.split())
    return Parts(words, filters, tuple(dict.fromkeys(excluded_words)), tuple(dict.fromkeys(phrases)), "".join(regexes))


def _filter(match: re.Match[str]) -> Filters | None:
    """The filter that a part of a query's text sets; None for a role that no file can have."""
    field = KEYS[match["key"].lower()]
    value = match["quoted"].replace(",", "\\,") if match["quoted"] else match["value"]
    parts = [part.strip() for part in VALUE.findall(value)]
    if field == "role" and not all(part.lstrip("-").lower() in ROLE_NAMES for part in parts):
        return None
    return Filters(**{field: ",".join(f"-{part.lstrip('-')}" if match["not"] else part for part in parts)})


def _as_regex(part: str) -> str:
    """A phrase or `/expression/` as one of several expressions, each with its own case."""
    text = part[1:-1]
    pattern = text if part[0] == "/" else r"\s+".join(map(re.escape, ESCAPE.sub(r"\1", text).split()))
    return f"(?:{pattern})"


def combine(one: Filters, other: Filters) -> Filters:
    """Both filters: what passes has any of the values of each field."""
    names = [row.name for row in fields(Filters)]
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in names}
    return Filters(**{name: ",".join(dict.fromkeys(filter(None, pair))) for name, pair in pairs.items()})


def commit_question(query: Query) -> tuple[str, Filters]:
    """The question to the history that a query with `kind:commit` is, and its other filters; empty for any other."""
    parts = parse(query.text)
    filters = combine(query.filters, parts.filters)
    return (parts.words, replace(filters, kind="")) if COMMIT in filters.values("kind").include else ("", NO_FILTERS)


# Names in a text, and misspelt words: those in no dictionary, one edit away from a word in many functions. A misspelt
# word is lost on both lanes: no function contains it, and its subword tokens mean nothing.

# A plain word in a sentence: not part of a name, path or URL, not in quotes, not in capitals.
PLAIN = re.compile(r"(?<![\w.$/#@'\"`-])[A-Za-z][a-z]{3,39}(?![\w$/#@'\"`(-]|\.\w)")
MOST = 5  # corrections of one query; with more unknown words it is in another language
LONG = 5  # letters; shorter words are near too many others, so only swapped letters are corrected
MORE_OFTEN = 20  # how many times more functions must have the correction: a word that several use is no mistake
AHEAD = 3  # letters; a letter that follows this soon may have been typed too early: `interger`
COMMON = 20  # functions; a word in this many is correct, whatever the dictionaries say
# Names that look like identifiers but are ordinary words in a sentence.
PRODUCTS = frozenset(
    "javascript typescript github gitlab mysql postgresql mongodb sqlite nosql pytorch tensorflow numpy scipy openssl "
    "iphone ipad ios macos youtube linkedin latex openid oauth graphql protobuf node.js vue.js react.js next.js "
    "asp.net e.g i.e camelcase lowercamelcase pascalcase snake_case "
    "dropbox facebook wordpress powerpoint openstack openstreetmap opencv".split()
)
# Small words of German, Spanish, French, Portuguese and Italian that neither English nor code has.
FOREIGN_WORDS = frozenset(
    """wie wird werden wo warum ist sind ein eine einen nicht und oder für den dem zu auf wenn beim nach cómo dónde
    donde por qué se el la los las un una del cuando où les est sont dans pour avec quand onde uma não são
    dove viene gli della perché""".split()
)
OTHER_SCRIPT = re.compile(r"[\u0400-\u04ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
IDENTIFIER = re.compile(
    r"(?<![\w.])(?:"
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)+"  # dotted: url.parse, Foo::bar, Foo#bar
    r"|_*[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+_*"  # snake_case, SCREAMING_CASE
    r"|_+[A-Za-z]\w*"  # _private, __dunder__
    r"|[a-z][a-z0-9]*[A-Z]\w*"  # camelCase
    r"|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+"  # PascalCase with two humps or more
    r"|[A-Z]{2,}[a-z]{2,}\w*"  # HTTPAdapter, but not URLs
    r"|[A-Za-z_]\w*(?=\(\))"  # anything called
    r")(?:\(\))?(?!\w)"
)


class Corrections(NamedTuple):
    """A query's text with its misspelt words corrected, and those words."""

    text: str
    words: tuple[tuple[str, str], ...] = ()  # (typed, corrected)
    unsure: bool = False  # the engine did not answer in time, so the result may differ next time

    @property
    def sentence(self) -> str:
        """`searched for “convert” instead of “convrt”`; empty without corrections."""
        each = (f"“{correction}” instead of “{word}”" for word, correction in self.words)
        return f"searched for {', '.join(each)}" if self.words else ""


def doubtful(text: str, symbols: Sequence[str] = ()) -> list[str]:
    """The words of a sentence that are in no dictionary, in lower case; none if there are too many."""
    words = dict.fromkeys(word.lower() for word in PLAIN.findall(text))
    unknown = [word for word in words if not _known(word) and word not in PRODUCTS and word not in symbols]
    return unknown if len(unknown) <= MOST else []


def _known(word: str) -> bool:
    """Whether a dictionary has the word, or its stem with an ending other than `er`, which fits too many: `conv-er`."""
    from treeline.encoder.static import is_word  # numpy takes longer to import than `--help` takes to answer

    return is_word(word, endings=not word.endswith("er"))


def correct(text: str, near: Mapping[str, Mapping[str, int]]) -> Corrections:
    """The text with its doubtful words corrected. `near` maps each to the words within one edit, itself included, with
    the number of functions that have them."""
    better = {word: _correction(word, neighbours) for word, neighbours in near.items()}
    corrections: dict[str, str] = {}

    def replacement(match: re.Match[str]) -> str:
        original = match[0]
        word = better.get(original.lower(), "")
        if not word:
            return original
        corrections[original] = word.capitalize() if original[0].isupper() else word
        return corrections[original]

    return Corrections(PLAIN.sub(replacement, text), tuple(corrections.items()))


def _correction(word: str, neighbours: Mapping[str, int]) -> str:
    """The likeliest of the near words; empty if the word itself may be right."""
    from treeline.encoder.static import is_word

    least = MORE_OFTEN * neighbours.get(word, 0)
    likely = {
        other: functions
        for other, functions in neighbours.items()
        if functions > least and (functions >= COMMON or is_word(other)) and _is_slip(word, other)
    }
    return max(likely, key=likely.__getitem__, default="")


def _is_slip(word: str, other: str) -> bool:
    """Whether the difference is a typing slip: letters swapped, one missing, one doubled. A different letter may make
    another word: `runge` and `range`, `fastapi` and `fastai`."""
    if word == other or word[0] != other[0]:
        return False
    if len(other) > len(word):
        return len(word) >= LONG
    at = next(number for number, letter in enumerate(word) if letter != other[number : number + 1])
    if len(other) < len(word):
        return len(word) >= LONG and word[at] in word[at - 1] + word[at + 1 : at + 1 + AHEAD]
    return word[at : at + 2] == other[at : at + 2][::-1]


def identifiers(text: str) -> list[str]:
    """The names in a text that are written like identifiers, without the brackets of a call."""
    names = (bare(match.group()) for match in IDENTIFIER.finditer(text))
    return [name for name in names if name.lower() not in PRODUCTS]


def is_foreign(text: str) -> bool:
    """Whether a question is not in English, by its script, or by the small words that it has."""
    words = set(text.lower().split())
    return bool(OTHER_SCRIPT.search(text)) or len(words & FOREIGN_WORDS) > max(1, len(words & STOP_WORDS))


def bare(name: str) -> str:
    return name.removesuffix("()")


def is_identifier(name: str) -> bool:
    """Whether a word is written like an identifier."""
    return name.lower() not in PRODUCTS and IDENTIFIER.fullmatch(name) is not None
