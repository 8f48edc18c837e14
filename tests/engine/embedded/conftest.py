from pathlib import Path

import pytest

from treeline.engine.embedded import EmbeddedStore


@pytest.fixture
def store(tmp_path: Path) -> EmbeddedStore:
    return EmbeddedStore(tmp_path)
