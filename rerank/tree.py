"""Ranks by the tree of the candidates: evidence flows along it, and it divides up the page. The default.

**Evidence.** A file gains from all its units that match, from words of its name that the query has, and from its
length; tests, examples, vendored and generated code lose. All units of the file share what it gains. `rules.py` has the
table.

**Ranks.** The tree is cut at a radius, and what diverges beyond it is one cluster. With the root at 0, repositories at
1, files at 2 and classes at 3, the cut is the smallest radius with as many clusters as the page has ranks: repositories
in a collection of functions, files in one repository. Evidence makes the units of a file rise together, so with it the
cut is at the file, or at the class within a single file.
A node that holds the share p of the relevance, the sum of the scaled scores, is entitled to K·p of the K ranks on the
page, and to at least one. The score of its n-th result is divided by a number that grows with the n − 1 before it,
relative to that entitlement, so a result moves past better ones of another cluster, but never past much better ones.
docs/explanation/ranking.md derives this from importance sampling, IA-Select (Agrawal et al., WSDM 2009), xQuAD (Santos
et al., WWW 2010) and proportional diversity (Dang & Croft, SIGIR 2012).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treeline.corpus.frozen import frozen
from treeline.graph.hyperbolic import Floats
from treeline.rerank.candidates import (
    DEPTH,
    Candidate,
    Candidates,
    Labels,
    Positions,
    RerankContext,
    arrange,
    min_max,
)
from treeline.rerank.rules import CLASS, DIVISORS, FILE, INSIDE, PAGE, REPOSITORY, RULES, Columns, Rule, shares

DIVERSITY = 0.5  # the default
LEAST_SHOWN = 0.05  # of the span of the scores

Gain = tuple[Rule, Floats]  # what a rule adds to each score


@frozen
class TreeRanking:
    """`diversity` goes from 0, the fused order, to 1, the best of each cluster first (the paper's Algorithm 1);
    `omit` are names of rules to leave out."""

    diversity: float = DIVERSITY
    omit: frozenset[str] = frozenset()

    @property
    def strength(self) -> float:
        """The growth of the divisors: 1 by default."""
        return self.diversity / max(1.0 - self.diversity, 1e-9)

    def __call__(self, candidates: Sequence[Candidate], context: RerankContext) -> Sequence[Candidate]:
        head = Candidates.of(candidates)
        if not head or self.diversity <= 0.0 or context.kind == "structural":
            return arrange(candidates, [])
        # What comes after the usual depth is in the first few of a lane. It must not stretch the scale.
        columns = Columns(head, min_max(np.maximum(head.scores, head.scores[:DEPTH].min())), context)
        gains = self.gains(columns)
        divisors = self.divisors(columns)
        scores = columns.scores
        order = np.lexsort((-scores, -np.where(scores > 0.0, scores / divisors, scores)))
        before = order
        if columns.has_files and columns.radius == FILE and not columns.is_symbol:
            order = in_files(order, columns.files, self.inside(columns))
        reasons = explain(columns, order, before, gains, divisors) if context.explain else ()
        return arrange(candidates, order, reasons=reasons)

    def gains(self, columns: Columns) -> list[Gain]:
        """Each rule with its additions to the scores. They fade in with diversity, so 0 gives the fused order."""
        gains: list[Gain] = []
        for rule in self._applicable(RULES, columns):
            if (values := rule.measure(columns)) is not None:
                gain = min(1.0, self.diversity / DIVERSITY) * rule.weight * values
                columns.scores += gain
                gains.append((rule, gain))
        return gains

    def divisors(self, columns: Columns) -> Floats:
        """The divisor of each score, which grows with earlier candidates of the same clusters."""
        divisors = np.ones(len(columns))
        for rule in self._applicable(DIVISORS, columns):
            if (values := rule.measure(columns)) is not None:
                divisors += self.strength * rule.weight * values
        return divisors

    def inside(self, columns: Columns) -> Floats:
        """The scores by which the units of a file take its ranks."""
        scores = columns.scores
        for rule in self._applicable(INSIDE, columns):
            if (values := rule.measure(columns)) is not None:
                scores = scores + min(1.0, self.diversity / DIVERSITY) * rule.weight * values
        return scores

    def _applicable(self, rules: Sequence[Rule], columns: Columns) -> list[Rule]:
        scopes = ("any", "files" if columns.has_files else "functions")
        return [rule for rule in rules if rule.scope in scopes and rule.name not in self.omit]


def in_files(order: Positions, files: Positions, scores: Floats) -> Positions:
    """The order in which every file keeps its ranks, and its units take them by these scores, ties as they were."""
    result = np.empty_like(order)
    result[files[order].argsort(kind="stable")] = order[np.lexsort((-scores[order], files[order]))]
    return result


def explain(columns: Columns, order: Positions, before: Positions, gains: Sequence[Gain], divisors: Floats) -> Labels:
    """The reason of each candidate that moved or has evidence: the evidence, its cluster, its share of the page.
    `before` is the order before the units of files changed places."""
    reasons = np.full(len(order), "", dtype=np.object_)
    ranks, ranks_before = order.argsort(), before.argsort()
    clusters = (columns.repos, columns.files, columns.classes)[columns.radius - 1]
    parts = shares(clusters, columns.fused)
    sums = columns.scores - columns.fused
    for position, (rank, file, cluster) in enumerate(
        zip(ranks.tolist(), columns.files.tolist(), clusters.tolist(), strict=True)
    ):
        shift = position - rank
        said = [
            rule.said(columns, position, float(values[position]))
            for rule, values in gains
            if abs(values[position]) >= LEAST_SHOWN
        ]
        if not (shift or said):
            continue
        if ranks_before[position] < rank:
            said.insert(0, "a longer or more specific unit of its file goes first")
        elif shift < 0 and divisors[position] > 1.0:
            said.insert(0, "results from elsewhere in the tree go first")
        elif shift < 0 <= sums[position]:
            said.insert(0, "others gained more")
        elif sums[position] <= 0 < shift:
            said.insert(0, "others lost more")
        label = columns.repo_of_file[file] if columns.radius == REPOSITORY else columns.paths[file].rpartition("/")[2]
        owner = columns.names[position].rpartition(".")[0]
        if columns.radius == CLASS and owner:
            label = f"{owner} in {label}"
        part = parts[cluster]
        said.append(f"{label} holds {part:.0%} of the relevance, {PAGE * part:.1f} of {PAGE} places")
        direction = "raised" if shift > 0 else "lowered" if shift < 0 else "same rank"
        reasons[position] = f"{direction}: {'; '.join(said)}"
    return reasons
