"""Only the sentences of a study: its recipe without entries that say nothing, so that noise can be tried many times."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from vantage.report.parts import Result
from vantage.report.recipe import Recipe, functions_of


def spoken(package: str, *modules: ModuleType) -> Callable[[Any], Result]:
    """From what the functions of a study are given to a result with all sentences and as few tables as possible."""
    functions = functions_of(*modules)
    whole = Recipe.bundled(package, functions)
    sections = [one.model_copy(update={"show": [entry for entry in one.show if entry.say]}) for one in whole.sections]
    recipe = whole.model_copy(update={"sections": [one for one in sections if one.show]})
    return lambda analysis: recipe.result(analysis, functions)
