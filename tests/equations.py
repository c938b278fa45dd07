"""Print where the papers are computed and tested, from docstrings: `python -m tests.equations`.

A docstring cites a theorem, an equation, a figure, an algorithm, a table or a slide of one of the papers below.  The
cited paper is the last paper that the sentence, or the row of a table, names before the citation.  If there is none, it
is the first paper after the citation, or else the first paper that the module names.  Places of other papers do not
count.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.documents import ROOT

__all__ = ["CLAIMS", "Claim", "citations", "files_of_tests", "reference"]

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
    tests: tuple[str, ...]


def _claim(says: str, *tests: str) -> Claim:
    return Claim(says, tests)


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


_LONG = "long paper"
_DHILLON = "Dhillon et al. 2012"
_STRATOS = "Stratos et al. 2016"
_EXACT = "test_theorem_2_exact_moments_give_exact_probabilities"
_SEEN_THROUGH = "test_theorem_2_the_operators_are_the_model_in_the_basis_of_the_projections"
_SUMS = "test_figures_2_and_3_are_sums_over_states_and_trees"
_STEPS = ("test_every_step_of_the_slides_is_a_model", "test_steps_add_one_thing_each")
_SHARES = "test_anchors_and_shares_by_hand"
_CLOSED = "test_corners_and_mixtures_give_the_model_back"
CLAIMS = {
    (_LONG, "Theorem 1"): _claim(
        "any invertible change of basis leaves all probabilities and marginals as they are",
        "test_theorem_1_invertible_maps_change_nothing",
    ),
    (_LONG, "Theorem 2"): _claim(
        "from exact moments the operators give exact probabilities",
        "test_theorem_2_exact_moments_give_exact_probabilities",
        "test_theorem_2_the_operators_are_the_model_in_the_basis_of_the_projections",
    ),
    (_LONG, "Theorem 3"): _claim(
        "from M examples the error falls as 1/√M",
        "test_errors_fall_with_the_root_of_the_sample",
    ),
    (_LONG, "Lemma 1"): _claim(
        "the singular vectors of Ω satisfy condition 2", "test_lemma_1_singular_vectors_satisfy_condition_2"
    ),
    (_LONG, "Condition 1"): _claim(
        "I and J have the rank of the states", "test_states_that_are_alike_or_never_reached_are_dropped_without_loss"
    ),
    (_LONG, "Condition 2"): _claim(
        "Uᵀ I and Vᵀ J are invertible", "test_features_that_tell_no_states_apart_leave_the_plain_grammar"
    ),
    **{
        (_LONG, f"Equation {number}"): _claim(says, "test_projections_are_those_of_the_dense_formulas", _EXACT)
        for number, says in ((14, "C of a → b c"), (15, "c∞ of a → x"), (16, "c¹ of a root"))
    },
    **{
        (_LONG, f"Equation {number}"): _claim(says, _SEEN_THROUGH)
        for number, says in (
            (17, "the mean of z ⊗ y₂ ⊗ y₃ at binary rules"),
            (18, "the mean of z at leaf rules"),
            (19, "Σ = G diag(γ) Kᵀ"),
            (20, "c¹ = G π"),
        )
    },
    (_LONG, "Equation 21"): _claim("Ω = I diag(γ) Jᵀ", "test_lemma_1_singular_vectors_satisfy_condition_2"),
    (_LONG, "Figure 2"): _claim("the probability of an s-tree, with states", _SUMS),
    (_LONG, "Figure 3"): _claim("inside and outside with states", _SUMS),
    (_LONG, "Figure 4"): _claim(
        "the probability of an s-tree, by tensors", "test_figures_2_and_4_equal_the_sum_over_hidden_states"
    ),
    (_LONG, "Figure 5"): _claim(
        "inside, outside and marginals, by tensors", "test_forests_sum_over_all_trees_and_hidden_states"
    ),
    (_LONG, "Figure 7"): _claim(
        "the spectral learning algorithm", _EXACT, "test_where_all_weights_are_one_the_library_estimates_the_same"
    ),
    (_LONG, "Figure 8"): _claim(
        "singular value decompositions of Ω", "test_projections_are_those_of_the_dense_formulas"
    ),
    ("slides", "Slide 18"): _claim("features of inside trees", "test_templates_tell_apart_what_recursion_tells_apart"),
    ("slides", "Slide 19"): _claim("features of outside trees", "test_templates_tell_apart_what_recursion_tells_apart"),
    ("slides", "Slide 20"): _claim("F1 out of the box: marginals with their signs", *_STEPS),
    ("slides", "Slide 21"): _claim("negative marginals", "test_tree_weights_are_sums_over_hidden_states"),
    ("slides", "Slide 22"): _claim("F1 with absolute values of marginals", *_STEPS),
    ("slides", "Slide 23"): _claim(
        "scaling of features", "test_projections_are_those_of_the_dense_formulas", _STEPS[1]
    ),
    ("slides", "Slide 24"): _claim("F1 with scaling", *_STEPS),
    ("slides", "Slide 25"): _claim("smoothing", "test_binary_operators_back_off_as_slide_25_says"),
    **{
        ("slides", f"Slide {number}"): _claim(says, *_STEPS)
        for number, says in (
            (16, "F1 of the plain PCFG and of EM"),
            (26, "F1 with smoothing"),
            (27, "F1 of EM and spectral learning, by states"),
            (28, "F1 with simple features, and of annotation"),
            (31, "F1 of the hybrid of moments and EM"),
        )
    },
    (_DHILLON, "Algorithm 1"): _claim(
        "operators of dependency trees", "test_estimates_are_those_of_algorithm_1_in_loops"
    ),
    (_DHILLON, "Table 1"): _claim("reranking by log p̂", "test_table_1_of_dhillon2012"),
    (_STRATOS, "Definition 3.2"): _claim("Brown models: every word has one state", _SHARES),
    (_STRATOS, "Condition 4.1"): _claim("every state has an anchor", _SHARES),
    (_STRATOS, "Theorem 4.1"): _claim("the estimator is consistent", _CLOSED),
    (_STRATOS, "Equation 1"): _claim("mixtures of corners", "test_distances_are_those_of_enumeration"),
    (_STRATOS, "Equation 3"): _claim(
        "rows are mixtures of those of anchors", "test_rows_of_features_are_means_over_the_nodes_that_have_them"
    ),
    **{
        (_STRATOS, f"Equation {number}"): _claim(says, _CLOSED)
        for number, says in ((4, "π̄ = O u, the shares of states"), (5, "O by Bayes' rule"), (6, "π = O⁺ u₁"), (7, "T"))
    },
    **{
        (_STRATOS, f"Equation {number}"): _claim(says, "test_steps_climb_to_the_optimum")
        for number, says in ((8, "the constrained fit of π"), (9, "the constrained fit of T"))
    },
    (_STRATOS, "Figure 1"): _claim("greedy choice of anchors", "test_anchors_are_the_corners_of_the_hull"),
    (_STRATOS, "Figure 2"): _claim("the learning algorithm", _CLOSED),
    (_STRATOS, "Figure 3"): _claim("constructions of the hull", "test_rows_are_those_of_dense_decompositions"),
    (_STRATOS, "Table 1"): _claim("accuracy by construction of the hull", "test_stratos2016"),
    (_STRATOS, "Table 2"): _claim("accuracy by method", "test_stratos2016"),
    (_STRATOS, "Table 3"): _claim("anchors of each state", "test_every_state_has_an_anchor_that_no_other_emits"),
    (_STRATOS, "Table 4"): _claim("likeliest words of each state", "test_top_words_are_the_likeliest_of_each_state"),
    (_STRATOS, "Table 5"): _claim("how well the assumptions hold", _SHARES),
    (_STRATOS, "Table 6"): _claim("log-likelihood by method", "test_likelihood_by_enumeration"),
    (_STRATOS, "Table 7"): _claim("accuracy by fine tags", "test_table_7_has_the_tags_of_the_corpus"),
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
    """Find the file of each test function."""
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
    """Write the table."""
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
