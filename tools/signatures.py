"""Writes what type checkers know of `vantage.measures`: src/vantage/measures/_signatures.pyi.

Besides its own options a measure takes those that say whose judgments to use. `@measure` adds them, which no type can
express, so the file is written from the signatures that the functions have. What many measures share is written once.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from functools import cache
from importlib import import_module
from types import ModuleType

from vantage.measures import HELPERS, HOMES, base, intervals

HEADER = '"""The signatures of the measures, for type checkers; written by `make reference`."""\n'
INTERVALS = ("IntervalOptions", "WeightedIntervalOptions")
"""The options of intervals that measures declare together, in `vantage.measures.intervals`."""


def signatures() -> str:
    """The text of the stub."""
    imports = {"pl": "import polars as pl"} | {name: f"from typing import {name}" for name in ("TypedDict", "Unpack")}
    shared = ["class Whose(TypedDict, total=False):"]
    shared += [f"    {one.name}: {_annotation(str(one.annotation), base, imports)}" for one in base.WHOSE]
    for name in INTERVALS:
        shared.append(f"class {name.removesuffix('Options')}({_annotation(name, intervals, imports)}, Whose): ...")
    blocks = [_stub(name, import_module(home), imports) for name, home in HOMES.items()]
    imports |= {name: f"from {home} import {name} as {name}" for name, home in HELPERS.items()}
    modules: dict[str, list[str]] = {}
    for line in sorted(set(imports.values())):
        start, _, names = line.partition(" import ")
        modules.setdefault(start, []).append(names)
    told = [" import ".join(filter(None, (start, ", ".join(names)))) for start, names in modules.items()]
    ordered = sorted(told, key=lambda line: (line.startswith("from vantage"), line.split()[1], line))
    return "\n".join([HEADER, *ordered, "", *shared, *blocks, ""])


def _stub(name: str, module: ModuleType, imports: dict[str, str]) -> str:
    """One measure: its own options, and by one word those that it shares with others."""
    function = getattr(module, name)
    # What is made of a function of units declares what it is called with.
    declared = getattr(function, "__declared__", None)
    own = (declared or inspect.signature(inspect.unwrap(function), follow_wrapped=False)).parameters.values()
    together = next((str(one.annotation) for one in own if one.kind is one.VAR_KEYWORD), "Unpack[Whose]")
    parameters = [one for one in own if one.kind is not one.VAR_KEYWORD and one.annotation != base.FROM_DESIGN]
    if (powered := inspect.signature(function).parameters.get("powered_by")) is not None:
        parameters.append(powered)
    lines: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and "    *," not in lines:
            lines.append("    *,")
        default = "" if parameter.default is parameter.empty else " = ..."
        lines.append(f"    {parameter.name}: {_annotation(str(parameter.annotation), module, imports)}{default},")
    lines.append(f"    **shared: {together.replace('Options]', ']')},")
    return "\n".join([f"def {name}(", *lines, ") -> pl.DataFrame: ..."])


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
