"""The papers that the library stands on: their own algorithms, and commands that make their tables again.

`python -m benchmarks.papers --help` lists the commands.  Nothing in the library needs these modules.
"""
