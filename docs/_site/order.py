"""Order the programs of the folder docs: the parts of the course, then the tutorials."""

__all__ = ["Order"]


class Order:
    """The order of the pages that sphinx-gallery makes of programs."""

    def __init__(self, folder: str) -> None:
        """Take the folder of the programs, which plays no part."""

    def __call__(self, name: str) -> str:
        """Make the key of a program: its name, but the method in a hundred lines is part 4 of the course."""
        return name.replace("in_a_hundred_lines", "course_4")
