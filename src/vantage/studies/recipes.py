"""Studies that are recipes: a document of sections, and only the functions that are new in the study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from vantage.corpora import Corpus
from vantage.report.parts import Result
from vantage.report.published import PublishedFigures
from vantage.report.recipe import Analysis, Function, Recipe, functions_of
from vantage.studies.base import O, Study
from vantage.studies.execution import Context


def recipe_study(
    name: str,
    package: str,
    kind: Callable[..., O],
    collect: Callable[[Context[O]], Corpus],
    *modules: ModuleType,
    prepare: Callable[[Corpus, Context[O]], Any] = Analysis.from_run,
    warnings: Callable[[Any], Iterable[str]] = lambda _: (),
    published: bool = False,
) -> Study[O]:
    """The study whose `recipe.yaml` a package holds.

    Args:
        name: What it is called on the command line.
        package: The package with `recipe.yaml` and, where `published`, `published.yaml`.
        kind: The dataclass of its options.
        collect: From a context to the corpus.
        modules: The modules whose public functions the recipe can call; each takes what `prepare` gives.
        prepare: From corpus and context to what functions are given.
        warnings: What must be known before anything is believed.
        published: Whether published figures are set beside recomputed ones.
    """
    functions = functions_of(*modules)
    printed = PublishedFigures.bundled(package) if published else None
    recipe = Recipe.bundled(package, functions)
    return study_of(name, recipe, functions, kind, collect, prepare=prepare, warnings=warnings, published=printed)


def study_of(
    name: str,
    recipe: Recipe,
    functions: Mapping[str, Function],
    kind: Callable[..., O],
    collect: Callable[[Context[O]], Corpus],
    *,
    prepare: Callable[[Corpus, Context[O]], Any] = Analysis.from_run,
    warnings: Callable[[Any], Iterable[str]] = lambda _: (),
    published: PublishedFigures | None = None,
) -> Study[O]:
    """A recipe as a study; `functions` are those that it calls."""

    def analyse(corpus: Corpus, context: Context[O]) -> Result:
        analysis = prepare(corpus, context)
        with context.step("analysing", len(recipe.sections)) as moved:
            told = tuple(warnings(analysis))
            return recipe.result(analysis, functions, published=published, warnings=told, step=moved)

    return Study(
        name,
        recipe.title,
        tuple(recipe.questions),
        kind,
        collect,
        analyse,
        needs_data=recipe.data,
        default_models=tuple(recipe.models),
        libraries=tuple(recipe.libraries),
    )
