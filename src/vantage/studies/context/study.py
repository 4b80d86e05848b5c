"""The study: read statements, simulate readers, write contexts, ask models, and run the recipe."""

from __future__ import annotations

from typing import Final

from vantage.studies.context import changes, contexts, detection, models
from vantage.studies.context.analysis import ContextAnalysis, ContextOptions
from vantage.studies.context.collecting import collect
from vantage.studies.recipes import recipe_study

STUDY: Final = recipe_study(
    "context", __package__, ContextOptions, collect, detection, contexts, models, changes, prepare=ContextAnalysis.of
)
