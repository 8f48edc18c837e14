"""Print the dependencies on other projects, with those of the extras in the first argument (separated by commas)."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
optional = project["optional-dependencies"]
extras = [name for name in "".join(sys.argv[1:]).split(",") if name]
if "all" in extras:  # names the others
    extras = re.findall(r"[\w-]+", optional["all"][0].partition("[")[2])
lines = [*project["dependencies"], *(line for name in extras for line in optional[name])]
print(*(line for line in lines if not line.startswith("treeline-")), sep="\n")  # ours come from the checkout
