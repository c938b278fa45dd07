"""The notation of latent grammars."""

import pytest

from benchmarks.toy import WrittenGrammar, parse_grammar
from spectral_latent.constituency import PhraseSymbol

WORDS = "NP[#] : it/they\nVP[#] VP|VB[#] : sleeps/sleep runs/run\n"


def weight(grammar: WrittenGrammar, *names: str) -> float:
    """The probability of a rule of three names, or of a name and a word."""
    symbols, states = zip(*(grammar.states[name] for name in names if name in grammar.states), strict=True)
    operators = grammar.operators
    if len(symbols) == 3:
        tensors = dict(zip(map(tuple, operators.rules.binary.tolist()), operators.binary, strict=True))
        return float(tensors[symbols].to_dense()[states])
    row = operators.rules.leaf.tolist().index([*symbols, grammar.words.index(names[1])])
    return float(operators.leaf[row, states[0]])


def test_symbols_and_states() -> None:
    grammar = parse_grammar(f"S -> NP[#] @S[#] 1\n@S[#] -> VP|VB[#] VP[#] 1\n{WORDS}")
    assert grammar.labels == [
        PhraseSymbol(("S",)),
        PhraseSymbol(("S",), bar=True),
        PhraseSymbol(("NP",)),
        PhraseSymbol(("VP",)),
        PhraseSymbol(("VP", "VB")),
    ]
    assert grammar.operators.states.tolist() == [1, 2, 2, 2, 2]
    assert grammar.states["@S[sg]"] == (1, 0) and grammar.states["VP|VB[pl]"] == (4, 1)
    assert grammar.operators.root.tolist() == [[1.0, 0.0], *[[0.0, 0.0]] * 4]
    assert grammar.operators.probabilities


def test_weights_sum_to_one_over_rules_and_words() -> None:
    grammar = parse_grammar(f"S -> NP[#] VP[#] 3/2\nS -> NP[sg] VP|VB[sg] 5\n{WORDS}")
    assert weight(grammar, "S", "NP[sg]", "VP[sg]") == pytest.approx(0.3)
    assert weight(grammar, "S", "NP[pl]", "VP[pl]") == pytest.approx(0.2)
    assert weight(grammar, "S", "NP[sg]", "VP|VB[sg]") == pytest.approx(0.5)
    assert weight(grammar, "VP[pl]", "sleep") == pytest.approx(6**3 / (5**3 + 6**3))
    assert weight(grammar, "VP|VB[pl]", "run") == pytest.approx(5**3 / (5**3 + 6**3))
    assert weight(grammar, "NP[sg]", "it") == 1.0


def test_names_in_small_letters_leave_no_node() -> None:
    grammar = parse_grammar(
        f"S -> subject[#] VP[#] 1\nsubject[#] -> NP[#] 3\nsubject[#] -> other[#] 1\nother[#] -> VP|VB[#] 1\n{WORDS}"
    )
    assert "subject[sg]" not in grammar.states
    assert weight(grammar, "S", "NP[pl]", "VP[pl]") == pytest.approx(0.5 * 0.75)
    assert weight(grammar, "S", "VP|VB[pl]", "VP[pl]") == pytest.approx(0.5 * 0.25)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S NP VP 1", "neither a rule"),
        ("S :", "neither a rule"),
        ("S -> A B", "could not convert"),
        ("S -> A B 1\nA : x", "no rules and no words for B"),
        ("S -> A 1\nA : x", "two children: S -> A"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_grammar(text)
