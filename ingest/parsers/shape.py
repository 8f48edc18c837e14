"""Reads the shape of a function from its parse tree, as the terms of `corpus/analysis.py`.

One table of node types serves every language: a language's query gets the patterns of those types that its grammar
has. The parser hands over what they capture as marks, and the calls that it looks up for the call graph anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Language

from treeline.corpus import analysis

LOOP, YIELD, AWAIT, RAISE, CATCH = "shape.loop", "shape.yield", "shape.await", "shape.raise", "shape.catch"
WITH, BRANCH, RETURN, CREATION, REGEX = "shape.with", "shape.branch", "shape.return", "shape.made", "shape.regex"
DECORATOR = "shape.decorator"
NODE_TYPES: dict[str, str] = {
    LOOP: """for_statement while_statement do_statement for_in_statement enhanced_for_statement foreach_statement
        for_range_loop for_expression while_expression loop_expression repeat_while_statement repeat_statement
        do_while_statement do_while_expression c_style_for_statement for_loop while_loop loop_statement
        do_loop_statement ForStatement WhileStatement""",
    YIELD: "yield yield_expression yield_statement co_yield_statement yield_each_statement",
    AWAIT: "await await_expression co_await_expression async_block",
    RAISE: "raise_statement raise_expression throw_statement throw_expression throw_expression_without_cascade",
    CATCH: """except_clause except_group_clause catch_clause catch_block rescue rescue_modifier rescue_block
        exception_handler catch_statement except_branch""",
    WITH: "with_statement using_statement try_with_resources_statement defer_statement defer",
    BRANCH: """if_statement elif_clause else_if_clause elseif_statement if_expression conditional_expression
        ternary_expression conditional if unless elsif if_modifier unless_modifier guard_statement switch_case
        case_clause case_statement switch_section switch_entry switch_rule switch_block_statement_group when_entry when
        match_arm match_case expression_case type_case communication_case IfStatement SwitchProng""",
    RETURN: "return_statement return_expression return",
    CREATION: "lambda lambda_expression function_expression arrow_function func_literal closure_expression",
    REGEX: "regex regex_literal",
    DECORATOR: "decorator annotation marker_annotation attribute_item attribute_list",
}
# Types that mean something else in a language, or nothing that is asked for.
OTHERWISE: dict[str, frozenset[str]] = {
    "ruby": frozenset({"yield"}),  # calls the block
    "java": frozenset({"yield_statement"}),  # gives a switch its value
    "swift": frozenset({"do_statement"}),  # the block of a `catch`
    "lua": frozenset({"do_statement"}),
    "julia": frozenset({"using_statement"}),
    "odin": frozenset({"using_statement"}),
    "d": frozenset({"if", "with_statement"}),
    "vhdl": frozenset({"if", "return", "loop_statement"}),
    **dict.fromkeys(("javascript", "typescript", "vue", "svelte", "astro"), frozenset({"with_statement"})),
}
# What has no node type of its own.
MORE: dict[str, str] = {
    "ruby": f"""(call method: (identifier) @_each block: (_)
        (#match? @_each "^(each|times|upto|downto|step|loop|map|flat_map|select|reject|inject|reduce)")) @{LOOP}""",
    "kotlin": f'(jump_expression "throw") @{RAISE} (jump_expression "return") @{RETURN}',
    "swift": f"""(control_transfer_statement (throw_keyword)) @{RAISE}
        (control_transfer_statement "return") @{RETURN}""",
}
CAPTURES = tuple(NODE_TYPES)
# Languages whose functions branch by clauses or patterns.
CLAUSES = frozenset({"haskell", "elixir", "erlang", "ocaml", "fsharp", "scala", "gleam", "elm", "clojure"})
# Where a name may have several definitions, which differ in their parameters.
OVERLOADING = frozenset({"java", "csharp", "kotlin", "swift", "cpp", "scala", "dart"})
# Where a method calls itself by `self` or `this`; elsewhere a bare name does it too.
EXPLICIT = frozenset({"python", "javascript", "typescript", "php", "go", "rust", "vue", "svelte", "astro", "lua"})
SELVES = ("self.", "this.", "cls.", "$this.", "Self.", "static.")
COMPLEX = 10  # decisions; McCabe's limit
SOON = 0.5  # of a function: a return before that is early
NEAR = 12  # bytes from a `return` to what it returns
MOST_MARKS = 1_000  # of one function; generated ones have more, and some are compared pair by pair
MOST_TEXT = 200  # bytes read of a statement
MOST_ARGUMENTS = 2_000  # bytes
BRACKETS = re.compile(rb"[-=]>|[()\[\]{}<>,]|[^\s()\[\]{}<>,]")
OPENING, CLOSING = (b"(", b"[", b"{"), (b")", b"]", b"}")

RAISE_NAME = re.compile(r"(?:raise|throw)!?[ \t(]+(?:new\s+)?([A-Za-z_$\\][\w.:$\\]*)")
CAUGHT_HEAD = re.compile(r"(?:except|catch|rescue)\b\*?\s*([^{\n]*)")
CAUGHT_TYPE = re.compile(r"[A-Za-z_][\w.]*(?:::\w+)*")
DECORATES = re.compile(r"(?:@|#!?\[|\[)\s*(?:\w+:\s*)?([A-Za-z_][\w.:]*)")
PARTS = re.compile(r"[.:\\$]+")
FAULT = re.compile(r"\w+(?:error|exception)")
ASYNC_HEADS = {
    **dict.fromkeys(("python", "javascript", "typescript", "rust", "csharp", "vue", "svelte", "astro"), rb"\basync\b"),
    "kotlin": rb"\bsuspend\s+fun\b",
    "swift": rb"\)\s*async\b",
    "dart": rb"\)\s*async\b",
}
WRITE_MODE = re.compile(
    rb"[\"'][rbt]*[wax+][rbt+]*[\"']|O_WRONLY|O_RDWR|O_CREATE|mode\.write|FileMode\.(?:Create|Append)"
)
TRYING = re.compile(
    rb"retr(?:y|ies)|back_?off|max_?(?:attempts|tries)|\b(?:attempt|tries)\b\s*(?:in\b|:=|[<+-])", re.IGNORECASE
)

# Bare names in lower case, or a receiver's last part and a name.
CALLS: dict[str, str] = {
    **dict.fromkeys(
        """filereader fileinputstream streamreader ifstream std.ifstream files.lines files.readstring
        files.newbufferedreader file.read file.readlines file.foreach file.openread ioutil.readall fgets fread fgetcsv
        file_get_contents readfile os.readfile""".split(),
        analysis.READS_FILE,
    ),
    **dict.fromkeys(
        """filewriter fileoutputstream streamwriter ofstream std.ofstream files.write files.writestring
        files.newbufferedwriter file.write file.create os.create os.writefile fs.write fputs fwrite fputcsv
        file_put_contents""".split(),
        analysis.WRITES_FILE,
    ),
    **dict.fromkeys(
        """requests.get requests.post requests.put requests.delete requests.patch requests.request requests.head urlopen
        request.urlopen fetch axios axios.get axios.post http.get http.post http.newrequest http.newrequestwithcontext
        client.do http.request https.get https.request curl_exec reqwest.get httpx.get httpx.post http.start""".split(),
        analysis.NETWORK,
    ),
    **dict.fromkeys(
        """subprocess.run subprocess.popen subprocess.call subprocess.check_call subprocess.check_output popen os.system
        os.popen exec.command exec.commandcontext spawn child_process.exec child_process.spawn process.start
        runtime.exec shell_exec proc_open command.new open3.capture3 open3.capture2 processbuilder""".split(),
        analysis.PROCESS,
    ),
    **dict.fromkeys(
        """re.compile re.match re.search re.sub re.subn re.findall re.finditer re.fullmatch re.split regexp.mustcompile
        regexp.compile regexp.matchstring regexp preg_match preg_match_all preg_replace preg_replace_callback preg_split
        pattern.compile pattern.matches regex.new regex.match regex.replace regex.ismatch regex regexp.new std.regex
        std.regex_match std.regex_search std.regex_replace""".split(),
        analysis.REGEX,
    ),
}
# On any receiver.
METHODS: dict[str, str] = {
    **dict.fromkeys(
        "read_text read_bytes readfilesync readlines readalltext readallbytes readalllines createreadstream".split(),
        analysis.READS_FILE,
    ),
    **dict.fromkeys(
        """write_text write_bytes writefilesync appendfile appendfilesync writealltext writeallbytes writealllines
        createwritestream writefile""".split(),
        analysis.WRITES_FILE,
    ),
    **dict.fromkeys("getasync postasync sendasync".split(), analysis.NETWORK),
    **dict.fromkeys(
        "execsync execfilesync spawnsync create_subprocess_exec create_subprocess_shell".split(), analysis.PROCESS
    ),
}
OPENS = frozenset({"open", "io.open", "codecs.open", "gzip.open", "bz2.open", "path.open", "fopen", "os.open",
                   "os.openfile", "file.open", "aiofiles.open"})  # fmt: skip
WAITS = frozenset({"sleep", "usleep", "delay", "settimeout", "wait", "after"})
RAISING = frozenset({"raise", "panic", "panic!", "fail"})  # calls, in Ruby, Go, Rust and Elixir
CONTEXTS = frozenset({"contextmanager", "asynccontextmanager"})


def patterns(language: Language, name: str) -> str:
    """The query of a language's shapes: the node types that its grammar has."""
    left_out = OTHERWISE.get(name, frozenset())
    result = []
    for capture, types in NODE_TYPES.items():
        known = [kind for kind in types.split() if kind not in left_out and language.id_for_node_kind(kind, True)]
        if known:
            result.append(f"[{' '.join(f'({kind})' for kind in known)}] @{capture}")
    return "\n".join((*result, MORE.get(name, "")))


@dataclass(slots=True)
class Marks:
    """The contents of one function, in file order: spans of statements, calls, functions inside it."""

    language: str
    name: str
    source: bytes
    start: int
    end: int
    body: int = 0
    is_method: bool = False
    spans: list[tuple[str, int, int]] = field(default_factory=list)
    calls: list[tuple[str, int, int]] = field(default_factory=list)
    inner: list[tuple[str, int, int]] = field(default_factory=list)

    def terms(self) -> str:
        """Its shape terms, for a whitespace analyser."""
        return " ".join(dict.fromkeys(self._terms()))

    def _terms(self) -> Iterator[str]:
        by_kind: dict[str, list[tuple[int, int]]] = {}
        for kind, start, end in self.spans[:MOST_MARKS]:
            by_kind.setdefault(kind, []).append((start, end))
        loops, catches = by_kind.get(LOOP, []), by_kind.get(CATCH, [])
        depth = _depth(loops)
        if depth > 1:
            yield analysis.NESTED_LOOPS
        if depth > 2:
            yield analysis.TRIPLE_LOOPS
        if YIELD in by_kind:
            yield analysis.GENERATOR
        head = ASYNC_HEADS.get(self.language)
        if AWAIT in by_kind or (head and re.search(head, self.source[self.start : self.body or self.end][:MOST_TEXT])):
            yield analysis.ASYNC
        if WITH in by_kind:
            yield analysis.CONTEXT
        if REGEX in by_kind:
            yield analysis.REGEX
        branches, returns = by_kind.get(BRANCH, []), by_kind.get(RETURN, [])
        if len(branches) + len(loops) + len(catches) >= COMPLEX:
            yield analysis.COMPLEX
        if branches and returns and self._returns_early(branches, returns):
            yield analysis.EARLY_RETURN
        if self._makes_functions(returns, by_kind.get(CREATION, [])):
            yield analysis.DECORATOR
        yield from self._names(by_kind)
        ends = bool(branches or loops or catches or self.language in CLAUSES)
        yield from self._call_signs(loops, catches, ends)

    def _returns_early(self, branches: list[tuple[int, int]], returns: list[tuple[int, int]]) -> bool:
        soon = self.start + SOON * (self.end - self.start)
        first = returns[0]
        return first[0] < soon and any(start < first[0] and first[1] <= end < soon for start, end in branches)

    def _makes_functions(self, returns: list[tuple[int, int]], creations: list[tuple[int, int]]) -> bool:
        if any(start <= inner[0] <= start + NEAR for start, _ in returns for inner in creations):
            return True
        inner_names = {name.encode() for name, _, _ in self.inner}
        values = (self.source[start:end].removeprefix(b"return").strip(b" ();\n") for start, end in returns)
        return not inner_names.isdisjoint(values)

    def _names(self, by_kind: dict[str, list[tuple[int, int]]]) -> Iterator[str]:
        """The names of raised and caught errors and of decorators."""
        for start, end in by_kind.get(RAISE, ()):
            yield analysis.RAISES
            if match := RAISE_NAME.match(self._read(start, end)):
                yield from _fault(analysis.RAISES, match[1])
        for start, end in by_kind.get(CATCH, ()):
            yield analysis.CATCHES
            if head := CAUGHT_HEAD.search(self._read(start, end)):
                for name in CAUGHT_TYPE.findall(head[1]):
                    yield from _fault(analysis.CATCHES, name)
        for start, end in by_kind.get(DECORATOR, ()):
            if match := DECORATES.match(self._read(start, end)):
                yield analysis.DECORATED
                name = _last(match[1])
                yield analysis.about(analysis.DECORATED, name)
                if name in CONTEXTS:
                    yield analysis.CONTEXT

    def _call_signs(self, loops: list[tuple[int, int]], catches: list[tuple[int, int]], ends: bool) -> Iterator[str]:
        """Signs from the calls: recursion (only of a function that can end it), input, output, retries."""
        own = self.name.rpartition(".")[2]
        owner = self.name.rpartition(".")[0].rpartition(".")[2]
        inner = {name: (start, end) for name, start, end in self.inner}
        waits: list[int] = []
        for name, start, end in self.calls:
            receiver, _, last = name.rpartition(".")
            itself = ends and last == own and self._own(receiver, owner) and self._same_arity(end)
            if itself or (not receiver and last in inner and inner[last][0] < start < inner[last][1]):
                yield analysis.RECURSION
            low = last.lower()
            two = f"{receiver.rpartition('.')[2].lower()}.{low}" if receiver else low
            if two in OPENS:
                line = self.source[end : end + MOST_TEXT].partition(b"\n")[0]
                yield analysis.WRITES_FILE if WRITE_MODE.search(line) else analysis.READS_FILE
            elif (sign := CALLS.get(two) or METHODS.get(low)) is not None:
                yield sign
            elif low in WAITS:
                waits.append(start)
            elif low in RAISING and not receiver:
                yield analysis.RAISES
                if low in ("raise", "fail") and (said := RAISE_NAME.match("raise" + self._read(end, end + MOST_TEXT))):
                    yield from _fault(analysis.RAISES, said[1])
        for start, end in loops:
            signs = any(start < first < end for first, _ in catches) + any(start < first < end for first in waits)
            if signs and (signs > 1 or TRYING.search(self.source, start, end)):
                yield analysis.RETRIES
                break

    def _own(self, receiver: str, owner: str) -> bool:
        """Whether a call of its own name on this receiver is a call of itself."""
        if not receiver:
            return not (self.is_method and self.language in EXPLICIT)
        return f"{receiver}." in SELVES or receiver == owner

    def _same_arity(self, call: int) -> bool:
        """Whether a call has as many arguments as the function has parameters; else it calls an overload."""
        if self.language not in OVERLOADING:
            return True
        own = self.name.rpartition(".")[2].encode()
        head = self.source.find(own, self.start, self.body or self.end)
        head = self.source.find(b"(", max(head, self.start), self.body or self.end)
        return head >= 0 and _arity(self.source, head, generic=True) == _arity(self.source, call)

    def _read(self, start: int, end: int) -> str:
        return _text(self.source[start : min(end, start + MOST_TEXT)])


def _last(name: str) -> str:
    """The last part of a name, however it is qualified."""
    return PARTS.split(name.strip(".:\\"))[-1]


def _fault(term: str, name: str) -> Iterator[str]:
    """The term for a kind of error; none for a variable that holds one."""
    last = _last(name)
    if last[:1].isupper() or FAULT.fullmatch(last):
        yield analysis.about(term, last)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _arity(source: bytes, at: int, *, generic: bool = False) -> int:
    """The number of arguments that the brackets at this byte hold; -1 if there are none or they are long.

    Between parameters `<` opens a generic type, between arguments it compares.
    """
    if source[at : at + 1] != b"(":
        return -1
    depth, count, some = 0, 0, False
    for sign in BRACKETS.finditer(source, at, at + MOST_ARGUMENTS):
        name = sign[0]
        depth += (name in OPENING) - (name in CLOSING)
        if generic:
            depth += (name == b"<") - (name == b">")
        if depth == 0:
            return count + some
        some = some or (depth > 0 and sign.start() > at)
        count += name == b"," and depth == 1
    return -1


def _depth(spans: list[tuple[int, int]]) -> int:
    """The depth to which these spans are nested."""
    deepest, around = 0, list[int]()
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while around and around[-1] <= start:
            around.pop()
        around.append(end)
        deepest = max(deepest, len(around))
    return deepest
