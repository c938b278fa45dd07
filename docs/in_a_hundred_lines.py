"""
The method in a hundred lines
=============================

A spectral latent-variable PCFG is learnt from trees, and parses sentences, with nothing but NumPy.  Every step names
its equation in Cohen, Stratos, Collins, Foster and Ungar, "Spectral Learning of Latent-Variable PCFGs" (the long
version, called LP here).  The library does the same with sparse matrices, factored tensors and pruned charts; a test
compares both, tree by tree.

You know PCFGs: a rule a → b c has one probability, wherever the symbol a stands.  In a latent-variable PCFG every node
has a hidden state besides its symbol, and a rule has a probability for each state (LP, section 4).  No treebank has the
states.  EM guesses them again and again.  The spectral method never asks for them.  It uses one fact: given a node's
symbol and state, its *inside* (the tree below it) says nothing more about its *outside* (the rest of the tree).

Run it with ``python docs/in_a_hundred_lines.py``.
"""

# %%
# Trees to learn from
# -------------------
# A toy language hides something from its symbols.  ``of`` belongs to nouns and ``with`` to verbs, but both are a P in a
# PP: the state of a PP says where it belongs.  A plain PCFG cannot know it.  A tree is ``(symbol, word)`` or
# ``(symbol, left, right)``; what follows the dot in a symbol below is the hidden part, which is cut off.

from collections import Counter, defaultdict

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
    if tree is None:
        return None
    return tree[0], *(part if isinstance(part, str) else part[0] for part in tree[1:])


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
# Ω^a is the mean of φ ψᵀ over the nodes of symbol a (LP, Figure 8).  Given the state, φ and ψ are independent, so that
# Ω^a = Σ_h p(h | a) E[φ | h] E[ψ | h]ᵀ: its rank is the number of states, however long the vectors are.  A singular
# value decomposition finds the space in which states differ, and drops all else.  Y = Uᵀφ and Z = (Σ^a)⁻¹ Vᵀψ are a
# node's inside and outside, projected to as many numbers as there are states (LP, Figure 7, step 1).  The matrix Σ^a of
# the paper holds the singular values; its inverse, which equations 14 and 15 need, is in Z already.

STATES = 4
Y, Z, sigma = {}, {}, {}
for a, numbers in of_symbol.items():
    phi = vectors([every_node[number][1] for number in numbers])
    psi = vectors([every_node[number][2] for number in numbers])
    omega = phi.T @ psi / len(numbers)
    U, s, Vt = np.linalg.svd(omega)
    m = min(STATES, int((s > 0.01 * s[0]).sum()))
    sigma[a] = s[:m]
    Y |= dict(zip(numbers, phi @ U[:, :m], strict=True))
    Z |= dict(zip(numbers, psi @ Vt[:m].T / s[:m], strict=True))

# %%
# Step 3: the operators
# ---------------------
# They are plain means of products of projections, one pass over the treebank (LP, equations 14, 15 and 16; Figure 7,
# steps 2 and 3).  In the place of a probability for each triple of states stands a tensor C.  It holds the same
# probabilities, but in another basis of the space of states, G^a = Uᵀ E[φ | h] (LP, Theorem 2).  Nobody knows this
# basis, and nobody needs to: in every sum over states G and its inverse meet and cancel (LP, Theorem 1).

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
# The inside algorithm, with a tensor in the place of each rule's probability (LP, Figure 4).


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
    binary = [r for r in C if len(r) == 3]
    n = len(sentence)
    spans = [(i, i + size) for size in range(1, n + 1) for i in range(n - size + 1)]
    alpha, beta = defaultdict(float), defaultdict(float)
    for i, j in spans:
        for r in [r for r in C if j == i + 1 and r[1:] == (sentence[i],)]:
            alpha[i, j, r[0]] = C[r]
        for a, b, c in binary:
            for k in range(i + 1, j):
                if (i, k, b) in alpha and (k, j, c) in alpha:
                    new = np.einsum("ijk,j,k->i", C[a, b, c], alpha[i, k, b], alpha[k, j, c])
                    alpha[i, j, a] = alpha[i, j, a] + new
    beta.update({(0, n, a): vector for a, vector in c1.items() if (0, n, a) in alpha})
    for i, j in reversed(spans):
        for a, b, c in binary:
            for k in range(i + 1, j) if (i, j, a) in beta else ():
                if (i, k, b) in alpha and (k, j, c) in alpha:
                    down = np.einsum("ijk,i->jk", C[a, b, c], beta[i, j, a])
                    beta[i, k, b] = beta[i, k, b] + down @ alpha[k, j, c]
                    beta[k, j, c] = beta[k, j, c] + alpha[i, k, b] @ down
    return {key: float(alpha[key] @ vector) for key, vector in beta.items()}


def parse(model, sentence):
    """Find the tree of a sentence with the largest sum of |μ|."""
    mu = marginals(model, sentence)
    best = {}  # (i, j): the sum and the tree
    for i, j in sorted({key[:2] for key in mu}, key=lambda span: span[1] - span[0]):
        a = max((key[2] for key in mu if key[:2] == (i, j)), key=lambda a: abs(mu[i, j, a]))
        splits = [(best[i, k], best[k, j]) for k in range(i + 1, j) if (i, k) in best and (k, j) in best]
        if j == i + 1:
            best[i, j] = (abs(mu[i, j, a]), (a, sentence[i]))
        elif splits:
            left, right = max(splits, key=lambda pair: pair[0][0] + pair[1][0])
            best[i, j] = (abs(mu[i, j, a]) + left[0] + right[0], (a, left[1], right[1]))
    return best[0, len(sentence)][1]


# %%
# What it has learnt
# ------------------
# A P and a PP have two large singular values: one for the symbol, and one for where it belongs.  Other symbols have
# one, and very small ones that are noise.  A plain PCFG cannot tell ``of`` from ``with``.  No parser can know where
# ``in`` belongs, so that no parser is always right.


def brackets(tree, start=0):
    """Count the parts of a tree with their symbols."""
    inner = Counter([(start, start + len(words(tree)), tree[0])])
    if not isinstance(tree[1], str):
        inner += brackets(tree[1], start) + brackets(tree[2], start + len(words(tree[1])))
    return inner


accuracy = {}
for name, model in (("plain", plain), ("spectral", spectral)):
    accuracy[name] = np.mean([brackets(tree) == brackets(parse(model, words(tree))) for tree in unseen])
    print(f"{name:8}  {accuracy[name]:.1%} of {len(unseen)} new sentences have the right tree")
for a in sorted(sigma):
    print(f"{a:8}  singular values {sigma[a].round(2)}")
