"""Made-up repositories for tests: source text in, what the parsers see in it out."""

from collections.abc import Iterable, Mapping

from treeline.corpus.function import Address, Function
from treeline.graph.callgraph import CallGraph, load
from treeline.graph.callgraph.build import build
from treeline.graph.references import FileFacts
from treeline.ingest.parsers.outline import outline
from treeline.ingest.parsers.registry import grammars

REPO = "owner/repo"


def parse(path: str, source: str, language: str, repo: str = REPO) -> tuple[list[Function], FileFacts]:
    """The functions and facts of one file."""
    data = source.encode()
    found = outline(grammars()[language], data)
    functions = []
    for one in found.functions:
        text = data[one.start : one.end].decode()
        url = f"https://example.org/{repo}/{path}#L{one.first_line}-L{one.last_line}"
        functions.append(
            Function(
                repo=repo,
                path=path,
                func_name=one.name,
                original_string=text,
                language=language,
                code=text,
                code_tokens=tuple(text.split()),
                docstring=one.doc.text,
                docstring_tokens=tuple(one.doc.text.split()),
                sha="0" * 40,
                partition="test",
                url=url,
            )
        )
    return functions, FileFacts(repo, path, language, found.symbols, found.imports, found.references, found.types)


def graph_of(files: Mapping[str, str], language: str, repo: str = REPO) -> CallGraph:
    """The call graph of a repository given as path → source."""
    return load(build(*parts_of(files, language, repo)))


def parts_of(
    files: Mapping[str, str], language: str, repo: str = REPO
) -> tuple[list[FileFacts], list[tuple[str, Address]]]:
    facts, addresses = [], []
    for path, source in files.items():
        functions, fact = parse(path, source, language, repo)
        facts.append(fact)
        addresses += [(function.id, function.address) for function in functions]
    return facts, addresses


def names(graph: CallGraph, nodes: Iterable[int]) -> set[str]:
    """`path:name` of nodes (the path alone for a module)."""
    return {f"{symbol.path}:{symbol.name}" for symbol in map(graph.symbol, nodes)}
