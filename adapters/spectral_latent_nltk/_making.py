"""Make parsers and taggers of a model, by training, or of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["check_model", "maker"]

_Model = TypeVar("_Model")

if TYPE_CHECKING:
    maker = classmethod
else:

    class maker(classmethod):
        """A class method that makes an object, and cannot be called on an object, which it would leave as it was.

        >>> class Tagger:
        ...     @maker
        ...     def train(cls, sentences): return cls()
        >>> tagger = Tagger.train([])
        >>> tagger.train([])
        Traceback (most recent call last):
        AttributeError: train makes a new Tagger and leaves this one as it is; call Tagger.train
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Bind the method to its class.  Raises AttributeError for an object."""
            if instance is not None:
                name, kind = self.__func__.__name__, type(instance).__name__
                raise AttributeError(f"{name} makes a new {kind} and leaves this one as it is; call {kind}.{name}")
            return super().__get__(instance, owner)


def check_model(face: object, model: Any, *kinds: type) -> None:
    """Raise TypeError if a parser or tagger is to be made of something else than a model.

    face: the parser or tagger.
    model: what it is to be made of.
    kinds: the classes of model that will do.
    """
    if not isinstance(model, kinds):
        name = type(face).__name__
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(
            f"{name} is made of a {expected}, not of {type(model).__name__} {model!r:.60}; learn one from examples "
            f"with {name}.train, or read one from a file with {name}.load"
        )
