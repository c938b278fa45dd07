"""Say what to use in the place of commands, options and formats that left."""

from __future__ import annotations

__all__ = ["LEFT"]

LEFT = {
    "recipe": "type the commands `train` and `evaluate`, which docs/treebanks.md lists",
    "--resume": "divide the input by `split`, and answer only the parts that have no answers yet",
    "--shard": "divide the input, as by `split --number=l/4`, and answer each part",
    ".parquet": "write JSON lines to a name in .jsonl; pandas converts: read_json(FILE, lines=True).to_parquet(NEW)",
}
