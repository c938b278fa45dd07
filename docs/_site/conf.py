"""Settings of the documentation site, which `make docs` builds into docs/_build/site."""

from pathlib import Path

from commands import reference
from docstrings import to_restructured_text
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from links import front_page, to_site
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

import spectral_latent

project = "spectral_latent"
author = "The spectral_latent developers"
release = spectral_latent.__version__
language = "en"
html_title = f"spectral_latent {release}"
html_theme = "furo"
html_theme_options = {"top_of_page_buttons": []}
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build", "_site", "GALLERY_HEADER.rst"]
templates_path = [str(Path(__file__).parent / "templates")]

html_math_renderer = "mathml"  # browsers draw it without a script
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4  # headings have the anchors that GitHub gives them

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

sphinx_gallery_conf = {
    "examples_dirs": ["."],  # the programs in docs, whose pages come to docs/tutorials
    "gallery_dirs": ["tutorials"],
    "within_subsection_order": "FileNameSortKey",
    "filename_pattern": "/",  # all are run
    "abort_on_example_error": True,
    "show_signature": False,
    "download_all_examples": False,
    "write_computation_times": False,
}


def _link_pages(app: Sphinx, page: str, text: list[str]) -> None:
    """Translate the links of a page in place; the front page is the README, and the tables of contents of its file."""
    readme = ""
    if page == "index":
        path = Path(app.srcdir, "../README.md")
        app.env.note_dependency(path)
        readme = path.read_text(encoding="utf-8")
    text[0] = front_page(readme) + to_site(text[0])


def _write_docstring(_app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Translate a docstring in place."""
    lines[:] = to_restructured_text(lines)


def _skip_member(_app: Sphinx, _what: str, name: str, value: object, _skip: bool, _options: object) -> bool | None:
    """Leave out the fields of named tuples, which their classes describe, and scikit-learn's requests of metadata."""
    is_field = (getattr(value, "__doc__", None) or "").startswith("Alias for field number")
    is_request = name.startswith("set_") and name.endswith("_request")
    return True if is_field or is_request else None


def _write_formula(writer: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula as MathML, on lines of its own if it is a block."""
    is_block = isinstance(node, nodes.math_block)
    formula = tex2mathml(node.astext(), as_block=is_block)
    writer.body.append(f'<div class="math">{formula}</div>' if is_block else formula)
    raise nodes.SkipNode


def _make_pages(app: Sphinx) -> None:
    """Write the page of all commands, and remove made pages whose rooms and programs are gone."""
    docs = Path(app.srcdir)
    (docs / "commands.md").write_text(reference(), encoding="utf-8")
    rooms = (docs / "api.md").read_text(encoding="utf-8").split()
    for page in [*docs.glob("api/*.rst"), *docs.glob("tutorials/*_*.rst")]:
        if page.stem not in rooms and not (docs / f"{page.stem}.py").exists():
            page.unlink()


def setup(app: Sphinx) -> None:
    """Register the translations, and the page that is made."""
    app.add_html_math_renderer("mathml", (_write_formula, None), (_write_formula, None))
    app.connect("builder-inited", _make_pages)
    app.connect("source-read", _link_pages)
    app.connect("autodoc-process-docstring", _write_docstring)
    app.connect("autodoc-skip-member", _skip_member)
