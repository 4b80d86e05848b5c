"""Runs: many model calls, planned as a stream, stored one by one, resumed wherever they were left.

`plan` says what will be asked, `run` asks it through an engine, `store` keeps every reply as it came, and reading
makes judgments of them without asking again. May import everything up to `raters`. The next engine is a class with
the methods of `engines.Engine` and a line in `engines.ENGINES`.
"""

from typing import TYPE_CHECKING

from vantage._lazy import attach

if TYPE_CHECKING:
    from vantage.runs.execution import Judged as Judged
    from vantage.runs.execution import Outcome as Outcome
    from vantage.runs.execution import judgments as judgments
    from vantage.runs.execution import run as run
    from vantage.runs.options import Options as Options
    from vantage.runs.plan import Part as Part
    from vantage.runs.plan import Plan as Plan
    from vantage.runs.rating import RunEnded as RunEnded
    from vantage.runs.rating import added as added
    from vantage.runs.rating import judge as judge
    from vantage.runs.rating import rate as rate
    from vantage.runs.store import Store as Store
    from vantage.runs.tally import Tally as Tally

_HOMES = {
    "Judged": "vantage.runs.execution",
    "Options": "vantage.runs.options",
    "Outcome": "vantage.runs.execution",
    "Part": "vantage.runs.plan",
    "Plan": "vantage.runs.plan",
    "RunEnded": "vantage.runs.rating",
    "Store": "vantage.runs.store",
    "Tally": "vantage.runs.tally",
    "added": "vantage.runs.rating",
    "judge": "vantage.runs.rating",
    "judgments": "vantage.runs.execution",
    "rate": "vantage.runs.rating",
    "run": "vantage.runs.execution",
}

__all__ = [*_HOMES]  # noqa: PLE0604

if not TYPE_CHECKING:
    __getattr__, __dir__ = attach(__name__, _HOMES)
