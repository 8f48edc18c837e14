"""What kind of question is it? An identifier, a structural question, a concept, or a mixture: that picks the lanes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from treeline.graph.references import Relation
from treeline.rerank.ranked_list import QueryTraits
from treeline.search.question.structural import CALLS, INHERITS, Direction, structural

Kind = Literal["identifier", "structural", "conceptual", "mixed"]

QUOTED = re.compile(r"`([^`\s]+)`|\"([^\"\s]+)\"|(?<!\w)'([^'\s]+)'(?!\w)")
SHAPED = re.compile(
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
# Names that are written like identifiers but stand in a sentence as a word.
PRODUCTS = frozenset(
    "javascript typescript github gitlab mysql postgresql mongodb sqlite nosql pytorch tensorflow numpy scipy openssl "
    "iphone ipad ios macos youtube linkedin latex openid oauth graphql protobuf node.js vue.js react.js next.js "
    "asp.net e.g i.e camelcase lowercamelcase pascalcase snake_case "
    "dropbox facebook wordpress powerpoint openstack openstreetmap opencv".split()
)
# Words around an identifier that only say "show me this one".
PADDING = frozenset(
    "a an the is are of in on for to me my show find get where what which who how does do did defined definition "
    "declared function functions method methods class classes code source implementation implemented called named "
    "usage use example look up python java javascript go ruby php please".split()
)
WORD = re.compile(r"[A-Za-z][\w']*")
ONE_WORD = re.compile(r"[^\W\d]\w+")  # `Flask`, `open`: a word like any other, and maybe the name of something
LONGEST_STRUCTURAL = 200  # characters; a longer text is no question about one symbol, and patterns need not try it


@dataclass(frozen=True, slots=True)
class Route:
    """The kind of question, the symbols it names, for a structural one which edges to follow from them, and how many
    words it has."""

    kind: Kind
    symbols: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    direction: Direction = "in"
    depth: int = 1
    words: int = 0

    @property
    def asked(self) -> QueryTraits:
        return QueryTraits(self.kind, self.words)

    def lanes(self) -> tuple[str, ...]:
        """Which lanes a hybrid search runs for this question."""
        if self.kind == "conceptual":
            return ("keyword", "dense")
        written = ("written",) if self.relations in (CALLS, INHERITS) and self.direction == "in" else ()
        if self.kind == "identifier" or (self.kind == "structural" and looks_like_an_identifier(self.symbols[0])):
            return ("keyword", "graph", *written)
        # "what calls parse" may be about calls, and may be a sentence that only begins like it.
        return ("keyword", "dense", "graph", *written)


def route(text: str) -> Route:
    """The route of a question."""
    text = text.strip()
    quoted = tuple(dict.fromkeys(next(filter(None, found.groups())) for found in QUOTED.finditer(text)))
    words = len(text.split())
    return _structural(text, quoted, words) or _by_names(text, quoted, words)


def _structural(text: str, quoted: tuple[str, ...], words: int) -> Route | None:
    if len(text) > LONGEST_STRUCTURAL:
        return None
    for phrase, symbol in structural(text):
        named = symbol in quoted or looks_like_an_identifier(symbol) or symbol[0].isupper()
        if named or not phrase.ordinary:
            return Route("structural", (symbol,), phrase.relations, phrase.direction, phrase.depth, words)
    return None


def _by_names(text: str, quoted: tuple[str, ...], words: int) -> Route:
    symbols = tuple(dict.fromkeys([*map(bare, quoted), *shaped_names(text)]))
    if not symbols:
        return Route("mixed", (text,), words=words) if ONE_WORD.fullmatch(text) else Route("conceptual", words=words)
    rest = SHAPED.sub(" ", QUOTED.sub(" ", text))
    others = len(symbols) > 1 or any(word.lower() not in PADDING for word in WORD.findall(rest))
    return Route("mixed" if others else "identifier", symbols, words=words)


def shaped_names(text: str) -> list[str]:
    """The names in a text that are written like identifiers, without the brackets of a call."""
    found = (bare(match.group()) for match in SHAPED.finditer(text))
    return [name for name in found if name.lower() not in PRODUCTS]


def bare(name: str) -> str:
    return name.removesuffix("()")


def looks_like_an_identifier(name: str) -> bool:
    return name.lower() not in PRODUCTS and SHAPED.fullmatch(name) is not None
