"""The study: read statements, simulate readers, write contexts, ask models, and run the recipe."""

from __future__ import annotations

from typing import Final

from vantage.studies.context import contexts, detection, models, order, people
from vantage.studies.context.analysis import Judged
from vantage.studies.context.collecting import collect
from vantage.studies.context.options import Options
from vantage.studies.recipes import recipe_study

STUDY: Final = recipe_study(
    "context", __package__, Options, collect, people, detection, contexts, models, order, prepare=Judged.of
)
