"""Runs: many model calls, planned as a stream, stored one by one, resumed wherever they were left.

`plan` says what will be asked, `run` asks it through an engine, `store` keeps every reply as it came, and reading
makes judgments of them without asking again. May import everything up to `raters`. The next engine is a class with
the methods of `engines.Engine` and a line in `engines.ENGINES`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.runs.execution import JudgedPart as JudgedPart
    from vantage.runs.execution import Outcome as Outcome
    from vantage.runs.execution import judgments as judgments
    from vantage.runs.execution import run as run
    from vantage.runs.options import RunOptions as RunOptions
    from vantage.runs.plan import PlanPart as PlanPart
    from vantage.runs.plan import RunPlan as RunPlan
    from vantage.runs.rating import RunEnded as RunEnded
    from vantage.runs.rating import added as added
    from vantage.runs.rating import judge as judge
    from vantage.runs.rating import rate as rate
    from vantage.runs.store import RunStore as RunStore
    from vantage.runs.tally import RunTally as RunTally

_HOMES = {
    **dict.fromkeys(("JudgedPart", "Outcome", "judgments", "run"), "vantage.runs.execution"),
    **dict.fromkeys(("PlanPart", "RunPlan"), "vantage.runs.plan"),
    **dict.fromkeys(("RunEnded", "added", "judge", "rate"), "vantage.runs.rating"),
    **dict.fromkeys(("RunOptions", "RunTally"), "vantage.runs.options"),
    "RunStore": "vantage.runs.store",
}

__all__ = [*_HOMES]  # noqa: PLE0604

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
