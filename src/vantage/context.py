"""Ambiguous statements and conversations around them: the public names of `vantage.studies.context.pipeline`."""

from vantage.studies.context.pipeline.ambiguity import SURFACE, Detected, Spread, by_surface, detected, votes
from vantage.studies.context.pipeline.controls import Contexts, attached
from vantage.studies.context.pipeline.detection import Judging, calibration, ceiling, compare
from vantage.studies.context.pipeline.generation import generate
from vantage.studies.context.pipeline.sequential import simulate
from vantage.studies.context.pipeline.simulation import METHODS, Cost, Simulation, Simulator
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
