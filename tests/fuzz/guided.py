"""Change texts of a format so that they reach new branches of its reader, as atheris finds them, until one fails.

Needs the package atheris.  Further options are those of libFuzzer, such as -runs=100000.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> int:
    """Run libFuzzer, which ends the process; for all formats, a process for each, until one fails."""
    import atheris  # here, because only an environment of its own has it

    with atheris.instrument_imports(include=["spectral_latent.corpora", "spectral_latent.constituency"]):
        from tests.fuzz import texts

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("--format", choices=texts.FORMATS, help="all if none is given")
    given, options = parser.parse_known_args()
    if given.format is None:
        for form in texts.FORMATS:
            print(form, flush=True)
            subprocess.run([sys.executable, "-m", "tests.fuzz.guided", "--format", form, *options], check=True)
        return 0
    with tempfile.TemporaryDirectory(prefix="spectral-latent-guided-") as folder:
        Path(folder, "begin").write_text(texts.FORMATS[given.format].text, encoding="utf-8")
        atheris.Setup(["guided", *options, folder], lambda content: texts.check_content(given.format, content))
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
