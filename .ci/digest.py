"""Print a digest of what the tests with the lowest versions depend on: requirements and compiled functions."""

import hashlib
import re
from pathlib import Path

sources = sorted(Path("spectral_latent").rglob("*.py"))
compiled = [
    path for path in sources if re.search(r"^ *@(njit|compiled|pass_part)", path.read_text("utf-8"), re.MULTILINE)
]
digest = hashlib.sha256()
for path in [Path("pyproject.toml"), Path(".ci/lowest.py"), Path("spectral_latent/_compiled.py"), *compiled]:
    digest.update(f"{path.as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
print(digest.hexdigest())
