"""Mutation testing by sample: `make mutate`, by hand, since it takes minutes to hours.

Draws single changes at random (a comparison turned, a sign changed, a number moved by one, a condition negated, `and`
for `or`), makes one at a time in a copy of the sources, and runs the nearest tests: `tests/…/test_NAME.py`, then those
of its folder and the module's examples. A change that no test notices survives. The score is the share that was
noticed, with a Wilson interval, since it comes from a sample.

    python -m tools.mutate measures raters/replies --count 40 --seed 1
    python -m tools.mutate intervals design tests --count 10

A name is a folder or a module under src/vantage, or one of the topics in `TOPICS`, whose modules are found by pattern,
so that they stay the same parts of the statistics when modules move.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from vantage.measures.intervals import wilson

ROOT = Path(__file__).resolve().parents[1]
COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Pow: ast.Mult,
}  # fmt: skip
TIMEOUT = 300
TOPICS = {
    "intervals": ["measures/**/interval*.py", "measures/**/resampling.py", "measures/**/policy*.py",
                  "measures/**/rater_variance.py", "measures/**/variances.py"],
    "design": ["corpora/**/design*.py", "measures/**/*design*.py", "measures/**/encoded.py", "measures/**/parts.py"],
    "tests": ["measures/relations/compare.py", "measures/relations/groups.py", "measures/multiplicity.py",
              "report/sentences.py", "planning/goals.py"],
}  # fmt: skip
"""The parts of the statistics in which a bug is least likely to be seen."""
FOLDERS = ["measures", "raters/replies", "runs", "collect", *TOPICS]


def modules_of(name: str) -> list[Path]:
    """The modules of a folder, of a topic, or the one that is named, from the root of the project."""
    source = ROOT / "src" / "vantage"
    patterns = TOPICS.get(name) or [name if name.endswith(".py") else f"{name}/**/*.py"]
    known = sorted({path.relative_to(ROOT) for pattern in patterns for path in source.glob(pattern)})
    if not known:
        sys.exit(f"there is no module '{name}' under src/vantage; topics: {', '.join(TOPICS)}")
    return known


def changed(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The expression to replace and what replaces it, or nothing where the node has no small change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARE:
        return node, ast.Compare(node.left, [COMPARE[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    if (
        isinstance(node, ast.BinOp)
        and type(node.op) in ARITHMETIC
        and not isinstance(node.left, (ast.JoinedStr, ast.List))
    ):
        return node, ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    if isinstance(node, ast.BoolOp):
        return node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return node, ast.Constant(node.value + 1)
    if isinstance(node, (ast.If, ast.IfExp)):
        return node.test, ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node, node.operand
    return None


def mutants(text: str) -> Iterator[tuple[int, str, str]]:
    """The line, what was written there and the whole text, for every change inside a function."""
    raw = text.encode()
    begins = [0, *(at + 1 for at, letter in enumerate(raw) if letter == 10)]
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    seen = set()
    for node in (one for function in functions for part in function.body for one in ast.walk(part)):
        if (pair := changed(node)) is None or (pair[0].lineno, pair[0].col_offset, type(node)) in seen:
            continue
        old, new = pair
        seen.add((old.lineno, old.col_offset, type(node)))
        first = begins[old.lineno - 1] + old.col_offset
        last = begins[(old.end_lineno or old.lineno) - 1] + (old.end_col_offset or 0)
        written = f"({ast.unparse(new)})"
        yield (
            old.lineno,
            f"{raw[first:last].decode()} -> {written}",
            (raw[:first] + written.encode() + raw[last:]).decode(),
        )


def nearest(module: Path) -> list[list[Path]]:
    """The tests of a module, the nearest first: the file that mirrors it and its examples, then the folder."""
    inside = module.relative_to("src/vantage")
    own = Path("tests") / inside.parent / f"test_{inside.name}"
    return [[module, *([own] if (ROOT / own).exists() else [])], [own.parent]]


def survives(copied: Path, module: Path, text: str) -> bool:
    """Whether the nearest tests pass with the changed text in the place of the module."""
    (copied / module).write_text(text, "utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{copied / 'src'}{os.pathsep}{copied}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not slow"]
    try:
        return all(
            subprocess.run(  # noqa: S603
                [*command, *map(str, tests)],
                check=False,
                cwd=copied,
                env=environment,
                capture_output=True,
                timeout=TIMEOUT,
            ).returncode
            in (0, 5)  # 5: there is no test
            for tests in nearest(module)
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        shutil.copy(ROOT / module, copied / module)


def main() -> None:
    """Draws, tries and reports."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("folders", nargs="*", default=FOLDERS, help="folders, modules or topics")
    parser.add_argument("--count", type=int, default=25, help="changes per folder")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw = random.Random(given.seed)  # noqa: S311
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "vantage"
        shutil.copytree(ROOT, copied, ignore=shutil.ignore_patterns(".venv", ".git", ".*cache", "site"))
        for name in given.folders:
            drawn = draw.sample(
                [(m, *one) for m in modules_of(name) for one in mutants((ROOT / m).read_text("utf-8"))], given.count
            )
            left = 0
            for module, line, what, text in drawn:
                if survives(copied, module, text):
                    left += 1
                    print(f"survived: {module}:{line}: {what}", flush=True)  # noqa: T201
            low, high = wilson(given.count - left, given.count, 0.95)
            print(f"{name}: {given.count - left} of {given.count} noticed ({low:.0%} to {high:.0%})", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
