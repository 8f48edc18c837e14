"""The role of a file, by its path: code, a test, an example, vendored or generated.

Three stages ask this, and a mistake costs each of them something else. So the same words serve three rules:

- Loading leaves a file out for good (`why_left_out`), so its name must be certain: in Java, `TypeSpec` is code.
- Ranking puts a file after others (`is_aside`), so its name need only make it likely: `TypeSpec` may be a test.
- A question for tests (`is_test`) takes what is likely too, but no fixtures and no examples.
"""

from __future__ import annotations

import re
from functools import lru_cache

# As patterns, because a query that has one of these words asks for such files.
ASIDE_WORDS = "tests? testing specs? fixtures? mocks? examples? samples? demos? benchmarks? bench docs?".split()

TEST_FOLDERS = frozenset("test tests __tests__ spec specs testdata test_data fixtures __mocks__ e2e".split())
VENDORED_FOLDERS = frozenset(
    """vendor vendored _vendor _vendored third_party thirdparty third-party node_modules bower_components
    gems jspm_packages site-packages dist-packages Godeps Pods virtualenv venv __pycache__""".split()
)
OLD_RUBY = "/lib/ruby/1."  # the standard library of Ruby, copied into many repositories
GENERATED_FOLDERS = frozenset("dist build generated _generated coverage htmlcov".split())
TEST_FOLDER = re.compile(
    r".*(?:[a-z0-9]Tests?|[._-][Tt]ests?)"  # `jvmTest`, `UITests`, `Shop.Tests`, `shop-tests`, `integration_test`
)
TEST_FILE = re.compile(
    r"(?:test_.*|.*_tests?|conftest)\.py|.*_test\.(?:go|rs|dart|exs|zig|lua|cc|cpp|cxx|c|jl|cr)|test_.*\.(?:c|cc|cpp|jl|exs)"
    r"|.*[a-z0-9](?:Tests?|TestCase|IT)\.(?:java|php|kts?|scala|cs|fs|vb|swift|groovy|mm?|hs|cpp|elm)"
    r"|.*[a-z0-9]Spec\.(?:scala|groovy|hs)"  # in Java and Kotlin `TypeSpec` is not a test
    r"|.*_(?:spec|test)\.(?:rb|lua|cr)|.*(?:_SUITE|_tests?)\.erl|.*\.bats"
    r"|.*[._-](?:test|tests|spec|e2e|stories)\.(?:[cm]?[jt]sx?|vue|svelte)"
)
GENERATED_FILE = re.compile(
    r".*_pb2(?:_grpc)?\.py$|.*\.pb(?:\.gw)?\.go$|.*_generated\.\w+$|.*\.(?:generated|gen|min|bundle|chunk)\.\w+$"
    r"|.*\.d\.[cm]?ts$|^(?:bindata|zz_generated.*)\.go$"
)

LIKELY_TEST = re.compile(
    r"(?:^|/)(?:[Tt]ests?|[Ss]pecs?|__tests__|testing|e2e)/|(?:^|/)(?:test_|tests?\.)[^/]*$|[_.-](?:tests?|spec)\.\w+$"
    r"|[a-z](?:Tests?|Spec|IT)\.\w+$"
)
ASIDE_FOLDERS = [
    *ASIDE_WORDS,
    *"__tests__ __mocks__ testdata e2e benches vendor vendored third_party node_modules generated dist".split(),
]
LIKELY_ASIDE = re.compile(
    rf"(?:^|/)(?:{'|'.join(ASIDE_FOLDERS)})/|[.-](?:tests?|specs?|benchmarks?|examples?|samples?)/"
    r"|(?:^|/)(?:test_|conftest\b|tests?\.)[^/]*$|[_.-](?:tests?|spec|bench)\.\w+$"
    r"|\.d\.[cm]?ts$|\.pyi$|\.min\.js$|\.feature$|_SUITE\.erl$|\.pb\.\w+$|_pb2\.py$",
    re.IGNORECASE,
)
ASIDE_CLASS = re.compile(r"[a-z](?:Tests?|Spec|Benchmarks?)(?:\.\w+$|/)")  # of a class or source set: `jvmTest/`


def why_left_out(path: str) -> str:
    """`test`, `vendored` or `generated` if a path certainly is, or ''."""
    folder, _, name = path.rpartition("/")
    of_folder = folder_left_out(folder)
    if of_folder == "vendored":
        return of_folder
    if of_folder == "test" or TEST_FILE.fullmatch(name):
        return "test"
    return "generated" if of_folder or GENERATED_FILE.match(name) else ""


@lru_cache(maxsize=1_000)
def folder_left_out(folder: str) -> str:
    """The same for everything below a folder."""
    parts = set(folder.split("/"))
    if parts & VENDORED_FOLDERS or OLD_RUBY in f"/{folder}/":
        return "vendored"
    if parts & TEST_FOLDERS or any(map(TEST_FOLDER.fullmatch, parts)):
        return "test"
    return "generated" if parts & GENERATED_FOLDERS else ""


def is_aside(path: str) -> bool:
    """Whether a file is likely a test, an example, a document, vendored or generated."""
    return bool(LIKELY_ASIDE.search(path) or ASIDE_CLASS.search(path))


def is_test(path: str) -> bool:
    """Whether a file is likely a test."""
    return LIKELY_TEST.search(path) is not None
