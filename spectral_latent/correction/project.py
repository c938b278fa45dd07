"""Hold a project of correction: a file of trees, sentences that wait for trees, a history, and the parser that learns.

| file | content |
| --- | --- |
| TREES | the corrected trees; all other text of the file stays as it is |
| TREES.history | a line of JSON for each accepted tree: when, by whom, and what stood before; never shortened |

An accepted tree is written to the history first, and then to TREES, whole or not at all.  If a process dies between
both, the next one puts the tree of the history in its place.  One process at a time has a project.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Literal

from spectral_latent.constituency import ConstituencyOptions, Phrase, Suggestion, Workbench, clean, suggest_trees
from spectral_latent.constituency.cleaning import without_functions
from spectral_latent.constituency.tree import list_constituents
from spectral_latent.corpora import TreebankFile, parse_brackets
from spectral_latent.evaluation import score_brackets

__all__ = ["BusyError", "ChangedError", "Item", "Order", "Project"]

Order = Literal["file", "surest", "unsure"]
_WAITING = 150  # sentences whose expected errors are compared


class BusyError(RuntimeError):
    """Another process has the project."""


class ChangedError(RuntimeError):
    """The file of trees was changed by another program."""


@dataclass
class Item:
    """A sentence of a project.

    name: the node ID of its tree, or its place.
    words: its words.
    number: the number of its tree in the file; None if it waits for one.
    errors: the expected number of errors of its last suggestion; None if there was none.
    """

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

    Raises BusyError if another process has the project, CorpusError for a file that has something else than trees, and
    ValueError if there are neither trees nor sentences.
    """

    def __init__(
        self,
        trees: str | os.PathLike[str],
        sentences: Iterable[Sequence[str]] = (),
        options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
        annotator: str = "",
    ) -> None:
        self.path = Path(trees)
        waiting = [list(words) for words in sentences]
        if not any(waiting) and not self.path.exists():
            raise ValueError(f"{self.path} is not there, and there are no sentences; name a file of trees, or a text")
        self.annotator = annotator
        self.history = self.path.with_name(self.path.name + ".history")
        self._lock = threading.RLock()
        self._log = _open_alone(self.history)
        self._options = options
        self.restored = 0
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
            self.bench = Workbench(
                {str(item.number): self._tree(item) for item in self.items if item.number is not None}, options
            )
        except BaseException:
            self._log.close()
            raise
        self._elsewhere: set[str] = set()  # trees that `learn` was given
        self._renewal: threading.Thread | None = None
        self._late: list[str] = []  # trees that were accepted while a new start was trained

    def close(self) -> None:
        """Let other processes have the project."""
        if self._renewal is not None:
            self._renewal.join()
        self._log.close()

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

        at: the number of the item.
        Raises IndexError if there is no such item.
        """
        item = self._item(at)
        with self._lock:
            (found,) = self.bench.suggest([item.words])
            item.errors = found.expected_errors
            return (found.tree if item.number is None else self._tree(item)), found

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Suggestion]:
        """Suggest trees for sentences that need not belong to the project.

        sentences: the words of each sentence.
        """
        with self._lock:
            return self.bench.suggest(sentences)

    def learn(self, trees: Mapping[str, Phrase]) -> None:
        """Let the parser learn trees that another program keeps, in the place of those of the last call.

        trees: the trees by names; they are not written to the project's files.
        """
        named = {f"elsewhere {name}": tree for name, tree in trees.items()}
        with self._lock:
            for name in sorted(self._elsewhere - named.keys()):
                self.bench.remove(name)
            for name, tree in named.items():
                if name not in self._elsewhere:
                    self.bench.add(name, tree)
                elif self.bench.trees[name] != tree:
                    self.bench.replace(name, tree)
            self._late += sorted(self._elsewhere | named.keys())
            self._elsewhere = {*named}
            self._renew_if_old()

    def next(self, after: int, order: Order = "file") -> int | None:
        """Find the next sentence that waits; None if none does.

        after: the number of the present item.
        order: the first one after the present one; or, of the next 150, the one with the most words for an expected
            error, or with the fewest, as far as `rank` has told.  Among few sentences, sure and unlike ones are next.
        """
        places = [*range(after + 1, len(self.items)), *range(min(after + 1, len(self.items)))]
        waiting: list[int] = [at for at in places if self.items[at].number is None]
        if not waiting or order == "file":
            return waiting[0] if waiting else None
        sign = 1.0 if order == "surest" else -1.0
        gain = [sign * len(self.items[at].words) / (1.0 + (self.items[at].errors or 0.0)) for at in waiting[:_WAITING]]
        return waiting[gain.index(max(gain))]

    def _item(self, at: int) -> Item:
        if not 0 <= at < len(self.items):
            raise IndexError(f"there is no sentence {at}; they are 0 to {len(self.items) - 1}")
        return self.items[at]

    def accept(self, at: int, tree: Phrase) -> None:
        """Accept a tree for an item: write it to the history and to the file, and let the parser learn it.

        at: the number of the item.
        tree: the tree, over exactly the words of the item.
        Raises ValueError for other words, ChangedError if another program has changed the file, and IndexError if there
        is no such item.
        """
        item = self._item(at)
        if list(tree.words()) != item.words:
            raise ValueError(
                f"the tree has the words {' '.join(tree.words())!r:.80}, and the sentence {' '.join(item.words)!r:.80}"
            )
        with self._lock:
            self._check_unchanged()
            before = None if item.number is None else self._tree(item)
            self._record(item, before, tree)
            if item.number is None:
                item.number = self.file.add(tree, item.name)
                self.bench.add(str(item.number), self._tree(item))
            else:
                self.file.replace(item.number, tree)
                self.bench.replace(str(item.number), self._tree(item))
            self.file.save()
            self._digest = _digest_of(self.path)
            self._late.append(str(item.number))
            self._renew_if_old()

    def _check_unchanged(self) -> None:
        """Raise ChangedError if the file is not as this project has written it."""
        if _digest_of(self.path) != self._digest:
            raise ChangedError(
                f"{self.path} was changed by another program; the tree was not saved: keep the page open, "
                f"start the command again, and accept it there"
            )

    def _record(self, item: Item, before: Phrase | None, after: Phrase) -> None:
        """Append a line to the history, and wait until it is on the disk."""
        line = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "annotator": self.annotator,
            "sentence": item.name,
            "number": item.number,
            "before": before and before.bracketed(),
            "after": after.bracketed(),
        }
        self._log.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._log.flush()
        os.fsync(self._log.fileno())

    def _restore(self) -> None:
        """Put the last tree of the history into the file, if a process has died before it could."""
        last = None
        for number, line in enumerate(self.history.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                last = json.loads(line)
                tree, at, before = last["after"], last["number"], last["before"]
            except (ValueError, KeyError, TypeError):
                raise ValueError(
                    f"{self.history}:{number}: not a line of a history; move the file away to start a new one"
                ) from None
        if last is None:
            return
        (found,) = parse_brackets(tree)
        trees = [None if each is None else _plain(each) for each in self.file.trees]
        if at is None:
            if _plain(found) not in trees[-1:]:
                self.file.add(found, last["sentence"])
                self.restored = 1
        elif before is not None and at < len(trees) and trees[at] == _plain(next(iter(parse_brackets(before)))):
            self.file.replace(at, found)
            self.restored = 1
        if self.restored:
            self.file.save()
            self._digest = _digest_of(self.path)

    def _renew_if_old(self) -> None:
        """Train a new start beside the work, if the trees have doubled."""
        if not self.bench.is_old or (self._renewal is not None and self._renewal.is_alive()):
            return
        trees = dict(self.bench.trees)
        self._late = []

        def renew() -> None:
            """Train on the trees of this moment, and take the later ones over."""
            bench = Workbench(trees, self._options)
            assert bench.model is not None  # made here, and not when the next sentence is shown
            with self._lock:
                for name in dict.fromkeys(self._late):
                    tree = self.bench.trees.get(name)
                    if name in bench.trees and bench.trees[name] != tree:
                        bench.remove(name)
                    if tree is not None and name not in bench.trees:
                        bench.add(name, tree)
                self.bench = bench
            self.rank()

        self._renewal = threading.Thread(target=renew, daemon=True)
        self._renewal.start()

    def rank(self) -> None:
        """Compute the expected errors of the suggestions for the sentences that wait, at most 150."""
        waiting = [item for item in self.items if item.number is None][:_WAITING]
        with self._lock:
            model = self.bench.model
        found = suggest_trees(model, [item.words for item in waiting])  # without the lock, so that others are answered
        for item, suggestion in zip(waiting, found, strict=True):
            item.errors = suggestion.expected_errors

    def agree_with(self, other: str | os.PathLike[str]) -> dict[str, Any]:
        """Compare the accepted trees with those of another annotator for the same sentences.

        other: the file of the other annotator's trees.
        Returns the number of sentences that both have, the F1 of labelled brackets (EVALB), and Cohen's kappa of the
        tags of words and of the labels of spans, where a span without a label is a category, too.
        Raises CorpusError for a file that has something else than trees, and ValueError if no sentence is in both.
        """
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
    """Compute Cohen's kappa of the categories that two annotators gave to n things.

    >>> round(kappa([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")]), 3)
    0.5
    """
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


def _words_of(tree: Phrase) -> list[str]:
    """List the words of a tree."""
    return list(_plain(tree).words())


def _digest_of(path: Path) -> str:
    """Compute the digest of a file; "" if it is not there."""
    return sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def _open_alone(path: Path) -> IO[str]:
    """Open a history for appending, which one process at a time can do.  The lock ends with the process."""
    file = path.open("a", encoding="utf-8")
    try:
        import fcntl
    except ImportError:  # not on this system
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise BusyError(f"another process has {path}; close it, or choose another file of trees") from None
    return file
