"""API keys are kept as hashes, checked whole, and worthless once revoked."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from treeline.corpus.errors import InputError
from treeline.search.settings import Settings
from treeline.service.cli.keys import keys as command
from treeline.service.http.keys import ApiKey, KeyFileDamaged, KeyRing, no_key_yet


def test_a_new_key_is_recognised_with_its_scopes(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    found = ring.check(ring.create("agent", ["read"]))
    assert found is not None
    assert (found.name, found.allows("read"), found.allows("write")) == ("agent", True, False)


def test_whoever_may_write_may_read() -> None:
    assert ApiKey("1", "x", ("write",), "", "").allows("read")


def test_the_file_holds_no_secret_and_is_its_owners_alone(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    secret = ring.create("agent", ["write"]).split("_", 2)[2]
    assert secret not in ring.path.read_text(encoding="utf-8")
    assert ring.path.stat().st_mode & 0o077 == 0


def test_a_key_with_another_id_or_one_letter_changed_is_refused(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    key, other = ring.create("a", ["read"]), ring.create("b", ["read"])
    assert ring.check(key[:-1] + ("A" if key[-1] != "A" else "B")) is None
    assert ring.check(f"tl_{other.split('_')[1]}_{key.split('_', 2)[2]}") is None


@given(st.text())
def test_no_made_up_text_is_a_key(text: str) -> None:
    ring = KeyRing(Path("/nonexistent/keys.json"))
    ring._keys = {"": ApiKey("", "empty", ("write",), "", "")}
    assert ring.check(text) is None


def test_a_revoked_key_is_refused_by_a_running_service_at_once(tmp_path: Path) -> None:
    running, console = KeyRing(tmp_path / "keys.json"), KeyRing(tmp_path / "keys.json")
    key = console.create("agent", ["read"])
    assert running.check(key)
    console.revoke(key.split("_")[1])
    assert running.check(key) is None


def test_keys_made_at_once_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "home" / "keys.json"
    with ThreadPoolExecutor(8) as pool:  # each with a ring of its own, as processes have
        made = list(pool.map(lambda number: KeyRing(path).create(f"key {number}", ["read"]), range(40)))
    ring = KeyRing(path)
    assert all(map(ring.check, made)) and len(ring.all()) == 40
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: KeyRing(path).revoke(key.split("_")[1]), made[:20]))
    assert not any(map(ring.check, made[:20])) and all(map(ring.check, made[20:]))


def test_a_broken_key_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text("[{}]", encoding="utf-8")
    with pytest.raises(InputError, match=r"keys\.json is not a key file"):
        KeyRing(tmp_path / "keys.json").all()


def test_the_command_makes_lists_and_revokes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_HOME", str(tmp_path))
    run = CliRunner().invoke
    key = run(command, ["create", "ci", "--scope", "write"]).stdout.strip()
    assert KeyRing(tmp_path / ".keys.json").check(key)
    [row] = json.loads(run(command, ["list", "--json"]).stdout)
    assert (row["name"], row["scopes"], "digest" in row) == ("ci", ["write"], False)
    assert run(command, ["revoke", row["id"]]).exit_code == 0
    assert KeyRing(tmp_path / ".keys.json").check(key) is None


@pytest.mark.parametrize(
    "damage",
    [
        b"{",
        b"[1]",
        b'[{"id": "00000000"}]',
        b"\xff\xfe",
        b'[{"id": 1, "name": 2, "scopes": 3, "digest": 4, "created": 5}]',
    ],
    ids=["cut", "numbers", "fields missing", "bytes", "types"],
)
def test_a_damaged_key_file_refuses_keys_and_serves_the_others(tmp_path: Path, damage: bytes) -> None:
    ring = KeyRing(tmp_path / "keys.json")
    key = ring.create("laptop", ["read"])
    ring.path.write_bytes(damage)
    with pytest.raises(KeyFileDamaged, match="is not a key file"):
        ring.check(key)
    assert "no API key is accepted" in no_key_yet(
        Settings(home=str(tmp_path), key_file=str(ring.path), keys_required="all")
    )
