"""
Course 4: the method in a hundred lines
=======================================

A spectral latent-variable PCFG is trained on trees and parses sentences, with nothing but NumPy.  Every step names
its equation in Cohen, Stratos, Collins, Foster and Ungar, "Spectral Learning of Latent-Variable PCFGs" (the long
version, called LP here).  The library does the same with sparse matrices, factored tensors and pruned charts; a test
compares both, tree by tree.

You know PCFGs: a rule a → b c has one probability, wherever the symbol a stands.  In a latent-variable PCFG every node
has a hidden state besides its symbol.  A rule has a probability t(h2, h3 | h1) for each state h1 of the parent and each
two states h2 and h3 of its children (LP, section 4).  No treebank has the states.  EM guesses them again and again.
The spectral method never asks for them.  It uses one fact: given a node's symbol and state, its *inside* (the tree
below it) says nothing more about its *outside* (the rest of the tree).

Run it with ``python docs/course_4_grammar.py``.
"""

# %%
# Training trees
# --------------
# A toy language hides something from its symbols.  ``of`` belongs to nouns and ``with`` to verbs, but both are a P in a
# PP: the state of a PP says where it belongs.  A plain PCFG can't know it.  A tree is ``(symbol, word)`` or
# ``(symbol, left, right)``; what follows the dot in a symbol below is the hidden part, which is cut off.

from collections import defaultdict
from itertools import combinations

import numpy as np

RULES = {
    "S": [(1.0, "NP VP")],
    "VP": [(0.65, "V NP"), (0.35, "VP PP.verb")],
    "NP": [(0.3, "she"), (0.4, "D N"), (0.3, "NP PP.noun")],
    "PP.verb": [(1.0, "P.verb NP")],
    "PP.noun": [(1.0, "P.noun NP")],
    "P.verb": [(0.7, "with"), (0.3, "in")],
    "P.noun": [(0.7, "of"), (0.3, "in")],
    "V": [(0.5, "saw"), (0.5, "liked")],
    "D": [(0.6, "the"), (0.4, "a")],
    "N": [(0.4, "dog"), (0.3, "park"), (0.3, "queen")],
}


def sample(rng, symbol="S"):
    """Draw a tree from the toy language."""
    shares, sides = zip(*RULES[symbol], strict=True)
    parts = sides[rng.choice(len(sides), p=shares)].split()
    label = symbol.partition(".")[0]
    return (label, *(sample(rng, part) if part in RULES else part for part in parts))


def words(tree):
    """List the words of a tree."""
    return [tree[1]] if isinstance(tree[1], str) else words(tree[1]) + words(tree[2])


rng = np.random.default_rng(0)
treebank = [sample(rng) for _ in range(3000)]
unseen = [tree for tree in (sample(rng) for _ in range(400)) if len(words(tree)) <= 12]

# %%
# Step 1: what can be seen of a node
# ----------------------------------
# φ describes the inside of a node by its own rule and the rules of its children, ψ the outside by the rules above and
# beside it (LP, section 7.1).  Each feature is a one in a long vector of zeros.


def rule(tree):
    """Name the rule at the top of a tree; None if there is no tree."""
    return tree and (tree[0], *(part if isinstance(part, str) else part[0] for part in tree[1:]))


def nodes(tree, above=None, further=None, beside=None, side=None):
    """List every node from the bottom up: its tree, its inside features, its outside features."""
    left, right = (None, None) if isinstance(tree[1], str) else tree[1:]
    inside = [rule(tree), rule(left), rule(right)]
    outside = [(side, rule(above)), (side, rule(further)), rule(beside)]
    below = [] if left is None else nodes(left, tree, above, right, "left") + nodes(right, tree, above, left, "right")
    return [*below, (tree, inside, outside)]


def vectors(rows):
    """Make a matrix with a row of zeros and ones for each list of features, and number its columns."""
    names = {feature: i for i, feature in enumerate(sorted({f for row in rows for f in enumerate(row)}, key=repr))}
    matrix = np.zeros((len(rows), len(names)))
    for i, row in enumerate(rows):
        matrix[i, [names[feature] for feature in enumerate(row)]] = 1.0
    return matrix


every_node = [node for tree in treebank for node in nodes(tree)]
of_symbol = defaultdict(list)
for number, (tree, _, _) in enumerate(every_node):
    of_symbol[tree[0]].append(number)

# %%
# Step 2: Ω and the projections
# -----------------------------
# Ω of a symbol is the mean of φ ψᵀ over its nodes (LP, Figure 8).  It says how often each inside feature meets each
# outside feature.  Given the state h, φ and ψ are independent, so that Ω is a sum with one term for each state:
#
#     | Ω = Σ_h p(h | a) E[φ | h] E[ψ | h]ᵀ
#
# p(h | a) is the share of the nodes that are in state h, and E[φ | h] the mean of φ over these.  The rank of Ω is
# therefore at most the number of states, however long the vectors are.  Its singular value decomposition U Σ Vᵀ,
# where Σ without an index is the diagonal matrix of singular values, shows the rank: there is one large singular
# value for each state, and the small ones are noise of the sample; those below 1/√n of the first, with n nodes, are
# dropped.  The columns of U that belong to large ones span all E[φ | h], and those of V all E[ψ | h].  Nothing that
# tells states apart is lost if a node keeps only its coordinates there, as many numbers as there are states.  These
# are its *projections* (LP, Figure 7, step 1):
#
#     | Y = Uᵀ φ
#     | Z = Σ⁻¹ Vᵀ ψ
#
# Σ⁻¹ makes the two fit together: the mean of Y Zᵀ over the nodes of a symbol is Uᵀ Ω V Σ⁻¹ = I, the identity matrix.
# (The paper has this inverse in equations 14 and 15 instead.)

STATES = 4
Y, Z, sigma = {}, {}, {}
for a, numbers in of_symbol.items():
    phi = vectors([every_node[number][1] for number in numbers])
    psi = vectors([every_node[number][2] for number in numbers])
    omega = phi.T @ psi / len(numbers)
    U, s, Vt = np.linalg.svd(omega)
    m = min(STATES, int((s > s[0] / np.sqrt(len(numbers))).sum()))
    sigma[a] = s[:m]
    y = phi @ U[:, :m]
    z = psi @ Vt[:m].T / s[:m]
    assert np.allclose(y.T @ z / len(numbers), np.eye(m))
    Y |= dict(zip(numbers, y, strict=True))
    Z |= dict(zip(numbers, z, strict=True))

# %%
# Step 3: the operators
# ---------------------
# The *operator* of a rule stands in the place of its probabilities.  It is a tensor C: the mean, over the nodes of
# symbol a, of the outer product ⊗ of the node's Z and each child's Y where the rule is used, and of zero where it is
# not.  c1 stands in the place of the probabilities of roots: it is the mean of Y over the roots.  One pass over the
# treebank computes them all (LP, equations 14, 15 and 16; Figure 7, steps 2 and 3).
#
# What has C to do with t(h2, h3 | h1)?  Let G be the matrix whose column h is E[Y | h], one G for each symbol.  Nobody
# knows G, since nobody sees states.  But Y and Z are independent given the state, as φ and ψ are, so that with enough
# trees:
#
#     | I = Σ_h p(h | a) E[Y | h] E[Z | h]ᵀ
#
# The vectors p(h | a) E[Z | h] are therefore the rows of G⁻¹.  (G has an inverse if no column is a weighted sum of the
# others: if the features tell the states apart.)  The operators are sums over states, too:
#
#     | C(a → b c) = Σ_h1,h2,h3  t(h2, h3 | h1) · row h1 of G⁻¹ of a ⊗ column h2 of G of b ⊗ column h3 of G of c
#     | C(a → x) = Σ_h  t(x | h) · row h of G⁻¹ of a
#     | c1(a) = Σ_h  p(a and h are at the root) · column h of G of a
#
# So C holds the probabilities t of its rule, in another basis of the space of states (LP, Theorem 2).

number_of = {id(tree): number for number, (tree, _, _) in enumerate(every_node)}


def estimate(Y, Z):
    """Compute C of every rule, (m_a, m_b, m_c) for a → b c and (m_a,) for a → x; and c1 (m_a,) of every symbol."""
    C, c1 = defaultdict(float), defaultdict(float)
    for number, (tree, _, _) in enumerate(every_node):
        product = Z[number] / len(of_symbol[tree[0]])
        if not isinstance(tree[1], str):
            left, right = (Y[number_of[id(child)]] for child in tree[1:])
            product = np.einsum("i,j,k->ijk", product, left, right)
        C[rule(tree)] = C[rule(tree)] + product
    for tree in treebank:
        c1[tree[0]] = c1[tree[0]] + Y[number_of[id(tree)]] / len(treebank)
    return C, c1


spectral = estimate(Y, Z)

# %%
# With ones for all projections the same means are relative frequencies: the plain PCFG is the case of one state.

ones = dict.fromkeys(Y, np.ones(1))
plain = estimate(ones, ones)

# %%
# Step 4: the probability of a tree
# ---------------------------------
# The inside algorithm, with an operator in the place of each rule's probability (LP, Figure 4).  If states were known,
# it would compute b(h), the probability of what is below a node in state h.  With operators it computes:
#
#     | α = Σ_h b(h) · row h of G⁻¹
#
# That is so above a word, by C(a → x).  Higher up, the columns of G in C meet the rows of G⁻¹ in the α of the children.
# G⁻¹ G = I leaves the sum over h2 and h3 by which b(h1) is computed.  At the root, c1 meets α, and the probability of
# the tree is left.  G has cancelled: nobody knows it, and nobody needs to (LP, Theorem 1).


def inside(C, tree):
    """Compute the vector α of a tree."""
    if isinstance(tree[1], str):
        return C[rule(tree)]
    return np.einsum("ijk,j,k->i", C[rule(tree)], inside(C, tree[1]), inside(C, tree[2]))


def probability(model, tree):
    """Estimate the probability of a tree and its words."""
    C, c1 = model
    return float(c1[tree[0]] @ inside(C, tree))


# %%
# Step 5: parsing
# ---------------
# The same recursion over all trees of a sentence gives α for every symbol over every part of it, and its mirror image
# gives β.  Then μ = α · β is the posterior of that symbol there, times the probability of the sentence (LP, Figure 5).
# The tree whose μ, taken by absolute value, have the largest sum is the parse (Goodman 1996).


def marginals(model, sentence):
    """Compute μ(i, j, a) of every symbol a over every part i ... j - 1 of a sentence."""
    C, c1 = model
    n, edges, alpha = len(sentence), [], defaultdict(float)
    for i, word in enumerate(sentence):
        alpha |= {(i, i + 1, r[0]): C[r] for r in C if r[1:] == (word,)}
    for i, k, j in sorted(combinations(range(n + 1), 3), key=lambda ikj: ikj[2] - ikj[0]):
        for a, b, c in [r for r in C if (i, k, r[1]) in alpha and (k, j, r[-1]) in alpha]:
            edges.append((i, k, j, a, b, c))
            alpha[i, j, a] += np.einsum("ijk,j,k->i", C[a, b, c], alpha[i, k, b], alpha[k, j, c])
    beta = {key: np.zeros(len(vector)) for key, vector in alpha.items()}
    beta |= {(0, n, a): vector for a, vector in c1.items() if (0, n, a) in alpha}
    for i, k, j, a, b, c in reversed(edges):  # the widest parts first
        down = np.einsum("ijk,i->jk", C[a, b, c], beta[i, j, a])
        beta[i, k, b] += down @ alpha[k, j, c]
        beta[k, j, c] += alpha[i, k, b] @ down
    return {key: float(alpha[key] @ beta[key]) for key in alpha if beta[key].any()}


def parse(model, sentence):
    """Find the tree of a sentence with the largest sum of |μ|."""
    mu, best = marginals(model, sentence), {}  # best[i, j] is a sum and its tree
    for i, j in sorted({key[:2] for key in mu}, key=lambda span: span[1] - span[0]):
        a = max((key[2] for key in mu if key[:2] == (i, j)), key=lambda a: abs(mu[i, j, a]))
        splits = [(best[i, k], best[k, j]) for k in range(i + 1, j) if (i, k) in best and (k, j) in best]
        parts = max(splits, key=lambda pair: pair[0][0] + pair[1][0]) if splits else [(0.0, sentence[i])]
        best[i, j] = (abs(mu[i, j, a]) + sum(part[0] for part in parts), (a, *(part[1] for part in parts)))
    return best[0, len(sentence)][1]


# %%
# What it has found
# -----------------
# A P and a PP have two large singular values: one for the symbol, and one for where it belongs.  Other symbols have
# one, and very small ones that are noise.  A plain PCFG cannot tell ``of`` from ``with``.  No parser can know where
# ``in`` belongs, so no parser is always right.

accuracy = {}
for name, model in (("plain", plain), ("spectral", spectral)):
    accuracy[name] = np.mean([tree == parse(model, words(tree)) for tree in unseen])
    print(f"{name:8}  {accuracy[name]:.1%} of {len(unseen)} new sentences have the right tree")
for a in sorted(sigma):
    print(f"{a:8}  singular values {sigma[a].round(2)}")

# %%
# In three sentences
# ------------------
# Ω counts which insides stand in which outsides; only the state connects the two, so that its rank is the number of
# states.  The projections Y and Z are coordinates of a node's inside and outside in the space that the singular vectors
# of Ω span.  The operators are means of products of projections: the probabilities of rules with states, in a basis
# that is unknown, and that cancels whenever rules make up a tree.
