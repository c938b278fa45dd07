"""List all commands, and print their help, as the page of the site does."""

import importlib.util

from tests.documents import ROOT

_spec = importlib.util.spec_from_file_location("commands", ROOT / "docs/_site/commands.py")
assert _spec is not None and _spec.loader is not None
_page = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_page)

commands = _page.commands
help_of = _page.help_of
reference = _page.reference
