"""Print the lowest version of every dependency that pyproject.toml allows, as pip takes them."""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
print(*(requirement.replace(">=", "==") for requirement in project["dependencies"]))
