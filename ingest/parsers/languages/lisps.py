"""Lisps: Clojure, Emacs Lisp, Common Lisp, Scheme and Racket."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from treeline.ingest.parsers.comments import Comments, Doc, comment_above, leading_comment
from treeline.ingest.parsers.grammar import Grammar, nth, text_of

LISP = re.compile(
    r"\(\s*[^\s()]+\s+(?:\^(?:\{[^}]*\}|\S+)\s+)*['#]*\(?\s*(?:setf\s+)?\(?([^\s()\[\]\"']+)(?:\s+(:\S+)(?=\s*[\[(]))?"
)
# Forms whose value comes before the documentation.
LISP_VALUES = frozenset(
    "defvar defvar-local defcustom defconst defface defgroup defparameter defconstant defglobal defalias".split()
)
LISP_STRINGS = frozenset({"str_lit", "string"})
LISP_LISTS = frozenset({"list_lit", "list", "vec_lit", "vector", "quote", "quoting_lit"})
LISP_CLASSES = frozenset({"defclass", "defstruct", "define-condition", "cl-defstruct", "defgeneric", "defpackage"})
NEAR = 12_000  # bytes of a definition in which its documentation is looked for
DOC_OPTION = re.compile(r':doc(?:umentation)?\s+"((?:[^"\\]|\\.)*)"')


def _lisp_name(node: Node) -> str:
    text = (node.text or b"")[:400].decode("utf-8", "replace")
    match = LISP.match(text)
    if match is None:
        return ""
    # A method also has what it is chosen by: `(defmethod area :circle [shape] …)`.
    return f"{match[1]} {match[2]}" if match[2] and text[: match.start(1)].rstrip(" (").endswith("method") else match[1]


def _lisp_doc(node: Node, source: bytes) -> Doc:
    """The string where the form has its documentation, or the comment above."""
    string = _lisp_string(node)
    if string is not None:
        text = text_of(string).strip('"').replace('\\"', '"')
        return Doc(text.strip(), string.start_byte, string.end_byte)
    comment = comment_above(source, node.start_byte, SEMICOLONS)
    if comment.text:
        return comment
    # `(:documentation "…")` of a class, `^{:doc "…"}` of a name.
    match = DOC_OPTION.search((node.text or b"")[:NEAR].decode("utf-8", "replace"))
    if match and (node.type != "list_lit" or match.start() < 200 or _lisp_head(node) in LISP_CLASSES):
        return Doc(match[1].replace('\\"', '"'))
    return comment


def _lisp_head(node: Node) -> str:
    if node.type == "defun":
        header = nth(node, 0)
        return text_of(nth(header, 0))
    if node.type in ("function_definition", "macro_definition", "special_form"):
        return text_of(node.children[1])
    return text_of(nth(node, 0)).rpartition("/")[2]


def _lisp_string(node: Node) -> Node | None:
    """The documentation among the parts of a form."""
    head = _lisp_head(node)
    parts = [part for part in node.named_children[:8] if part.type != "comment"]
    if node.type == "special_form":
        parts.insert(0, node)
    if node.type in ("function_definition", "macro_definition"):
        return node.child_by_field_name("docstring")
    if node.type == "defun":
        return parts[1] if len(parts) > 2 and parts[1].type in LISP_STRINGS else None
    if head in LISP_VALUES:
        return parts[3] if len(parts) > 3 and parts[3].type in LISP_STRINGS else None
    if head.startswith("define") and len(parts) > 1 and parts[1].type not in LISP_LISTS and len(parts) < 4:
        return None  # `(define name "value")`
    lists = 0
    for at, part in enumerate(parts[2:], 2):
        if part.type in LISP_STRINGS:
            follows = parts[at + 1] if at + 1 < len(parts) else None
            is_last = follows is None and head in ("def", "defonce", "define")
            # `(define-derived-mode name parent "Name" "Documentation")`
            return None if is_last else follows if follows is not None and follows.type in LISP_STRINGS else part
        lists += part.type in LISP_LISTS
        if part.type == "vec_lit" or (lists > 1 and head not in LISP_CLASSES):
            break
    return None


def _scheme_functions(node: Node) -> Iterator[tuple[Node, str]]:
    if _lisp_head(node) != "define" or not _is_variable(node):
        yield node, _lisp_name(node)


def _scheme_constants(node: Node) -> Iterator[tuple[Node, str]]:
    if _is_variable(node):
        yield node, _lisp_name(node)


def _is_variable(node: Node) -> bool:
    """Whether `define` gives a name a value that is not a function."""
    name, value = nth(node, 1), nth(node, 2)
    is_function = value is not None and text_of(nth(value, 0)).endswith(("lambda", "λ"))
    return name is not None and name.type == "symbol" and not is_function


def _clojure_file_doc(root: Node, source: bytes) -> Doc:
    """The documentation of the namespace, or the comment at the top."""
    for form in root.named_children[:5]:
        if form.type == "list_lit" and text_of(nth(form, 0)) == "ns":
            doc = _lisp_doc(form, source)
            if doc.text:
                return Doc(doc.text)
    return Doc(leading_comment(source, SEMICOLONS))


def _first_line(node: Node) -> int:
    line = (node.text or b"").find(b"\n")
    return node.start_byte + line if line > 0 else 0


SEMICOLONS = Comments((b";",), None, re.compile(rb";;;###autoload"))


def _lisp(name: str) -> Grammar:
    is_scheme = name in ("scheme", "racket")
    return Grammar(
        name=name,
        name_of=_lisp_name,
        doc_of=_lisp_doc,
        file_doc_of=_clojure_file_doc if name == "clojure" else None,
        functions_of=_scheme_functions if is_scheme else None,
        constants_of=_scheme_constants if is_scheme else None,
        body_of=_first_line,
        comments=SEMICOLONS,
    )


GRAMMARS = tuple(map(_lisp, ("clojure", "elisp", "commonlisp", "scheme", "racket")))
