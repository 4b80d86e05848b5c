"""A run from its plan to its judgments: what is missing is asked, what is stored is read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Final

import polars as pl

from vantage.corpora.schema import KEY
from vantage.errors import InputError
from vantage.raters.chat import ChatRater
from vantage.raters.models import account_of, check_sending
from vantage.raters.models.base import ChatModel, Unopened
from vantage.raters.models.embedded import WEAKNESS
from vantage.raters.models.evidence import COMPLETE
from vantage.raters.scoring import with_distributions
from vantage.runs import canary
from vantage.runs.control import Listener
from vantage.runs.engines import Engine, load_engine
from vantage.runs.forecast import check_affordable
from vantage.runs.job import Account, Budget, Job
from vantage.runs.keys import identity
from vantage.runs.options import RunOptions
from vantage.runs.plan import PlanPart, RunPlan
from vantage.runs.prices import batch_share, discounted, price_of
from vantage.runs.profiles import kept, suited, told_prices
from vantage.runs.records import SCORED, Serving, State, begin, changes, end, ledger, open_sitting, servings
from vantage.runs.source import CallSource, PartProgress
from vantage.runs.store import RunStore
from vantage.runs.tally import RunTally

INTERRUPTED: Final = "The run was interrupted."
_LOOK: Final = 0.1
"""Seconds between two looks at how far a run has come."""
_COUNTS: Final = ("calls", "prompt_tokens", "completion_tokens", "truncated", "skipped", "missing")


@dataclass(slots=True)
class JudgedPart:
    """What one rater gave, what it took, and what its users should know."""

    rater: ChatRater
    judgments: pl.DataFrame
    """Rows to be added to the corpus; they replace failed or unread ones of the same key."""
    part: PlanPart
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    truncated: int = 0
    """Prompts whose item was cut to fit into the model's window."""
    skipped: int = 0
    """Requests that were not sent because the corpus already has their answers."""
    missing: int = 0
    """Requests that have no answer yet, because the run ended before or the store was only read."""
    notes: list[str] = field(default_factory=list)
    clarified: bool = False
    """Whether models were asked which answer an unreadable reply gives."""
    served: list[str] = field(default_factory=list)
    """The versions of the model that answered in this run, as they name themselves."""
    broken: str = ""
    """Why nothing more is sent on the model's account, in a sentence."""
    instead_of: str = ""
    """The rater whose open items it was asked about, where it is a fallback."""


@dataclass(slots=True)
class Outcome:
    """What a run came to."""

    run: int
    tally: RunTally
    judged: list[JudgedPart]
    interrupted: bool = False
    gathered: list[RunTally] = field(default_factory=list, repr=False)
    """The counts of models that have ended, which the tally sums up."""

    @property
    def complete(self) -> bool:
        """Whether every request has ended."""
        return not self.tally.ended and not self.tally.missing


def run(
    plan: RunPlan,
    store: RunStore,
    options: RunOptions | None = None,
    *,
    progress: Callable[[RunTally], None] | None = None,
) -> Outcome:
    """Asks whatever of a plan the store does not hold, and reads the judgments of all of it.

    The same plan is the same run: it resumes where it stopped. `Ctrl-C` lets nothing more be sent, gives what
    is under way a few seconds, and ends with what there is; a second one ends at once. Whatever the end, every
    acknowledged reply is in the store.

    Args:
        plan: What is asked of whom.
        store: Where replies are looked up and put.
        options: How it is carried out.
        progress: Called with the counts, some times a second.
    """
    check_sending()
    options = options or RunOptions()
    raters = [part.rater for part in plan.parts]
    options = replace(options, prices=told_prices(store, raters, options.prices))
    for part in plan.parts:
        part.check()
    for rater in [*raters, *(rater.asked_of(model) for rater in raters for model in options.fallbacks)]:
        rater.check_model()
    check_affordable(plan, store, options)
    drifted, same = _canaries(plan, store, options) if options.canary else ({}, [])
    number = begin(store, plan)
    open_sitting(store, number, options.engine, options.prices)
    outcome = Outcome(number, RunTally(), [])
    outcome.tally.notes += same
    state: State = "stopped"
    work = _Work(store, options, outcome, load_engine(options.engine), progress or (lambda _: None))
    try:
        work.ask(plan.parts)
        for model in options.fallbacks:
            work.ask(work.left_to(model))
        tally, order = outcome.tally, {id(part): place for place, part in enumerate(plan.parts)}
        outcome.judged.sort(key=lambda one: order.get(id(one.part), len(order)))
        _tell_served(outcome, servings(store, number))
        for judged in outcome.judged:
            judged.notes += drifted.get(judged.rater.model_name, [])
        tally.tell_mass([(one.judgments["mass"], one.rater.least_mass) for one in outcome.judged])
        ended: State = "interrupted" if outcome.interrupted else "stopped"
        state = ended if tally.ended else "incomplete" if tally.missing or tally.failed else "complete"
    finally:
        end(store, number, state, outcome.tally)
    return outcome


def _canaries(plan: RunPlan, store: RunStore, options: RunOptions) -> tuple[dict[str, list[str]], list[str]]:
    """What fixed prompts tell: by model, where it has changed, and otherwise; recorded replies do not change."""
    plain = replace(options, canary=False, fallbacks=(), clarify=False)

    def given(part: JudgedPart) -> tuple[pl.DataFrame, int]:
        return part.judgments, part.missing

    drifted: dict[str, list[str]] = {}
    others: list[str] = []
    for name, rater in {part.rater.model_name: part.rater for part in plan.parts}.items():
        if not name.startswith("recorded:"):
            drifted[name], same = canary.checked(
                rater,
                store,
                lambda fixed: given(run(fixed, store, plain).judged[0]),
                lambda fixed: given(judgments(fixed, store, plain).judged[0]),
            )
            others += same
    return drifted, others


def _tell_served(outcome: Outcome, rows: list[Serving]) -> None:
    """Says of every rater what served it, and as a caveat where that changed within the run."""
    caveats = changes(rows)
    for judged in outcome.judged:
        name = str(identity(judged.rater)["model"])
        mine = [row for row in rows if row.model == name]
        versions = (" ".join(filter(None, (row.served, row.provider, row.fingerprint))) for row in mine)
        judged.served = list(dict.fromkeys(filter(None, versions)))
        judged.notes += [caveat for caveat in caveats if caveat.startswith(f"{name} ")]
        if broken := [row for row in mine if row.reason not in (*COMPLETE, SCORED)]:
            reasons = ", ".join(f"'{row.reason or 'none'}' ({row.calls:,})" for row in broken)
            judged.notes.append(f"Replies of {name} that did not end as complete, by finish reason: {reasons}.")


def judgments(plan: RunPlan, store: RunStore, options: RunOptions | None = None) -> Outcome:
    """The judgments of a plan as far as the store holds the replies; nothing is sent."""
    outcome = Outcome(0, RunTally(), [])
    for parts in _by_model(plan.parts):
        with _Model(parts[0].rater, looks=True) as model:
            source = CallSource(parts, store, 0, model.opened, options or RunOptions(), outcome.tally, sends=False)
            source.take(1)
            _collect(source, outcome, model)
    order = {id(part): place for place, part in enumerate(plan.parts)}
    outcome.judged.sort(key=lambda one: order[id(one.part)])
    return outcome


class _Work:
    def __init__(
        self,
        store: RunStore,
        options: RunOptions,
        outcome: Outcome,
        engine: Engine,
        progress: Callable[[RunTally], None],
    ) -> None:
        self.store, self.options, self.outcome, self.engine, self.progress = store, options, outcome, engine, progress
        self.listener = Listener(store, outcome.run)
        self.accounts: dict[str, Account] = {}
        self.budget = Budget(options.max_cost)
        if options.max_cost is not None:
            # What was spent before counts too, at today's prices and as far as these are known.
            whole = None if options.budget == "store" else outcome.run
            self.budget.spent = sum(entry.cost or 0.0 for entry in ledger(store, whole, options.prices))

    def ask(self, parts: Sequence[PlanPart]) -> None:
        """Asks all models: those behind networks side by side, with one budget, others one after the other."""
        groups, outcome = list(_by_model(parts)), self.outcome
        beside = [one for one in groups if self.options.engine == "local" and one[0].rater.remote]
        others = [[one] for one in groups if one not in beside]
        for together in [*([beside] if beside else []), *others]:
            with ExitStack() as stack:
                shares = [_Share(one, self, stack) for one in together]
                try:
                    self._watch(shares)
                finally:
                    for share in shares:
                        if share.job.error is None:
                            share.job.settle()
                    self._tell(shares)
                    outcome.gathered += [share.tally for share in shares]
                if errors := [share.job.error for share in shares if share.job.error is not None]:
                    raise errors[0]
                for share in shares:
                    _collect(share.source, outcome, share.model, share.tally.ended if share.job.broken else "")
                outcome.tally.missing = sum(one.missing for one in outcome.judged)
            # An account that is at fault is no reason to leave out others.
            if outcome.interrupted or any(share.tally.ended and not share.job.broken for share in shares):
                break

    def left_to(self, model: str) -> list[PlanPart]:
        """What raters whose account is at fault have left open, for raters of another model, and says so."""
        parts: list[PlanPart] = []
        for judged in [one for one in self.outcome.judged if one.broken and not self.outcome.interrupted]:
            part, rater = judged.part, judged.rater
            done = part.done()
            items = part.open(pl.concat([done, judged.judgments.select(done.columns)]).unique())["item"].to_list()
            other = rater.asked_of(model)
            other, _ = suited(other, kept(self.store, other), max_tokens=None)
            if not items or any(one.rater.id == other.id for one in self.outcome.judged):
                continue
            account = self.accounts.get(account_of(model, other.settings)) if other.remote else None
            if account is not None and account.fault is not None:
                judged.notes.append(f"{model} uses the same account, so it was not asked instead.")
                continue
            judged.notes.append(
                f"{judged.broken.rstrip('.')}; the {len(items):,} items that {rater.id} has not judged were put to "
                f"{model} instead, as the rater {other.id}, whose judgments are its own."
            )
            judged.broken = ""
            part = replace(part, rater=other, corpus=part.corpus.filter(item=items), instead_of=rater.id)
            part.check()
            parts.append(part)
        return parts

    def _watch(self, shares: list[_Share]) -> None:
        """Lets all shares run while this thread shows progress, hears `Ctrl-C` and heeds `vantage runs pause`.

        An account that is at fault stops its own share; whatever else ends one ends all.
        """
        outcome = self.outcome
        # What is wrong with one model, such as a key that is missing, is told before another is asked.
        for share in shares:
            share.prepare()
        for share in shares:
            share.start()
        while waiting := [share for share in shares if not share.done.is_set()]:
            try:
                waiting[0].done.wait(_LOOK)
                self._tell(shares)
                self._heed(shares)
            except KeyboardInterrupt:
                if outcome.interrupted:
                    raise
                outcome.interrupted = True
                for share in shares:
                    share.job.stop(INTERRUPTED)
            failed = [share for share in shares if share.error is not None]
            ended = [share.tally.ended for share in shares if share.tally.ended and not share.job.broken]
            for share in waiting if failed or ended else ():
                share.job.stop(ended[0] if ended else str(failed[0].error))
        for share in shares:
            if share.error is not None:
                raise share.error

    def _heed(self, shares: list[_Share]) -> None:
        if control := self.listener.news():
            self.budget.limit = self.options.max_cost if control.max_cost is None else control.max_cost
            for share in shares:
                share.job.heed(control)
            self.listener.heeded(control)

    def _tell(self, shares: list[_Share]) -> None:
        """Counts what all models of the run have come to, together."""
        self.outcome.tally.gather([*self.outcome.gathered, *(share.tally for share in shares)])
        self.progress(self.outcome.tally)


class _Share:
    """One model's part of a run: all its raters, whose requests go out together."""

    def __init__(self, parts: list[PlanPart], work: _Work, stack: ExitStack) -> None:
        engine, options, run = work.engine, work.options, work.outcome.run
        rater = parts[0].rater
        name, self.remote, price = rater.model_name, rater.remote, price_of(rater.model_name, options.prices)
        if work.budget.limit is not None and price is None:
            raise InputError(
                f"max-cost needs the price of '{name}'",
                remedy=f"write a line '{name}: {{input: …, output: …}}' into a file and pass it with --prices",
            )
        self.engine, self.accounts, self.tally, self.done = engine, work.accounts, RunTally(), threading.Event()
        self.model = stack.enter_context(_Model(rater, lambda rater: engine.open(rater, options)))
        self.source = CallSource(parts, work.store, run, self.model.opened, options, self.tally)
        price = discounted(price, batch_share(name)) if price and engine.in_batches else price
        self.job = Job(self.source, work.store, run, options, self.tally, work.budget, price)
        self.error: BaseException | None = None

    def prepare(self) -> None:
        """Opens a model behind a network if something is to be asked; others are opened by their engines."""
        self.source.put_back(self.source.take(1))
        if self.source.idle:
            self.done.set()
        elif self.remote:
            self.model.opened()

    def start(self) -> None:
        if not self.done.is_set():
            threading.Thread(target=self._work, name="engine", daemon=True).start()

    def _work(self) -> None:
        try:
            model = self.model.opened()
            if account := getattr(model, "account", ""):
                self.job.account = self.accounts.setdefault(account, Account())
                self.job.account.admit(self.job)
            if not self.job.broken:
                self.engine.run(model, self.job)
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()


def _collect(source: CallSource, outcome: Outcome, model: _Model, broken: str = "") -> None:
    """The judgments of every rater, and what is to be told of them."""
    source.hear()
    if outcome.run and source.store.lasting:
        source.note_finished(len(outcome.judged))
    tables = [progress.rows.table() for progress in source.parts]
    source.close()
    for progress, table in zip(source.parts, tables, strict=True):
        judged = _judged(progress, table, model)
        judged.broken, judged.instead_of = broken if judged.missing else "", progress.part.instead_of
        outcome.judged.append(judged)


def _judged(progress: PartProgress, table: pl.DataFrame, model: _Model) -> JudgedPart:
    part, rater = progress.part, progress.part.rater
    questions = {question.id: question for instrument in part.instruments for question in instrument.questions}
    rows = with_distributions(table, questions, calibrate=rater.calibrates, least_mass=rater.least_mass)
    if not (rater.parts.scoring and rater.calibrates):
        # Rows of a conversation may stand beside others of it that are in the corpus already.
        known = part.corpus.judgments.filter(~pl.col("status").cast(pl.String).is_in(["failed", "unparsed"]))
        settled, same = _presented(known), [*KEY, "presentation"]
        rows = rows.join(settled.select(same), on=same, how="anti", nulls_equal=True, maintain_order="left")
    rows = rows.drop(name for name in ("thinking", "presentation") if rows[name].null_count() == len(rows))
    counts = {name: getattr(progress, name) for name in _COUNTS}
    judged = JudgedPart(rater, rows, part, **counts, notes=[*model.notes], clarified=progress.options.clarify)
    if replaced := _asked_otherwise(part.corpus.judgments, rows):
        judged.notes.append(
            f"{replaced:,} earlier judgments of this rater had the same sample number in another presentation; the new "
            "ones replace them, and their replies stay in the store."
        )
    judged.notes += _told_of(rows, rater)
    if rater.model_name == "embedded":
        judged.notes.append(WEAKNESS)
    if judged.truncated:
        cut = _many(judged.truncated, "prompt was", "prompts were")
        judged.notes.append(f"{cut} shortened to fit the model's window.")
    return judged


def _asked_otherwise(before: pl.DataFrame, rows: pl.DataFrame) -> int:
    """How many judgments the rows replace that were asked in another presentation."""
    if "presentation" not in before.columns and "presentation" not in rows.columns:
        return 0
    old, new = _presented(before), _presented(rows)
    both = old.select(*KEY, "presentation").join(new.select(*KEY, pl.col("presentation").alias("now")), on=list(KEY))
    return int(both.select(pl.col("presentation").ne_missing(pl.col("now")).sum()).item())


def _presented(judgments: pl.DataFrame) -> pl.DataFrame:
    """Judgments with a column for the presentation, which is null where nothing is said of it."""
    unknown = pl.lit(None, dtype=pl.String).alias("presentation")
    return judgments if "presentation" in judgments.columns else judgments.with_columns(unknown)


def _told_of(rows: pl.DataFrame, rater: ChatRater) -> list[str]:
    """What a run's summary says of answers that are weak or missing, and what can be done about them."""
    rules = dict(rows["rule"].value_counts().iter_rows())
    notes: list[str] = []
    if empty := rules.get("thinking", 0):
        notes.append(
            f"{_many(empty, 'reply is', 'replies are')} empty because all tokens went into thinking; raise "
            f"--max-tokens (now {rater.max_tokens}) or lower the effort, such as --setting reasoning_effort=low."
        )
    if cut := rules.get("cut", 0):
        said = _many(cut, "reply was", "replies were")
        notes.append(f"{said} cut before the answer; raise --max-tokens (now {rater.max_tokens}).")
    return notes


def _many(count: int, one: str, more: str) -> str:
    """A count with its noun and verb: "1 reply was", "2 replies were"."""
    return f"{count:,} {one if count == 1 else more}"


class _Model:
    """A model that is opened when it is first needed, and closed if it was opened here."""

    def __init__(
        self, rater: ChatRater, open_: Callable[[ChatRater], ChatModel] = ChatRater.open, *, looks: bool = False
    ) -> None:
        self._rater, self._open, self._looks = rater, open_, looks
        self._model: ChatModel | None = None

    def opened(self) -> ChatModel:
        if self._model is None:
            remote = self._looks and self._rater.remote
            # Nothing is sent to an endpoint when replies are only read, so no key is needed either.
            self._model = Unopened(self._rater.model_name, self._rater.settings) if remote else self._open(self._rater)
        return self._model

    @property
    def notes(self) -> list[str]:
        return [] if self._model is None else self._model.notes

    def __enter__(self) -> _Model:
        return self

    def __exit__(self, *_: object) -> None:
        if self._model is not None and isinstance(self._rater.model, str):
            self._model.close()


def _by_model(parts: Sequence[PlanPart]) -> Iterator[list[PlanPart]]:
    groups: dict[Any, list[PlanPart]] = {}
    for part in parts:
        rater = part.rater
        model = (rater.model, str(sorted(rater.settings.items()))) if isinstance(rater.model, str) else id(rater.model)
        groups.setdefault(model, []).append(part)
    yield from groups.values()
