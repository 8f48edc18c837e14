"""Files with private keys and tokens are in no index, in whatever kind of source, and are counted and listed."""

from __future__ import annotations

import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.corpus.test_secrets import TOKENS, private_key
from tests.ingest.loading import functions, loaded, project
from treeline.corpus.errors import InputError
from treeline.engine.embedded import EmbeddedStore
from treeline.ingest.project import find_project, refresh
from treeline.ingest.source import ReadOptions
from treeline.ingest.sources import open_source
from treeline.ingest.state import load_skipped
from treeline.search.settings import Settings
from treeline.service.projects import outline_of, reading_of

EVERYTHING = ReadOptions(include_tests=True)
SECRETS = {
    "keys/id_ed25519": "OPENSSH",
    "config/prod.env": "PASSWORD=correct horse",
    ".docker/config.json": '{"auths": {}}',
    "notes.txt": "the key of the server\n" + private_key(),
    "deploy.py": f"def deploy():\n    return '{TOKENS['GitHub']}'\n",
    "tests/fixture.yml": f"token: {TOKENS['GitLab']}\n",
}
FILES = SECRETS | {
    "main.py": "def main():\n    return 1\n",
    "pem.py": "def is_key(text):\n    return text.startswith('-----BEGIN PRIVATE KEY-----')\n",
}


def sources(tmp_path: Path) -> dict[str, str]:
    folder = project(tmp_path / "shop", FILES)
    with zipfile.ZipFile(tmp_path / "shop.zip", "w") as archive:
        for name, text in FILES.items():
            archive.writestr(f"shop/{name}", text)
    subprocess.run(["tar", "-czf", str(tmp_path / "shop.tar.gz"), "-C", str(tmp_path), "shop"], check=True)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q", "-b", "main"], ["add", "-f", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True)
    return {"folder": str(folder), "zip": f"{folder}.zip", "tar": f"{folder}.tar.gz", "git": f"file://{folder}"}


@pytest.mark.parametrize("kind", ["folder", "zip", "tar", "git"])
def test_no_kind_of_source_gives_them_away(kind: str, tmp_path: Path) -> None:
    options = replace(EVERYTHING, git_schemes=frozenset({"file"}), cache=tmp_path / "cache")
    spec = sources(tmp_path)[kind]
    source = open_source(spec, options)
    loaded(tmp_path / "home", spec, read=options)
    assert {one.path for one in functions(tmp_path / "home").values()} == {"main.py", "pem.py"}
    assert list(source.units())
    for unit in source.units():
        assert unit.digest
    everything = replace(options, index_secrets=True)
    loaded(tmp_path / "home", spec, read=everything)
    assert {one.path for one in functions(tmp_path / "home").values()} == {*FILES}


def test_they_are_counted_and_listed_again_with_each_load(tmp_path: Path) -> None:
    folder, home = project(tmp_path / "shop", FILES), tmp_path / "home"
    for _ in range(2):
        summary = loaded(home, folder, read=EVERYTHING)
        assert summary.passed_over == {"secret": len(SECRETS)}
        listed = load_skipped(home / ".loading", "small")
        assert listed == {str(folder): dict.fromkeys((f"secret: {path}" for path in SECRETS), 1)}


def test_a_project_counts_them_after_each_change(tmp_path: Path) -> None:
    folder, home = project(tmp_path / "shop", FILES), tmp_path / "home"
    store, found = EmbeddedStore(home), find_project(folder, home)
    listed = {f"secret: {path}" for path in SECRETS}
    for change in ("", "def other(): pass\n", "def again(): pass\n"):
        (folder / "main.py").write_text(FILES["main.py"] + change)
        done = refresh(found, store, home, encoders=("none",))
        assert done.skipped.keys() == listed
        assert done.skipped == load_skipped(home / ".loading", found.index)[str(folder)]
    (folder / "id_rsa").write_text("key")
    assert refresh(found, store, home, encoders=("none",)).skipped["secret: id_rsa"] == 1
    assert load_skipped(home / ".loading", found.index)[str(folder)]["secret: id_rsa"] == 1
    (folder / "deploy.py").write_text("def deploy():\n    return 1\n")
    assert "secret: deploy.py" not in refresh(found, store, home, encoders=("none",)).skipped


def test_an_outline_of_one_is_refused(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop", FILES)
    for path in (".docker/config.json", "notes.txt", "deploy.py", "tests/fixture.yml"):
        with pytest.raises(InputError, match="holds a secret"):
            outline_of(folder / path)
    assert outline_of(folder / "pem.py")


def test_a_setting_reads_them_all_the_same() -> None:
    assert not reading_of(Settings()).index_secrets
    assert reading_of(Settings(index_secrets=True)).index_secrets
