"""Runs the benchmarks that are named, or all of them."""

from __future__ import annotations

import argparse
import ast
import sys
from importlib import import_module
from pathlib import Path

NAMES = (
    "table",
    "alpha",
    "intervals",
    "split_half",
    "aggregation",
    "scoring",
    "runs",
    "engines",
    "collect",
    "collect_crowd",
    "perspective",
    "trained",
    "models",
    "view",
    "calibration",
    "audit",
    "planning",
    "adaptive",
    "calibration_powered",
    "powered",
    "readers",
    "scaling",
)


def summary(name: str) -> str:
    """What a benchmark does, in the words of its module.

    >>> summary("aggregation")
    'Dawid–Skene and MACE: ours beside crowd-kit.'
    """
    source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").split("\n", 1)[0]


def parser() -> argparse.ArgumentParser:
    """The command line; each benchmark reads what is left of it."""
    width = max(map(len, NAMES))
    made = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Runs the benchmarks that are named, or all of them.",
        epilog="Benchmarks:\n" + "\n".join(f"  {name:{width}}  {summary(name)}" for name in NAMES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a benchmark, see below, or all of them; a number says how many tables are simulated where some are",
    )
    made.add_argument("--full", action="store_true", help="add the largest cases, for benchmarks that have some")
    return made


def main() -> None:
    command, words = parser(), sys.argv[1:]
    # What follows the first further option belongs to the benchmark that is named.
    own = next((n for n, word in enumerate(words) if word.startswith("--") and word not in ("--full", "--help")), None)
    asked = command.parse_args(words[:own])
    for word in asked.names:
        if word not in NAMES and not word.isdecimal():
            command.error(f"there is no benchmark '{word}'; available: {', '.join(NAMES)}")
    for name in [word for word in asked.names if word in NAMES] or NAMES:
        print(f"\n=== {name}")
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
