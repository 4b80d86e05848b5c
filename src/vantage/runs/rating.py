"""Rating: chat raters judge the items of a corpus, and their judgments are added to it like anyone's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

import polars as pl
from filelock import FileLock

from vantage.corpora import Corpus
from vantage.corpora.schema import KEY
from vantage.errors import VantageError
from vantage.instruments import Instrument
from vantage.raters.asked import varied
from vantage.raters.chat import ChatRater
from vantage.raters.conversation import CLARIFIED
from vantage.runs.execution import JudgedPart, Outcome, run
from vantage.runs.keys import settings
from vantage.runs.options import RunOptions
from vantage.runs.plan import RunPlan
from vantage.runs.store import RunStore
from vantage.runs.tally import RunTally
from vantage.scales import NO_OPT_OUTS

Progress = Callable[[int], None]
SERVED: Final = "; "
"""Stands between the versions of a model that answered, in the column `served` of the raters."""
COUNTED: Final = ("answered", "refused", "unparsed", "failed")


def rate(
    corpus: Corpus,
    raters: ChatRater | Iterable[ChatRater],
    instrument: Instrument | str,
    *,
    questions: Sequence[str] = (),
    condition: str = "",
    vary: str | Sequence[str] = (),
    design: str = "balanced",
    presentation: str = "",
    progress: Progress | None = None,
    store: RunStore | str | Path | None = None,
    options: RunOptions | None = None,
) -> Corpus:
    """The corpus with the judgments of chat raters added.

    What a rater has answered already is not asked again, and what a store holds is not sent again. A run that ends
    early because too much failed or it would cost too much raises `RunEnded`, which holds what there is.

    Args:
        corpus: The items to be judged, and whatever judgments there are.
        raters: One rater or several.
        instrument: What is asked, by name, path or as an object.
        questions: Some of its questions; all where none is named.
        condition: The condition of the instrument, such as static or context.
        vary: Which parts of the presentation to vary, such as `"order,labels"` (see `vantage.presentations`).
        design: How to vary them: `balanced` asks each item in a few presentations, `full` in all.
        presentation: What to hold fixed, such as `"order=down"`.
        progress: Called with the number of requests that were answered.
        store: Where every reply is kept, so that a run that ends early can be resumed; a temporary
            file without it.
        options: How the run is carried out: concurrency, retries, limits.
    """
    chosen = [raters] if isinstance(raters, ChatRater) else list(raters)
    known = Instrument.load(instrument) if isinstance(instrument, str) else instrument
    chosen = [varied(rater, known, questions, vary=vary, design=design, presentation=presentation) for rater in chosen]
    plan = RunPlan.of(corpus, chosen, known, questions=questions, condition=condition)
    outcome = carried_out(plan, store, options, progress)
    return added(corpus, *outcome.judged)


def added(corpus: Corpus, *judged: JudgedPart) -> Corpus:
    """The corpus with what raters gave, in the place of what had failed or could not be read.

    However many raters there are, the corpus is checked once.
    """
    given = [one for one in judged if len(one.judgments)]
    if not given:
        return corpus
    rows = pl.concat([_in_language(one) for one in given], how="diagonal")
    if corpus.judgments.join(rows, on=list(KEY), how="semi").height:
        corpus = corpus._with(judgments=corpus.judgments.join(rows, on=list(KEY), how="anti", maintain_order="left"))
    served = {one.rater.id: one.served for one in given if one.served}
    rows_of: dict[str, dict[str, Any]] = {}
    for one in given:
        more = {"fallback_for": one.instead_of, "served": SERVED.join(served.get(one.rater.id, ()))}
        named = {name: text for name, text in more.items() if text}
        rows_of[one.rater.id] = {**one.rater.row(), "settings": settings(one.rater), **named}
    corpus = _still_served(corpus, served)
    new = [pl.DataFrame([rows_of[id_]]) for id_ in rows_of if id_ not in set(corpus.raters["rater"])]
    raters = pl.concat(new, how="diagonal_relaxed") if new else None
    return corpus.add(rows, raters, [instrument for one in given for instrument in one.part.instruments])


def _in_language(one: JudgedPart) -> pl.DataFrame:
    """What a rater gave, with the language it was asked in where there are several."""
    return one.judgments.with_columns(language=pl.lit(one.part.language)) if one.part.language else one.judgments


def _still_served(corpus: Corpus, served: Mapping[str, Sequence[str]]) -> Corpus:
    """The corpus with what served raters that it has already, beside what served them before."""
    known: dict[str, str] = {}
    if "served" in corpus.raters.columns:
        known = {id_: text for id_, text in corpus.raters.select("rater", "served").iter_rows() if text}
    there = set(corpus.raters["rater"]) & set(served)
    joined = {id_: SERVED.join(dict.fromkeys([*known.get(id_, "").split(SERVED), *served[id_]])) for id_ in there}
    joined = {id_: text.removeprefix(SERVED) for id_, text in joined.items()}
    if all(known.get(id_) == text for id_, text in joined.items()):
        return corpus
    column = pl.Series("served", [{**known, **joined}.get(id_) for id_ in corpus.raters["rater"]], dtype=pl.String)
    return corpus._with(raters=corpus.raters.with_columns(column))


def write(outcome: Outcome, folder: Path, to: Path) -> Corpus:
    """Adds the judgments of a run to the corpus in a folder and writes it, there or elsewhere.

    The folder is read again at this moment, so that what others have added while the run went on stays.
    """
    with FileLock(to / ".rating.lock"):
        corpus = added(Corpus.read(folder), *outcome.judged)
        corpus.write(to)
    return corpus


def summaries(outcome: Outcome) -> list[dict[str, Any]]:
    """A row of counts for every rater: what became of its questions, and what it took."""
    return [_summary(judged) for judged in outcome.judged]


def _summary(judged: JudgedPart) -> dict[str, Any]:
    statuses = dict(judged.judgments["status"].cast(str).value_counts().iter_rows())
    unread = judged.judgments.filter(
        pl.col("status").cast(str) == "unparsed", ~pl.col("rule").is_in(["thinking", "cut"])
    )
    said = f"{len(unread):,} of {len(judged.judgments):,} replies give no answer that can be read"
    ask = "" if judged.clarified else "; the same command with --clarify asks once which answer each of them gives"
    return {
        "rater": judged.rater.id,
        "calls": judged.calls,
        **{status: statuses.get(status, 0) for status in COUNTED},
        "clarified": judged.judgments["rule"].str.starts_with(CLARIFIED).sum(),
        "opted_out": sum(count for status, count in statuses.items() if status not in NO_OPT_OUTS),
        "already_there": judged.skipped,
        "missing": judged.missing,
        "shortened": judged.truncated,
        "prompt_tokens": judged.prompt_tokens,
        "completion_tokens": judged.completion_tokens,
        "notes": [*judged.notes, *([f"{said}{ask}."] if len(unread) else [])],
    }


class RunEnded(VantageError):  # noqa: N818 - it is what happened, and not only an error
    """A run that ended before its end, because of failures or cost; `outcome` holds what there is."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.tally.ended)
        self.outcome = outcome


def opened_store(store: RunStore | str | Path | None) -> AbstractContextManager[RunStore]:
    """A store as it was given, or that of a file; one that is gone afterwards without either."""
    if isinstance(store, RunStore):
        return nullcontext(store)
    return RunStore(store) if store is not None else RunStore.temporary()


def carried_out(
    plan: RunPlan,
    store: RunStore | str | Path | None,
    options: RunOptions | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Runs a plan for a caller in Python, who gets `Ctrl-C` as usual once everything is stored."""
    shown = 0

    def advance(tally: RunTally) -> None:
        nonlocal shown
        ended = tally.conversations
        if progress is not None and ended > shown:
            progress(ended - shown)
            shown = ended

    with opened_store(store) as used:
        outcome = run(plan, used, options, progress=advance)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if outcome.tally.ended:
        raise RunEnded(outcome)
    return outcome
