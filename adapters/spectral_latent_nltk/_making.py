"""Declare class methods that make parsers and taggers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["maker"]

if TYPE_CHECKING:
    maker = classmethod
else:

    class maker(classmethod):
        """A class method that makes an object.  It cannot be called on an object, because it would not change the
        object.

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
