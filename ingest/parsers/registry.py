"""The table of languages and formats, and which one a file is in.

The table lists each language's files. Its grammar is a module in `languages/`, imported when a file first needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from treeline.ingest.parsers.comments import DASHES, HASHES, SLASHES, Comments
from treeline.ingest.parsers.grammar import Grammar

# Module in `languages/` → language (with a dialect after a colon) → suffixes and whole file names.
PROGRAMS: dict[str, dict[str, str]] = {
    "python": {"python": ".py .pyi .pyw SConstruct SConscript wscript"},
    "java": {"java": ".java"},
    "go": {"go": ".go"},
    "javascript": {
        "javascript": ".js .jsx .mjs .cjs .es6",
        "typescript": ".ts .mts .cts",
        "typescript:tsx": ".tsx",
        "vue": ".vue",
        "svelte": ".svelte",
        "astro": ".astro",
    },
    "c_family": {
        "c": ".c",
        "cpp": ".cc .cpp .cxx .c++ .h .hh .hpp .hxx .h++ .ipp .inl .tpp .cu .cuh .ino",
        "objc": ".m .mm",
    },
    "systems": {
        "rust": ".rs",
        "swift": ".swift",
        "zig": ".zig .zon",
        "nim": ".nim .nims .nimble",
        "d": ".d .di",
        "odin": ".odin",
        "fortran": ".f90 .f95 .f03 .f08 .f .for",
        "pascal": ".pas .pp .lpr .dpr",
        "ada": ".adb .ads",
        "verilog": ".v .vh .sv .svh",
        "vhdl": ".vhd .vhdl",
    },
    "managed": {
        "csharp": ".cs .csx",
        "kotlin": ".kt .kts",
        "scala": ".scala .sc .sbt",
        "dart": ".dart",
    },
    "functional": {
        "elixir": ".ex .exs",
        "haskell": ".hs",
        "ocaml": ".ml",
        "ocaml:ocaml_interface": ".mli",
        "fsharp": ".fs .fsx",
        "erlang": ".erl .hrl .escript",
        "gleam": ".gleam",
    },
    "lisps": {
        "clojure": ".clj .cljs .cljc .edn .bb",
        "elisp": ".el",
        "commonlisp": ".lisp .cl .lsp",
        "scheme": ".scm .ss .sld",
        "racket": ".rkt",
    },
    "scripting": {
        "lua": ".lua .luau .rockspec",
        "bash": ".sh .bash .zsh .ksh .bats .bashrc .zshrc .profile PKGBUILD APKBUILD",
        "r": ".r",
        "julia": ".jl",
        "powershell": ".ps1 .psm1 .psd1",
        "vim": ".vim .vimrc",
        "matlab": ".m",
        "tcl": ".tcl .tm .itcl",
    },
    "schema": {
        "proto": ".proto",
        "graphql": ".graphql .gql .graphqls",
        "hcl": ".tf .hcl .tfvars",
        "solidity": ".sol",
        "thrift": ".thrift",
        "nix": ".nix",
        "elm": ".elm",
    },
    "php": {"php": ".php .phtml .inc"},
    "ruby": {"ruby": ".rb .rake .gemspec .ru Rakefile Gemfile Guardfile Capfile Vagrantfile Podfile Fastfile Brewfile"},
}
# Documents, configuration and text: no grammar, only suffixes and names.
FORMATS: dict[str, tuple[str, Comments]] = {
    "markdown": (".md .markdown .mdx .rmd .qmd", HASHES),
    "jupyter": (".ipynb", HASHES),
    "restructuredtext": (".rst", HASHES),
    "asciidoc": (".adoc .asciidoc", SLASHES),
    "org": (".org", HASHES),
    "latex": (".tex", Comments((b"%",), None)),
    "typst": (".typ", SLASHES),
    "toml": (".toml", HASHES),
    "ini": (".ini .cfg .conf .editorconfig .desktop .service", Comments((b"#", b";"), None)),
    "properties": (".properties", HASHES),
    "yaml": (".yml .yaml", HASHES),
    "json": (".json .jsonc .json5 .webmanifest", SLASHES),
    "dockerfile": (".dockerfile Dockerfile Containerfile", HASHES),
    "makefile": (".mk .mak Makefile makefile GNUmakefile justfile", HASHES),
    "cmake": (".cmake CMakeLists.txt", HASHES),
    "sql": (".sql .ddl .psql", DASHES),
    "html": (
        ".html .htm .xhtml .j2 .jinja .jinja2 .tmpl .gohtml .mustache .hbs .handlebars .erb .eex .heex .ejs .twig"
        " .liquid .pug .haml .slim .cshtml .razor .jsp .ftl",
        Comments((b"//",), (b"<!--", b"-->")),
    ),
    "xml": (
        ".xml .xsd .xsl .xslt .plist .csproj .fsproj .props .targets .pom .xaml .wsdl .storyboard .xib .resx",
        SLASHES,
    ),
    "perl": (".pl .pm .t .psgi", HASHES),
    "groovy": (".groovy .gradle .gvy Jenkinsfile", SLASHES),
    "css": (".css .scss .sass .less .styl", SLASHES),
    "text": (
        ".txt .text .rdoc .pod .man .1 README LICENSE COPYING NOTICE AUTHORS CHANGES CHANGELOG HACKING INSTALL",
        HASHES,
    ),
}
TEXT = "text"
INTERPRETERS = {
    "python": "python", "ruby": "ruby", "node": "javascript", "deno": "typescript", "php": "php", "bash": "bash",
    "sh": "bash", "zsh": "bash", "dash": "bash", "ksh": "bash", "perl": "perl", "lua": "lua", "Rscript": "r",
    "elixir": "elixir", "escript": "erlang", "julia": "julia", "groovy": "groovy", "pwsh": "powershell", "tclsh": "tcl",
}  # fmt: skip
SHEBANG = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(\w+)")
# Suffixes of binary and generated files. Any other file is opened and its first bytes are checked.
BINARY = frozenset(
    """.png .jpg .jpeg .gif .ico .bmp .tif .tiff .webp .avif .svg .eps .pdf .ps .ai .psd .xcf .mp3 .mp4 .m4a .wav .ogg
    .flac .avi .mov .mkv .webm .woff .woff2 .ttf .otf .eot .zip .gz .tgz .bz2 .xz .zst .7z .rar .tar .jar .war .ear
    .class .pyc .pyo .pyd .so .dylib .dll .exe .o .a .lib .obj .bin .dat .db .sqlite .sqlite3 .parquet .arrow .feather
    .npy .npz .pkl .pickle .h5 .hdf5 .onnx .pt .pth .safetensors .gguf .model .wasm .beam .hi .rlib .rmeta .pdb .idb
    .doc .docx .xls .xlsx .ppt .pptx .odt .ods .key .numbers .pem .crt .cer .der .p12 .pfx .jks .keystore .gpg .sig
    .asc .map .snap .lock .sum .csv .tsv .jsonl .ndjson .geojson .log .diff .patch .orig .rej .swp .mo .po .pot
    .gitignore .treelineignore .gitattributes .gitmodules .dockerignore .npmignore .mailmap .ds_store
    .nib .strings .pbxproj .xcworkspacedata .typed .gitkeep .keep .min.js .min.css""".split()
)
LOCK_FILES = frozenset(
    """package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml composer.lock Gemfile.lock Cargo.lock poetry.lock
    uv.lock Pipfile.lock go.sum mix.lock pubspec.lock packages.lock.json flake.lock bun.lockb Podfile.lock
    Package.resolved gradle.lockfile .terraform.lock.hcl""".split()
)
# Bytes of a file that are read to detect its kind.
HEAD = 8_192
# MATLAB shares its suffix with Objective-C.
MATLAB_FILE = re.compile(rb"^[ \t]*(?:%|function\b|classdef\b)", re.MULTILINE)
OBJC_FILE = re.compile(
    rb"^[ \t]*(?:[@#](?:interface|implementation|protocol|class|import|include)\b|//|/\*)", re.MULTILINE
)
# DTrace scripts, DTrace providers, and the dependencies that C compilers write share their suffix with D.
NO_D_FILE = re.compile(
    rb"^#!.*\bdtrace\b|^[ \t]*(?:provider\s+\w+\s*\{|#pragma\s+D\s|[\w$*]*:[\w$*.]*:[\w$*.]*:[\w$*-]+|\S+\.l?o[ \t]*:)",
    re.MULTILINE,
)
OBJC_HEADER = re.compile(rb"^@(?:interface|protocol|class|import)\b|^#import\b", re.MULTILINE)
CPP_HEADER = re.compile(
    rb"\b(?:class|namespace|template|constexpr|public:|private:|virtual|using|typename)\b|std::|#include <\w+>"
)


@cache
def _files() -> dict[str, tuple[str, str]]:
    """Suffix or file name → language with its dialect, and the module of its grammar ('' for a format)."""
    files = {
        name: (language, module)
        for module, languages in PROGRAMS.items()
        for language, names in languages.items()
        for name in names.split()
    }
    files[".m"] = ("objc", "c_family")  # unless it says that it is MATLAB
    for language, (names, _) in FORMATS.items():
        for name in names.split():
            files.setdefault(name, (language, ""))
    return files


def _by_name(path: str) -> tuple[str, str] | None:
    """The entry of a file by its name alone."""
    files = _files()
    name = path[path.rfind("/") + 1 :]
    entry = files.get(name)
    if entry is None:
        entry = files.get(name[name.rfind(".") :].lower()) if "." in name else None
    if entry is None and (stem := name.partition(".")[0]) in ("Dockerfile", "Makefile", "Containerfile"):
        entry = files[stem]
    return entry


def may_be_read(path: str) -> bool:
    """Whether a file could be text, by its name. If the name says nothing, its content decides later."""
    name = path[path.rfind("/") + 1 :]
    return _by_name(path) is not None or name[name.rfind(".") :].lower() not in BINARY


def _entry(path: str, head: bytes = b"") -> tuple[str, str] | None:
    if not may_be_read(path) or path[path.rfind("/") + 1 :] in LOCK_FILES:
        return None
    entry = _by_name(path)
    if entry is not None:
        # C, C++ and Objective-C share `.h`: a header is one of the latter two if it has syntax that C lacks.
        if entry[0] == "cpp" and path.endswith(".h") and head:
            language = "objc" if OBJC_HEADER.search(head) else "cpp" if CPP_HEADER.search(head) else "c"
            return language, entry[1]
        if entry[0] == "objc" and path.endswith(".m") and MATLAB_FILE.search(head) and not OBJC_FILE.search(head):
            return "matlab", "scripting"
        if entry[0] == "d" and path.endswith(".d") and NO_D_FILE.search(head):
            return TEXT, ""
        return entry
    if head.startswith(b"#!") and (mark := SHEBANG.match(head)):
        language = INTERPRETERS.get(mark[1].decode().rstrip("0123456789"), "")
        entry = next((one for one in _files().values() if one[0] == language), None)
    if entry is None and head and not looks_binary(head):
        entry = (TEXT, "")
    return entry


def looks_binary(head: bytes) -> bool:
    """Whether bytes are not text: they have a zero byte, or are not UTF-8."""
    if b"\0" in head[:HEAD]:
        return True
    try:
        head[:HEAD].decode()
    except UnicodeDecodeError as wrong:
        return wrong.start < min(len(head), HEAD) - 4  # the cut may split a character
    return False


def language_of(path: str, head: bytes = b"") -> str | None:
    """The language or format of a file by its name, or by its first bytes if the name says nothing.

    None for files that are not read: binaries and lock files. Text of an unknown kind is `text`.
    """
    entry = _entry(path, head)
    return entry[0].partition(":")[0] if entry else None


def grammar_of(path: str, head: bytes = b"") -> Grammar | None:
    """The grammar that parses a file; None for files that are not read."""
    entry = _entry(path, head)
    return _grammar(*entry) if entry else None


@cache
def _grammar(language: str, module: str) -> Grammar:
    if not module:
        return Grammar(name=language, comments=FORMATS[language][1])
    name, _, dialect = language.partition(":")
    grammars: tuple[Grammar, ...] = import_module(f"treeline.ingest.parsers.languages.{module}").GRAMMARS
    return next(one for one in grammars if one.name == name and (not dialect or one.pack == dialect))


class _Lazy(Mapping[str, Grammar]):
    """Grammars by language or suffix, each loaded on first access."""

    def __init__(self, entries: Mapping[str, tuple[str, str]]) -> None:
        self._entries = entries

    def __getitem__(self, key: str) -> Grammar:
        return _grammar(*self._entries[key])

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@cache
def grammars() -> Mapping[str, Grammar]:
    """The grammar of each programming language by its name."""
    return _Lazy({name: (name, module) for module, names in PROGRAMS.items() for name in names if ":" not in name})


@cache
def by_suffix() -> Mapping[str, Grammar]:
    return _Lazy({name: entry for name, entry in _files().items() if name.startswith(".")})


def dialects(language: str) -> tuple[Grammar, ...]:
    """The grammars of a programming language; none of another."""
    return tuple(
        _grammar(name, module)
        for module, names in PROGRAMS.items()
        for name in names
        if name.partition(":")[0] == language
    )


def languages() -> tuple[str, ...]:
    """Every language and format by name."""
    return tuple(dict.fromkeys((*grammars(), *FORMATS)))
