"""Structural questions ("what calls X", "who implements Y", "what changes if I touch Z") and the edges they ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from treeline.graph.references import Relation

Direction = Literal["in", "out"]

CALLS: tuple[Relation, ...] = ("calls",)
INHERITS: tuple[Relation, ...] = ("implements", "extends")  # Python and Ruby implement by extending
EVERYTHING: tuple[Relation, ...] = ("calls", "extends", "implements", "uses")
# What changes when a symbol is touched reaches over several hops; nearer ones are listed first, and beyond ten the
# graph of a repository has been walked through.
IMPACT_DEPTH = 10

NAME = r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*"
# In a phrase below a space is any white space, and these words in braces stand for:
PARTS = {
    "{x}": rf"[`\"']?(?P<symbol>{NAME})(?:\(\))?[`\"']?",
    "{of}": r"(?:the )?(?:(?:function|method|class|interface|type|trait|module) )?",
    "{end}": r"(?: (?:function|method|class|interface))?\s*[?.!]*$",
    "{who}": r"^(?:please )?(?:(?:show|list|find|give) (?:me )?)?"
    r"(?:(?:what|who|which)(?: else| all)?|(?:(?:which|what|all|the) )*"
    r"(?:functions?|methods?|classes|class|code|types?|structs?|places?|tests?)(?: that| which)?)",
    "{changing}": r"(?:changing|touching|modifying|editing|renaming|removing|deleting|refactoring)",
    "{change}": r"(?:change|touch|modify|edit|rename|remove|delete|break|refactor)",
}


@dataclass(frozen=True, slots=True)
class Phrase:
    """One way to ask. Where a phrase is also ordinary English, the symbol must look like one to be believed."""

    text: str
    relations: tuple[Relation, ...]
    direction: Direction = "in"
    depth: int = 1
    ordinary: bool = False

    def search(self, question: str) -> str:
        """The symbol that a question of this form is about, or nothing."""
        found = _compiled(self.text).search(question)
        return found["symbol"] if found else ""


@cache
def _compiled(text: str) -> re.Pattern[str]:
    """Compiled when first needed: two dozen patterns would cost every start, and most questions need none."""
    for part, meaning in PARTS.items():
        text = text.replace(part, meaning)
    return re.compile(text.replace(" ", r"\s+"), re.IGNORECASE)


PHRASES = (
    Phrase(r"{who} (?:calls?|calling|invokes?|invoking) {of}{x}{end}", CALLS),
    Phrase(r"^(?:callers|calls|callsites|call sites) (?:of|to) {of}{x}{end}", CALLS),
    Phrase(r"^where (?:is|are) {of}{x} (?:called|invoked)(?: from)?\s*\??$", CALLS),
    Phrase(r"^(?:what|who|which functions?) (?:does|do) {of}{x} (?:call|invoke)\s*\??$", CALLS, "out"),
    Phrase(r"^callees of {of}{x}{end}", CALLS, "out"),
    Phrase(r"^(?:functions?|methods?|what(?: is|'s)?) (?:called|invoked) (?:by|from|in) {of}{x}{end}", CALLS, "out"),
    Phrase(r"{who} (?:implements?|implementing|satisf(?:y|ies)) {of}{x}{end}", INHERITS),
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
    Phrase(r"^(?:usages?|uses|users|references) (?:of|to) {of}{x}{end}", EVERYTHING, ordinary=True),
    Phrase(r"^where (?:is|are) {of}{x} (?:used|referenced|needed)\s*\??$", EVERYTHING, ordinary=True),
)
# A word of every phrase above begins with one of these; a question without them need not be tried.
SIGNS = re.compile(
    r"\b(?:call|invo|implement|satisf|exten|sub-?class|subtyp|inherit|deriv|child|descend|base|super|parent|interface|"
    r"change|break|happen|affect|impact|effect|blast|depend|rel[iy]|us(?:e|ing|age)|refer|mention|need)",
    re.IGNORECASE,
)


def structural(question: str) -> Iterator[tuple[Phrase, str]]:
    """The phrases that the question has the form of, each with the symbol it would be about."""
    if SIGNS.search(question):
        for phrase in PHRASES:
            symbol = phrase.search(question)
            if symbol:
                yield phrase, symbol
