"""Run the checks of all models on every model of the library."""

from functools import partial
from types import MappingProxyType
from typing import Any

import networkx as nx

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.automata import AutomatonOptions, WeightedAutomaton
from spectral_latent.constituency import Binarisation, ConstituencyModel, ConstituencyOptions, Phrase, SpanOptions
from spectral_latent.constituency import preset as constituency_preset
from spectral_latent.dependency import DependencyModel, DependencyOptions, DependencySentence
from spectral_latent.dependency import preset as dependency_preset
from spectral_latent.estimation import EstimatorOptions, Spectral
from spectral_latent.graphs import GraphModel
from spectral_latent.sequence import HMMOptions, LatentHMM, LatentTagger, TaggerOptions, hmm_preset
from spectral_latent.sequence import preset as tagger_preset
from tests.conformance.abilities import AnswersByProcesses, EstimatedConformance
from tests.conformance.model import ModelConformance, Refused, wrong_choices, wrong_counts
from tests.conformance.treebank import DEPENDENCIES, NOT_EMPTY, PHRASES, SENTENCES, SEVERAL, TAGGED

UNPARSED = list(map(DependencySentence.of, NOT_EMPTY))
STRINGS = [*SENTENCES, []]
NEW = [["the", "cow", "sees", "a", "dog", "in", "it", "with", "the", "cat"], ["dogs"], ["sleeps", "with", "it"]]


def refused_by_parsers(model: Any, one: Any, nothing: Any) -> Refused:
    """List calls of a parser that must fail, with an input of one word and one without words."""
    for ask in (model.parse, model.posteriors, model.surprisal, model.entropy):
        yield partial(ask, nothing), ValueError, "empty sentence"
    for ask_all in (model.parse_all, model.log_probabilities):
        yield lambda ask_all=ask_all: list(ask_all([one, nothing])), ValueError, "input 2: an empty sentence"
    yield from wrong_counts(lambda n_best: model.parse_nbest(one, n_best))
    yield from wrong_counts(lambda n_best: model.parse_all([], n_best))
    yield from wrong_choices("scored", partial(model.parse_all, []))


class TestConstituencyModel(AnswersByProcesses, EstimatedConformance):
    model_class = ConstituencyModel
    examples = PHRASES
    inputs = NOT_EMPTY
    facts = ("labels", "tags", "options")
    defaults = constituency_preset("fast")[0]
    settings = (
        ConstituencyOptions(estimator=EstimatorOptions("spectral", n_states=4)),
        ConstituencyOptions(estimator=EstimatorOptions("clusters-em", n_states=4, iterations=4, rank=2)),
        ConstituencyOptions(
            estimator=EstimatorOptions("anchors", n_states=4),
            binarisation=Binarisation("last"),
            spans=SpanOptions(folds=2, iterations=4),
        ),
    )
    example = "(S (N dogs) (V bark))"

    @staticmethod
    def answers(model: ConstituencyModel) -> Any:
        sentences = [*SENTENCES[:5], *NEW]
        parses = [model.parse_nbest(words, 3) for words in sentences]
        return parses, [model.posteriors(words) for words in sentences], model.score(PHRASES[:5]).log.tolist()

    @staticmethod
    def many(model: ConstituencyModel, inputs: list[Any], **jobs: int | None) -> list[Any]:
        return list(model.parse_all(inputs, 2, **jobs))

    def refused(self, model: ConstituencyModel) -> Refused:
        return refused_by_parsers(model, ["dogs"], [])


class TestDependencyModel(AnswersByProcesses, EstimatedConformance):
    model_class = DependencyModel
    examples = DEPENDENCIES
    inputs = UNPARSED
    facts = ("tags", "column", "relations", "options")
    sense = MappingProxyType({"slope": [-1.5]})
    defaults = dependency_preset("fast")[0]
    settings = (
        DependencyOptions(estimator=EstimatorOptions("spectral", n_states=4)),
        DependencyOptions(estimator=EstimatorOptions("clusters-em", n_states=4, iterations=4, rank=2)),
    )
    example = "dogs bark"

    @staticmethod
    def answers(model: DependencyModel) -> Any:
        sentences = [*DEPENDENCIES[:5], *(DependencySentence.of(words) for words in NEW)]
        parses = [model.parse_nbest(sentence.without_tree(), 3) for sentence in sentences]
        posteriors = [model.posteriors(sentence).tolist() for sentence in sentences]
        return parses, posteriors, model.score(DEPENDENCIES[:5]).log.tolist()

    @staticmethod
    def many(model: DependencyModel, inputs: list[Any], **jobs: int | None) -> list[Any]:
        either_way = model.parse_all(inputs, 2, **jobs), model.parse_all(inputs, projective=False, **jobs)
        return list(zip(*either_way, strict=True))

    def refused(self, model: DependencyModel) -> Refused:
        one = DependencySentence.of(["dogs"])
        yield from refused_by_parsers(model, one, DependencySentence.of([]))
        yield from wrong_choices("projective", partial(model.parse_all, []))
        yield from wrong_choices("projective", partial(model.parse, one))


class TestLatentTagger(EstimatedConformance):
    model_class = LatentTagger
    examples = TAGGED
    inputs = SEVERAL
    facts = ("tags", "column", "options")
    defaults = tagger_preset("fast")
    settings = (
        TaggerOptions(EstimatorOptions("spectral", n_states=4)),
        TaggerOptions(EstimatorOptions("clusters-em", n_states=4, iterations=4, rank=2)),
    )
    example = "dogs/N bark/V"
    sense = MappingProxyType({"tagset": [None, "nonsense"]})

    @staticmethod
    def answers(model: LatentTagger) -> Any:
        sentences = [*SENTENCES[:5], *NEW]
        posteriors = [model.posteriors(words).tolist() for words in sentences]
        return list(model.tag_all(sentences)), posteriors, model.log_probabilities(sentences).tolist()

    @staticmethod
    def many(model: LatentTagger, inputs: list[Any], **jobs: int | None) -> list[Any]:
        return list(model.tag_all(inputs, **jobs))

    def refused(self, model: LatentTagger) -> Refused:
        yield from wrong_counts(partial(model.paths, ["dogs"]))
        yield from wrong_counts(partial(model.paths, []))
        yield lambda: model.entropy(["dogs"], "bit"), ValueError, "unit must be one of 'bits', 'nats', not 'bit'"


class TestLatentHMM(EstimatedConformance):
    model_class = LatentHMM
    examples = SENTENCES
    inputs = NOT_EMPTY
    defaults = hmm_preset("spectral")
    settings = (
        HMMOptions(EstimatorOptions("spectral", n_states=8), choose_states=False, floor=0.01, random_starts=0),
        HMMOptions(EstimatorOptions("clusters-em", n_states=4, iterations=12), choose_states=False),
    )
    example = 7

    @staticmethod
    def answers(model: LatentHMM) -> Any:
        return model.log_probabilities([*SENTENCES[:5], *NEW]).tolist(), model.following(["the", "cat"])

    @staticmethod
    def many(model: LatentHMM, inputs: list[Any], **jobs: int | None) -> list[Any]:
        return model.score(inputs).log.tolist()

    def refused(self, model: LatentHMM) -> Refused:
        return [(lambda: model.hidden, ValueError, "states")]


class TestAnchorHMM(ModelConformance):
    model_class = AnchorHMM
    examples = SENTENCES
    inputs = SEVERAL
    facts = ("anchors", "labels", "options")
    defaults = AnchorOptions()
    settings = (AnchorOptions(n_states=5), AnchorOptions(n_states=4, hull="best-fit", spelling=False))
    example = "dogs bark"

    @staticmethod
    def answers(model: AnchorHMM) -> Any:
        sentences = [*SENTENCES[:5], *NEW]
        return list(model.tag_all(sentences)), [model.posteriors(words).tolist() for words in sentences]

    @staticmethod
    def many(model: AnchorHMM, inputs: list[Any], **jobs: int | None) -> list[Any]:
        return list(model.tag_all(inputs, **jobs))

    def refused(self, model: AnchorHMM) -> Refused:
        return [(lambda: model.label({"no anchor": "N"}), ValueError, "no anchor")]


def graph_of(phrase: Phrase) -> nx.DiGraph:
    """Make a graph of a phrase; its leaves observe the words."""
    graph = nx.DiGraph()

    def add(part: Phrase) -> int:
        node = len(graph)
        graph.add_node(node, label=part.label)
        for child in part.children:
            if isinstance(child, str):
                graph.nodes[node]["observation"] = child
            else:
                graph.add_edge(node, add(child))
        return node

    add(phrase)
    return graph


GRAPHS = [graph_of(phrase) for phrase in PHRASES]
ASKED = [*GRAPHS[:20], graph_of(Phrase("NP", (Phrase("PRP", ("it",)),))), graph_of(Phrase("PRP", ("it",)))]


class TestGraphModel(EstimatedConformance):
    model_class = GraphModel
    examples = GRAPHS
    inputs = ASKED
    facts = ("labels", "options")
    defaults = Spectral()
    estimator = ()
    settings = (
        EstimatorOptions("spectral", n_states=4),
        EstimatorOptions("clusters-em", n_states=4, iterations=4, rank=2),
    )
    example = "a graph"

    @staticmethod
    def answers(model: GraphModel) -> Any:
        return model.score(GRAPHS[:20]).log.tolist()

    @staticmethod
    def many(model: GraphModel, inputs: list[Any], **jobs: int | None) -> list[Any]:
        return model.score(inputs).log.tolist()

    def refused(self, model: GraphModel) -> Refused:
        return [(partial(model.score, [nx.DiGraph()]), ValueError, "graph 1")]


class TestWeightedAutomaton(ModelConformance):
    model_class = WeightedAutomaton
    examples = STRINGS
    inputs = SEVERAL
    defaults = AutomatonOptions(n_states=8)  # of strings that are too few to choose the number
    settings = (
        AutomatonOptions(n_states=3, estimator="em", random_starts=2),
        AutomatonOptions(n_states=4, length=2, size=20),
    )
    example = 7
    sense = MappingProxyType({"options": [None], "reached": [[]]})

    @staticmethod
    def answers(model: WeightedAutomaton) -> Any:
        sentences = [*SENTENCES[:5], *NEW]
        return [model(words) for words in (*sentences, [])], model.log_probabilities(sentences).tolist()

    @staticmethod
    def many(model: WeightedAutomaton, inputs: list[Any], **jobs: int | None) -> list[Any]:
        return model.score(inputs).log.tolist()

    def refused(self, model: WeightedAutomaton) -> Refused:
        for wrong in (0, 1.5, "2"):
            yield partial(model.minimise, wrong), ValueError, "n_states must be an integer of at least 1"
