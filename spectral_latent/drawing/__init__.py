"""Draw trees and arcs as SVG, and scores, tags and posteriors as HTML, for notebooks and browsers."""

from spectral_latent.drawing.html import Html, captioned_html, tagged_html
from spectral_latent.drawing.svg import arcs_svg, escaped, readable, tree_svg

__all__ = [
    "Html",
    "arcs_svg",
    "captioned_html",
    "escaped",
    "readable",
    "tagged_html",
    "tree_svg",
]
