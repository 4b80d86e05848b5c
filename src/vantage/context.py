"""Ambiguous statements and conversations around them: the public names of `vantage.studies.context.pipeline`."""

from vantage.studies.context.pipeline.ambiguity import Detected, Spread, detected, votes
from vantage.studies.context.pipeline.controls import Contexts, attached
from vantage.studies.context.pipeline.detection import Judging, calibration, ceiling, compare
from vantage.studies.context.pipeline.generation import generate
from vantage.studies.context.pipeline.readers import METHODS, Simulator
from vantage.studies.context.pipeline.simulation import Cost, Simulation, simulate
from vantage.studies.context.pipeline.surface import SURFACE, by_surface
from vantage.studies.context.pipeline.thresholds import Target, curve, held_out, remaining

__all__ = [
    "METHODS",
    "SURFACE",
    "Contexts",
    "Cost",
    "Detected",
    "Judging",
    "Simulation",
    "Simulator",
    "Spread",
    "Target",
    "attached",
    "by_surface",
    "calibration",
    "ceiling",
    "compare",
    "curve",
    "detected",
    "generate",
    "held_out",
    "remaining",
    "simulate",
    "votes",
]
