"""Writes what type checkers know of `vantage.measures`: src/vantage/measures/_signatures.pyi.

Besides its own options a measure takes `kinds` and `include_excluded` (whose judgments to use). `@measure` adds both,
which no type can express, so the file is written from the signatures that the functions have when they run.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from functools import cache
from importlib import import_module
from types import ModuleType

from vantage.measures import HOMES

HEADER = '"""The signatures of the measures, for type checkers; written by `make reference`."""\n'


def signatures() -> str:
    """The text of the stub."""
    imports = {"pl": "import polars as pl"}
    blocks = []
    for name, home in HOMES.items():
        module = import_module(home)
        lines = []
        for parameter in inspect.signature(getattr(module, name)).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY and "    *," not in lines:
                lines.append("    *,")
            default = "" if parameter.default is parameter.empty else " = ..."
            lines.append(f"    {parameter.name}: {_annotation(str(parameter.annotation), module, imports)}{default},")
        blocks.append("\n".join([f"def {name}(", *lines, ") -> pl.DataFrame: ..."]))
    ordered = sorted(set(imports.values()), key=lambda line: (line.startswith("from vantage"), line.split()[1], line))
    return "\n".join([HEADER, *ordered, "", *blocks, ""])


def _annotation(text: str, module: ModuleType, imports: dict[str, str]) -> str:
    """An annotation with every name in it imported, under another name where two modules mean different things."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
            home, original = _origin(node.id, module)
            line = f"import {home} as {node.id}" if original is None else f"from {home} import {original}"
            known = f"{line} as {node.id}" if original not in (None, node.id) else line
            if imports.setdefault(node.id, known) != known:
                node.id = f"{home.split('.')[-1].title().replace('_', '')}{original}"
                imports[node.id] = f"from {home} import {original} as {node.id}"
    return ast.unparse(tree)


@cache
def _imports_of(module: ModuleType) -> dict[str, tuple[str, str | None]]:
    """The names that a module imports, each with its module and its name there; none for a module."""
    return {
        one.asname or one.name: (node.module or "", one.name) if isinstance(node, ast.ImportFrom) else (one.name, None)
        for node in reversed(list(ast.walk(ast.parse(inspect.getsource(module)))))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for one in node.names
    }


def _origin(name: str, module: ModuleType) -> tuple[str, str | None]:
    """The module in which a name that a module uses is defined, and its name there; none for a module."""
    if name in (imports := _imports_of(module)):
        return imports[name]
    if not hasattr(module, name):
        # What `@measure` adds has the names of its own module.
        return _origin(name, sys.modules["vantage.measures.base"])
    return module.__name__, name
