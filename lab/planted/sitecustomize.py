"""Changes modules in every Python process that a test starts; `lab/mutants.py` puts this folder on PYTHONPATH.

Python imports a module of this name at its start. The changed modules come from the file that `CODE` names; what their
probes reach is appended to the file that `NOTES` names, with the running test.
"""

from __future__ import annotations

import builtins
import marshal
import os
import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

# Not TREELINE_…: the service refuses settings that it does not know.
CODE, NOTES = "PLANTED_CODE", "PLANTED_NOTES"
PROBE = "__treeline_reached__"  # the built-in function that a probe calls
_open, _write, _close = os.open, os.write, os.close
_noted: set[tuple[str, str]] = set()


class Changed:
    """Finds and loads the changed modules: by name, their paths and their code."""

    def __init__(self, modules: dict[str, tuple[str, CodeType]]) -> None:
        self._modules = modules

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        if name not in self._modules:
            return None
        return spec_from_file_location(name, self._modules[name][0], loader=self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._modules[module.__name__][1], module.__dict__)  # noqa: S102 - runs the changed module


def note(key: str) -> None:
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]  # without its phase
    if test and (key, test) not in _noted:
        _noted.add((key, test))
        # With functions that no test replaces by failing ones; one write is appended whole beside others.
        file = _open(os.environ[NOTES], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        _write(file, f"{key}\t{test}\n".encode())
        _close(file)


def install() -> None:
    sys.meta_path.insert(0, Changed(marshal.loads(Path(os.environ[CODE]).read_bytes())))  # noqa: S302
    setattr(builtins, PROBE, note)


if os.environ.get(CODE):
    install()
