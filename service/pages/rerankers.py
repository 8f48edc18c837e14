"""The menu of re-rankers: in words, the usual ones before the experiments, and why one cannot be chosen here."""

from __future__ import annotations

from dataclasses import dataclass

from treeline.rerank.cross_encoder import missing
from treeline.rerank.registry import NAMES
from treeline.search.settings import Settings

LABELS = {
    "Usual": {
        "default": "Default",
        "spread": "Spread over repositories",
        "none": "As fused",
        "cross-encoder": "Cross-encoder",
    },
    "Experiments": {
        "algorithm1": "Best of each tree cluster",
        "algorithm1-kmeans": "Best of each, plain k-means",
        "algorithm1-spectral": "Best of each, spectral",
        "algorithm2": "Sampled from tree clusters",
        "algorithm2-kmeans": "Sampled, plain k-means",
        "algorithm2-spectral": "Sampled, spectral",
        "algorithm2-by-score": "Sampled, in order of scores",
        "score-mass": "Clusters by their scores",
        "greedy": "Tree neighbours apart",
        "random": "Random order, to compare",
    },
}


@dataclass(frozen=True, slots=True)
class Option:
    """A re-ranker of the menu; one with a problem cannot be chosen."""

    name: str
    label: str
    about: str
    problem: str


def menu(settings: Settings) -> dict[str, list[Option]]:
    """The options by group."""
    problems = {"cross-encoder": missing(settings.cross_encoder)}
    return {
        group: [
            Option(name, label, NAMES.get(name, "what has earned it"), problems.get(name, ""))
            for name, label in labels.items()
        ]
        for group, labels in LABELS.items()
    }
