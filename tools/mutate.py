"""Mutation testing by sample: `make mutate`, by hand, since it takes minutes to hours.

Draws single changes at random (a comparison turned, a sign changed, a number moved by one, a condition negated, `and`
for `or`) and runs, for one at a time, the nearest fast tests: `tests/…/test_NAME.py` and the module's examples, then
those of its folder. A change that no test notices survives. The score is the share that was noticed, with a Wilson
interval, since it comes from a sample.

    python -m tools.mutate measures raters/replies --count 40 --seed 1
    python -m tools.mutate intervals design tests --count 30

A name is a folder or a module under src/vantage, or one of the topics in `TOPICS`, whose modules are found by pattern,
so that they stay the same parts of the statistics when modules move.

No file is changed and nothing is imported twice. One process collects the tests, runs all of them once, and notes which
functions each of them calls. For each change it puts changed code in the place of that of a function and runs the tests
that call it, the quickest first, until one fails.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import functools
import gc
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final

import numpy as np
import pytest

from vantage.measures.intervals import wilson

ROOT = Path(__file__).resolve().parents[1]
COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Pow: ast.Mult,
}  # fmt: skip
TIMEOUT: Final = 120
"""A test that takes longer than so many seconds with a change has noticed it."""
LIMIT: Final = 30
"""So many seconds of tests are run for a change, the quickest first."""
CACHED: Final = type(functools.cache(len))
OUT: Final = os.dup(1)
TOPICS = {
    "intervals": ["measures/**/interval*.py", "measures/**/resampling.py", "measures/**/policy*.py",
                  "measures/**/rater_variance.py", "measures/**/variances.py"],
    "design": ["corpora/**/design*.py", "measures/**/*design*.py", "measures/**/encoded.py", "measures/**/parts.py"],
    "tests": ["measures/relations/compare.py", "measures/relations/groups.py", "measures/multiplicity.py",
              "report/sentences.py", "planning/goals.py"],
}  # fmt: skip
"""The parts of the statistics in which a bug is least likely to be seen."""
FOLDERS = ["measures", "raters/replies", "runs", "collect", *TOPICS]
REACHED: Final = "__reached__"
"""The name under which functions say that they were called."""


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


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one expression."""

    module: Path
    line: int
    """The line of the expression."""
    function: int
    """The line on which the innermost function around it begins."""
    what: str
    text: str
    """The whole module with the change."""


def mutants(module: Path) -> Iterator[Mutant]:
    """Every change inside a function of a module."""
    raw = (ROOT / module).read_bytes()
    begins = [0, *(at + 1 for at, letter in enumerate(raw) if letter == 10)]
    functions = [n for n in ast.walk(ast.parse(raw)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    seen = set()
    # Inner functions are walked after those around them, so that from the end each change is found in the innermost.
    for function, node in ((f, one) for f in reversed(functions) for part in f.body for one in ast.walk(part)):
        if (pair := changed(node)) is None or (pair[0].lineno, pair[0].col_offset, type(node)) in seen:
            continue
        old, new = pair
        seen.add((old.lineno, old.col_offset, type(node)))
        first = begins[old.lineno - 1] + old.col_offset
        last = begins[(old.end_lineno or old.lineno) - 1] + (old.end_col_offset or 0)
        written = f"({ast.unparse(new)})"
        text = (raw[:first] + written.encode() + raw[last:]).decode()
        yield Mutant(module, old.lineno, function.lineno, f"{raw[first:last].decode()} -> {written}", text)


def nearest(module: Path, *, alone: bool = False) -> list[Path]:
    """The tests of a module: its examples and the file that mirrors it, and unless `alone` the others of the folder."""
    inside = module.relative_to("src/vantage")
    folder = Path("tests") / inside.parent
    files = sorted((ROOT / folder).glob(f"test_{inside.name}" if alone else "test_*.py"))
    return [module, *(path.relative_to(ROOT) for path in files)]


def codes(module: CodeType) -> Iterator[CodeType]:
    """The code of everything that is defined in a module, in the order of its text."""
    for constant in module.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes(constant)


@functools.cache
def functions_of(module: Path) -> list[tuple[FunctionType, int]]:
    """The functions of a module, wherever they are held, and the place of each among its codes."""
    path, text = str(ROOT / module), (ROOT / module).read_text("utf-8")
    place = {code: at for at, code in enumerate(codes(compile(text, path, "exec", dont_inherit=True)))}
    functions = [one for one in gc.get_objects() if isinstance(one, FunctionType) and one.__code__ in place]
    return [(one, place[one.__code__]) for one in functions if one.__code__.co_filename == path]


def put(module: Path, text: str | ast.Module) -> None:
    """Puts the code of a text in the place of that of the functions of a module."""
    known = functions_of(module)
    code = list(codes(compile(text, str(ROOT / module), "exec", dont_inherit=True)))
    for function, place in known:
        function.__code__ = code[place]


def noting(module: Path) -> ast.Module:
    """A module whose functions say that they were called."""
    tree = ast.parse((ROOT / module).read_bytes())
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            place = f"({str(module)!r}, {function.lineno})"
            note = ast.parse(f"{REACHED}.add({place})").body
            for one in ast.walk(note[0]):
                ast.copy_location(one, function)
            function.body[:0] = note
    return tree


def first_failing(items: list[pytest.Item]) -> pytest.Item | None:
    """The first test that fails; nothing where all of them pass. What tests share is made anew for each run."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        failed = item.session.testsfailed
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        except BaseException:
            return item
        if item.session.testsfailed > failed:
            return item
    return None


class Kept(dict[str, object]):
    """The names of an example, which can be run again."""

    def clear(self) -> None:
        """Forgets nothing."""


class Trial:
    """Runs the collected tests with each change in turn, in place of pytest's own loop."""

    def __init__(self, drawn: dict[str, list[Mutant]]) -> None:
        self.drawn = drawn
        self.tests: dict[tuple[str, int], dict[pytest.Item, float]] = {}
        """For each function the tests that call it and pass, with the seconds that they take."""
        self.failure = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps what failed last, and why."""
        if report.failed:
            self.failure = f"{report.nodeid}: {report.longreprtext.rstrip().rsplit(chr(10), 1)[-1]}"

    def note(self, items: list[pytest.Item]) -> None:
        """Runs tests without a change, and notes which functions each of them calls."""
        called: set[tuple[str, int]] = set()
        setattr(builtins, REACHED, called)
        modules = {one.module for all_ in self.drawn.values() for one in all_}
        for module in modules:
            put(module, noting(module))
        for item, following in zip(items, [*items[1:], None], strict=True):
            called.clear()
            begin, failed = time.process_time(), item.session.testsfailed
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if item.session.testsfailed > failed:
                tell(f"fails without a change: {self.failure}")
                continue
            for function in called:
                self.tests.setdefault(function, {})[item] = time.process_time() - begin
        for module in modules:
            put(module, (ROOT / module).read_text("utf-8"))

    def noticed(self, mutant: Mutant) -> bool:
        """Whether one of the tests that call the function fails with a change and passes without."""
        tests = self.tests.get((str(mutant.module), mutant.function), {})
        items = sorted(tests, key=lambda item: tests[item])
        within = np.cumsum([tests[item] for item in items]) <= LIMIT
        items = items[: max(int(within.sum()), 1)]
        while items:
            put(mutant.module, mutant.text)
            failing = first_failing(items)
            put(mutant.module, (ROOT / mutant.module).read_text("utf-8"))
            for cached in [one for one in gc.get_objects() if isinstance(one, CACHED)]:
                cached.cache_clear()
            if failing is None or first_failing([failing]) is None:
                return failing is not None
            items = [item for item in items if item is not failing]  # it depends on what ran before
        return False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Tries all changes: first with each module's own tests, then, where these see nothing, with the folder's."""
        session.config.pluginmanager.unregister(name="terminalreporter")
        gc.unfreeze()  # what is frozen is not found
        for item in session.items:
            if isinstance(item, pytest.DoctestItem):
                item.dtest.globs = Kept(item.dtest.globs)
        left = dict(self.drawn)
        for near in (True, False):
            paths = {
                ROOT / path for drawn in left.values() for one in drawn for path in nearest(one.module, alone=near)
            }
            begin, self.tests = time.process_time(), {}
            items = [item for item in session.items if item.path in paths]
            self.note(items)
            tell(f"{len(items)} tests", begin)
            left = {name: [one for one in drawn if not self.noticed(one)] for name, drawn in left.items()}
            for one in (one for survived in left.values() for one in survived):
                tests = len(self.tests.get((str(one.module), one.function), {}))
                tell(f"survived {tests} {'own' if near else 'further'} tests: {one.module}:{one.line}: {one.what}")
            tell(f"{sum(map(len, left.values()))} changes are left", begin)
        for name, survived in left.items():
            count = len(self.drawn[name])
            low, high = wilson(count - len(survived), count, 0.95)
            tell(f"{name}: {count - len(survived)} of {count} noticed ({low:.0%} to {high:.0%})")
        return True


def tell(line: str, begin: float | None = None) -> None:
    """Prints a line at once, with the processor time since the beginning; tests print nothing."""
    spent = "" if begin is None else f" ({time.process_time() - begin:.0f} s)"
    os.write(OUT, f"{line}{spent}\n".encode())


def main() -> None:
    """Draws, tries and reports."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("folders", nargs="*", default=FOLDERS, help="folders, modules or topics")
    parser.add_argument("--count", type=int, default=25, help="changes per folder")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw = random.Random(given.seed)  # noqa: S311
    drawn = {
        name: draw.sample([one for module in modules_of(name) for one in mutants(module)], given.count)
        for name in given.folders
    }
    os.chdir(ROOT)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    paths = dict.fromkeys(str(path) for all_ in drawn.values() for one in all_ for path in nearest(one.module))
    quiet = ["-q", "--no-header", "--no-summary", "--show-capture=no", "-p", "no:xdist", "-p", "no:cacheprovider"]
    pytest.main([*quiet, "-m", "not slow", "--timeout", str(TIMEOUT), *paths], plugins=[Trial(drawn)])


if __name__ == "__main__":
    main()
