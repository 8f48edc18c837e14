"""The weights of rules, learnt from judged files."""

import numpy as np
import pytest

from lab import weights
from lab.weights import CURRENT, LEARNT, Item


def item(group: str, rule: str, judged: int, *, files: int = 6) -> Item:
    """A question whose judged file is the one that this rule speaks for, and the fused score against."""
    numbers = np.zeros((files, len(CURRENT)))
    numbers[:, 0] = np.linspace(1.0, 0.0, files)
    numbers[judged, 1 + [one.name for one in LEARNT].index(rule)] = 1.0
    is_judged = np.zeros((files, 1))
    is_judged[judged] = 1.0
    return Item(group, numbers, np.zeros(files), is_judged)


def test_a_rule_that_tells_judged_files_gains_weight_and_others_keep_theirs() -> None:
    items = [item(f"r{number}", "facade", 3 + number % 3) for number in range(10)]
    learnt = dict(zip([rule.name for rule in LEARNT], weights.fit(items, prior=0.05)[1:], strict=True))
    table = {rule.name: rule.weight for rule in LEARNT}
    assert learnt["facade"] > 3 * table["facade"]
    assert learnt["folder-name"] == pytest.approx(table["folder-name"])


def test_what_is_reported_was_held_out() -> None:
    own = [item(f"r{number}", "facade", 3) for number in range(10)]
    assert weights.held_out(own, [], prior=0.05, seed=0).min() > 0.1
    assert weights.held_out(own[:5], [], prior=1e6, seed=0).max() == 0.0  # held to the table


def test_a_judged_file_counts_once_at_its_rank() -> None:
    one = item("r", "facade", 2)
    assert one.ndcg(np.eye(1, len(CURRENT))[0]) == pytest.approx(0.5)  # third: 1 / log2(4)
    assert one.ndcg(-np.eye(1, len(CURRENT))[0]) == pytest.approx(1 / np.log2(5))
