"""Print where the papers are computed and tested, from docstrings: `python -m tests.equations`.

A docstring cites a theorem, an equation, a figure, an algorithm, a table or a slide of one of the papers below.  The
cited paper is the last paper that the sentence, or the row of a table, names before the citation.  If there is none, it
is the first paper after the citation, or else the first paper that the module names.  Places of other papers do not
count.
"""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.documents import ROOT

FOLDERS = {"spectral_latent": "spectral_latent", "benchmarks/papers": "benchmarks"}  # and what names are relative to
PAPERS = {  # the words by which docstrings name each paper
    "long paper": r"[Ll]ong paper|[Ll]ong version|ACL 2012|Cohen et al\. \(?2012",
    "slides": r"[Ss]lides?\b|Cohen et al\. \(?2013",
    "Dhillon et al. 2012": r"Dhillon(?:, [A-Z]\w+)*(?: and [A-Z]\w+)?",
    "Stratos et al. 2016": r"Stratos et al|Stratos, Collins and Hsu",
}
OTHERS = r"[A-Z]\w+(?: et al\.| and [A-Z]\w+)?,? \(?(?:19|20)\d\d"
KINDS = "Theorem|Lemma|Figure|Equation|Algorithm|Table|Slide|Condition|Definition"
CITED = re.compile(rf"\b({KINDS})s? (\d+(?:\.\d)?(?:(?:, | and | or | to |-)\d+(?:\.\d)?)*)", re.IGNORECASE)
NAMED = re.compile("|".join([*(f"(?P<p{at}>{words})" for at, words in enumerate(PAPERS.values())), f"(?:{OTHERS})"]))
RULE = re.compile(r"(?<=[.;])\s+(?=[A-Z])")  # between sentences


class Claim(NamedTuple):
    """A place of a paper that the library computes, or measures.

    says: the content of the place in a few words.
    tests: the tests that check the place.
    """

    says: str
    tests: list[str]


def _sentences(docstring: str) -> Iterator[str]:
    """Divide a docstring into sentences and rows of tables."""
    for paragraph in docstring.split("\n\n"):
        rows = [line for line in paragraph.splitlines() if line.lstrip().startswith("|")]
        yield from rows or RULE.split(" ".join(paragraph.split()))


def _numbers(text: str) -> list[str]:
    """List the numbers of a citation, such as `4 to 6` or `1, 2 and 5`."""
    numbers: list[str] = []
    for part in re.split(r", | and | or ", text):
        first, *last = re.split(" to |-", part)
        numbers += map(str, range(int(first), int(last[0]) + 1)) if last else [first]
    return numbers


def _papers(text: str) -> list[str]:
    """List the papers that a text names; other papers are empty strings."""
    groups = [match.lastgroup for match in NAMED.finditer(text)]
    return [list(PAPERS)[int(group[1:])] if group else "" for group in groups]


def _cited(sentence: str, default: str) -> Iterator[tuple[str, str]]:
    """List the places that a sentence cites, each with its paper."""
    for match in CITED.finditer(sentence):
        kind = match[1].capitalize()
        before = _papers(sentence[: match.start()])
        after = _papers(sentence[match.end() :])
        paper = "slides" if kind == "Slide" else [default, *after[:1], *before][-1]
        if paper:
            yield from ((paper, f"{kind} {number}") for number in _numbers(match[2]))


CLAIMS = {
    (paper, place): Claim(says, tests)
    for paper, places in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
    for place, (says, *tests) in places.items()
}


@cache
def citations() -> dict[tuple[str, str], list[str]]:
    """List the functions, classes and modules whose docstrings cite each place of a paper."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    above = {path: ROOT / top for folder, top in FOLDERS.items() for path in sorted((ROOT / folder).rglob("*.py"))}
    for path, folder in above.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)]
        documented = [(node, ast.get_docstring(node)) for node in nodes]
        sentences = [(node, part) for node, text in documented if text for part in _sentences(text)]
        default = next((paper for _, part in sentences for paper in _papers(part) if paper), "")
        module = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        for node, part in sentences:
            name = module if isinstance(node, ast.Module) else f"{module}.{node.name}"
            for place in _cited(part, default):
                if name not in found[place]:
                    found[place].append(name)
    return dict(found)


def files_of_tests() -> dict[str, str]:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}
    return {name: file for file, text in texts.items() for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}


HEAD = "| place | content | in the code | tests |\n| --- | --- | --- | --- |\n"
BEGINNING = """\
# The table of equations

Each theorem, equation, figure, algorithm and table of the papers that the library computes: where it is in the code,
and which tests check it.

| name here | paper |
| --- | --- |
| long paper | Cohen et al. (2012), "Spectral Learning of Latent-Variable PCFGs", long version |
| slides | Cohen et al. (2013), "Experiments with Spectral Learning of Latent-Variable PCFGs" |
| Dhillon et al. 2012 | "Spectral Dependency Parsing with Latent Variables" |
| Stratos et al. 2016 | "Unsupervised Part-Of-Speech Tagging with Anchor Hidden Markov Models" |

The ACL version of Cohen et al. (2012) has the same results for factored rules; it is a special case
(`test_the_acl_papers_model_is_a_special_case`). Equations 1 to 13 of the long paper define the
model and its sums, and are in Figures 2 to 5; equations 22 to 34 are steps of proofs.
"""


def reference() -> str:
    found = citations()
    parts = [BEGINNING]
    for paper in PAPERS:
        parts.append(f"\n## {paper[0].upper()}{paper[1:]}\n\n{HEAD}")
        for (named, place), claim in CLAIMS.items():
            if named == paper:
                code = ", ".join(f"`{name}`" for name in found.get((named, place), []))
                tests = ", ".join(f"`{test}`" for test in claim.tests)
                parts.append(f"| {place} | {claim.says} | {code} | {tests} |\n")
    return "".join(parts)


if __name__ == "__main__":
    print(reference())
