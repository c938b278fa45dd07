"""Hold the version of the library, which its files name."""

__all__ = ["__version__"]

__version__ = "0.1.0"
