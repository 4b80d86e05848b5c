"""The finished cells of each corpus with their scores: what the functions of the recipe look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from importlib.resources import files
from typing import Any, Final, Literal, TypeAlias

import polars as pl

from vantage.corpora import Corpus
from vantage.interop.benchmark import ENOUGH
from vantage.perspective import Evaluation, Split, average_user, evaluate
from vantage.perspective.evaluation import Missing, Over
from vantage.perspective.splits import people_pairs
from vantage.perspective.tally import CLOSENESS
from vantage.report.cells import counted
from vantage.report.engine import Analysis, Data, there
from vantage.studies.execution import Context
from vantage.studies.perseval.cells import GridCell, planned
from vantage.studies.perseval.sources import CorpusTask, by_rater, tasks

Rows: TypeAlias = Iterable[Mapping[str, Any]]
PAIR: Final = ["item", "rater"]
NOT_RUN: Final = "it was not run; the warnings say why"


@dataclass(frozen=True)
class Evaluated:
    """One corpus: its cells, what they predict, and how well."""

    task: CorpusTask
    cells: list[GridCell]
    predictions: dict[tuple[str, str], pl.DataFrame]
    evaluations: dict[GridCell, Evaluation]
    over: Over
    asked: Split | None
    """All users and texts that models were asked about; null where none was asked."""
    options: Any

    @property
    def done(self) -> list[GridCell]:
        """The cells that have predictions, in the order of the plan."""
        return list(self.evaluations)

    @cached_property
    def shared(self) -> Split:
        """The part of the test set that models were asked about too, where all raters can be compared."""
        whole = self.task.split()
        if self.asked is None:
            return whole
        return replace(whole, test=whole.test.join(self.asked.test, on=PAIR, how="semi", maintain_order="left"))

    def on_shared(self, cell: GridCell) -> pl.DataFrame:
        """What a cell predicts there."""
        return self.predictions[cell.rater, cell.variant].join(self.shared.test, on=PAIR, how="semi")

    @property
    def focus(self) -> list[GridCell]:
        """The cells with a line of their own in tables: all prompted ones, and of the trained ones the best two.

        These are the best that knows who answers and the best that does not, by the F1 of the average user.
        """
        trained = [cell for cell in self.done if cell.kind == "trained"]
        chosen = [self.best(c for c in trained if c.knows_users), self.best(c for c in trained if not c.knows_users)]
        prompted = [cell for cell in self.done if cell.kind == "prompted"]
        return [cell for cell in chosen if cell is not None] + prompted

    def best(self, cells: Iterable[GridCell]) -> GridCell | None:
        """The cell with the highest F1 of the average user, of cells that judged the same texts; the first of ties."""
        ranked = [(self.score(cell, "user") or 0.0, -n, cell) for n, cell in enumerate(cells)]
        return max(ranked)[2] if ranked else None

    def score(self, cell: GridCell, level: str) -> float | None:
        """The F1 of a cell at a level, of the class that is looked at."""
        return self.evaluations[cell].f1(level, self.task.label)  # type: ignore[arg-type]

    def common(self, cell: GridCell) -> Evaluation:
        """The scores of a cell on the texts that every rater judged."""
        return self.evaluations[cell] if self.asked is None else self.scored(self.on_shared(cell), self.shared)

    def scored(self, frame: pl.DataFrame, split: Split, traits: Sequence[str] = ()) -> Evaluation:
        """Predictions for a split, with the intervals of the study."""
        how: dict[str, Any] = {"resamples": self.options.resamples, "seed": self.task.seed, "over": self.over}
        return evaluate(frame, split, traits=traits, **how)

    def split(self, cell: GridCell) -> Split:
        """The split whose test set a cell judged."""
        return self.task.split() if cell.kind == "trained" or self.asked is None else self.asked

    def predicted_from(self, what: Literal["trait", "values"]) -> dict[str, dict[str, pl.DataFrame]]:
        """What is predicted for users from one trait, or for each of its values, by rater and trait."""
        by_trait: dict[str, dict[str, pl.DataFrame]] = {}
        for (rater, style), frame in self.predictions.items():
            if style.startswith(f"{what}:"):
                by_trait.setdefault(rater, {})[style.removeprefix(f"{what}:")] = frame
        return by_trait


@dataclass
class Perspectives(Analysis):
    """Everything that was run, corpus by corpus."""

    evaluated: Sequence[Evaluated] = ()

    @classmethod
    def of(cls, corpus: Corpus, context: Context[Any]) -> Perspectives:
        """From what a study is run with."""
        options = context.options
        names = corpus.items["corpus"].unique(maintain_order=True).to_list()
        evaluated = [
            _evaluated(corpus, task, planned(task, options, context.models), options)
            for task in tasks(corpus, names, draw=options.draw, seed=options.split_seed)
        ]
        return cls(corpus, options, context.seed, evaluated)

    @property
    def scored_by(self) -> str:
        """What scores are, in words."""
        close = "closeness (1 less the mean distance from people's answers, in lengths of the scale)"
        kinds = {close if one.task.label == CLOSENESS else "F1" for one in self.evaluated}
        return " or, on ordered scales, ".join(sorted(kinds))

    def warnings(self) -> list[str]:
        """What must be known before anything is believed."""
        warnings = []
        for one in self.evaluated:
            name, whole = one.task.name, one.task.split().test
            if not one.done:
                warnings.append(f"{name}: nothing was run, so nothing is said about it.")
            if one.over == "texts":
                users = counted(whole["rater"].n_unique(), "user")
                warnings.append(
                    f"{name} is tested for {users} only. Intervals are over texts, so they describe these people; a "
                    "difference between groups is a difference between very few."
                )
            if name == "hs-brexit":
                warnings.append(
                    "HS-Brexit: two releases give the two groups of annotators opposite names. The names used here are "
                    f"those of: {self.options.groups}."
                )
            texts = one.task.people.items["item"].n_unique()
            if one.asked is not None and one.asked.test["item"].n_unique() < texts:
                warnings.append(
                    f"{name}: models were asked about {one.asked.test['item'].n_unique():,} of "
                    f"{counted(texts, 'text')}; their rows rest on "
                    f"{counted(len(one.asked.test), 'annotation')}."
                )
        return warnings


def corpora(analysis: Perspectives) -> Mapping[str, Perspectives]:
    """Each corpus by itself."""
    return {one.task.name: replace(analysis, evaluated=[one]) for one in analysis.evaluated}


def stacked(rows: Rows) -> pl.DataFrame:
    """Rows as a frame; without any, there is nothing to show."""
    return there(pl.DataFrame(list(rows), infer_schema_length=None))


def per_corpus(function: Callable[[Evaluated], Rows]) -> Callable[[Perspectives], pl.DataFrame]:
    """The rows of each corpus."""

    @wraps(function)
    def frame(analysis: Perspectives) -> pl.DataFrame:
        return stacked({"corpus": one.task.name, **row} for one in analysis.evaluated for row in function(one))

    return frame


def per_rater(function: Callable[[Evaluated, GridCell], Rows]) -> Callable[[Perspectives], pl.DataFrame]:
    """The rows of each rater that has a line of its own."""

    @wraps(function)
    def rows(one: Evaluated) -> Rows:
        return [{"rater": cell.name, **row} for cell in one.focus for row in function(one, cell)]

    return per_corpus(rows)


def _evaluated(corpus: Corpus, task: CorpusTask, cells: list[GridCell], options: Any) -> Evaluated:
    """Scores every cell that has predictions; the others say why they have none."""
    predictions, whole = by_rater(corpus, task), task.split()
    run = {cell: predictions.get((cell.rater, cell.variant)) for cell in cells}
    plan = [cell if cell.reason or run[cell] is not None else replace(cell, reason=NOT_RUN) for cell in cells]
    prompted = [frame for cell, frame in run.items() if cell.kind == "prompted" and frame is not None]
    asked = None
    if prompted:
        test = task.crossed.test.join(prompted[0], on=PAIR, how="semi", maintain_order="left")
        asked = replace(task.crossed, test=test)
    over: Over = "users" if whole.test["rater"].n_unique() >= ENOUGH else "texts"
    evaluated = Evaluated(task, plan, predictions, {}, over, asked, options)
    for cell, frame in run.items():
        if frame is not None:
            split = evaluated.split(cell)
            users = task.people.raters.join(split.test, on="rater", how="semi")
            traits = [trait for trait in task.traits if users[trait].drop_nulls().n_unique() > 1]
            evaluated.evaluations[cell] = evaluated.scored(frame, split, traits)
    return evaluated


LEVELS: Final = ("global", "user", "text")
VARIANT: Final = ("users", "adaptation", "extended")
TEXTS: Final = {"yes": "extended", "no": "strict"}


def splits(analysis: Perspectives) -> Data:
    """Users, texts and annotations of each part of each split."""

    def parts(one: Evaluated) -> Iterator[dict[str, Any]]:
        for name, extended in (("strict", False), ("extended", True)):
            split = one.task.split(extended=extended)
            for row in split.counts.iter_rows(named=True):
                yield {"texts_of": name, **row, "share": split.given_away if row["part"] == "adaptation" else None}

    counts = {name: sum(len(getattr(one, name)) for one in analysis.evaluated) for name in ("done", "cells")}
    return Data(per_corpus(parts)(analysis), counts)


def not_run(analysis: Perspectives) -> pl.DataFrame:
    """The combinations that were not run, counted by reason."""
    cells = per_corpus(lambda one: [{**c.row(), "reason": c.reason} for c in one.cells if c.reason])(analysis)
    raters = pl.col("rater").unique(maintain_order=True).str.join(", ").alias("raters")
    groups = cells.group_by("corpus", "users", "adaptation", "reason", maintain_order=True)
    return groups.agg(raters, pl.len().alias("cells"))


def scores(analysis: Perspectives) -> Data:
    """The cells of one corpus at all levels."""
    (one,) = analysis.evaluated
    label = {"macro": "macro F1", CLOSENESS: CLOSENESS}.get(one.task.label, f"F1 of '{one.task.label}'")
    frame = stacked(_row(one, cell) for cell in one.done)
    units = "texts" if one.over == "texts" else "users (global and user) and texts (text)"
    return Data(frame, {"of": one.task.name, "score": label, "units": units})


def trait_scores(analysis: Perspectives) -> pl.DataFrame:
    """The cells of one corpus by trait: F1 of each value, averaged over the values."""
    (one,) = analysis.evaluated
    there([trait for scored in one.evaluations.values() for trait in scored.traits] or None)
    return stacked(
        {**cell.row(), **{trait: scored.f1("trait", one.task.label, trait) for trait in scored.traits}}
        for cell, scored in one.evaluations.items()
    )


@per_corpus
def sizes(one: Evaluated) -> Rows:
    """Annotators, texts and annotations of each corpus, and of its strict split."""
    pairs, split = people_pairs(one.task.people, one.task.question), one.task.split("unnamed", "train")
    row = {"annotators": pairs["rater"].n_unique(), "texts": pairs["item"].n_unique()}
    yield {**row, "annotations": len(pairs), "in_split": len(split.train) + len(split.test)}


@per_corpus
def beside_the_paper(one: Evaluated) -> Rows:
    """The paper's raters and the one of ours in the same variant, on the same test set and by the same rule."""
    task, printed = one.task, pl.read_csv(files(__package__).joinpath("printed.csv").read_bytes())
    named_alike = task.name != "hs-brexit" or one.options.groups == "hub"
    same = task.drawn["method"] != "balanced" and task.seed == 42 and named_alike
    for row in printed.filter(pl.col("corpus") == task.name, pl.lit(same)).iter_rows(named=True):
        cell, reference = _counterpart(one, row), None
        if cell is not None:
            # The paper's library has another rule for classes that are absent and answers unread.
            known = one.evaluations[cell]
            missing: Missing = "class" if known.pairs["predicted"].null_count() else "wrong"
            how: dict[str, Any] = {"traits": known.traits, "undefined": "reference", "missing": missing}
            reference = evaluate(one.on_shared(cell), one.shared, resamples=0, **how)
        here = {f"here_{level}": reference and reference.f1(level, task.label) for level in LEVELS}
        rest = {"here": cell and cell.rater, "annotations": len(reference.pairs) if reference else None}
        variant = [row["users"], row["adaptation"], TEXTS.get(row["extended"], "–")]
        yield {**row, "variant": ", ".join(part for part in variant if part != "–") or "any", **here, **rest}


def _row(one: Evaluated, cell: GridCell) -> dict[str, Any]:
    evaluation, label = one.evaluations[cell], one.task.label
    levels = {row["level"]: row for row in evaluation.summary.filter(pl.col("class") == label).iter_rows(named=True)}
    user = average_user(evaluation, label)
    accuracy = evaluation.summary.filter(pl.col("class") == "micro", level="global")["recall"][0]
    row: dict[str, Any] = cell.row()
    for level in LEVELS:
        scored = user if level == "user" else levels[level]
        row |= {level: levels[level]["f1"], f"{level}_low": scored["low"], f"{level}_high": scored["high"]}
    row |= {f"{level}s_counted": levels[level]["groups"] for level in ("user", "text")}
    return {**row, "accuracy": accuracy, "annotations": len(evaluation.pairs), "support": levels["global"]["support"]}


def _counterpart(one: Evaluated, printed: dict[str, Any]) -> GridCell | None:
    """Our rater in the variant of a printed row: an encoder where there is one, else the best that learned."""
    way = printed["approach"].rpartition(", ")[2]
    fitting = [cell for cell in one.done if all(cell.row()[name] == printed[name] for name in VARIANT)]
    if printed["where"] == "Table 5":
        prompted = [cell for cell in fitting if cell.kind == "prompted" and cell.rater.endswith(f": {way}")]
        return prompted[0] if prompted else None
    learned = [cell for cell in fitting if cell.kind == "trained"]
    encoders = [cell for cell in learned if cell.rater in ("baseline", "tokens")]
    return encoders[0] if encoders else one.best(learned)
