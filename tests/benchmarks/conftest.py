"""The small index that the evaluation's tests have, too."""

from tests.eval.conftest import home, searcher, small_source

__all__ = ["home", "searcher", "small_source"]
