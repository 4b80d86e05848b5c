"""Studies that are recipes: a document of sections, and only the functions that are new in the study.

Your own studies are a recipe (`.yaml`), with functions in a Python file of the same name beside it, or a Python file
with a `STUDY`. Python files are run as code: run only what you have read.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import make_dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal

from vantage.corpora import Corpus
from vantage.corpora.bundled import demo_corpus
from vantage.errors import InputError, VantageError
from vantage.report.parts import Result
from vantage.report.published import PublishedFigures
from vantage.report.recipe import Analysis, Recipe, functions_of
from vantage.studies.base import Study, option
from vantage.studies.execution import Context


def recipe_study(
    name: str,
    source: str | Recipe,
    collect: Callable[[Context[Any]], Corpus],
    *modules: ModuleType,
    prepare: Callable[[Corpus, Context[Any]], Any] = Analysis.from_run,
    warnings: Callable[[Any], Iterable[str]] = lambda _: (),
) -> Study[Any]:
    """A recipe as a study, with published figures beside recomputed ones where its package has some.

    Args:
        name: Its name on the command line.
        source: The recipe, or the package with `recipe.yaml` and, where there are published figures, `published.yaml`.
        collect: From a context to the corpus.
        modules: The modules whose public functions the recipe can call; each takes what `prepare` gives.
        prepare: From corpus and context to what functions are given.
        warnings: Sentences for the top of the report, from what `prepare` gives.
    """
    printed = None
    if isinstance(source, str) and files(source).joinpath("published.yaml").is_file():
        printed = PublishedFigures.bundled(source)
    recipe = Recipe.bundled(source, *modules) if isinstance(source, str) else source

    def analyse(corpus: Corpus, context: Context[Any]) -> Result:
        analysis = prepare(corpus, context)
        with context.step("analysing", len(recipe.sections)) as moved:
            warned = tuple(warnings(analysis))
            return recipe.result(analysis, published=printed, warnings=warned, step=moved)

    return Study(
        name,
        recipe.title,
        tuple(recipe.questions),
        _options(recipe.options),
        collect,
        analyse,
        needs_data=recipe.data,
        default_models=tuple(recipe.models),
        libraries=tuple(recipe.libraries),
    )


RECIPES: Final = (".yaml", ".yml")


def is_path(name: str) -> bool:
    """Whether a study is named by its file.

    >>> is_path("study.yaml"), is_path("study.py"), is_path("demo")
    (True, True, False)
    """
    return name.endswith((".py", *RECIPES))


def load(path: str | Path) -> Study[Any]:
    """The study in a file."""
    path = Path(path)
    if not path.is_file():
        raise InputError("there is no such file", file=path, remedy="begin one with: vantage new study NAME")
    if path.suffix in RECIPES:
        return _recipe(path)
    study = getattr(_module(path), "STUDY", None)
    if not isinstance(study, Study):
        raise InputError("the file has no STUDY", file=path, remedy="see the one that vantage new study NAME makes")
    return study


def _recipe(path: Path) -> Study[Any]:
    """A recipe as a study of `--data` and of models that the recipe asks."""
    beside = path.with_suffix(".py")
    functions = functions_of(_module(beside)) if beside.is_file() else {}
    recipe = Recipe.read(path, functions)

    def collect(context: Context[Any]) -> Corpus:
        corpus = Corpus.read(context.data) if context.data else demo_corpus()
        if context.data is None:
            context.warn("No --data given: this report is about the bundled demo corpus, whose ratings are synthetic.")
        if context.models:
            if not recipe.ask:
                raise InputError("the recipe asks no models", file=path, remedy="add ask: {styles: [zero-shot]}")
            for style in recipe.ask.get("styles", ["zero-shot"]):
                instrument = recipe.ask.get("instrument") or corpus.instruments[0]
                corpus = context.rate(
                    corpus, context.raters(style), instrument, questions=recipe.ask.get("questions", ())
                )
        return corpus

    return recipe_study(path.stem, recipe, collect)


def _options(declared: Mapping[str, Mapping[str, Any]]) -> Any:
    """The options of a recipe as a dataclass; the type of each is that of its default, or one of its choices."""
    fields = []
    for name, how in declared.items():
        default, choices = how.get("default", ""), how.get("choices")
        kind = Literal.__getitem__(tuple(choices)) if choices else type(default)
        fields.append((name, kind, option(default, how.get("help", ""))))
    return make_dataclass("Options", fields, frozen=True)


def _module(path: Path) -> ModuleType:
    """A Python file, run; modules beside it can be imported by it."""
    # A name that no other file has, under which the types of the options are found again.
    name = f"vantage_study_{sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    spec = spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101 - a file whose name ends in .py has one
    assert spec.loader is not None  # noqa: S101
    module = module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except VantageError:
        raise
    except Exception as error:
        raise InputError(
            f"the file cannot be run ({type(error).__name__}: {error})",
            file=path,
            row=_line(error, path),
            remedy="correct it; a new one is made by: vantage new study NAME",
        ) from error
    finally:
        sys.path.remove(folder)
    return module


def _line(error: Exception, path: Path) -> int | None:
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    return lines[-1] if lines else None
