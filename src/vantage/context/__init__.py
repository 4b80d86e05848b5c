"""Context: which statements are ambiguous, and conversations written around them.

`readers` and `simulation` let a model answer as many readers, `ambiguity` reads doubt off their answers and off
people's votes, `surface` needs no model, `thresholds` flags items and `detection` says how well; `generation` writes
and checks conversations. May import everything up to `runs`. The next method of detection is a line in
`readers.METHODS` or `surface.SURFACE`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.context.ambiguity import Detected as Detected
    from vantage.context.ambiguity import Spread as Spread
    from vantage.context.ambiguity import detected as detected
    from vantage.context.ambiguity import votes as votes
    from vantage.context.controls import Contexts as Contexts
    from vantage.context.detection import Judging as Judging
    from vantage.context.detection import calibration as calibration
    from vantage.context.detection import ceiling as ceiling
    from vantage.context.detection import compare as compare
    from vantage.context.generation import generate as generate
    from vantage.context.readers import METHODS as METHODS
    from vantage.context.readers import Simulator as Simulator
    from vantage.context.simulation import Cost as Cost
    from vantage.context.simulation import Simulation as Simulation
    from vantage.context.simulation import simulate as simulate
    from vantage.context.surface import SURFACE as SURFACE
    from vantage.context.surface import by_surface as by_surface
    from vantage.context.thresholds import Target as Target
    from vantage.context.thresholds import curve as curve
    from vantage.context.thresholds import held_out as held_out
    from vantage.context.thresholds import remaining as remaining

_HOMES = {
    name: f"vantage.context.{module}"
    for module, names in {
        "ambiguity": ("Detected", "Spread", "detected", "votes"),
        "detection": ("Judging", "calibration", "ceiling", "compare"),
        "controls": ("Contexts",),
        "generation": ("generate",),
        "readers": ("METHODS", "Simulator"),
        "simulation": ("Cost", "Simulation", "simulate"),
        "surface": ("SURFACE", "by_surface"),
        "thresholds": ("Target", "curve", "held_out", "remaining"),
    }.items()
    for name in names
}

__all__ = [*_HOMES]  # noqa: PLE0604

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
