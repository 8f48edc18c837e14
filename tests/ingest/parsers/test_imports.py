"""What a file imports, in languages without a test file of their own: (module, name, name in this file)."""

from __future__ import annotations

import pytest

from tests.ingest.parsers.parsing import see

IMPORTS: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    ".kt": (
        "import a.b.Client\nimport a.c.*\nimport a.d.Sink as Out\nfun f() = 1\n",
        [("a.b", "Client", "Client"), ("a.c", "*", ""), ("a.d", "Sink", "Out")],
    ),
    ".rs": (
        "use std::fmt;\nuse crate::net::{Client, Server as Host};\nuse super::store::*;\nfn f() {}\n",
        [
            ("std", "fmt", "fmt"),
            ("crate.net", "Client", "Client"),
            ("crate.net", "Server", "Host"),
            ("super.store", "*", ""),
        ],
    ),
    ".cs": (
        "using System.Text;\nusing static System.Math;\nusing Json = Acme.Json.Reader;\nclass A { void F() {} }\n",
        [("System.Text", "*", ""), ("System.Math", "*", ""), ("Acme.Json.Reader", "", "Json")],
    ),
    ".scala": (
        "import a.b.Client\nimport a.c._\nimport a.d.{Sink, Source => In}\nobject A { def f() = 1 }\n",
        [("a.b", "Client", "Client"), ("a.c", "*", ""), ("a.d", "Sink", "Sink"), ("a.d", "Source", "In")],
    ),
    ".swift": (
        "import Foundation\nimport struct Acme.Client\nfunc f() {}\n",
        [("Foundation", "*", ""), ("Acme.Client", "*", "")],
    ),
    ".c": (
        '#include <stdio.h>\n#include "net/client.h"\nint f(void) { return 1; }\n',
        [("stdio.h", "", ""), ("./net/client.h", "", "")],
    ),
    ".dart": (
        "import 'dart:io';\nimport 'package:acme/client.dart' as net;\nimport 'src/a.dart' show A, B;\nvoid f() {}\n",
        [
            ("dart:io", "*", ""),
            ("package:acme/client.dart", "", "net"),
            ("src/a.dart", "A", "A"),
            ("src/a.dart", "B", "B"),
        ],
    ),
    ".ex": (
        "defmodule A do\n  alias Acme.Client\n  alias Acme.{Order, Net.Server}\n  alias Acme.Net.Pool, as: Workers\n"
        "  import Enum, only: [map: 2]\n  use GenServer\n  def f, do: 1\nend\n",
        [
            ("Acme.Client", "", "Client"),
            ("Acme.Order", "", "Order"),
            ("Acme.Net.Server", "", "Server"),
            ("Acme.Net.Pool", "", "Workers"),
            ("Enum", "*", ""),
            ("GenServer", "*", ""),
        ],
    ),
    ".hs": (
        "module A where\nimport Data.List\nimport qualified Data.Map as M\nf x = x\n",
        [("Data.List", "*", ""), ("Data.Map", "", "M")],
    ),
    ".lua": (
        "local json = require('json')\nlocal net = require \"acme.net\"\nfunction f() return 1 end\n",
        [("json", "", ""), ("acme.net", "", "")],
    ),
    ".m": ('#import "Client.h"\n@implementation A\n- (void)f {}\n@end\n', [("./Client.h", "", "")]),
    ".r": ("library(jsonlite)\nf <- function() 1\n", [("jsonlite", "*", "")]),
    ".sh": ("source ./lib/net.sh\nf() { :; }\n", [("./net.sh", "", "")]),
}


@pytest.mark.parametrize("suffix", IMPORTS)
def test_imports(suffix: str) -> None:
    source, expected = IMPORTS[suffix]
    assert see(suffix, source).imports == expected
