"""The role of a file, by its path: code, a test, an example, a document, vendored or generated.

One table serves the filter `role:`, the ranking, which puts everything but code after it, and questions for tests.
Where several roles fit, the first in the table is the file's.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

CODE = "code"
# Written by tools where packages are installed: never read, unlike what people copied into a repository.
INSTALLED_FOLDERS = frozenset(
    """node_modules bower_components jspm_packages site-packages dist-packages virtualenv venv __pycache__
    __pypackages__""".split()
)
# As patterns, because a query that has one of these words asks for such files.
ASIDE_WORDS = "tests? testing specs? fixtures? mocks? examples? samples? demos? benchmarks? bench docs?".split()


class Marks(NamedTuple):
    """The signs of a role: names of folders in small letters, a pattern of such a name, patterns of files' names."""

    folders: tuple[str, ...] = ()
    folder: str = ""
    files: tuple[str, ...] = ()


ROLES = {
    "vendored": Marks(
        (
            *sorted(INSTALLED_FOLDERS),
            *"vendor vendored _vendor _vendored third_party thirdparty third-party gems godeps pods".split(),
        )
    ),
    "test": Marks(
        (
            *"test tests __tests__ testing spec specs testdata test_data fixtures __fixtures__".split(),
            *"mocks __mocks__ e2e".split(),
        ),
        r".*([a-z0-9]Tests?|[-._][Tt]ests?)",  # `jvmTest`, `UITests`, `Shop.Tests`, `integration_test`
        (
            r"test_.*[.](py|c|cc|cpp|jl|exs)",
            r".*_test[.](py|go|rs|dart|exs|zig|lua|cc|cpp|cxx|c|jl|cr|rb|erl)",
            r".*_tests[.](py|erl)",
            r".*(_SUITE[.]erl|[.]bats|[.]feature)",
            r"(conftest[.]py|tests?[.](py|rs|[cm]?[jt]sx?|c|cc|cpp|zig|nim))",
            r".*[a-z0-9](Tests?|TestCase|IT)[.](java|php|kts?|scala|cs|fs|vb|swift|groovy|mm?|hs|cpp|elm)",
            r".*[a-z0-9]Spec[.](scala|groovy|hs)",  # in Java and Kotlin `TypeSpec` is not a test
            r".*_spec[.](rb|lua|cr)",
            r".*[-._](test|tests|spec|e2e|stories)[.]([cm]?[jt]sx?|vue|svelte)",
        ),
    ),
    "generated": Marks(
        ("dist", "build", "generated", "_generated", "coverage", "htmlcov"),
        "",
        (
            r".*_pb2(_grpc)?[.]pyi?",
            r".*[.]pb([.]gw)?[.][a-z]+",
            r".*_generated[.][a-z]+",
            r".*[.](generated|gen|min|bundle|chunk)[.][a-z]+",
            r".*[.]d[.][cm]?ts",
            r"(bindata|zz_generated.*)[.]go",
        ),
    ),
    "example": Marks(
        (
            *"example examples sample samples demo demos benchmark benchmarks bench benches".split(),
            *"tutorial tutorials".split(),
        ),
        "",
        (r".*[-_.]bench[.][a-z]+",),
    ),
    "docs": Marks(
        ("doc", "docs", "documentation"),
        "",
        (
            r".*[.](md|mdx|markdown|mdown|rst|rest|adoc|asciidoc|asc|org|tex|typ|text)",
            r"(.*[^s]|.*[^t]s)[.]txt",  # not `CMakeLists.txt` and `requirements.txt`
            r"(README|CHANGELOG|CHANGES|HISTORY|NEWS|AUTHORS|CONTRIBUTING)",
        ),
    ),
}
NAMES = (*ROLES, CODE)
# Files that declare what others define.
DECLARATIONS = (".pyi",)


FOLDER_ROLES = {name: number for number, marks in reversed([*enumerate(ROLES.values())]) for name in marks.folders}
FOLDER_PATTERNS = [(number, re.compile(marks.folder)) for number, marks in enumerate(ROLES.values()) if marks.folder]
FILE = re.compile("|".join(f"(?P<{role}>{'|'.join(marks.files)})" for role, marks in ROLES.items() if marks.files))
DOCS = NAMES.index("docs")


@lru_cache(maxsize=50_000)
def role_of(path: str) -> str:
    """The role of the file with this path: one of `NAMES`."""
    folder, _, name = path.rpartition("/")
    return NAMES[min(_of_folder(folder), _of_file(name))]


def is_aside(path: str) -> bool:
    """Whether a file comes after code that answers as well; a document outside the folders of documents does not."""
    folder, _, name = path.rpartition("/")
    return _of_folder(folder) <= DOCS or _of_file(name) < DOCS or path.endswith(DECLARATIONS)


def is_test(path: str) -> bool:
    """Whether a file is a test, or helps one."""
    return role_of(path) == "test"


def is_installed(folder: str) -> bool:
    """Whether a package manager made a folder, by its name."""
    return folder.rpartition("/")[2] in INSTALLED_FOLDERS


@lru_cache(maxsize=50_000)
def _of_folder(folder: str) -> int:
    """The number of the role that the names of a file's folders give it; that of code if they give none."""
    best = len(ROLES)
    for part in folder.split("/"):
        best = min(best, FOLDER_ROLES.get(part.lower(), best))
        best = min([best, *(number for number, pattern in FOLDER_PATTERNS if pattern.fullmatch(part))])
    return best


def _of_file(name: str) -> int:
    match = FILE.fullmatch(name)
    return NAMES.index(match.lastgroup) if match and match.lastgroup else len(ROLES)
