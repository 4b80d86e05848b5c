"""The finished cells of a corpus with their scores: what every part of the report looks at."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.perspective import Evaluation, Split, evaluate
from vantage.perspective.evaluation import Over
from vantage.perspective.tally import Undefined
from vantage.studies.perseval.cells import Cell
from vantage.studies.perseval.sources import Task
from vantage.studies.perseval.stored import by_rater

if TYPE_CHECKING:
    from vantage.studies.perseval.study import Options

ENOUGH: Final = 10
"""From how many test users on intervals resample users; with fewer, texts."""
NOT_RUN: Final = "it was not run; the warnings say why"


@dataclass(frozen=True)
class Evaluated:
    """One corpus: its cells, what they predict, and how well."""

    task: Task
    cells: list[Cell]
    predictions: dict[tuple[str, str], pl.DataFrame]
    evaluations: dict[Cell, Evaluation]
    over: Over
    asked: Split | None
    """The test set as far as it was put to models; null where none was asked."""
    seed: int
    resamples: int
    _others: dict[tuple[Cell, Undefined], Evaluation] = field(default_factory=dict, compare=False, repr=False)

    @property
    def slug(self) -> str:
        """The corpus' name as a part of names of tables."""
        return re.sub(r"[^a-z0-9]+", "-", self.task.name.casefold()).strip("-") or "corpus"

    @property
    def done(self) -> list[Cell]:
        """The cells that have predictions, in the order of the plan."""
        return list(self.evaluations)

    @property
    def whole(self) -> list[Cell]:
        """Those that judged the whole test set."""
        return [cell for cell in self.done if cell.kind == "trained" or self.asked_all]

    @property
    def asked_all(self) -> bool:
        """Whether models were asked about the whole test set."""
        return self.asked is None or len(self.asked.test) == len(self.task.split().test)

    @property
    def focus(self) -> list[Cell]:
        """The cells that single findings are told of: the best that knows users, the best that does not, all prompted.

        Best is by the F1 of the average user, on the test set itself.
        """
        trained = [cell for cell in self.done if cell.kind == "trained"]
        told = [self.best(c for c in trained if c.knows_users), self.best(c for c in trained if not c.knows_users)]
        prompted = [cell for cell in self.done if cell.kind == "prompted"]
        return [cell for cell in told if cell is not None] + prompted

    def best(self, cells: Iterable[Cell]) -> Cell | None:
        """The cell with the highest F1 of the average user; the earlier of equals."""
        ranked = [(self.score(cell, "user") or 0.0, -n, cell) for n, cell in enumerate(cells)]
        return max(ranked)[2] if ranked else None

    @property
    def headline(self) -> Cell | None:
        """The cell of the findings: the best that knows who answers, else the best of all."""
        return self.best(c for c in self.whole if c.knows_users) or self.best(self.done)

    def score(self, cell: Cell, level: str, trait: str | None = None) -> float | None:
        """The F1 of a cell at a level, of the class that is looked at."""
        return self.evaluations[cell].f1(level, self.task.label, trait)  # type: ignore[arg-type]

    def under(self, cell: Cell, rule: Undefined) -> Evaluation:
        """The scores of a cell where classes count by another rule; unread answers as the library counts them."""
        if (cell, rule) not in self._others:
            known = self.evaluations[cell]
            missing = "class" if rule == "reference" and known.pairs["predicted"].null_count() else "wrong"
            self._others[cell, rule] = evaluate(
                self.predictions[cell.rater, cell.variant],
                self.split(cell),
                traits=known.traits,
                undefined=rule,
                missing=missing,  # type: ignore[arg-type]
                resamples=0,
            )
        return self._others[cell, rule]

    def split(self, cell: Cell) -> Split:
        """The split whose test set a cell judged."""
        whole = self.task.split()
        return whole if cell.kind == "trained" or self.asked is None else self.asked

    def told(self, rater: str) -> dict[str, pl.DataFrame]:
        """What a rater predicts when it is told one trait, by trait."""
        return {
            style.removeprefix("trait:"): frame
            for (model, style), frame in self.predictions.items()
            if model == rater and style.startswith("trait:")
        }

    @property
    def one_trait_raters(self) -> list[str]:
        """The raters that were told one trait at a time."""
        return list(dict.fromkeys(model for model, style in self.predictions if style.startswith("trait:")))


def evaluated(corpus: Corpus, task: Task, cells: list[Cell], options: Options) -> Evaluated:
    """Scores every cell that has predictions; the others are told why they have none."""
    found = by_rater(corpus, task)
    asked = _asked(task, cells, found)
    traits = task.tested_traits
    over: Over = "users" if task.split().test["rater"].n_unique() >= ENOUGH else "texts"
    scored: dict[Cell, Evaluation] = {}
    planned = []
    for cell in cells:
        frame = found.get((cell.rater, cell.variant))
        if frame is None:
            planned.append(cell if cell.reason else replace(cell, reason=NOT_RUN))
            continue
        planned.append(cell)
        whole = task.split() if cell.kind == "trained" or asked is None else asked
        users = task.people.raters.join(whole.test, on="rater", how="semi")
        differing = [trait for trait in traits if users[trait].drop_nulls().n_unique() > 1]
        scored[cell] = evaluate(frame, whole, traits=differing, resamples=options.resamples, seed=task.seed, over=over)
    return Evaluated(task, planned, found, scored, over, asked, task.seed, options.resamples)


def _asked(task: Task, cells: list[Cell], found: dict[tuple[str, str], pl.DataFrame]) -> Split | None:
    frames = [found[c.rater, c.variant] for c in cells if c.kind == "prompted" and (c.rater, c.variant) in found]
    if not frames:
        return None
    whole = task.split()
    return replace(whole, test=whole.test.join(frames[0], on=["item", "rater"], how="semi", maintain_order="left"))
