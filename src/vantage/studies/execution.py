"""What a study is run with: its options, data, models and folder, and the one place where it reaches the models.

Every reply goes into `runs.sqlite` of the study's folder as it arrives. A study that is run again finds it there, so
whatever cut it off, nothing is asked twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar

from vantage.errors import VantageError
from vantage.raters.chat import ChatRater
from vantage.report.folder import Report
from vantage.report.parts import Result
from vantage.report.record import Record
from vantage.runs.execution import Outcome, run
from vantage.runs.options import RunOptions
from vantage.runs.plan import RunPlan
from vantage.runs.rating import added
from vantage.runs.store import RunStore
from vantage.runs.tally import RunTally

if TYPE_CHECKING:
    from vantage.corpora import Corpus
    from vantage.instruments import Instrument

O = TypeVar("O")  # noqa: E741 - the options of a study
STORE: Final = "runs.sqlite"


class Progress(Protocol):
    """Something that shows how far the work has come."""

    def __call__(self, title: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
        """Opens a bar and gives what moves it on."""
        ...


@dataclass
class Context(Generic[O]):
    """What a study is run with: its options, the data, the models, the seed and the folder.

    Args:
        options: The study's own options.
        data: The published data or the corpus folder that was named with `--data`.
        models: The models that were named with `--model`.
        seed: Random seed.
        settings: Settings of the models, such as `base_url`.
        folder: Where the results go; null for a run that leaves nothing behind.
        record: What the report will state about this run.
        progress: What shows how far the work has come.
        carried: How models are called: concurrency, limits of cost and of failures.
        warnings: What must be told at the top of the report.
        reached: The corpus as far as it has come, for the report on a run that is cut off.
        noted: What collecting leaves for analysing that has no place in the corpus, such as what calls cost.
    """

    plans: ClassVar[bool] = False
    """Whether nothing is asked or trained, since only an estimate is wanted (see `studies.estimating`)."""

    options: O
    record: Record
    data: Path | None = None
    models: tuple[str, ...] = ()
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    progress: Progress | None = None
    carried: RunOptions | None = None
    warnings: list[str] = field(default_factory=list)
    reached: Corpus | None = None
    noted: dict[str, Any] = field(default_factory=dict)

    def raters(self, style: str = "zero-shot", **options: Any) -> list[ChatRater]:
        """One chat rater per model named, in one prompting style; `options` are those of `ChatRater`."""
        options = {"seed": self.seed, "settings": dict(self.settings), **options}
        return [ChatRater(model, style, **options) for model in self.models]

    def rate(
        self,
        corpus: Corpus,
        raters: ChatRater | Iterable[ChatRater],
        instrument: Instrument | str,
        *,
        questions: Sequence[str] = (),
        condition: str = "",
    ) -> Corpus:
        """The corpus with the judgments of raters, each reply stored in the folder as it arrives.

        What the folder already has is not asked again, so an interrupted run goes on where it stopped.
        """
        return ask(self, corpus, raters, instrument, questions=questions, condition=condition)

    def asks(self, plan: RunPlan, assumption: str = "") -> bool:
        """Whether to ask what a plan says, for studies that ask in other ways than with `rate`.

        A context that only plans adds it to its estimate instead; `assumption` says why it may be more than is needed.
        """
        return True

    def trains(self, rater: str, learns: str) -> bool:
        """Whether to train a rater now; a context that only plans notes who learns from what instead."""
        return True

    def warn(self, sentence: str) -> None:
        """A warning for the top of the report; said once, however often it comes up."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def step(self, title: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
        """A progress bar for long work: `with context.step("resampling", 1000) as moved: … moved(1)`."""
        return self.progress(title, total) if self.progress else nullcontext(lambda _: None)


def hundredths(moved: Callable[[int], None]) -> Callable[[int, int], None]:
    """Moves a bar of a hundred steps by steps done of steps in all, as trained raters tell them.

    >>> moves: list[int] = []
    >>> advance = hundredths(moves.append)
    >>> advance(1, 4), advance(4, 4), moves
    (None, None, [25, 75])
    """
    told = 0

    def advance(done: int, total: int) -> None:
        nonlocal told
        share = 100 * done // max(total, 1)
        moved(share - told)
        told = share

    return advance


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
    plan = RunPlan.of(corpus, chosen, instrument, questions=questions, condition=condition)
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


def store_of(context: Context[Any]) -> RunStore:
    """The store of the study's folder; one that is gone afterwards where there is no folder."""
    return RunStore(context.folder / STORE) if context.folder else RunStore.temporary()


def _advancing(moved: Callable[[int], None]) -> Callable[[RunTally], None]:
    told = 0

    def advance(tally: RunTally) -> None:
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
        with RunStore(path, read_only=True) as store:
            return store.count()
    except VantageError:
        return None
