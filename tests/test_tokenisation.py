"""Raw text is divided as in the corpus, without loss, and English as by NLTK."""

import string
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nltk.tokenize import word_tokenize

from spectral_latent.corpora import DividedText
from spectral_latent.tokenisation import Tokenisation
from spectral_latent_text import LearntTokenisation, Segmenter

ENGLISH = Tokenisation(frozenset(["n't", "'s", "``", "''", "-LRB-", "-RRB-", "--", "...", "Mr.", "U.S."]))
GERMAN = Tokenisation(frozenset(["z.B.", "Dr.", "Komma", "猫", "垫子"]))
TEXTS = st.text(st.sampled_from(string.ascii_letters + "0123456789.,;:!?'\"`()[]{}<>-&@#%$ \t\n\u00a0’“”…—。！猫垫子ก́"))


def words(tokenisation: Tokenisation, text: str) -> list[list[str]]:
    return [[token.word for token in tokens] for tokens in tokenisation.sentences(text)]


@pytest.mark.parametrize("tokenisation", [ENGLISH, GERMAN])
@given(text=TEXTS)
def test_nothing_is_lost_and_every_word_has_its_place(tokenisation: Tokenisation, text: str) -> None:
    sentences = list(tokenisation.sentences(text))
    assert all(sentences)
    tokens = [token for sentence in sentences for token in sentence]
    assert "".join(token.form for token in tokens) == "".join(text.split())
    assert all(text[token.first : token.end] == token.form for token in tokens)


@pytest.mark.parametrize(
    "text",
    [
        "She didn't say they'd come, but we'll see; it's John's.",
        "Can't you? I won't pay $5.50 or 3% of $1,000!",
        "The U.S. firm (founded in 1999) lost 'only' ten million--or so...",
        "Wait: what,then? My friend's e-mail is here.",
        "The dogs' owner went to Mr. Smith, who shouldn't have.",
    ],
)
def test_english_words_are_those_of_nltk(text: str) -> None:
    assert [token.form for token in ENGLISH.words(text)] == word_tokenize(text, preserve_line=True)


FRENCH = Tokenisation(frozenset(["l'", "qu'", "aujourd'hui", "'s"]))
BARE = Tokenisation(frozenset())
DIVIDED_TEXTS = [  # words with spaces, sentences with bars between them
    (
        ENGLISH,
        "Mr. Ho left. He saw J. Doe\nin the U.S. and so on! Yes?\n\nNo end\n \nEnd",
        "Mr. Ho left . | He saw J. Doe in the U.S. and so on ! | Yes ? | No end | End",
    ),
    (
        GERMAN,
        "Das, z.B. Dr. Ho, kam um 3.30 an. \"Ja.\" 'Nein' ...",
        "Das , z.B. Dr. Ho , kam um 3.30 an . | \" Ja . \" | ' Nein ' ...",
    ),
    (ENGLISH, '“It’s” (5) "No"—Jo’s…', "`` It 's '' -LRB- 5 -RRB- `` No '' -- Jo 's ..."),
    (GERMAN, '("So")', '( " So " )'),
    (
        ENGLISH,
        "a.b@example.com, http://example.com/x?y=1 or (s) of tree(s)",
        "a.b@example.com , http://example.com/x?y=1 or -LRB- s -RRB- of tree(s)",
    ),
    (Tokenisation(frozenset(["it", "it's", "'s"])), "it's", "it 's"),
    (Tokenisation(frozenset(["don't"])), "Don’t", "Don't"),
    (Tokenisation(frozenset(word.lower() for word in ENGLISH.known)), "(Mr. X)", "-LRB- Mr. X -RRB-"),
    (FRENCH, "Aujourd'hui l’homme qu'on Jo's d'ici", "Aujourd'hui l' homme qu' on Jo 's d'ici"),
    (GERMAN, "猫坐垫子。2024年！Ja", "猫 坐 垫子 。 | 2024 年 ！ | Ja"),
    (BARE, "१।२ है", "१।२ है"),
    (BARE, "Is 3.5 x", "Is 3.5 x"),
    (BARE, "३ ।५", "३ । | ५"),
    (
        BARE,
        "I 👩\u200d👩\u200d👧 you 🇩🇪🇫🇷 1\ufe0f\u20e3👍🏽👍🏽.",
        "I 👩\u200d👩\u200d👧 you 🇩🇪 🇫🇷 1\ufe0f\u20e3 👍🏽👍🏽 .",
    ),
    (
        Tokenisation(frozenset(["``", "''"])),
        'She said " no " , and "yes" (" no ").',
        "She said `` no '' , and `` yes '' ( `` no '' ) .",
    ),
]


@pytest.mark.parametrize(("tokenisation", "text", "divided"), DIVIDED_TEXTS)
def test_texts_are_divided_as_here(tokenisation: Tokenisation, text: str, divided: str) -> None:
    assert [" ".join(row) for row in words(tokenisation, text)] == divided.split(" | ")


RAW = [
    "I did n't , he said.",
    "growth, then .",
    "They didn’t .",
    "猫坐在垫子上很高兴很高兴",
    "猫坐在垫子上。",
    "So ? no!",
]
TOKENISED = [
    "",
    ".",
    "I did n't .",
    "Ask Mr. U.S. .",
    "$ 5,000 -- 3.5 % ...",
    "猫 垫子 。",
    "an e.g. x ( a/b )",
    "No a.m.",
]


def test_raw_lines_are_told_from_tokenised_ones() -> None:
    assert [line for line in RAW + TOKENISED if ENGLISH.is_raw(line.split())] == RAW


# The terminal marks of Unicode's charts of these scripts, and two sentences with each.
@pytest.mark.parametrize(
    "text",
    [
        "कुत्ता भौंकता है। बिल्ली सोती है।",
        "वह आया।वह गया॥",
        "هل جئت؟ نعم۔",
        "Բարև։ Ոնց ես։",
        "ሰላም። እንዴት ነህ፧",
        "ខ្ញុំទៅ។ គាត់ទៅ៕",
        "သူလာသည်။ သူသွားသည်။",
        "ᠪᠢ ᠢᠷᠡᠪᠡ᠃ ᠲᠡᠷᠡ ᠢᠷᠡᠪᠡ᠃",
        "他来了。她走了！",
        "What‽ Yes⁈",
        "ܐܒܓ܂ ܕܗܘ܂",
    ],
)
def test_sentences_end_in_all_scripts(text: str) -> None:
    first, second = Tokenisation(frozenset()).sentences(text)
    assert [first[-1].form, second[-1].form] == [c for c in text if unicodedata.category(c) == "Po"]
    assert "".join(token.form for token in first + second) == "".join(text.split())


CLUSTERS = [  # of each kind in Unicode's list of emoji, and letters with combining marks
    *(
        "👩\u200d👩\u200d👧",
        "👨🏽\u200d🚀",
        "🏳\ufe0f\u200d🌈",
        "👍🏽",
        "🇩🇪",
        "❤\ufe0f",
        "2\ufe0f\u20e3",
        "#\ufe0f\u20e3",
    ),
    *("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "e\u0301", "x\u0302\u0323", "हि", "กำ"),
]


@pytest.fixture(scope="module", params=["rules", "learnt"])
def tokenisation(request: pytest.FixtureRequest) -> Tokenisation:
    if request.param == "rules":
        return Tokenisation(frozenset(["e", "ก", "ह", "👩"]))
    sentence = DividedText("It is I.", [(0, 2, ("It",)), (3, 5, ("is",)), (6, 7, ("I",)), (7, 8, (".",))], [3])
    word = DividedText("ab!?", [(at, at + 1, (letter,)) for at, letter in enumerate("ab!?")], [3])
    return LearntTokenisation(frozenset(), Segmenter.train([sentence] * 3 + [word] * 9))


@example(parts=[" ", "👩\u200d👩\u200d👧"])
@given(parts=st.lists(st.sampled_from([*CLUSTERS, *"aก中.!?,(\"' "]), max_size=12))
def test_no_word_begins_within_a_character(tokenisation: Tokenisation, parts: list[str]) -> None:
    text = "".join(parts)
    starts = {sum(map(len, parts[:n])) for n in range(len(parts))}
    found = [token.first for sentence in tokenisation.sentences(text) for token in sentence]
    assert set(found) <= starts
