"""Print the project's dependencies, with those of the extras named in the first argument (separated by commas)."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = [name for name in "".join(sys.argv[1:]).split(",") if name]
print(*project["dependencies"], *(line for name in extras for line in project["optional-dependencies"][name]), sep="\n")
