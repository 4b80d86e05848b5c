"""Ambiguous statements and conversations around them: the public names of `vantage.studies.context.pipeline`."""

from vantage.studies.context.pipeline.ambiguity import SURFACE, by_surface, votes
from vantage.studies.context.pipeline.controls import Contexts, attached
from vantage.studies.context.pipeline.detection import Judging, compare, curve, held_out
from vantage.studies.context.pipeline.dialogue import first_person
from vantage.studies.context.pipeline.generation import generate
from vantage.studies.context.pipeline.simulation import (
    METHODS,
    Cost,
    Detected,
    Simulation,
    Simulator,
    detected,
    simulate,
)

__all__ = [
    "METHODS",
    "SURFACE",
    "Contexts",
    "Cost",
    "Detected",
    "Judging",
    "Simulation",
    "Simulator",
    "attached",
    "by_surface",
    "compare",
    "curve",
    "detected",
    "first_person",
    "generate",
    "held_out",
    "simulate",
    "votes",
]
