"""Tell the format of a text by the name of its file, or by its first lines; find the files of a folder.

| format | ending of the name | lines that are neither empty nor begin with # |
| --- | --- | --- |
| `brackets` | .mrg, .parse, .psd, .ptb, .tree, .trees | the first opens a tree, `( (S`, `(NN dog)`; none is outside |
| `conllu`, also for CoNLL-X | .conllu, .conll, .conllx | the first has ten columns, the first of them a number |
| `tagged` | .pos, .tagged | each word ends in a slash and a tag, with a capital or a mark: `the/DT dog/NN` |
| `json` | .jsonl, .ndjson | the first opens an object: `{"words": ["dogs", "bark"]}` |
| `tokens` | .tok, .txt | any other lines: one tokenised sentence on each line |
| `text` | | no line tells it: raw text, not divided into sentences and words |

Tabs divide columns.  A name may have a further ending .gz.  Lines tell the format if the name does not, and those of
.tok and .txt also tell brackets, tables of ten columns and objects.  A guess by lines holds for the first twenty.

Trees in brackets are in Penn's format of historical corpora if their first trees show it.  A format that is given can
also decide this: `historical` or `penn`, with which no tree is taken for one of a historical corpus.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from spectral_latent.corpora.conllu import CONLLU
from spectral_latent.corpora.text import CorpusError, ending_of

Format: TypeAlias = Literal["brackets", "penn", "historical", "conllu", "tagged", "json", "tokens", "text"]
_T = TypeVar("_T")

ENDINGS: MappingProxyType[Format, tuple[str, ...]] = MappingProxyType(
    {
        "brackets": (".mrg", ".parse", ".psd", ".ptb", ".tree", ".trees"),
        "conllu": CONLLU,
        "tagged": (".pos", ".tagged"),
        "json": (".jsonl", ".ndjson"),
        "tokens": (".tok", ".txt"),
    }
)
READINGS: MappingProxyType[Format, bool | None] = MappingProxyType(  # formats of brackets; whether they are historical
    {"brackets": None, "penn": False, "historical": True}
)
NAMES: MappingProxyType[Format, str] = MappingProxyType(  # of the contents, in messages
    {
        **dict.fromkeys(READINGS, "trees in brackets"),
        "conllu": "sentences in CoNLL-U",
        "tagged": "words with tags",
        "json": "rows in JSON lines",
        "tokens": "tokenised sentences",
        "text": "raw text",
    }
)
_USES: MappingProxyType[Format, str] = MappingProxyType(  # the models and commands that a format is for
    {
        "brackets": "constituency parsers (`train constituency`)",
        "conllu": "dependency parsers (`train dependency`) and taggers (`train tagger`)",
        "tagged": "taggers (`train tagger`)",
        **dict.fromkeys(("json", "tokens", "text"), "`parse` and `tag`"),
    }
)
SHOWING = 20  # the number of lines that show the format
_LINE = re.compile(r"^[ \t]*\S.*", re.MULTILINE | re.ASCII)
_LINE_NOT_COMMENT = re.compile(r"^(?!#)[ \t]*\S.*", re.MULTILINE | re.ASCII)
# `( (S` or `(` alone, `(S (NP` or `(S` alone, `(NN dog)`
_OPENS_TREE = re.compile(r"\s*\((?:\s*\([^\s]|\s*$|[^\s()]+\s*(?:\(|$)|[^\s()]+\s+[^\s()]+\s*\))", re.ASCII)
_OPENS_OBJECT = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:', re.ASCII)
_BRACKET_OR_WORD = re.compile(r"[()]|[^\s()]+", re.ASCII)
_WORD = re.compile(r"\S+", re.ASCII)
_WORD_AND_TAG = re.compile(r"(?!\w+://).+/([^/]+)")  # no address
_ID = re.compile(r"[0-9]+([-.][0-9]+)?")
_MALT_TAB = re.compile(r"[^\t]+\t[^\t]+\t[0-9]+\s*(\t[^\t]+)?")  # the columns FORM TAG HEAD DEPREL


class Guess(NamedTuple):
    """The format of a text, and how it is known.

    reason: what shows the format; empty if it was given, or if only one format can be read.
    doubt: what speaks for another format; empty if nothing does."""

    form: Any
    reason: str = ""
    doubt: str = ""

    def noted(self, items: Iterable[_T]) -> Iterator[_T]:
        """Return items as they are read; an error then says how the text was read, and what to do if that is wrong.

        >>> list(Guess("tokens", "its name").noted("ab"))
        ['a', 'b']
        """
        try:
            yield from items
        except CorpusError as error:
            raise self.error(error) from None

    @property
    def contents(self) -> str:
        """The name of the contents in messages."""
        return NAMES.get(self.form, f"lists of the format {self.form}")

    def warning(self, source: str) -> str:
        """Write what speaks for another format."""
        return f"{source}: {self.doubt}, and it is read as {self.contents}; if that is wrong, give --format"

    def error(self, error: CorpusError) -> CorpusError:
        """Add to an error how the text was read."""
        if not self.reason:
            return error
        *lines, last = str(error).split("\n")
        how = f"read as {self.contents} because of {self.reason}; if that is wrong, give --format"
        return CorpusError(*lines, f"{last} ({how})")


def sniff_format(name: str, beginning: str, *needed: Format, given: Format | None = None) -> Guess:
    """Tell the format of a text.

    name: the name of the text's file; its ending decides if the table of this module lists it.
    beginning: the text, or its first lines.
    needed: the formats that can be read, the usual one first; all if there is none.
    given: the format, if it is known, so that nothing is guessed.

    Raises `CorpusError` for a format that cannot be read, such as Malt-TAB, which is no longer read.

    >>> [sniff_format(name, "").form for name in ("wsj_0001.mrg", "ewt.conllu", "brown.pos", "-")]
    ['brackets', 'conllu', 'tagged', 'tokens']
    >>> texts = ("( (S (NP", "# sent_id = 1\\n1" + 9 * "\\t_", "the/DT dog/NN", "either/or , but")
    >>> [sniff_format("-", text).form for text in texts]
    ['brackets', 'conllu', 'tagged', 'tokens']
    >>> sniff_format("-", "http://a.b/c").form, sniff_format("-", "the/DT dog/NN\\nhttp://a.b/c").doubt
    ('tokens', 'line 1 looks like words with tags, but others do not')
    """
    if given is not None:
        if needed and given not in needed and not (given in READINGS and "brackets" in needed):
            raise CorpusError(f"{name}: {NAMES[given]} cannot be read here; give --format {' or '.join(needed)}")
        return Guess(given)
    found = _guess(name, beginning, needed)
    if not needed:
        return found
    if found.form in needed:
        return found if len(needed) > 1 else Guess(found.form)
    if found.form == "tokens":
        return Guess(needed[0], "what can be read here" if len(needed) > 1 else "")
    raise CorpusError(
        f"{name}: {NAMES[found.form]}, where {NAMES[needed[0]]} are needed; they are for {_USES[found.form]}; if "
        f"{found.reason} misleads, give --format {needed[0]}"
    )


def _guess(name: str, beginning: str, needed: tuple[Format, ...]) -> Guess:
    """Tell the format of a text by its name, or by its lines."""
    beginning = beginning.removeprefix("\ufeff")
    has_lines = _LINE_NOT_COMMENT.search(beginning)
    lines = [match[0] for match in islice((_LINE_NOT_COMMENT if has_lines else _LINE).finditer(beginning), SHOWING)]
    if lines and all(map(_MALT_TAB.fullmatch, lines)):
        raise CorpusError(
            f"{name}: Malt-TAB, which is no longer read; write CoNLL-U, as `DependencyGraph(...).to_conll(10)` of NLTK "
            f"does for each sentence; if these are other lines, give --format"
        )
    shown = list(map(_format_of_line, lines)) or ["tokens"]
    first, is_uniform = shown[0], len({*shown}) == 1
    by_name = next((form for form, endings in ENDINGS.items() if ending_of(name) in endings), None)
    if by_name not in (None, "tokens"):
        return Guess(by_name, "its name")
    if first == "tokens":
        return Guess(first, "its name" if by_name else "its first lines")
    if needed and "tokens" not in needed and (first in needed or is_uniform):
        return Guess(first, "its first lines")
    tokens = Guess("tokens", "its name" if by_name else "its first lines")
    if (first == "tagged" and not is_uniform) or (first == "brackets" and _has_words_outside(lines)):
        return tokens._replace(doubt=f"line 1 looks like {NAMES[first]}, but others do not")
    if first == "tagged" and by_name:
        return tokens._replace(doubt=f"its first lines look like {NAMES[first]}")
    if first == "tagged" and len(_WORD.findall(" ".join(lines))) == 1:
        return tokens._replace(doubt="its only word looks like a word with a tag")
    return Guess(first, "its first lines")


def _format_of_line(line: str) -> Format:
    """Tell the format that a line shows."""
    columns = line.split("\t")
    if len(columns) == 10 and _ID.fullmatch(columns[0]):
        return "conllu"
    if _OPENS_OBJECT.match(line):
        return "json"
    tags = [match[1] if match else "" for match in map(_WORD_AND_TAG.fullmatch, _WORD.findall(line))]
    if all(tag and (tag[0].isupper() or not tag[0].isalnum()) for tag in tags):
        return "tagged"
    return "brackets" if _OPENS_TREE.match(line) else "tokens"


def _has_words_outside(lines: Iterable[str]) -> bool:
    """Tell whether words stand outside the brackets of lines."""
    depth = 0
    for token in chain.from_iterable(map(_BRACKET_OR_WORD.findall, lines)):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth < 0 or (depth == 0 and token != ")"):
            return True
    return False


# Folders


def items_of_files(
    name: str, kind: str, read: Callable[[Path], Iterator[_T]], *endings: tuple[str, ...]
) -> Iterator[_T]:
    """Read a file, or the files beneath a folder, in sorted order, without hidden files and hidden folders."""
    folder = Path(name)
    if not folder.is_dir():
        return read(folder)
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if not any(part.startswith(".") for part in path.relative_to(folder).parts) and path.is_file()
    ]
    for group in endings:
        if chosen := [path for path in files if ending_of(path) in group]:
            return chain.from_iterable(map(read, chosen))
    names = ", ".join(f"*{ending}" for group in endings for ending in group)
    raise CorpusError(f"{folder}: no {kind} files here; give a folder with files named {names}")
