"""Ranks by the tree of the candidates: evidence flows along it, and it divides up the page. The default.

**Evidence.** A file gains from all its units that match, from words of its name that the query has, and from its
length; tests, examples, vendored and generated code lose. All units of the file share what it gains. This needs an
index of whole repositories, where files and classes are units too. CodeSearchNet has functions alone, and there a
file's other functions say nothing about one of them (docs/research/rerankers.md).

**Places.** The tree is cut at a radius, and what parts beyond it is one cluster. With the root at 0, repositories at 1,
files at 2 and classes at 3, the cut is the smallest radius with as many clusters as the page has places: repositories
in a collection of functions, files in one repository. Evidence makes the units of a file rise together, so with it the
cut is at the file, or at the class within a single file.
A node that holds the share p of the relevance, the sum of the scaled scores, is entitled to K·p of the K places on the
page, and to at least one. The score of its n-th result is divided by a number that grows with the n − 1 before it,
relative to that entitlement, so a result moves past better ones of another cluster, but never past much better ones.
docs/explanation/ranking.md derives this from importance sampling, IA-Select (Agrawal et al., WSDM 2009), xQuAD (Santos
et al., WWW 2010) and proportional diversity (Dang & Croft, SIGIR 2012).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from treeline.corpus.analysis import terms
from treeline.corpus.frozen import frozen
from treeline.corpus.function import lines_in
from treeline.graph.hyperbolic import Floats
from treeline.rerank.accessors import asks_for_accessors, is_accessor
from treeline.rerank.candidates import (
    DEPTH,
    Candidate,
    Candidates,
    Labels,
    Positions,
    RerankContext,
    arrange,
    scaled,
)
from treeline.rerank.direction import contradictions, known, opposite
from treeline.rerank.evidence import (
    ASIDE,
    ASKED_FOR,
    BY_KIND,
    DEFINES,
    DOCUMENTS,
    FUNCTIONS,
    JOINTS,
    NAME_IN_SENTENCE,
    SYMBOL,
    FileEvidence,
    LocalTree,
    before,
    file_evidence,
    is_heading,
    local_tree,
)
from treeline.rerank.language import others

PAGE = 10  # places to divide up
DIVERSITY = 0.5  # the default
# In parts of the span of the scores, chosen by five-fold cross-validation over repositories
# (docs/research/tree-ranking.md).
OUTLINE = 0.1  # a file's outline, a section or configuration, compared with a definition
DEFINITION = 1.0  # the definition of the one name that the query is
OTHER_CLASS = 0.5  # of that, if the query names another class or module
MODULE = 1.4  # the file of that name: as much as a type
HEADING = 0.5  # a section whose heading is the query: code that answers as well stays before it
HANDED_ON = 2.0  # a file that re-exports a name defined elsewhere: more than all evidence of files that mention it
WHOLE = 0.2  # a definition at top level
# What the divisor of a score grows by for each earlier result of the same cluster. A price that is subtracted instead
# lifts results of other clusters however weak they are (docs/research/tree-ranking.md).
FILE_STEP = 1.5  # between the divisors of D'Hondt (1, 2, 3 …) and Sainte-Laguë (1, 3, 5 …)
WHOLE_STEP = 4.0  # the same if the query is about a whole: it asks for files rather than functions
REPOSITORY_STEP = 0.1  # for using up the entitlement of a repository once
FUNCTIONS_STEP = 0.16  # the same if only functions are indexed, and then for a file, or a class if the cut is there
MEMBER_STEP = 10.0  # for each further member of the type that the query names: other results go first
MEMBERS = 3  # of that type, before it
MOST_STEPS = 3  # of a repository, so one that is full of answers is not shut out
OPPOSITE = 0.2  # a name that converts the other way (direction.py); .5 loses .001 on the 99 questions (p = .05)
OPPOSITE_KNOWN = 0.5  # the same if the direction is known, as for `atoi`, and not guessed from the name
ACCESSOR = 0.3  # by which an accessor (accessors.py) must be better than the next unit of its file to stay before it
ACCESSOR_LINES = 8  # of a function that may be one, with its docstring
FOREIGN = 0.5  # another language than the query names (language.py)
ALIKE = 0.8  # of the best score: if several functions of a file match this well, the unit around them is shown
SEVERAL = 3  # how many such functions
OWN = 0.5  # of the best score: how well the unit around them must match itself

GAIN_WORDS = (
    "more matches in its file",
    "its file's name",
    "its folder's name",
    "its repository defines names in the query",
    "its file's length",
    "its file's role",
)
LEAST_SAID = 0.05  # of the span of the scores
MEMBERS_NAMED = 3  # of the other matches in its file

# "How does routing work", "connection pooling": questions that no single function answers.
ABOUT_A_WHOLE = re.compile(r"how\s+(?!to\b)|\S+(?:\s+\S+){1,2}$", re.IGNORECASE)
NO_LETTER = re.compile(r"[^0-9a-z]")
# Re-exports in Rust, JavaScript and TypeScript, and Python's `__all__`, up to the end of the statement.
HANDS_ON_NAME = r"\b(?:pub\s+use|export|__all__)\b[^;=]{{0,2000}}?=?[^;=]{{0,2000}}?\b{}\b"
FILES_READ = 20  # file units that are searched for a re-export of a name that nothing defines
INLINE_TEST = re.compile(r"tests?\.|(?:.*\.)?test_")  # a test inside a file of code, as Rust has them


def shares(groups: Positions, mass: Floats) -> Floats:
    """The part of the relevance that each group holds."""
    held = np.bincount(groups, mass).astype(np.float64)
    return held / (held.sum() or 1.0)


REPOSITORY, FILE, CLASS = 1, 2, 3  # radii, in edges from the root: chains of folders are contracted


def cut(tree: LocalTree, mass: Floats) -> int:
    """The radius at which to cut the tree: the smallest with as many clusters as the page has places.

    A node of depth d lies at radius d; two candidates diverge at the radius of their last common node.
    """
    if tree.whole:
        return FILE if tree.files.any() else CLASS
    for radius, groups in ((REPOSITORY, tree.repos), (FILE, tree.files)):
        if effective(shares(groups, mass)) >= PAGE:
            return radius
    return CLASS


def effective(held: Floats) -> float:
    """The effective number of clusters: the exponential of the entropy of their shares."""
    some = held[held > 0.0]
    return float(np.exp(-(some * np.log(some)).sum()))


def definitions(head: Candidates, query: str) -> Floats:
    """How likely each candidate defines the name that is the whole query, 0 to 1.4, or has it as its heading."""
    if not SYMBOL.fullmatch(query):
        return HEADING * headings(head, query)
    found = np.zeros(len(head))
    wanted = JOINTS.sub(".", query.removesuffix("()"))
    last = wanted.rpartition(".")[2]
    letters = NO_LETTER.sub("", last.lower())
    columns = zip(head.parts("func_name"), head.parts("kind"), head.parts("language"), strict=True)
    for position, (name, kind, language) in enumerate(columns):
        if (
            kind == "file"
            and language not in DOCUMENTS
            and NO_LETTER.sub("", name.rpartition(".")[0].lower()) == letters
        ):
            found[position] = MODULE
        own = name.rpartition(".")[2]
        if kind in DEFINES and NO_LETTER.sub("", own.lower()) == letters:
            same = 1.0 if own == last else 0.9 if own.strip("$_@") == last.strip("$_@") else 0.8
            if not (f".{name}".endswith(f".{wanted}") or f".{wanted}".endswith(f".{name}")):
                same *= OTHER_CLASS if "." in wanted else 1.0
            found[position] = same + BY_KIND.get(kind, 0.0) + WHOLE * (name == wanted)
    return found


def further_members(head: Candidates, scores: Floats, defined: Floats) -> Floats:
    """For each member of a type that the query names, its number among them, counted after the first `MEMBERS`.

    The type itself goes first and names its best members; half of the page were others of them.
    """
    names, kinds = head.parts("func_name"), head.parts("kind")
    types = tuple(f"{names[at]}." for at in np.flatnonzero(defined > 0.0) if BY_KIND.get(kinds[at], 0.0) > 0.0)
    found = np.zeros(len(head))
    if types:
        members = [at for at in (-scores).argsort(kind="stable").tolist() if names[at].startswith(types)]
        found[members] = np.maximum(np.arange(len(members)) + 1 - MEMBERS, 0)
    return found


def headings(head: Candidates, query: str) -> Floats:
    """1 for each section of a document whose heading is the query."""
    columns = zip(head.parts("func_name"), head.parts("kind"), strict=True)
    return np.array([kind == "section" and is_heading(name, query) for name, kind in columns], float)


def handed_on(head: Candidates, query: str, context: RerankContext) -> list[int]:
    """The candidate files that re-export a name that no candidate defines: `pub use`, `export … from`."""
    if context.texts is None or not SYMBOL.fullmatch(query):
        return []
    last = JOINTS.sub(".", query.removesuffix("()")).rpartition(".")[2]
    names, kinds = head.parts("func_name"), head.parts("kind")
    if any(kind in DEFINES and name.rpartition(".")[2] == last for name, kind in zip(names, kinds, strict=True)):
        return []
    files = [position for position, kind in enumerate(kinds) if kind == "file"][:FILES_READ]
    statement = re.compile(HANDS_ON_NAME.format(re.escape(last)))
    texts = context.texts([head.ids[position] for position in files]) if files else []
    return [position for position, text in zip(files, texts, strict=True) if statement.search(text)]


def stand_ins(head: Candidates, scores: Floats, tree: LocalTree, query: str, context: RerankContext) -> dict[int, int]:
    """For each of the best candidates that is an accessor, the function of its file that matches nearly as well and
    does more, if there is one. None for what the query names or asks for, and no function whose name has no word of the
    query for one whose name has.

    The two change places, so the file keeps its own: an accessor that matches does say something about its file.
    """
    if context.codes is None or SYMBOL.fullmatch(query) or asks_for_accessors(query):
        return {}
    names, kinds, fragments = head.parts("func_name"), head.parts("kind"), head.parts("fragment")

    def is_short(position: int) -> bool:
        first, last = lines_in(fragments[position]) or (0, ACCESSOR_LINES)
        return kinds[position] in FUNCTIONS and last - first < ACCESSOR_LINES

    order = (-scores).argsort(kind="stable").tolist()
    read = [position for position in order[: 2 * PAGE] if is_short(position)]
    codes = context.codes([head.ids[position] for position in read]) if read else []
    idle = [position for position, code in zip(read, codes, strict=True) if is_accessor(code)]
    if not idle:
        return {}
    named = {JOINTS.sub(".", symbol).rpartition(".")[2] for symbol in context.symbols}
    named.update(NAME_IN_SENTENCE.findall(query))
    letters = NO_LETTER.sub("", query.lower())
    asked = frozenset(terms(query))

    def has_a_word(position: int) -> bool:
        return not asked.isdisjoint(terms(names[position].rpartition(".")[2]))

    found: dict[int, int] = {}
    for accessor in idle:
        own = names[accessor].rpartition(".")[2]
        if own in named or NO_LETTER.sub("", own.lower()) == letters:
            continue
        is_apt = has_a_word(accessor)
        for other in order:
            if (
                tree.files[other] == tree.files[accessor]
                and scores[accessor] - ACCESSOR <= scores[other] <= scores[accessor]
                and kinds[other] in FUNCTIONS
                and other not in idle
                and other not in found.values()
                and (other in read or not is_short(other))  # what was not read may be an accessor too
                and (has_a_word(other) or not is_apt)
            ):
                found[accessor] = other
                break
    return found


def answering_wholes(head: Candidates, fused: Floats, tree: LocalTree) -> dict[int, int]:
    """For each file whose best functions match about equally well, the class around them or the file itself, if it
    matches too. Maps its position to that of the best function."""
    names, kinds = head.parts("func_name"), head.parts("kind")
    functions: dict[int, list[int]] = {}
    wholes: dict[int, list[int]] = {}
    for position in (-fused).argsort(kind="stable").tolist():
        kind, file = kinds[position], int(tree.files[position])
        if kind in FUNCTIONS:
            functions.setdefault(file, []).append(position)
        elif kind == "file" or BY_KIND.get(kind, 0.0) > 0:
            wholes.setdefault(file, []).append(position)
    found = {}
    for file, best in functions.items():
        if len(best) < SEVERAL or fused[best[SEVERAL - 1]] < ALIKE * fused[best[0]]:
            continue
        similar = best[:SEVERAL]
        enclosing = [
            whole
            for whole in wholes.get(file, ())
            if fused[whole] >= OWN * fused[best[0]]
            and (kinds[whole] == "file" or all(names[one].startswith(f"{names[whole]}.") for one in similar))
        ]
        if enclosing:
            found[min(enclosing, key=lambda whole: (kinds[whole] == "file", -len(names[whole])))] = best[0]
    return found


@frozen
class TreeRanking:
    """`diversity` goes from 0, the fused order, to 1, the best of each cluster first (the paper's Algorithm 1)."""

    diversity: float = DIVERSITY

    @property
    def strength(self) -> float:
        """How much divisors grow: 1 by default."""
        return self.diversity / max(1.0 - self.diversity, 1e-9)

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        head = Candidates.of(candidates)
        if not head or self.diversity <= 0.0 or context.kind == "structural":
            return arrange(candidates, [])
        query = context.query.strip()
        # What comes after the usual depth is in the first few of a lane. It must not stretch the scale.
        fused = scaled(np.maximum(head.scores, head.scores[:DEPTH].min()))
        tree = local_tree(head)
        defined = DEFINITION * definitions(head, query)
        if tree.whole and (handing := handed_on(head, query, context)):
            defined[:] = 0.0  # the exact name is re-exported, so definitions with similar names are something else
            defined[handing] = HANDED_ON
        weight = min(1.0, self.diversity / DIVERSITY)  # evidence fades in with diversity, so 0 gives the fused order
        scores = fused + weight * defined
        gains, wholes, idle = None, dict[int, int](), dict[int, int]()
        about_a_whole = bool(ABOUT_A_WHOLE.match(query)) and not SYMBOL.fullmatch(query)
        if tree.whole:
            gains = file_evidence(head, fused, tree, query, context.symbols)
            scores += weight * sum(gains, np.zeros(len(tree.paths)))[tree.files]
            scores -= weight * OUTLINE * np.array([kind not in DEFINES for kind in head.parts("kind")])
            if not ASKED_FOR.search(query):
                scores -= weight * ASIDE * np.array([bool(INLINE_TEST.match(name)) for name in head.parts("func_name")])
            if about_a_whole:
                wholes = answering_wholes(head, fused, tree)
                for whole, best in wholes.items():
                    scores[whole] = max(scores[whole], np.nextafter(scores[best], np.inf))
            idle = stand_ins(head, scores, tree, query, context)
            for accessor, other in idle.items():
                scores[[accessor, other]] = scores[[other, accessor]]
        turned = np.array(opposite(query, lambda: head.parts("func_name")), dtype=bool)
        if turned.any():
            sure = np.array([known(name) for name in head.parts("func_name")])
            scores -= np.where(sure, OPPOSITE_KNOWN, OPPOSITE) * turned
        for denying, twin in contradictions(query, head.parts("func_name")).items():
            if scores[denying] >= scores[twin]:
                scores[denying] = np.nextafter(scores[twin], -np.inf)
                turned = turned if len(turned) else np.zeros(len(head), dtype=bool)
                turned[denying] = True
        foreign = np.array(others(query, lambda: head.parts("language")), dtype=bool)
        if foreign.any():
            scores -= FOREIGN * foreign
        file_step = WHOLE_STEP if about_a_whole else FILE_STEP
        divisors = self.divisors(scores, fused, tree, file_step, spread="graph" not in head.lanes)
        divisors += MEMBER_STEP * self.strength * further_members(head, scores, defined)
        order = np.lexsort((-scores, -np.where(scores > 0.0, scores / divisors, scores)))
        radius = cut(tree, fused)
        reasons = (
            explain(
                order,
                divisors,
                tree,
                radius,
                shares((tree.repos, tree.files, tree.classes)[radius - 1], fused),
                gains,
                defined,
                turned,
                foreign,
                wholes,
                idle,
                head.parts("func_name"),
            )
            if context.explain
            else ()
        )
        return arrange(candidates, order, reasons=reasons)

    def divisors(
        self, scores: Floats, mass: Floats, tree: LocalTree, file_step: float = FILE_STEP, *, spread: bool = True
    ) -> Floats:
        """What each candidate's score is divided by, because of earlier candidates of its clusters.

        If the call graph ranked the results, its order is kept, and only files count.
        """
        order = (-scores).argsort(kind="stable")
        steps = np.zeros(len(scores))
        if spread and tree.repos.any():
            used = before(tree.repos, order).astype(np.float64)
            if tree.whole:
                used /= np.maximum(1.0, PAGE * shares(tree.repos, mass))[tree.repos]
            # If only functions are indexed, a repository is entitled to one place. By its share the 99 questions lose
            # .004 of NDCG within (p = .01), because a repository with many weak matches holds more than it should.
            steps += (REPOSITORY_STEP if tree.whole else FUNCTIONS_STEP) * np.minimum(used, MOST_STEPS)
        if tree.whole:
            steps += file_step * before(tree.files, order)
        radius = cut(tree, mass)
        if spread and radius >= FILE and not tree.whole:
            steps += FUNCTIONS_STEP * np.minimum(before(tree.files, order), MOST_STEPS)
        if spread and radius >= CLASS:
            steps += FUNCTIONS_STEP * np.minimum(before(tree.classes, order), MOST_STEPS)
        return 1.0 + steps * self.strength


def explain(
    order: Positions,
    divisors: Floats,
    tree: LocalTree,
    radius: int,
    held: Floats,
    gains: FileEvidence | None,
    defined: Floats,
    turned: NDArray[np.bool_],
    foreign: NDArray[np.bool_],
    wholes: Mapping[int, int],
    idle: Mapping[int, int],
    names: Sequence[str],
) -> Labels:
    """The reason of each candidate that moved or has evidence: the evidence, its cluster, its share of the page."""
    reasons = np.full(len(order), "", dtype=np.object_)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    in_file: dict[int, list[int]] = {}  # sorted by score, because the list is in fusion order
    for position, file in enumerate(tree.files.tolist()):
        in_file.setdefault(file, []).append(position)
    for position in range(len(order)):
        moved = position - int(places[position])
        file = int(tree.files[position])
        cluster = int((tree.repos, tree.files, tree.classes)[radius - 1][position])
        label = tree.repo_names[file] if radius == REPOSITORY else tree.paths[file].rpartition("/")[2]
        if radius == CLASS and (owner := names[position].rpartition(".")[0]):
            label = f"{owner} in {label}"
        said = (
            []
            if gains is None
            else [
                f"{reason} {gain[file]:+.2f}"
                for reason, gain in zip(GAIN_WORDS, gains, strict=True)
                if abs(gain[file]) >= LEAST_SAID
            ]
        )
        if said and said[0].startswith(GAIN_WORDS[0]):
            others = (names[other] for other in in_file[file] if other != position)
            said[0] += f" ({', '.join(dict.fromkeys(islice(others, MEMBERS_NAMED)))})"
        if moved and gains is not None and INLINE_TEST.match(names[position]):
            said.insert(0, "a test inside its file")
        if position in idle:
            said.insert(0, f"it only returns or sets a value, and {names[idle[position]]} does more")
        if position in wholes:
            said.insert(0, "it answers for what is in it, which matches alike")
        if defined[position]:
            said.insert(0, "the query is its name")
        if moved and len(foreign):
            language = "another language than" if foreign[position] else "the language that"
            said.insert(0, f"written in {language} the query names")
        if len(turned) and turned[position]:
            said.insert(0, "its name says the opposite")
        if moved and divisors[position] > 1.0:
            said.append("results from elsewhere in the tree go first")
        if moved or said:
            direction = "raised" if moved > 0 else "lowered" if moved < 0 else "kept"
            said.append(
                f"{label} holds {held[cluster]:.0%} of the relevance, {PAGE * held[cluster]:.1f} of {PAGE} places"
            )
            reasons[position] = f"{direction}: {'; '.join(said)}"
    return reasons
