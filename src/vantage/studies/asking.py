"""Asking raters within a study: the one place where a study reaches the models.

Every reply goes into `runs.sqlite` of the study's folder as it arrives. A study that is run again finds it there, so
whatever cut it off, nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vantage.errors import VantageError
from vantage.raters.chat import ChatRater
from vantage.report.folder import Report
from vantage.report.parts import Result
from vantage.runs.execution import Outcome, run
from vantage.runs.plan import Plan
from vantage.runs.rating import added
from vantage.runs.store import Store
from vantage.runs.tally import Tally

if TYPE_CHECKING:
    from vantage.corpora import Corpus
    from vantage.instruments import Instrument
    from vantage.studies.base import Context

STORE: Final = "runs.sqlite"


class Stopped(VantageError):  # noqa: N818 - it tells of an end, not of a mistake
    """A run that was ended before its end, because too much failed or it would have cost too much."""


def ask(
    context: Context[Any],
    corpus: Corpus,
    raters: ChatRater | Iterable[ChatRater],
    instrument: Instrument | str,
    *,
    questions: Sequence[str] = (),
    condition: str = "",
) -> Corpus:
    """The corpus with the judgments of raters; what is there when it is cut off stays in the context."""
    chosen = [raters] if isinstance(raters, ChatRater) else list(raters)
    plan = Plan.of(corpus, chosen, instrument, questions=questions, condition=condition)
    planned = context.record.planned
    for part in plan.parts:
        judgments = len(part.corpus.items) * len(part.asked) * part.rater.samples
        planned[part.rater.id] = planned.get(part.rater.id, 0) + judgments
    if context.folder:
        # Should this process be killed, the folder still says what was planned.
        Report(context.record, Result([])).note(context.folder)
    who = chosen[0].id if len(chosen) == 1 else f"{len(chosen)} raters"
    with store_of(context) as store, context.step(f"asking {who}", sum(part.size for part in plan.parts)) as moved:
        outcome = run(plan, store, context.carried, progress=_advancing(moved))
    corpus = _taken(context, corpus, outcome)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if outcome.tally.ended:
        raise Stopped(f"{outcome.tally.ended.rstrip('.')}; the same command, given again, goes on from there.")
    return corpus


def store_of(context: Context[Any]) -> Store:
    """The store of the study's folder; one that is gone afterwards where there is no folder."""
    return Store(context.folder / STORE) if context.folder else Store.temporary()


def _advancing(moved: Callable[[int], None]) -> Callable[[Tally], None]:
    told = 0

    def advance(tally: Tally) -> None:
        nonlocal told
        ended = tally.skipped + tally.conversations
        if ended > told:
            moved(ended - told)
            told = ended

    return advance


def _taken(context: Context[Any], corpus: Corpus, outcome: Outcome) -> Corpus:
    """The corpus with what the raters gave, and the context with what must be told about it."""
    for judged in outcome.judged:
        if len(judged.judgments):
            corpus = added(corpus, judged)
        for note in judged.notes:
            context.warn(note)
        if judged.missing:
            context.record.missing.append(f"{judged.rater.id}: {judged.missing:,} requests have no answer yet.")
    context.reached = corpus
    return corpus


def stored_calls(folder: Path) -> int | None:
    """How many finished calls a study's folder holds; null where there is no store that can be read."""
    path = folder / STORE
    if not path.is_file():
        return None
    try:
        with Store(path, read_only=True) as store:
            return store.count()
    except VantageError:
        return None
