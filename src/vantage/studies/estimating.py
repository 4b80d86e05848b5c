"""What a study will take before anything is sent: it collects with a context that plans instead of asking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from vantage.errors import InputError, VantageError
from vantage.raters.models import nothing_sent
from vantage.runs.forecast import Forecast
from vantage.runs.plan import RunPlan
from vantage.studies.base import O, Study
from vantage.studies.execution import STORE, Context
from vantage.studies.running import prepared

if TYPE_CHECKING:
    from vantage.runs.options import RunOptions


UNTRAINED: Final = "How long raters take to be trained is not estimated."


@dataclass
class Planning(Context[O]):
    """A context that adds up what would be asked and trained; corpora stay as they are."""

    plans: ClassVar[bool] = True
    forecast: Forecast = field(default_factory=Forecast)
    trained: dict[str, str] = field(default_factory=dict)

    def asks(self, plan: RunPlan, assumption: str = "") -> bool:
        """Adds a plan to the estimate."""
        self.forecast.add(plan, assumption)
        return False

    def trains(self, rater: str, learns: str) -> bool:
        """Notes a rater that would be trained."""
        self.trained[rater] = learns
        return False


@dataclass(frozen=True)
class Preview:
    """What a study will take.

    Args:
        study: Its name.
        forecast: Calls, tokens, cost and time.
        trained: The raters that it would train and what each learns from; the time does not count it.
        notes: What the numbers rest on, and what was found on the way.
    """

    study: str
    forecast: Forecast
    trained: Mapping[str, str]
    notes: tuple[str, ...]


def preview(
    study: str | Study[Any],
    *,
    out: str | Path | None = None,
    data: str | Path | None = None,
    models: Sequence[str] = (),
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    carried: RunOptions | None = None,
    **options: object,
) -> Preview:
    """Counts what `vantage.studies.run` with the same arguments would ask. Nothing is sent, trained or written.

    Where what is asked depends on earlier replies, the most that can be asked is counted, and `notes` say so.
    """
    chosen, context = prepared(
        study, Planning, data=data, models=models, seed=seed, settings=settings, carried=carried, options=options
    )
    context.forecast = Forecast(carried)
    with nothing_sent(f"study '{chosen.name}' asks a model without context.rate, so its calls cannot be estimated"):
        try:
            chosen.collect(context)
        except VantageError:
            raise
        except Exception as error:
            raise InputError(
                f"study '{chosen.name}' cannot be estimated, since it collects only with replies at hand "
                f"({type(error).__name__}: {error})",
                remedy="see docs/studies.md on what collect must bear",
            ) from error
    notes = [*context.forecast.notes, *([UNTRAINED] if context.trained else []), *context.warnings]
    if out is not None and (Path(out) / STORE).is_file():
        notes.append(f"Calls whose replies are stored in {Path(out) / STORE} will not be made again.")
    return Preview(chosen.name, context.forecast, context.trained, tuple(notes))
