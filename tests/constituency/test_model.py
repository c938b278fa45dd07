"""The constituency model from end to end."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.constituency import (
    FALLBACK,
    Binarisation,
    ConstituencyModel,
    ConstituencyOptions,
    Constituent,
    Phrase,
    PhraseConstraints,
    clean,
    prepare,
    preset,
    unknown_phrase,
)
from spectral_latent.constituency.features import FeatureSet
from spectral_latent.corpora import constituency_trees, parse_brackets
from spectral_latent.estimation import EstimationError, EstimatorOptions
from spectral_latent.evaluation import GoldTree, evaluate_parser, score_brackets
from spectral_latent.files import ModelFileError, load_model, save_model
from spectral_latent.grammar import Limits
from spectral_latent.lexicon import WordEncoder
from spectral_latent.model import Partial
from tests.streams import Watch, make_shards

SENTENCES = """
(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .))
(S (NP (DT the) (NNS dogs)) (VP (VBP see) (NP (DT the) (NNS cats)) (PP (IN with) (NP (NNS telescopes)))) (. .))
(S (NP (PRP it)) (VP (VBZ sleeps) (PP (IN in) (NP (NP (DT the) (NN house)) (PP (IN of) (NP (NNP Mary)))))) (. .))
(S (NP (NNP Mary)) (VP (VBZ sleeps)) (. .))
(S (NP (NNP John)) (VP (VBZ sees) (NP (NP (NNP Mary)) (PP (IN of) (NP (DT the) (NN house))))) (. .))
(NP (NN silence))
(FRAG (NP (NNP John)) (. .))
"""


UNSEEN = ("Anna", "walks", "in", "the", "garden", "of", "Berta", ".")
AMBIGUOUS = ("Mary", "sleeps", "in", "the", "house", "of", "John", "of", "Mary", "of", "Mary", ".")


@pytest.fixture(scope="module")
def trees() -> list[Phrase]:
    return list(parse_brackets(SENTENCES * 5))


@pytest.fixture(scope="module")
def model(trees: list[Phrase]) -> ConstituencyModel:
    return ConstituencyModel.train(trees, ConstituencyOptions(estimator=EstimatorOptions(n_states=4)))


def test_training_sentences_are_parsed_as_seen(model: ConstituencyModel, trees: list[Phrase]) -> None:
    for tree in trees[:7]:
        assert model.parse(list(tree.words())).tree == tree


@settings(max_examples=50)
@given(
    words=st.lists(
        st.sampled_from(["the", "dog", "(", "Zürich", "東京", "3.14", "-", "\x00", "a b"]), min_size=1, max_size=7
    )
)
def test_every_sentence_gets_a_tree_over_its_words(model: ConstituencyModel, words: list[str]) -> None:
    parse = model.parse(words)
    assert list(parse.tree.words()) == words
    assert parse.is_fallback == (parse.tree.label == FALLBACK) <= (parse.log == -np.inf)


def test_a_sentence_beyond_the_grammar_is_a_marked_flat_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = ConstituencyModel.train(parse_brackets("(S (A a) (B b))" * 3))
    encode = WordEncoder.encode
    encoded = []

    def counting(self: WordEncoder, sentences: Any, tags: Any = None) -> Any:
        encoded.extend(sentences)
        return encode(self, sentences, tags)

    monkeypatch.setattr(WordEncoder, "encode", counting)
    parse = alone.parse(["b", "a", "b"])
    assert parse.is_fallback and parse.sign == 0
    assert parse.tree.bracketed() == "(FALLBACK (B b) (A a) (B b))"
    assert encoded == [("b", "a", "b")] * len(alone.members)  # each word is looked up once in a grammar


def test_k_best_trees_differ_and_begin_with_the_best(model: ConstituencyModel) -> None:
    words = list(AMBIGUOUS)
    parses = model.parse_nbest(words, 20)
    assert len({parse.tree for parse in parses}) == len(parses) > 1
    assert parses[0] == model.parse(words)


@pytest.mark.parametrize("sentence", [AMBIGUOUS, UNSEEN])
def test_scores_of_parses_are_scores_of_their_trees(model: ConstituencyModel, sentence: tuple[str, ...]) -> None:
    words = list(sentence)
    parses = model.parse_nbest(words, 10)
    weight = model.score(parse.tree for parse in parses)
    np.testing.assert_allclose(weight.log, [parse.log for parse in parses], rtol=1e-9)
    np.testing.assert_array_equal(weight.sign, [parse.sign for parse in parses])


def test_posteriors_are_sums_over_trees() -> None:
    """By enumeration of the trees of the grammar, which has two for some sentences."""
    options = ConstituencyOptions(
        estimator=EstimatorOptions("clusters-em", n_states=2), threshold=0.0, beam=0.0, fragments=0.0
    )
    model = ConstituencyModel.train(parse_brackets("(S (A a) (S (A a) (A a))) (S (S (A a) (A a)) (A a))"), options)
    right, left = parse_brackets("(S (A a) (S (A a) (A a))) (S (S (A a) (A a)) (A a))")
    share = np.exp(model.score([right, left]).log)
    share /= share.sum()
    found = model.posteriors(["a", "a", "a"])
    assert found[Constituent(0, 3, "S", False)] == pytest.approx(1.0)
    assert found[Constituent(1, 3, "S", False)] == pytest.approx(share[0])
    assert found[Constituent(0, 2, "S", False)] == pytest.approx(share[1])
    assert all(found[Constituent(at, at + 1, "A", True)] == pytest.approx(1.0) for at in range(3))
    (row,) = model.part_posteriors([right])
    assert sorted(row) == pytest.approx(sorted([1.0, 1.0, 1.0, 1.0, share[0]]))


def test_probabilities_of_sentences_are_sums_over_trees() -> None:
    """By enumeration, and the mean over grammars; of the second grammar's sentence there is no tree."""
    exact = ConstituencyOptions(
        estimator=EstimatorOptions("clusters-em", n_states=2), threshold=0.0, beam=0.0, fragments=0.0, rows=0.0
    )
    both = "(S (A a) (S (A a) (A a))) (S (S (A a) (A a)) (A a))"
    one = ConstituencyModel.train(parse_brackets(both), exact)
    two = ConstituencyModel.train(parse_brackets("(S (A a) (S (A a) (A a))) (S (A b) (A b))"), exact)
    trees = list(parse_brackets(both))
    of_one, of_two = (np.exp(model.score(trees).log).sum() for model in (one, two))
    np.testing.assert_allclose(one.log_probabilities([["a"] * 3]), np.log([of_one]))
    mean = ConstituencyModel((*one.members, *two.members))
    np.testing.assert_allclose(mean.log_probabilities([["a"] * 3]), np.log([(of_one + of_two) / 2]))
    assert one.log_probabilities([]).shape == (0,)
    with pytest.raises(ValueError, match="an empty sentence"):
        one.log_probabilities([[]])


def test_a_sentence_without_a_positive_estimate_has_no_logarithm(model: ConstituencyModel) -> None:
    """Neither one that nothing derives."""
    (member,) = model.members
    operators = member.operators
    turned = ConstituencyModel((member.with_operators(replace(operators, root=-operators.root)),))
    sentence = ["Mary", "sleeps", "."]
    assert np.isfinite(model.log_probabilities([sentence])).all()
    assert turned.log_probabilities([sentence]).tolist() == [-np.inf]
    alone = ConstituencyModel.train(parse_brackets("(S (A a) (B b))" * 3))
    assert alone.log_probabilities([["b", "a", "b"]]).tolist() == [-np.inf]


def test_trees_are_cleaned_for_posteriors_as_for_scores(model: ConstituencyModel, trees: list[Phrase]) -> None:
    """A top bracket, function labels and empty elements change nothing."""
    plain = trees[3]
    (annotated,) = parse_brackets(
        "(S1 (S (NP-SBJ-1 (NNP Mary)) (NP (-NONE- *T*-2)) (VP (VBZ sleeps) (NP-TMP (-NONE- *-1))) (. .)))"
    )
    assert clean(annotated) == plain
    expected, found = model.part_posteriors([plain, annotated])
    assert expected.min() > 0.0
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(EstimationError, match="tree 2 has no words"):
        model.part_posteriors([plain, Phrase("S", (Phrase("-NONE-", ("*",)),))])


def test_posteriors_are_of_the_words_that_a_tree_has(model: ConstituencyModel, trees: list[Phrase]) -> None:
    """An empty element for one parser may be a word for another."""
    (longer,) = parse_brackets("(S (NP (NNP Mary)) (VP (VBZ sleeps) (NP (NN *sigh*))) (. .))")
    alone = [model.part_posteriors([tree])[0].tolist() for tree in (trees[3], longer)]
    assert [row.tolist() for row in model.part_posteriors([trees[3], longer])] == alone
    assert model.part_posteriors([]) == []


def test_a_tree_with_labels_never_seen_or_chains_of_them_has_weight_zero(model: ConstituencyModel) -> None:
    weight = model.score(parse_brackets("(S (PP (. .)) (. .)) (NEW (NN dog) (NN dog)) (NP (NN silence))"))
    np.testing.assert_array_equal(weight.sign, [0, 0, 1])
    assert np.isneginf(weight.log[:2]).all()


@pytest.mark.parametrize("n", [1, 3, 50])
def test_a_tree_of_one_phrase_has_its_weight_as_often_as_it_is_asked_for(model: ConstituencyModel, n: int) -> None:
    tree = Phrase("NN", ("cat",))
    one, many = model.score([tree]), model.score([tree] * n)
    assert (many.sign.tolist(), many.log.tolist()) == (one.sign.tolist() * n, one.log.tolist() * n)


def test_one_state_scores_are_the_plain_grammars(trees: list[Phrase]) -> None:
    options = ConstituencyOptions(estimator=EstimatorOptions(n_states=1, smoothing=None))
    model = ConstituencyModel.train(trees, options)
    (grammar,) = model.members
    plain = ConstituencyModel((grammar.with_operators(grammar.coarse),))
    for tree in trees[:7]:
        assert plain.score([tree]).sign[0] == 1


MEMBERS = [
    ConstituencyOptions(estimator=EstimatorOptions("clusters-em", n_states=3, iterations=2, rank=2)),
    ConstituencyOptions(estimator=EstimatorOptions("clustering", n_states=3), binarisation=Binarisation("last")),
    ConstituencyOptions(estimator=EstimatorOptions("em", n_states=2, iterations=2)),
    ConstituencyOptions(estimator=EstimatorOptions("spectral", n_states=3), features="simple"),
    ConstituencyOptions(estimator=EstimatorOptions("pivots", n_states=2)),
    ConstituencyOptions(estimator=EstimatorOptions("pivots-em", n_states=2, iterations=1)),
]


def test_shards_are_learnt_as_the_whole_is(trees: list[Phrase], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ConstituencyModel.train(iter(trees), MEMBERS)
    make_shards(monkeypatch, 40, in_files=True)
    shards = ConstituencyModel.train(iter(trees), MEMBERS)
    for ours, theirs in zip(shards.members, whole.members, strict=True):
        assert ours.symbols == theirs.symbols and ours.tags == theirs.tags
        np.testing.assert_array_equal(ours.operators.states, theirs.operators.states)
        np.testing.assert_array_equal(ours.coarse.leaf, theirs.coarse.leaf)
        np.testing.assert_array_equal(ours.seen, theirs.seen)
        np.testing.assert_array_equal(ours.prior, theirs.prior)
    np.testing.assert_allclose(shards.score(trees[:7]).log, whole.score(trees[:7]).log, rtol=1e-6)
    for words in (AMBIGUOUS, UNSEEN):
        assert shards.parse(words).tree == whole.parse(words).tree


def test_a_treebank_is_read_once_and_what_members_have_in_common_is_learnt_once(trees: list[Phrase]) -> None:
    read: list[Phrase] = []

    def stream() -> Iterator[Phrase]:
        for tree in trees:
            read.append(tree)
            yield tree

    model = ConstituencyModel.train(stream(), MEMBERS)
    assert read == trees and model.members[0].options == MEMBERS[0]
    assert len({id(member.lexicon) for member in model.members}) == 1
    assert model.members[0].symbols is model.members[2].symbols is not model.members[1].symbols


def test_a_treebank_that_is_read_is_not_held(trees: list[Phrase], monkeypatch: pytest.MonkeyPatch) -> None:
    """The phrases of a shard are made binary, for all grammars, and then let go."""
    watch = Watch()
    make_shards(monkeypatch, 60, in_files=False)
    model = ConstituencyModel.train(watch.stream(trees * 4), MEMBERS[:2])
    assert watch.read == 4 * len(trees) and watch.most <= 10
    assert model.members[0].prior.sum() == pytest.approx(1.0)


def test_models_are_learnt_alike_in_memory_in_files_and_by_several_jobs(
    trees: list[Phrase], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*, in_files: bool = True, jobs: int = 1) -> bytes:
        make_shards(monkeypatch, 150, in_files=in_files)
        ConstituencyModel.train(iter(trees), MEMBERS, jobs=jobs).save(tmp_path / "model")
        return (tmp_path / "model").read_bytes()

    in_memory = train(in_files=False)
    assert train() == in_memory
    assert train(jobs=2) == in_memory
    assert train(in_files=False, jobs=2) == in_memory


@pytest.mark.parametrize("features", ["simple", "all"])
def test_features_and_counts_do_not_depend_on_shards(
    trees: list[Phrase], features: FeatureSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a shard numbers means the same in all: put together, shards are the columns of the whole."""
    options = ConstituencyOptions(features=features)
    (whole,) = prepare(trees, [options])
    make_shards(monkeypatch, 40, in_files=True)
    (parts,) = prepare(trees, [options])
    shards, (shard,) = parts.treebank.shards, whole.treebank.shards
    assert len(shards) > 5
    for name in ("symbol", "terminal"):
        joined = np.concatenate([getattr(part.trees, name) for part in shards])
        np.testing.assert_array_equal(joined, getattr(shard.trees, name))
    for side in ("inside", "outside"):
        joined = np.concatenate([getattr(part.features, side) for part in shards])
        np.testing.assert_array_equal(joined, getattr(shard.features, side))
    assert parts.treebank.counts.rules.equals(whole.treebank.counts.rules)
    np.testing.assert_array_equal(parts.treebank.counts.binary.data, whole.treebank.counts.binary.data)
    np.testing.assert_array_equal(parts.treebank.counts.leaf, whole.treebank.counts.leaf)
    np.testing.assert_array_equal(parts.treebank.counts.root, whole.treebank.counts.root)


def test_all_sentences_are_parsed_as_each_one(model: ConstituencyModel, trees: list[Phrase]) -> None:
    sentences = [*(list(tree.words()) for tree in trees), [], list(UNSEEN), list(AMBIGUOUS), ["dog", "dog", "dog"]]
    for k in (1, 3):
        expected = [model.parse_nbest(words, k) if words else [] for words in sentences]
        for jobs in (1, 2):
            assert list(model.parse_all(iter(sentences), k, jobs=jobs)) == expected
    assert [parses[0] for parses in model.parse_all(sentences[:9])] == [model.parse(words) for words in sentences[:9]]
    assert list(model.parse_all([], jobs=2)) == []
    for scored, alone in zip(model.parse_all(sentences, 3), model.parse_all(sentences, 3, scored=False), strict=True):
        assert [(parse.tree, parse.is_fallback) for parse in alone] == [(one.tree, one.is_fallback) for one in scored]
        assert all(parse.is_fallback or (parse.sign == 0 and np.isnan(parse.log)) for parse in alone)
    for none in (sentences, []):
        with pytest.raises(ValueError, match="n_best must be an integer of at least 1, not 0"):
            model.parse_all(none, 0, jobs=2)


def test_parts_that_do_not_fit_are_refused(model: ConstituencyModel) -> None:
    (grammar,) = model.members
    for change in (
        {"symbols": grammar.symbols[:-1]},
        {"tags": grammar.tags[:-1]},
        {"tags": [*grammar.tags[:-1], "NEW"]},
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            replace(grammar, **change)


def test_sentences_do_not_depend_on_their_batch(model: ConstituencyModel) -> None:
    """Two grammars give up sentences of different lengths, and some sentences have constraints."""
    (member,) = model.members
    both = ConstituencyModel(tuple(member.with_limits(Limits(max_words=most)) for most in (1, 3)))
    every = [unknown_phrase(("dog",) * n) for n in (5, 4, 5, 2, 4, 3, 5, 1)]
    every += [Partial(("dog",) * n, PhraseConstraints([(0, min(n, 2))], [(1, 3)][: n // 3])) for n in (5, 3, 2, 1)]
    with pytest.warns(RuntimeWarning, match="its limit, and has no parse"):
        for of_batch in (every[:8], every[::-1]):
            alone = [both.parse_nbest(words, 2, constraints=constraints) for words, constraints in of_batch]
            assert list(both.parse_all(of_batch, 2)) == alone
            assert {parses[0].is_fallback for parses in alone} == {False, True}


def test_bad_requests_are_refused(model: ConstituencyModel) -> None:
    with pytest.raises(ValueError, match="empty sentence"):
        model.parse([])
    with pytest.raises(ValueError, match="n_best must be an integer of at least 1"):
        model.parse_nbest(["a"], 0)
    with pytest.raises(TypeError, match=r"not the string 'dogs run'; give 'dogs run'.split\(\)"):
        model.parse("dogs run")
    with pytest.raises(TypeError, match="expected Phrase, got str"):
        model.subtree_log_probabilities("(NN word)")  # type: ignore[arg-type]
    with pytest.raises(EstimationError, match="no trees"):
        ConstituencyModel.train([])
    with pytest.raises(ValueError, match="options are empty"):
        ConstituencyModel.train(parse_brackets("(NN word)"), [])
    with pytest.raises(EstimationError, match="tree 2 has no words"):
        ConstituencyModel.train([Phrase("NN", ("a",)), Phrase("S", (Phrase("-NONE-", ("*",)),))])


def test_the_spelling_of_unseen_words_decides_between_tags() -> None:
    nouns, verbs = ("kindness", "darkness", "softness"), ("realizes", "organizes", "memorizes")
    trees = [
        Phrase("X", (Phrase("A", (Phrase(tag, (word,)),)), Phrase(".", (".",))))
        for tag, words in (("NN", nouns), ("VB", verbs))
        for word in words
    ]
    model = ConstituencyModel.train(trees)
    assert model.members[0].tags == [".", "NN", "VB"]
    for word, tag in (("sadness", "NN"), ("legalizes", "VB")):
        assert model.parse([word, "."]).tree.bracketed() == f"(X (A ({tag} {word})) (. .))"


def test_grammars_of_one_parser_have_one_span_penalty(trees: list[Phrase]) -> None:
    """How trees are chosen is the same for all grammars: an option that one of them ignored would be void."""
    options = [
        ConstituencyOptions(span_penalty=0.4),
        ConstituencyOptions(binarisation=Binarisation("last"), span_penalty=0.2),
    ]

    def untouched() -> Iterator[Phrase]:
        pytest.fail("a tree is read")
        yield

    with pytest.raises(ValueError, match=r"the same span_penalty, not 0\.2 and 0\.4"):
        ConstituencyModel.train(untouched(), options)


def test_grammars_of_one_parser_may_differ_in_all_that_each_uses_for_itself() -> None:
    """Their posteriors are then those of their own options, averaged."""
    trees = list(parse_brackets("(S (A a) (S (A a) (A a))) (S (S (A a) (A b)) (A a)) (S (A b) (B (A a) (A a)))"))
    one = ConstituencyOptions(marginals="undivided", estimator=EstimatorOptions("em", n_states=2, iterations=3))
    other = ConstituencyOptions(binarisation=Binarisation("last"), beam=0.0, threshold=0.0, rows=0.5, fragments=2.0)
    both = ConstituencyModel.train(trees, [one, other]).posteriors(["a", "b", "a"])
    alone = [ConstituencyModel.train(trees, options).posteriors(["a", "b", "a"]) for options in (one, other)]
    assert set(both) == {*alone[0], *alone[1]}
    for part, posterior in both.items():
        assert posterior == pytest.approx(np.mean([each.get(part, 0.0) for each in alone]))


def test_options_live_in_one_place() -> None:
    """Those of a grammar are the ones that parsing reads."""
    texts = ("(S (A a) (S (A a) (A a)))", "(S (S (A a) (A a)) (A a))", "(S (A a) (A a) (A a))")
    model = ConstituencyModel.train(parse_brackets("".join(texts)), ConstituencyOptions(threshold=0.0))
    (member,) = model.members
    found = []
    for penalty in (0.0, 0.9):
        options = replace(model.options, span_penalty=penalty)
        other = ConstituencyModel((replace(member, options=options),))
        assert other.options is options
        found.append(other.parse(["a", "a", "a"]).tree.bracketed())
    assert found[0] in texts[:2] and found[1] == texts[2]


FIRST = "members.0"
DAMAGE: list[Callable[[dict[str, Any], dict[str, Any]], Any]] = [
    lambda arrays, _: arrays.update({f"{FIRST}.coarse.leaf_rules": arrays[f"{FIRST}.coarse.leaf_rules"] + 1}),
    lambda arrays, _: arrays.pop(f"{FIRST}.lexicon.words.text"),
    lambda _, settings: settings["members"].append({}),
    lambda _, settings: settings["members"][0].pop("symbols"),
    lambda _, settings: settings["members"][0]["symbols"].__setitem__(0, [[], False, []]),
    lambda _, settings: settings["members"][0]["symbols"].__setitem__(0, ["NP"]),
    lambda _, settings: settings["members"][0].update(tags=[]),
    lambda _, settings: settings["members"][0].update(tags=[0]),
    lambda _, settings: settings["members"][0].update(lexicon="words"),
    lambda _, settings: settings["members"][0].update(options={}),
    lambda _, settings: settings["members"][0]["options"].update(span_penalty=1.5),
    lambda _, settings: settings["members"][0]["options"]["binarisation"].update(outward_from="middle"),
    lambda _, settings: settings["members"].clear(),
]


@pytest.mark.parametrize("change", DAMAGE, ids=range(len(DAMAGE)))
def test_damaged_models_are_refused(
    model: ConstituencyModel, change: Callable[[dict[str, Any], dict[str, Any]], Any], tmp_path: Path
) -> None:
    path = tmp_path / "model"
    model.save(path)
    arrays, settings = load_model(path, "constituency")
    change(arrays, settings)
    save_model(path, arrays, settings)
    with pytest.raises(ModelFileError, match=str(path)):
        ConstituencyModel.load(path)


def test_floors_are_for_dependencies_alone() -> None:
    """Phrases are weighed as they are estimated, and have no option that says otherwise."""
    with pytest.raises(TypeError, match="floor"):
        ConstituencyOptions(floor=0.01)  # type: ignore[call-arg]


def test_charts_are_those_of_operators_for_the_sentence(model: ConstituencyModel) -> None:
    (member,) = model.members
    for words in (AMBIGUOUS, UNSEEN):
        chart = member.charts([words])
        operators, (forest, _, _) = chart.grammar.latent, chart.joined()
        leaf = operators.rules.leaf[forest.rule[forest.left < 0]]
        np.testing.assert_array_equal(leaf[:, 0], forest.symbol[forest.item[forest.left < 0]])
        assert set(leaf[:, 1]) == set(chart.grammar.words.word)
        assert model.find([unknown_phrase(words)], 1, charts=[chart]) == [[model.parse(words)]]


def test_charts_are_one_for_each_grammar_and_sentence(model: ConstituencyModel) -> None:
    charts = [member.charts([AMBIGUOUS]) for member in model.members]
    for wrong in ([], charts * 2):
        with pytest.raises(ValueError, match=f"charts of {len(wrong)} grammars for a parser of 1; give"):
            model.find([unknown_phrase(AMBIGUOUS)], 1, charts=wrong)
    with pytest.raises(ValueError, match="charts of 2 sentences for 1; give"):
        charts = [model.members[0].charts([AMBIGUOUS] * 2)]
        model.find([unknown_phrase(AMBIGUOUS)], 1, charts=charts)


@pytest.mark.parametrize("text", ["(NN word)", "(S (NN a) (NN b))", "(S (A (B (C c))) (D d))"])
def test_one_tree_is_enough_to_train_on(text: str) -> None:
    (tree,) = parse_brackets(text)
    model = ConstituencyModel.train([tree])
    assert model.parse(list(tree.words())).tree == tree


def test_long_sentences_and_deep_trees(model: ConstituencyModel) -> None:
    words = [*AMBIGUOUS[:5], *(["of", "Mary"] * 122), "."]
    parse = model.parse(words)
    assert list(parse.tree.words()) == words and np.isfinite(parse.log)
    deep = Phrase("NP", (Phrase("DT", ("the",)), Phrase("NN", ("house",))))
    for _ in range(300):
        deep = Phrase("NP", (deep, Phrase("PP", (Phrase("IN", ("of",)), Phrase("NP", (Phrase("NNP", ("Mary",)),))))))
    (rest,) = parse_brackets("(S (NP x) (VP (VBZ sleeps)) (. .))")
    deep = Phrase("S", (deep, *rest.children[1:]))
    assert np.isfinite(ConstituencyModel.train([deep]).score([deep]).log[0])
    assert np.isfinite(model.score([deep]).log[0])


@pytest.mark.parametrize(
    "binarisation", [Binarisation("first"), Binarisation("last"), Binarisation(siblings=1, parents=1)]
)
def test_every_binarisation_parses(binarisation: Binarisation, trees: list[Phrase], tmp_path: Path) -> None:
    model = ConstituencyModel.train(trees, ConstituencyOptions(binarisation=binarisation))
    model.save(tmp_path / "model")
    words = list(trees[1].words())
    assert ConstituencyModel.load(tmp_path / "model").parse(words).tree == trees[1]


@pytest.mark.corpus
def test_treebank_sample_dev_floor(require_corpus: Callable[[str], Any]) -> None:
    """Guards accuracy on every third tree of real text; measured 82.9 and 85.7, with a plain PCFG at 69.

    The two grammars are learnt together, from the same features, and parse alone.
    """
    require_corpus("treebank")
    (fast,) = preset("fast")
    both = ConstituencyModel.train(constituency_trees("nltk:treebank:train"), [ConstituencyOptions(), fast])
    gold = [tree for tree in map(clean, constituency_trees("nltk:treebank:dev")) if tree is not None][::3]
    for member, floor in zip(both.members, (82.5, 85.4), strict=True):
        parses = [parse for parse, *_ in ConstituencyModel((member,)).parse_all(list(tree.words()) for tree in gold)]
        scores = score_brackets(zip(gold, (parse.tree for parse in parses), strict=True))
        assert scores.f1 > floor
        assert scores.tagging_accuracy > 95.0
        assert sum(parse.is_fallback for parse in parses) <= 2


@pytest.mark.corpus
def test_icepahc_dev_floor(shared_file: Callable[[str], Path]) -> None:
    """Guards the first 3,000 training trees, read as they are, on every tenth dev tree of other texts and centuries.

    Measured: F1 70.7, tags 80.6.  File n of the sorted files is dev if n mod 10 = 8, and test if n mod 10 = 9.
    """
    files = enumerate(sorted(shared_file("treebanks/icepahc").glob("*.psd")), start=1)
    parts: dict[str, list[Path]] = {"train": [], "dev": [], "test": []}
    for number, file in files:
        parts[{8: "dev", 9: "test"}.get(number % 10, "train")].append(file)
    train = chain.from_iterable(map(constituency_trees, parts["train"]))
    model = ConstituencyModel.train(islice(train, 3000))
    gold = [GoldTree.of(tree) for file in parts["dev"] for tree in constituency_trees(file)][::10]
    score = evaluate_parser(model, [tree for tree in gold if tree is not None]).score
    assert score.f1 > 70.0
    assert score.tagging_accuracy > 80.0


@pytest.mark.parametrize("words", [["*0*"], ["*T*-1", "sleeps", "."], ["Mary", "*sigh*", "*PRO*"]])
def test_words_that_look_like_empty_elements_are_parsed(model: ConstituencyModel, words: list[str]) -> None:
    for parse in (model.parse(words), *model.parse_nbest(words, 3)):
        assert list(parse.tree.words()) == words


def test_trees_of_words_whose_tags_nothing_derives_are_different() -> None:
    often = [Phrase("S", (Phrase("A", ("a",)), Phrase("B", ("b",))))] * 400
    rare = [Phrase("S", (Phrase("A", (f"c{i}",)), Phrase("B", (f"d{i}",)))) for i in range(9)]
    model = ConstituencyModel.train(often + rare)
    trees = [parse.tree for parse in model.parse_nbest(["b", "a"], 4)]
    assert len(set(trees)) == len(trees) > 0


def test_surprisal_of_a_parser_of_several_grammars(trees: list[Phrase]) -> None:
    """Prefixes have the mean of the grammars' probabilities; with the end of the sentence, they are the sentence's."""
    estimator = EstimatorOptions("clusters-em", n_states=3)
    options = [
        ConstituencyOptions(estimator=estimator, binarisation=way, beam=0.0, threshold=0.0)
        for way in (Binarisation(), Binarisation("last", siblings=1))
    ]
    both = ConstituencyModel.train(trees, options)
    words = ["John", "sleeps", "in", "a", "garden", "."]
    found = both.surprisal(words, "nats")
    several = [member.prefixes(words) for member in both.members]
    mean = np.log(np.mean([np.exp(each.words) for each in several], axis=0))
    np.testing.assert_allclose(found.total, -np.diff(mean))
    np.testing.assert_allclose(found.total, found.lexical + found.syntactic)
    by_rules = both.with_members(lambda each: replace(each, options=replace(each.options, rows=0.0)))
    np.testing.assert_allclose(found.total.sum() + found.end, -by_rules.log_probabilities([words])[0], atol=0.01)
    np.testing.assert_allclose(both.surprisal(words).total, found.total / np.log(2.0))
    joint = sum(
        np.exp(each.words)[:, None] * member.next_words(words).following
        for each, member in zip(several, both.members, strict=True)
    )
    share = joint / joint.sum(axis=1, keepdims=True)
    wanted = -(share * np.log(np.maximum(share, 1e-300))).sum(axis=1)
    np.testing.assert_allclose(both.entropy(words, "nats"), wanted, rtol=1e-9, atol=1e-12)


def test_surprisal_needs_probabilities(model: ConstituencyModel) -> None:
    with pytest.raises(ValueError, match=r"gives estimates that may be negative.* preset 'fast'"):
        model.surprisal(["John", "sleeps", "."])


def test_a_tree_with_a_tag_that_a_word_never_had_is_marked() -> None:
    """It is found in a chart where any word may have any tag, and p̂ without this licence is 0."""
    trees = list(parse_brackets("(S (A a) (B b)) (S (A c) (B d))"))
    model = ConstituencyModel.train(trees, weights=[5000.0] * 2)
    (swapped,) = parses = model.parse_nbest(["b", "a"], 1)
    assert swapped.tree.bracketed() == "(S (A b) (B a))"
    assert swapped.is_impossible and not swapped.is_fallback
    assert "impossible" in parses.drawings[0][0]
    assert model.score([swapped.tree]).sign.tolist() == [0]
    assert not model.parse(["a", "b"]).is_impossible
