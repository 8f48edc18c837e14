"""The lanes that look for the words of a query: keyword, with relaxation, and exact.

**Keyword**: all words, then words within one edit, then smaller chunks of the query. Relaxation follows the paper: the
next stage runs only while fewer than 100 units were found. Its hits come after those of earlier stages, and every hit
records its stage.

**Exact**: units whose text has a quoted phrase, a `/regular expression/`, or the whole query verbatim. Every result
must contain a quoted phrase or match an expression: `require` drops the rest from the other lanes' lists. An unquoted
query that occurs verbatim in a few places, such as an error message, only ranks those first. A changelog is no such
place: it has the subjects of commits word for word, so it would come before the code that a commit changed. A short
query, such as "connection pool state machine", is a quotation only of a message in the code, of a docstring or of a
heading: what a comment or a guide says in the same words is no better than other answers. A message as it was printed
has values in it that the code has not: then the words between them are looked for, the longest run first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from treeline.corpus.analysis import analyse, of_file, read_query, terms
from treeline.corpus.frozen import frozen
from treeline.corpus.function import Function
from treeline.engine.hits import Hit, Hits, concatenate
from treeline.engine.protocol import Engine, Filters
from treeline.rerank.evidence import DOCUMENTS, asks_for_documents, is_heading, lists_changes
from treeline.rerank.expansion import BACKGROUND, expand
from treeline.rerank.fusion import RankedList
from treeline.search.plan import EXACT, KEYWORD, Plan

FUZZY, CHUNKS = "fuzzy", "chunks"  # stages of relaxation; the first one is EXACT
ENOUGH = 100  # the paper's bound: with fewer hits, the next stage runs
MAX_CHUNKS = 24  # searches in the last stage; the first words of a long query matter most
SHORTEST_PIECE = 3  # letters; shorter pieces of a word match by accident
LONGEST_WORD = 40  # letters
RUN = re.compile(r"\w+")
MOST = 10_000  # units with a phrase that are read: as far as paging goes
QUOTED_PROSE = 6  # words of an unquoted query that quotes a comment or a document
# What is before a text in its line, if it is in a string.
IN_STRING = re.compile(r"(?!\s*(?://|/?\*|#|--|;|%))[^\n]*[\"'`]")
FRAGMENT_WORDS = 4  # of a run of words between values; one more if a value is quoted, which may be a required phrase
FRAGMENTS = 3  # of a message that are looked for
# A word that is a value, or has one in it: `42:`, `/tmp/a`, `'name'`, `$x`.
VALUE = re.compile(r"\d|[/\\$={}<>@^*|]|^[(\[]*[\"'`“‘]|[\"'`”’][)\].,:;]*$")
FEW = 3  # most places of an unquoted query: text that occurs in more is not a quotation


@frozen
class KeywordList(RankedList):
    """The units found; `files` has the BM25 score of each whole file, by repository and path."""

    files: Mapping[tuple[str, str], float] = field(default_factory=dict, kw_only=True)


def keyword_lane(engine: Engine, text: str, k: int, filters: Filters, *, with_feedback: bool = False) -> KeywordList:
    """The best `k` by keyword, relaxed as far as needed; `with_feedback` adds words that the first results share."""
    stages: list[str] = []
    parts: list[Sequence[Hit]] = []
    hits: Sequence[Hit] = []
    part: list[int] = []
    for stage, part_hits in _stages(engine, text, k, filters, with_feedback):
        stages.append(stage)
        parts.append(part_hits)
        hits, part = concatenate(parts, k)
        if len(hits) >= min(ENOUGH, k):
            break
    all_stages = stages * len(part) if len(stages) == 1 else [stages[number] for number in part]
    return KeywordList(KEYWORD, hits, all_stages, files=_files(engine, text, k, filters))


def _files(engine: Engine, text: str, k: int, filters: Filters) -> dict[tuple[str, str], float]:
    words = [of_file(word) for word in dict.fromkeys(terms(read_query(text)[0]))]
    hits = Hits.of(engine.keyword(words, k, replace(filters, kind=""))) if words else Hits.of([])
    keys = zip(hits.table.parts("repo", hits.rows), hits.table.parts("path", hits.rows), strict=True)
    return dict(zip(keys, hits.scores.tolist(), strict=True))


def _stages(
    engine: Engine, text: str, k: int, filters: Filters, with_feedback: bool
) -> Iterator[tuple[str, Sequence[Hit]]]:
    rest, shapes = read_query(text)
    words = terms(rest) or terms(text)
    if words and with_feedback:
        words = _with_feedback(engine, words, filters)
    if words:
        yield EXACT, engine.keyword([*words, *shapes], k, filters)
    if RUN.search(text):
        yield FUZZY, engine.fuzzy(text, k, filters)
    # Not fuzzy: the stage before found whole words within one edit, and fuzzy pieces match by accident.
    for chunk in chunks(text):
        yield CHUNKS, engine.keyword(terms(chunk), k, filters)


def _with_feedback(engine: Engine, words: list[str], filters: Filters) -> list[str]:
    first = engine.keyword(words, BACKGROUND, filters)
    return expand(words, [analyse(one).split() for one in engine.fetch([hit.id for hit in first])])


def chunks(text: str) -> list[str]:
    """Smaller and smaller runs of the query's words, halves first, then pieces of words typed without a space."""
    words = RUN.findall(text)
    result: dict[str, None] = {}
    size = len(words) // 2
    while size >= 1 and len(result) < MAX_CHUNKS:
        for start in range(0, len(words), size):
            result[" ".join(words[start : start + size])] = None
        size //= 2
    for word in words[:MAX_CHUNKS]:
        if 2 * SHORTEST_PIECE <= len(word) <= LONGEST_WORD:
            result[" ".join(pieces(word))] = None
    return list(result)[:MAX_CHUNKS]


def pieces(word: str) -> Iterator[str]:
    """Every prefix and suffix of a word: for `exponentialbackoff`, those that are words will match."""
    for cut in range(SHORTEST_PIECE, len(word) - SHORTEST_PIECE + 1):
        yield word[:cut]
        yield word[cut:]


@frozen
class PhraseList(RankedList):
    """The units found. `missing` are required phrases that no unit has, `timeouts` those whose search timed out."""

    is_required: bool = field(kw_only=True)
    missing: tuple[str, ...] = field(default=(), kw_only=True)
    timeouts: tuple[str, ...] = field(default=(), kw_only=True)


def exact_lane(engine: Engine, plan: Plan) -> PhraseList:
    """The units that contain the whole query verbatim, else those that match its phrases and expression."""
    verbatim = _verbatim(engine, (plan.words, plan.corrections.text), plan.filters) if plan.verbatim else []
    verbatim = _quotations(engine, verbatim, plan.text)
    if not len(verbatim) and plan.verbatim and not plan.regex:
        verbatim = _template(engine, plan.words, plan.filters, FRAGMENT_WORDS + plan.has_requirements)
    if len(verbatim) or not plan.has_requirements:
        return PhraseList(EXACT, _with_scores(verbatim), is_required=False)
    by_phrase = {phrase: Hits.of(engine.phrase(phrase, MOST, plan.filters)) for phrase in plan.phrases}
    if plan.regex:
        by_phrase[f"/{plan.regex}/"] = Hits.of(engine.regex(plan.regex, MOST, plan.filters))
    missing = tuple(what for what, hits in by_phrase.items() if not len(hits))
    timeouts = tuple(what for what, hits in by_phrase.items() if not hits.complete)
    fewest, *others = sorted(by_phrase.values(), key=len)
    for hits in others:
        having = set(Hits.of(hits).ids)
        fewest = fewest.at([at for at, id_ in enumerate(fewest.ids) if id_ in having])
    return PhraseList(EXACT, _with_scores(fewest), is_required=True, missing=missing, timeouts=timeouts)


def require(lists: Sequence[RankedList]) -> tuple[RankedList, ...]:
    """The lists without units that lack a required phrase."""
    exact = next((ranking for ranking in lists if isinstance(ranking, PhraseList)), None)
    if exact is None or not exact.is_required:
        return tuple(lists)
    having = set(Hits.of(exact.hits).ids)
    return tuple(ranking if ranking is exact else _only(ranking, having) for ranking in lists)


def _verbatim(engine: Engine, texts: Sequence[str], filters: Filters) -> Sequence[Hit]:
    """The units with the first of these texts that occurs anywhere, also with escaped quotes (`can\\'t`)."""
    escapes = [text.replace(quote, f"\\{quote}") for text in texts for quote in "'\""]
    for variant in dict.fromkeys((*texts, *escapes)):
        hits = engine.phrase(variant, FEW + 1, filters)
        if len(hits):
            return hits if len(hits) <= FEW else []
    return []


def _template(engine: Engine, message: str, filters: Filters, least: int) -> Sequence[Hit]:
    """The units with the longest run of words of a printed message that any has, between the values in it."""
    for fragment in fragments(message, least)[:FRAGMENTS]:
        quotations = _quotations(engine, _verbatim(engine, (fragment,), filters), fragment)
        if len(quotations):
            return quotations
    return []


def fragments(message: str, least: int = FRAGMENT_WORDS) -> list[str]:
    """The runs of at least so many words between the values in a message, longest first; none if it has no values."""
    runs: list[list[str]] = [[]]
    for word in message.split():
        if VALUE.search(word):
            runs.append([])
        else:
            runs[-1].append(word)
            if word.endswith((":", ".", "!", "?")):
                runs.append([])
    long = sorted((run for run in runs if len(run) >= least), key=len, reverse=True)
    return [" ".join(run) for run in long if len(run) < len(message.split())]


def _quotations(engine: Engine, hits: Sequence[Hit], query: str) -> Sequence[Hit]:
    """The hits that an unquoted query may be quoted from."""
    if not len(hits):
        return hits
    prose = len(query.split()) >= QUOTED_PROSE
    asked_for = prose or asks_for_documents(query)
    bodies = {} if prose else {one.id: one for one in engine.fetch(Hits.of(hits).ids)}

    def may_be(hit: Hit) -> bool:
        one = hit.address
        if one.language not in DOCUMENTS:
            return prose or one.kind == "config" or (hit.id in bodies and says(bodies[hit.id], query))
        return not lists_changes(one.path, one.language, query) and (asked_for or is_heading(one.func_name, query))

    return Hits.of(hits).at([at for at, hit in enumerate(hits) if may_be(hit)])


def says(unit: Function, text: str) -> bool:
    """Whether the unit's docstring has the text, or a string in its code, as far as one line shows."""
    pattern = re.compile(r"\s+".join(map(re.escape, text.split())), re.IGNORECASE)
    code = unit.code.replace("\\", "")
    return pattern.search(unit.docstring) is not None or any(
        IN_STRING.match(code[code.rfind("\n", 0, match.start()) + 1 : match.start()])
        for match in pattern.finditer(code)
    )


def _with_scores(hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits with equal scores, because a text either occurs or does not."""
    return Hits.of(hits).with_scores([1.0] * len(hits))


def _only(ranking: RankedList, ids: set[str]) -> RankedList:
    positions = [at for at, id_ in enumerate(Hits.of(ranking.hits).ids) if id_ in ids]
    stages = [ranking.stages[at] for at in positions] if ranking.stages else ranking.stages
    return replace(ranking, hits=Hits.of(ranking.hits).at(positions), stages=stages)
