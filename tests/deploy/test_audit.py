"""The audit of dependencies says what it found, and says so when it could not look."""

import json
import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "audit"
VULNERABLE = {"id": "PYSEC-1", "fix_versions": ["9.9"], "aliases": [], "description": ""}
NOT_THERE = "Dependency not found on PyPI"


def audit(tmp_path: Path, dependencies: list[dict[str, object]] | None, code: int) -> subprocess.CompletedProcess[str]:
    """Run it with a stand-in for pip-audit, whose data only the internet has."""
    (tmp_path / "report.json").write_text(json.dumps({"dependencies": dependencies, "fixes": []}), encoding="utf-8")
    stand_in = tmp_path / "pip-audit"
    write = f'while [ "$1" != --output ]; do shift; done; cat {tmp_path}/report.json > "$2"' if dependencies else "true"
    stand_in.write_text(f"#!/bin/bash\n{write}\nexit {code}\n", encoding="utf-8")
    stand_in.chmod(0o755)
    environment = {**os.environ, "PIP_AUDIT": str(stand_in)}
    return subprocess.run([SCRIPT], env=environment, capture_output=True, text=True, timeout=240)


def test_a_vulnerability_fails_with_its_name_and_the_fix(tmp_path: Path) -> None:
    done = audit(tmp_path, [{"name": "flask", "version": "1.0", "vulns": [VULNERABLE]}], 1)
    assert done.returncode == 1
    assert "flask 1.0: PYSEC-1 (fixed in 9.9)" in done.stdout


def test_nothing_found_is_said(tmp_path: Path) -> None:
    done = audit(tmp_path, [{"name": "flask", "version": "3.0", "vulns": []}], 0)
    assert done.returncode == 0
    assert "no known vulnerabilities" in done.stdout


@pytest.mark.parametrize("reached", [False, True], ids=["no answer", "every package unknown"])
def test_without_data_nothing_passes(tmp_path: Path, reached: bool) -> None:
    unknown: list[dict[str, object]] = [{"name": f"p{n}", "skip_reason": NOT_THERE} for n in range(1_000)]
    done = audit(tmp_path, unknown if reached else None, 1)
    assert done.returncode == 3
    assert "NOT DONE" in done.stdout
    assert "no known vulnerabilities" not in done.stdout
