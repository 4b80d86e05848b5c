"""The modules of Vantage as trees, for tests of the whole source; one worker runs them, so that each is parsed once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

import vantage

SOURCE: Final = Path(vantage.__file__).parent
one_worker = pytest.mark.xdist_group("trees")


@cache
def parsed(path: Path) -> ast.Module:
    """A module's tree."""
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Everything in a module's tree."""
    return tuple(ast.walk(parsed(path)))


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """The statements of a module, also those inside others: what `ast.walk` finds, without expressions."""
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for statement in getattr(tree, part, ()):
            yield statement
            yield from statements(statement)
