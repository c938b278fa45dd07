"""Hold a project of correction: a file of trees, sentences that wait for trees, a history, and the parser that learns.

| file | content |
| --- | --- |
| TREES | the corrected trees; all other text of the file stays as it is |
| TREES.history | a line of JSON for each accepted tree: when, by whom, and what stood before; never shortened |

An accepted tree is written to the history first, then to TREES, whole or not at all, and then taken into memory; if one
of these fails, none has it.  If a process dies between both files, the next one puts the trees that TREES lacks in
their places.  Before anything is written, its text is read again and compared.  Words are those that brackets can hold
(-LRB- for a bracket, 10_000 for 10 000), in TREES, in memory and in comparisons.  One process at a time has a project.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from spectral_latent.constituency import ConstituencyOptions, Phrase, clean, list_constituents, without_functions
from spectral_latent.constituency import preset as preset_of
from spectral_latent.corpora import raw_trees
from spectral_latent.evaluation import score_brackets
from spectral_latent_annotate._history import History, HistoryLine
from spectral_latent_annotate._suggestions import Suggestion, suggest_trees
from spectral_latent_annotate._treebank_file import TreebankFile, as_read, words_as_read
from spectral_latent_annotate._workbench import Workbench

Order = Literal["file", "surest", "unsure"]
_WAITING = 150  # sentences whose expected errors are compared


class ChangedError(RuntimeError):
    """A tree would take the place of one that was not shown: of another program, or of another page."""


@dataclass
class Item:
    """A sentence of a project.

    name: the node ID of its tree, or its place.
    words: its words, as brackets can hold them.
    number: the number of its tree in the file; None if it waits for one.
    errors: the expected number of errors of its last suggestion; None if there was none."""

    name: str
    words: list[str]
    number: int | None
    errors: float | None = None


class Project:
    """A file of trees that grows, sentence by sentence.

    trees: the file of trees; it may be absent.
    sentences: the words of the sentences that wait; those that the file has trees for are done.
    options: the settings of the parser; None for those of the preset `fast`.
    annotator: the name that the history has for accepted trees.
    functions: whether the parser learns function labels; None if the trees have some, or the options ask for it.

    Raises BusyError if another process has the project, CorpusError for a file that has something else than trees, and
    ValueError if there are neither trees nor sentences."""

    def __init__(
        self,
        trees: str | os.PathLike[str],
        sentences: Iterable[Sequence[str]] = (),
        options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
        annotator: str = "",
        functions: bool | None = None,
    ) -> None:
        self.path = Path(trees)
        waiting = list(map(words_as_read, sentences))
        if not any(waiting) and not self.path.exists():
            raise ValueError(f"{self.path} is not there, and there are no sentences; name a file of trees, or a text")
        self.annotator = annotator
        self.history = self.path.with_name(self.path.name + ".history")
        self._lock = threading.RLock()
        self._log = History(self.history)
        settings = options or preset_of("fast")
        self._options = [settings] if isinstance(settings, ConstituencyOptions) else list(settings)
        self._functions = functions
        self.cut_off = self._log.cut_off  # half a line at the end of the history, which was not written
        self.restored = 0  # trees that only the history had
        self.passed_over: list[int] = []  # lines of the history that do not fit the file, which another program changed
        try:
            self.file = TreebankFile.read(self.path)
            self._digest = _digest_of(self.path)
            self._restore()
            self.items = [
                Item(self.file.name(number), _words_of(tree), number)
                for number, tree in enumerate(self.file.trees)
                if tree is not None
            ]
            done = Counter(tuple(item.words) for item in self.items)
            for number, words in enumerate(waiting, start=1):
                if done[tuple(words)]:
                    done[tuple(words)] -= 1
                elif words:
                    self.items.append(Item(f"sentence {number}", words, None))
            self.bench = self._new_bench(
                {str(item.number): self._tree(item) for item in self.items if item.number is not None}
            )
        except BaseException:
            self._log.close()
            raise
        self._renewal: threading.Thread | None = None
        self._late: list[str] = []  # trees that were accepted while a new start was trained

    def _new_bench(self, trees: Mapping[str, Phrase]) -> Workbench:
        """Train a parser of trees, whose suggestions have function labels if these have some."""
        have_functions = any(without_functions(tree) != tree for tree in trees.values())
        wanted = have_functions if self._functions is None else self._functions
        is_asked = self._functions is None and any(each.function_labels for each in self._options)
        return Workbench(trees, [replace(each, function_labels=wanted or is_asked) for each in self._options])

    def close(self) -> None:
        """Let other processes have the project, after what is under way is done."""
        if self._renewal is not None:
            self._renewal.join()
        with self._lock:
            self._log.close()

    def messages(self) -> Iterator[str]:
        """Tell what was done to the files when the project was opened."""
        if self.cut_off:
            yield (
                f"Warning: the history ended in half a line, which was cut off; its tree was not accepted: "
                f"{self.cut_off!r:.200}"
            )
        if self.restored:
            yield f"Trees of the history that {self.path} lacked, and that were put back: {self.restored}"
        if self.passed_over:
            places = ", ".join(map(str, self.passed_over[:5]))
            yield (
                f"Warning: trees of the history that were not put back, since another program has changed {self.path}: "
                f"{len(self.passed_over)}; see {self.history}, line {places}"
            )

    @property
    def n_done(self) -> int:
        """The number of sentences with trees."""
        return sum(item.number is not None for item in self.items)

    def _tree(self, item: Item) -> Phrase:
        """The accepted tree of an item, without empty elements."""
        assert item.number is not None
        tree = self.file.trees[item.number]
        assert tree is not None
        found = clean(tree, function_labels=True)
        assert found is not None
        return found

    @property
    def labels(self) -> list[str]:
        """The labels of all accepted trees, the most frequent ones first."""
        return self._labels(False)

    @property
    def tags(self) -> list[str]:
        """The tags of all accepted trees, the most frequent ones first."""
        return self._labels(True)

    def _labels(self, of_words: bool) -> list[str]:
        with self._lock:
            counts = Counter(
                node.label
                for tree in self.bench.trees.values()
                for node in tree.nodes()
                if isinstance(node, Phrase) and node.is_preterminal() == of_words
            )
        return [label for label, _ in counts.most_common()]

    def suggest(self, at: int) -> tuple[Phrase, Suggestion]:
        """Return the tree of an item, which is its accepted one if there is one, and the suggestion of the parser.

        Raises IndexError if there is no such item."""
        item = self._item(at)
        with self._lock:
            (found,) = self.bench.suggest([item.words])
            item.errors = found.expected_errors
            return (found.tree if item.number is None else self._tree(item)), found

    def next(self, after: int, order: Order = "file") -> int | None:
        """Find the next sentence that waits; None if none does.

        after: the number of the present item.
        order: the first one after the present one; or, of the first 150 that wait, the one with the most words for an
            expected error, or with the fewest."""
        places = [*range(after + 1, len(self.items)), *range(min(after + 1, len(self.items)))]
        if order == "file":
            return next((at for at in places if self.items[at].number is None), None)
        window = self._window()
        if len(window) > 1:
            window = [at for at in window if at != after]
        self._rank([at for at in window if self.items[at].errors is None])
        sign = 1.0 if order == "surest" else -1.0
        gain = {at: sign * len(self.items[at].words) / (1.0 + (self.items[at].errors or 0.0)) for at in window}
        return max(window, key=gain.__getitem__, default=None)

    def _window(self) -> list[int]:
        """List the first sentences that wait: those whose expected errors are compared."""
        return [at for at, item in enumerate(self.items) if item.number is None][:_WAITING]

    def rank(self) -> None:
        """Compute the expected errors of the suggestions for the first 150 sentences that wait."""
        self._rank(self._window())

    def _rank(self, places: Sequence[int]) -> None:
        """Compute the expected errors of the suggestions for some sentences."""
        if not places:
            return
        with self._lock:
            model = self.bench.model
        # Without the lock, so that others are answered.
        found = suggest_trees(model, [self.items[at].words for at in places])
        for at, suggestion in zip(places, found, strict=True):
            self.items[at].errors = suggestion.expected_errors

    def _item(self, at: int) -> Item:
        if not 0 <= at < len(self.items):
            raise IndexError(f"there is no sentence {at}; they are 0 to {len(self.items) - 1}")
        return self.items[at]

    def version(self, at: int) -> str:
        """Return a digest of the accepted tree of an item; "" if it waits.

        Raises IndexError if there is no such item."""
        item = self._item(at)
        with self._lock:
            return "" if item.number is None else sha256(self._tree(item).bracketed().encode()).hexdigest()[:16]

    def accept(self, at: int, tree: Phrase, version: str | None = None) -> None:
        """Accept a tree for an item: write it to the history and to the file, and let the parser learn it.

        version: what `version` was when the item was shown; None to replace whatever is there.
        Raises ValueError for other words, and for a tree that its file would not be read with; ChangedError if another
        program has changed the file, or if the item has another version; OSError if a file cannot be written; and
        IndexError if there is no such item.  Then nothing is changed."""
        item = self._item(at)
        tree = as_read(tree)
        if list(tree.words()) != item.words:
            raise ValueError(
                f"the tree has the words {' '.join(tree.words())!r:.80}, and the sentence {' '.join(item.words)!r:.80}"
            )
        with self._lock:
            self._check_unchanged()
            before = None if item.number is None else self._tree(item)
            if version not in (None, self.version(at)) and tree != before:
                raise ChangedError(
                    f"{item.name} was accepted on another page after this one showed it; the tree was not saved: "
                    f"show the sentence again to see that tree, and change it there"
                )
            file = self.file.copy()
            if item.number is None:
                number = file.add(tree, item.name)
            else:
                file.replace(number := item.number, tree)
            digest = sha256(file.text.encode("utf-8")).hexdigest()
            self._log.append(
                HistoryLine(
                    item.name, item.number, before and before.bracketed(), tree.bracketed(), self._digest, digest
                ),
                time=datetime.now(UTC).isoformat(timespec="seconds"),
                annotator=self.annotator,
            )
            try:
                file.save()
            except OSError:
                self._log.undo()
                raise
            self.file = file
            self._digest = digest
            item.number = number
            if before is None:
                self.bench.add(str(number), self._tree(item))
            else:
                self.bench.replace(str(number), self._tree(item))
            self._late.append(str(number))
            self._renew_if_old()

    def _check_unchanged(self) -> None:
        """Raise ChangedError if the file is not as this project has written it."""
        if _digest_of(self.path) != self._digest:
            raise ChangedError(
                f"{self.path} was changed by another program; the tree was not saved: keep the page open, "
                f"start the command again, and accept it there"
            )

    def _restore(self) -> None:
        """Put the trees of the history that the file lacks in their places."""
        first, is_certain = self._log.lacking(self._digest)
        file = self.file.copy()
        n_known = Counter(tuple(_words_of(tree)) for tree in file.trees if tree is not None)
        if not is_certain:  # trees that the file had when a later line was written
            n_known.subtract(
                tuple(self._read(at).words()) for at in range(first) if self._log.entries[at].number is None
            )
        for at in range(first, len(self._log.entries)):
            entry, tree = self._log.entries[at], self._read(at)
            try:
                if entry.number is None:
                    n_known[words := tuple(tree.words())] -= 1
                    if not is_certain and n_known[words] >= 0:
                        continue
                    file.add(tree, entry.sentence)
                elif entry.number < len(file.trees) and _bracketed(file.trees[entry.number]) == entry.before:
                    file.replace(entry.number, tree)
                else:
                    if is_certain:
                        self.passed_over.append(at + 1)
                    continue
            except ValueError as error:
                raise ValueError(f"{self.history}:{at + 1}: the tree cannot be put back: {error}") from None
            self.restored += 1
        if self.restored:
            file.save()
            self.file, self._digest = file, _digest_of(self.path)

    def _read(self, at: int) -> Phrase:
        """Read the accepted tree of a line of the history."""
        place = f"{self.history}:{at + 1}"
        found = [tree for tree, _ in raw_trees(self._log.entries[at].after, place)]
        if len(found) != 1:
            raise ValueError(f"{place}: {len(found)} trees in place of one; move the file away to start a new history")
        return found[0]

    def _renew_if_old(self) -> None:
        """Train a new start beside the work, if the trees have doubled."""
        if not self.bench.is_old or (self._renewal is not None and self._renewal.is_alive()):
            return
        trees = dict(self.bench.trees)
        self._late = []

        def renew() -> None:
            """Train on the trees of this moment, and take the later ones over."""
            bench = self._new_bench(trees)
            assert bench.model is not None  # made here, and not when the next sentence is shown
            with self._lock:
                for name in dict.fromkeys(self._late):
                    tree = self.bench.trees[name]
                    if name not in bench.trees:
                        bench.add(name, tree)
                    elif bench.trees[name] != tree:
                        bench.replace(name, tree)
                self.bench = bench
            self.rank()

        self._renewal = threading.Thread(target=renew, daemon=True)
        self._renewal.start()

    def agree_with(self, other: str | os.PathLike[str]) -> dict[str, Any]:
        """Compare the accepted trees with those of another annotator for the same sentences.

        Returns the number of sentences that both have, the F1 of labelled brackets (EVALB), and Cohen's kappa of the
        tags of words and of the labels of spans, where a span without a label is a category, too.
        Raises CorpusError for a file that has something else than trees, and ValueError if no sentence is in both."""
        theirs: dict[tuple[str, ...], Phrase] = {}
        for tree in TreebankFile.read(other).trees:
            if tree is not None:
                theirs.setdefault(tuple(_words_of(tree)), _plain(tree))
        pairs = [
            (_plain(self._tree(item)), theirs[tuple(item.words)])
            for item in self.items
            if item.number is not None and tuple(item.words) in theirs
        ]
        if not pairs:
            raise ValueError(f"no sentence of {self.path} is in {os.fspath(other)}")
        tags: list[tuple[str, str]] = []
        spans: list[tuple[str, str]] = []
        for ours, other_tree in pairs:
            tags += zip(
                (leaf.label for leaf in ours.preterminals()),
                (leaf.label for leaf in other_tree.preterminals()),
                strict=True,
            )
            one, two = map(_labels_of_spans, (ours, other_tree))
            n = len(list(ours.words()))
            labelled = [(one.get(span, ""), two.get(span, "")) for span in {**one, **two}]
            spans += labelled + [("", "")] * (n * (n - 1) // 2 - len(labelled))
        f1 = score_brackets(pairs).f1
        return {"sentences": len(pairs), "f1": f1, "kappa_of_tags": kappa(tags), "kappa_of_spans": kappa(spans)}


def kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Compute Cohen's kappa of the categories that two annotators gave to n things."""
    n = len(pairs)
    observed = sum(one == two for one, two in pairs) / n
    ones, twos = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    expected = sum(count * twos[label] for label, count in ones.items()) / n**2
    return 1.0 if expected == 1.0 else (observed - expected) / (1.0 - expected)


def _labels_of_spans(tree: Phrase) -> dict[tuple[int, int], str]:
    """Join the labels of each span of several words of a tree."""
    labels: dict[tuple[int, int], str] = {}
    for part in list_constituents(tree):
        if part.end - part.first > 1:
            span = (part.first, part.end)
            labels[span] = f"{part.label} {labels[span]}" if span in labels else part.label
    return labels


def _plain(tree: Phrase) -> Phrase:
    """Leave out function labels and empty elements."""
    found = clean(without_functions(tree))
    assert found is not None
    return found


def _bracketed(tree: Phrase | None) -> str | None:
    """Write a tree of the file as the history has it."""
    found = None if tree is None else clean(tree, function_labels=True)
    return None if found is None else found.bracketed()


def _words_of(tree: Phrase) -> list[str]:
    """List the words of a tree."""
    return list(_plain(tree).words())


def _digest_of(path: Path) -> str:
    """Compute the digest of a file; "" if it is not there."""
    return sha256(path.read_bytes()).hexdigest() if path.exists() else ""
