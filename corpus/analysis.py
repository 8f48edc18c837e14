"""Text to terms, the same for indexing and querying: split identifiers, lower-case, drop stop words, stem.

Measured on CodeSearchNet's 99 questions (BM25, NDCG within): splitting identifiers is worth .13, stems .02, stop words
.01.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from unicodedata import normalize

import Stemmer

from treeline.corpus.function import Function

WORD = re.compile(r"\w+")
# The same for a text in ASCII, in two fifths of the time: what is not of a word becomes a space.
SPACES = bytes(code if WORD.match(chr(code)) else 32 for code in range(128)) + bytes(128)
# In order: a plural acronym (`URLs`), an acronym before a word (`HTTP` in `HTTPResponse`), a word, an acronym, digits,
# letters of a script without case (`~`, see `parts`).
PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|~+")
# Chinese, Japanese and Korean have no spaces between words, so every pair of neighbours is a term.
# Compiled on first use: it takes as long as a search.
CJK_RUN = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]{3,}"
# Lucene's list, and the words that turn keywords into a question.
STOP_WORDS = frozenset(
    """a an and are as at be but by for if in into is it no not of on or such that the their then there these they
    this to was will with from how what can do does i my""".split()
)
NAME_WEIGHT = 2  # how often the words of a name count; not chosen on the 99 queries (docs/research/lanes.md)
LONGEST_WORD = 100  # letters; longer ones are encoded data, not words
REMEMBERED_WORDS = 500_000  # about the distinct words of a million functions; 100 MB
# Texts whose words are kept, for a batch is analysed before it is encoded; at most so long.
TEXTS_IN_CACHE, LONGEST_IN_CACHE = 2_000, 20_000

# Words that the stemmer takes for forms of another word of code: `import`, `position`, `author`, `custom`, `invalid`.
ODD_STEMS = {
    word: root
    for root, words in {
        "importanc": "importance important importantly",
        "positiv": "positive positives positively",
        "authoriz": "authorize authorized authorizes authorizing authorization authorizations authorizer authority",
        "customer": "customer customers",
        "invalidat": "invalidate invalidated invalidates invalidating invalidation invalidations",
        "responsibl": "responsible responsibility responsibilities",
        "performanc": "performance",
    }.items()
    for word in words.split()
}

_porter = Stemmer.Stemmer("english").stemWord


def _stem(word: str) -> str:
    return ODD_STEMS.get(word) or _porter(word)


class _Words(dict[str, str]):
    """A cache of the terms of each word, joined by spaces; source code repeats its words."""

    def __missing__(self, word: str) -> str:
        if len(self) >= REMEMBERED_WORDS:
            self.clear()
        line = " ".join(_word_terms(word))
        self[word] = line
        return line


_words = _Words()


def terms(text: str) -> list[str]:
    """The terms of a text in order: for each identifier its parts, then the whole."""
    return _line(text).split()


def analyse(function: Function, name_weight: int = NAME_WEIGHT, shape: str = "") -> str:
    """The terms of a unit for a whitespace analyser: name, docstring and code as one text, and its shape terms.

    BM25 over one text with repeated words is BM25F (Robertson, Zaragoza & Taylor, CIKM 2004): a field's weight counts
    before the score saturates, and a term's rarity is counted over whole units, not per field.
    """
    name = _line(function.func_name)
    return " ".join(filter(None, [*[name] * name_weight, _line(function.docstring), _line(function.code), shape]))


def parts(word: str) -> list[str]:
    """An identifier split at underscores, case changes and digits; case is kept."""
    return PART.findall(word) if word.isascii() else [word[start:end] for start, end in spans(word)]


def spans(word: str) -> list[tuple[int, int]]:
    """The start and end of each part."""
    # Letters beyond ASCII follow the same rules, on a copy that has only each letter's category.
    shape = word if word.isascii() else "".join(map(_kind, word))
    return [part.span() for part in PART.finditer(shape)]


def plain_words(text: str) -> str:
    """The words of a text as they are written, with whitespace between them."""
    return text.encode().translate(SPACES).decode() if text.isascii() else " ".join(WORD.findall(text))


def words_of(text: str) -> list[str]:
    """The words of a text as they are written; indexing needs them for the terms and for the vector."""
    return _words_of(text) if len(text) <= LONGEST_IN_CACHE else plain_words(text).split()


@lru_cache(TEXTS_IN_CACHE)
def _words_of(text: str) -> list[str]:
    return plain_words(text).split()


def _line(text: str) -> str:
    if not text.isascii():
        text = normalize("NFKC", text)
    return " ".join(filter(None, map(_words.__getitem__, words_of(text))))


def _word_terms(word: str) -> list[str]:
    if len(word) > LONGEST_WORD:
        return []
    lower_parts = [part.lower() for part in parts(word)]
    result = [_stem(part) for part in lower_parts if part not in STOP_WORDS and (len(part) > 1 or not part.isascii())]
    for part in lower_parts:
        if not part.isascii() and re.fullmatch(CJK_RUN, part):
            result += map("".join, pairwise(part))
    if len(lower_parts) > 1:
        result.append(word.strip("_").lower())
    return list(dict.fromkeys(result))


def _kind(letter: str) -> str:
    if letter.isupper():
        return "A"
    if letter.islower():
        return "a"
    if letter.isdigit():
        return "0"
    return "_" if letter == "_" else "~"


# Shape terms: what code does beside what it says, and the phrases of a query that ask for them. A parser reads the
# shape of a function from its parse tree (`ingest/parsers/shape.py`): recursion, nested loops, what it raises and
# catches, what it reads and writes. Each becomes a term that starts with `~`, which no word does. So "recursive
# function that walks a tree" also finds one that calls itself and never says so. docs/research/shape.md has the
# measurements.

MARK = "~"  # no word of a text starts with it
OF_FILE = "^"  # before a word of a whole file
# For the other units of a file. BM25 divides by the mean length over all units: so a file is about as long as the mean.
NO_WORDS_OF_FILE = " ".join(["_"] * 600)
OF = "="  # between a shape and the name that it is about: `~raises=valueerror`

RECURSION, NESTED_LOOPS, TRIPLE_LOOPS = "~recursion", "~nested-loops", "~triple-loops"
GENERATOR, ASYNC, RETRIES, EARLY_RETURN = "~generator", "~async", "~retries", "~early-return"
CONTEXT, DECORATOR, DECORATED = "~context", "~decorator", "~decorated"
RAISES, CATCHES = "~raises", "~catches"
READS_FILE, WRITES_FILE, NETWORK, PROCESS, REGEX = "~reads-file", "~writes-file", "~network", "~process", "~regex"
COMPLEX = "~complex"

A = r"(?:an? |the |any |some )?"
NAME = r"[`'\"@]*([A-Za-z_][\w.]*)"
ERROR = r"[`'\"]*([A-Za-z_.]*(?:Error|Exception|Failure|Warning|Interrupt|Timeout|Exit|Iteration)\b)"
FEW = r"(?:[\w.-]+ ){0,4}"

PHRASES: tuple[tuple[str, str], ...] = (
    (RECURSION, r"recurs(?:e|es|ive|ively|ion)\b|\bcalls? itself\b"),
    (TRIPLE_LOOPS, r"\b(?:triple|triply|three)[ -]nested\b|\bthree nested loops?\b"),
    (
        NESTED_LOOPS,
        rf"\bnested (?:for |while |for-)?loops?\b|\bloops? (?:with)?in(?:side)?(?: of)? {A}(?:other |another )?loops?\b"
        r"|\bdouble (?:for )?loops?\b",
    ),
    (GENERATOR, r"\bgenerator (?:functions?|methods?|that|which|over|yielding)\b|\byield(?:s|ing)?\b"),
    (ASYNC, r"\basync\b|\basynchronous(?:ly)?\b|\bcoroutines?\b|\bawait(?:s|ing)?\b"),
    (RETRIES, r"\bretr(?:y|ies|ying)\b|\bexponential back-?off\b"),
    (EARLY_RETURN, r"\bearly returns?\b|\breturns? early\b|\bguard clauses?\b"),
    (CONTEXT, r"\bcontext managers?\b|\bwith[ -](?:statement|block)s?\b|\btry[ -]with[ -]resources?\b|\bdefers\b"),
    (DECORATOR, r"\bdecorators?\b|\bhigher[ -]order\b|\breturns? a (?:function|closure|callable)\b"),
    # Only of what code does: in "read ini file" and "save list to file" these words are the topic.
    (READS_FILE, rf"\breads {FEW}(?:files?|disk)\b"),
    (WRITES_FILE, rf"\b(?:writes|saves|dumps) {FEW}(?:files?|disk)\b"),
    (NETWORK, rf"\b(?:makes|sends|performs|issues|does) {FEW}https? (?:get |post )?requests?\b"),
    (
        PROCESS,
        r"\bsub-?process(?:es)?\b|\b(?:runs|executes|spawns) (?:a |an )?(?:shell |external )?(?:commands?|process)\b",
    ),
    (REGEX, r"\bregular expressions?\b|\breg(?:ex|exp)(?:s|es)?\b"),
    (COMPLEX, r"\bcomplex (?:functions?|methods?)\b|\bcyclomatic\b|\bmany branches\b|\bcomplicated\b"),
)
# These are about a name, or about any: "raises ValueError", "functions that throw".
NAMED_PHRASES: tuple[tuple[str, str], ...] = (
    (RAISES, rf"\b(?:rais(?:es?|ing)|throw(?:s|ing)?) {A}{ERROR}"),
    (CATCHES, rf"\b(?:catch(?:es|ing)?|handl(?:es?|ing)|swallows?|rescues?|ignor(?:es?|ing)) {A}{ERROR}"),
    (DECORATED, rf"\b(?:decorated|annotated) (?:with|by) {A}{NAME}"),
)
# Names say these too, so the words of the phrase are looked for as well.
SAID_IN_NAMES = frozenset({RETRIES, PROCESS})
# What code itself says about a shape, again and again, so that the word finds it better than the term.
WORDS = {GENERATOR: "yield"}
# Compiled on first use: most queries need none of them.
_phrases = "|".join(f"({pattern})" for _, pattern in PHRASES)
# Every phrase has one of these; most queries have none and are done.
_signs = re.compile(
    r"recurs|itself|loop|nested|generator|yield|async|corout|await|retr(?:y|ie)|back-?off|early|guard|context m|"
    r"with[ -](?:stat|block|reso)|defers|decorator|higher|returns? a |file|http|process|shell|external|reg|compl|cyclo|"
    r"branch",
    re.IGNORECASE,
)
_named_signs = re.compile(
    r"(?:Error|Exception|Failure|Warning|Interrupt|Timeout|Exit|Iteration)\b|decorated|annotated", re.IGNORECASE
)


def about(shape: str, name: str) -> str:
    """The term of a shape with a name: `~raises=valueerror`. Only the last part of a dotted name counts."""
    return f"{shape}{OF}{name.rpartition('.')[2].lower()}"


def of_file(term: str) -> str:
    """The term as a word of a whole file rather than of a unit."""
    return f"{OF_FILE}{term}"


def with_file(terms: str, units: Sequence[str]) -> str:
    """The terms of a unit, and the words of all these units if it stands for its file."""
    return f"{terms}{OF_FILE}{' '.join(split(unit)[0] for unit in units)}"


def split(terms: str) -> tuple[str, str, str]:
    """The words, the shape terms and the words of the whole file of an analysed unit, in this order in its terms."""
    own, has_file, whole = terms.partition(OF_FILE)
    words, mark, rest = f" {own}".partition(f" {MARK}")
    return words[1:], f"{MARK}{rest}" if mark else "", whole or (NO_WORDS_OF_FILE if has_file else "")


def read_query(query: str) -> tuple[str, list[str]]:
    """A query without the phrases that ask for a shape, and the shape terms instead.

    Code that calls itself does not say "recursive", and what says it is often something else: with the phrase's words
    kept, questions for a shape and a topic have .50 (MRR), without them .58 (docs/research/shape.md).
    """
    terms: list[str] = []

    def note(phrase: re.Match[str]) -> str:
        term = PHRASES[(phrase.lastindex or 1) - 1][0]
        if term in WORDS:
            return f" {WORDS[term]} "
        terms.extend((TRIPLE_LOOPS, NESTED_LOOPS) if term == TRIPLE_LOOPS else (term,))
        return phrase[0] if term in SAID_IN_NAMES else " "

    rest = re.sub(_phrases, note, query, flags=re.IGNORECASE) if _signs.search(query) else query
    for term, pattern in NAMED_PHRASES if _named_signs.search(rest) else ():

        def name(phrase: re.Match[str], term: str = term) -> str:
            terms.extend((term, about(term, phrase[1])))
            return f" {phrase[1]} "

        rest = re.sub(pattern, name, rest, flags=re.IGNORECASE)
    return rest, list(dict.fromkeys(terms))
