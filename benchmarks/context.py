"""What a task needs, within a budget of tokens: `context_for` beside `search_code` and a map of the repository.

The map is aider's RepoMap (aider.chat/docs/repomap.html): files point to the files that define the identifiers they
use, and PageRank, personalised by the words of the task, ranks the definitions.

    python -m benchmarks.context ISSUES --checkouts DIR [--most N]    # issues, as `treeline eval issues` takes them
    python -m benchmarks.context --checkouts DIR --commits 10 OWNER/NAME…    # messages of the last commits
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import networkx
import numpy as np

from benchmarks.impact import MOST_FILES
from treeline.corpus.analysis import terms
from treeline.corpus.errors import InputError
from treeline.corpus.function import FUNCTION_KINDS, Address, Function
from treeline.eval.indexes import eval_settings, sources_searcher
from treeline.eval.sets.issues import Issue, check_out, git_folder, read, touched_functions
from treeline.graph.git import run_git
from treeline.ingest.history import read_diff, read_log, update
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources.folder import open_folder
from treeline.rerank.evidence import path_facts
from treeline.search.impact import parse_diff
from treeline.search.pack import gather
from treeline.search.query import Query
from treeline.search.searcher import Searcher
from treeline.service.cli.options import settings_for
from treeline.service.mcp.text import Item, headline, pack_items, render, tokens

BUDGETS = 4_000, 8_000
RESULTS = 8, 100  # of `search_code`: by default, and as many as fit
DEFINITIONS = FUNCTION_KINDS | {"class", "interface", "type", "enum", "constant"}
IDENTIFIER = re.compile(r"[A-Za-z_]\w+")
# RepoMap's weights of an identifier: named in the task, long, private, defined all over.
NAMED, LONG, PRIVATE, COMMON = 10.0, 10.0, 0.1, 0.1
LONG_LETTERS, COMMON_FILES = 8, 5
SHOWN_PLACE = re.compile(r"(\S+?):(\d+)-\d+(?: |$)")
SHOWN_LINE = re.compile(r" *(\d+)[ |:]")
Answer = Callable[[Searcher, str, int], str]


def context(searcher: Searcher, task: str, budget: int) -> str:
    items, opening = pack_items(gather(searcher, task, budget))
    return render(items, budget, opening=opening, words=frozenset(terms(task)), handles=False).text


def search(k: int) -> Answer:
    def answer(searcher: Searcher, task: str, budget: int) -> str:
        results = searcher.search(Query.of(task, {"k": k}, searcher.settings)).results
        items = [Item(one.function, "", one.members) for one in results]
        return render(items, budget, words=frozenset(terms(task)), handles=False).text

    return answer


def repository_map(searcher: Searcher, task: str, budget: int) -> str:
    """The best definitions by personalised PageRank, as many as fit."""
    uses: dict[str, Counter[str]] = defaultdict(Counter)
    definitions: dict[str, dict[str, list[Function]]] = defaultdict(lambda: defaultdict(list))
    for unit in searcher.engine.scan():
        uses[unit.path].update(IDENTIFIER.findall(unit.code))
        if unit.kind in DEFINITIONS:
            definitions[unit.func_name.rpartition(".")[2]][unit.path].append(unit)
    words = set(IDENTIFIER.findall(task))
    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
    graph.add_nodes_from(uses)
    for path, names in uses.items():
        for name in names.keys() & definitions.keys():
            weight = NAMED if name in words else 1.0
            weight *= LONG if len(name) >= LONG_LETTERS and re.search(r"_|[a-z][A-Z]", name) else 1.0
            weight *= PRIVATE if name.startswith("_") else 1.0
            weight *= COMMON if len(definitions[name]) > COMMON_FILES else 1.0
            for place in definitions[name]:
                if place != path:
                    graph.add_edge(path, place, weight=weight * math.sqrt(names[name]), name=name)
    likely = {path: 1.0 for path in uses if path in task or words & set(IDENTIFIER.findall(path))}
    ranks = networkx.pagerank(graph, personalization=likely or None, weight="weight")
    scores: Counter[tuple[str, str]] = Counter()
    for path in graph:
        edges = list(graph.out_edges(path, data=True))
        total = sum(data["weight"] for _, _, data in edges)
        for _, place, data in edges:
            scores[place, data["name"]] += ranks[path] * data["weight"] / total
    rows: list[str] = []
    room = budget
    for (path, name), _ in scores.most_common():
        for unit in definitions[name][path]:
            row = headline(Item(unit), handles=False).partition(": ")[0]
            room -= tokens(f"{row}\n")
            if room < 0:
                return "\n".join(rows)
            rows.append(row)
    return "\n".join(rows)


def shown(text: str) -> dict[str, set[int]]:
    """The lines of each file that a text shows; a headline shows the first line of its unit."""
    lines: dict[str, set[int]] = defaultdict(set)
    path = ""
    for row in text.split("\n"):
        if place := SHOWN_PLACE.match(row):
            path = place[1]
            lines[path].add(int(place[2]))
        elif (line := SHOWN_LINE.match(row)) and path:
            lines[path].add(int(line[1]))
    return lines


def measure(task: Issue, functions: Sequence[Address], text: str) -> dict[str, float]:
    """The shares of the task's code files, tests, functions, and functions with a line to change that a text shows."""
    lines = shown(text)
    tests = [path for path in task.lines if path_facts(path).is_test_like]
    heads = [address.lines[0] in lines[address.path] for address in functions if address.lines]
    changes = [
        any(first <= line <= last for line in lines[one.path].intersection(task.lines[one.path]))
        for one in functions
        if one.lines
        for first, last in [one.lines]
    ]
    shares = {"files": [path in lines for path in task.files], "tests": [path in lines for path in tests]}
    shares |= {"functions": heads, "changed lines": changes}
    return {name: sum(some) / len(some) for name, some in shares.items() if some}


def commits(git: Path, repo: str, most: int) -> list[Issue]:
    """The last commits that changed code, each asked for at its parent with its message."""
    tasks = []
    for commit, changes in reversed(list(read_log(git, "", run_git(git, "rev-parse", "HEAD").decode().strip()))):
        if not any(change.status == "M" for change in changes) or len(changes) > MOST_FILES:
            continue
        parent = run_git(git, "rev-parse", f"{commit.hash}^").decode().strip()
        diff = parse_diff(read_diff(git, f"{commit.hash}..{parent}"))
        lines = {one.path: one.lines for one in diff if one.lines}
        task = Issue(commit.hash, repo, parent, "", f"{commit.subject}\n\n{commit.body}".strip(), lines)
        if any(not path_facts(path).is_test_like for path in lines):
            tasks.append(task)
        if len(tasks) == most:
            break
    return tasks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="ISSUES|OWNER/NAME")
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--commits", type=int, default=0)
    parser.add_argument("--most", type=int, default=2, help="issues of each repository")
    given = parser.parse_args()
    systems: dict[str, Answer] = {"context_for": context, "map by PageRank": repository_map}
    systems |= {f"search_code, {k} results": search(k) for k in RESULTS}
    values: dict[tuple[str, int], list[dict[str, float]]] = defaultdict(list)
    for task, searcher, functions in _tasks(given):
        for name, answer in systems.items():
            for budget in BUDGETS:
                text = answer(searcher, task.text, budget)
                if tokens(text) > budget:
                    raise InputError(f"{name} takes {tokens(text)} of {budget} tokens")
                values[name, budget].append(measure(task, functions, text))
    _print(values)


def _tasks(given: argparse.Namespace) -> Iterator[tuple[Issue, Searcher, list[Address]]]:
    groups: dict[str, list[Issue]] = defaultdict(list)
    if given.commits:
        for repo in given.names:
            if git := git_folder(given.checkouts, repo):
                groups[repo] = commits(git, repo, given.commits)
    else:
        for issue in read(Path(given.names[0])):
            groups[issue.repo].append(issue)
        groups = {repo: own[:: max(1, len(own) // given.most)][: given.most] for repo, own in groups.items()}
    settings = settings_for("embedded", "")
    home = eval_settings(settings).home_path
    for repo, own in groups.items():
        if (git := git_folder(given.checkouts, repo)) is None:
            continue
        for task in own:
            folder = check_out(git, task.commit, home / "context" / repo.replace("/", "+"))
            index = f"context-{repo.replace('/', '-')}".lower()
            with closing(
                sources_searcher(index, [open_folder(str(folder), ReadOptions(), repo=repo)], settings)
            ) as live:
                update(home, index, {repo: folder})
                with live.searcher() as searcher:
                    yield task, searcher, _functions(searcher, task)


def _functions(searcher: Searcher, task: Issue) -> list[Address]:
    units: Mapping[str, list[tuple[str, Address]]] = defaultdict(list)
    for id_, address in searcher.engine.addresses():
        if address.path in task.files and address.kind in FUNCTION_KINDS:
            units[address.path].append((id_, address))
    ids = touched_functions(task, units)
    return [address for own in units.values() for id_, address in own if id_ in ids]


def _print(values: Mapping[tuple[str, int], Sequence[Mapping[str, float]]]) -> None:
    random = np.random.default_rng(0)
    for (name, budget), rows in sorted(values.items(), key=lambda row: row[0][1]):
        cells = []
        for metric in ("files", "tests", "functions", "changed lines"):
            own = np.array([row[metric] for row in rows if metric in row])
            if len(own):
                means = own[random.integers(0, len(own), (1_000, len(own)))].mean(axis=1)
                low, high = np.percentile(means, (2.5, 97.5))
                cells.append(f"{metric} {own.mean():.2f} ({low:.2f} to {high:.2f}, {len(own)})")
        print(f"{budget:,}  {name:26}", "  ".join(cells))


if __name__ == "__main__":
    main()
