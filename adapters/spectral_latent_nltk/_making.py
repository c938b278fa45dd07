"""Declare class methods that make parsers and taggers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["maker"]

if TYPE_CHECKING:
    maker = classmethod
else:

    class maker(classmethod):
        """A class method that makes an object.  A call on an object is refused, because it would not change the object.

        >>> class Tagger:
        ...     @maker
        ...     def train(cls, sentences): return cls()
        >>> tagger = Tagger.train([])
        >>> tagger.train([])
        Traceback (most recent call last):
        TypeError: train makes a new Tagger and leaves this one as it is; call Tagger.train
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Bind the method to its class; for an object, return a function that refuses to be called."""
            if instance is None:
                return super().__get__(instance, owner)
            name, kind = self.__func__.__name__, type(instance).__name__

            def refuse(*_: Any, **__: Any) -> NoReturn:
                raise TypeError(f"{name} makes a new {kind} and leaves this one as it is; call {kind}.{name}")

            return refuse
