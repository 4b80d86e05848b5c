"""The leaderboard page of systems that predicted the same test set."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from vantage.perspective.benchmark import headline, leaderboard, paired_differences
from vantage.perspective.evaluation import Evaluation
from vantage.perspective.splits import Split
from vantage.perspective.tally import CLOSENESS
from vantage.report.engine import Analysis, Data, there
from vantage.report.folder import Report
from vantage.report.recipe import Recipe
from vantage.report.record import made_at_once, now


@dataclass(eq=False)
class SystemsAnalysis(Analysis):
    """Systems with their scores on one split."""

    split: Split | None = None
    systems: Mapping[str, Evaluation] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What is scored."""
        return headline(self.corpus.question(there(self.split).question))


def leaderboard_report(split: Split, systems: Mapping[str, Evaluation]) -> Report:
    """The page, ready to be written: `leaderboard_report(split, systems).write("folder")`."""
    title = f"Leaderboard: {split.corpus.about.title or split.corpus.about.name}, {split.question}"
    options = {"split": str(split).splitlines()[0], "systems": list(systems)}
    record = made_at_once("leaderboard", title, split.corpus, seed=split.seed, options=options)
    recipe = Recipe.bundled("vantage.report", sys.modules[__name__], file="leaderboard.yaml")
    first = next(iter(systems.values()))
    users = first.pairs["rater"].n_unique()
    few = f"The test set has {users} users only: intervals resample texts, so they describe these people."
    warned = (few,) if first.over == "texts" else ()
    result = recipe.result(SystemsAnalysis(split.corpus, split=split, systems=systems), warnings=warned)
    record.finished = now()
    return Report(record, result)


def board(analysis: SystemsAnalysis) -> Data:
    """The systems, the best first."""
    label = analysis.label
    score = {"macro": "macro F1", CLOSENESS: "closeness (1 less the mean distance, in lengths of the scale)"}
    facts = {"score": score.get(label, f"F1 of '{label}'"), "over": next(iter(analysis.systems.values())).over}
    return Data(leaderboard(analysis.systems, label), facts)


def differences(analysis: SystemsAnalysis) -> pl.DataFrame:
    """Every pair of systems."""
    of = pl.format("{} − {}", "first", "second").alias("of")
    return paired_differences(analysis.systems, analysis.label).with_columns(of)


def of_values(analysis: SystemsAnalysis) -> pl.DataFrame | None:
    """The scores of each system for the users of each trait value."""
    frames = [
        one.trait_values.filter(pl.col("class") == analysis.label).with_columns(system=pl.lit(name))
        for name, one in analysis.systems.items()
        if one.traits
    ]
    return pl.concat(frames).with_columns(pl.format("{} {}", "trait", "value").alias("who")) if frames else None


def parts(analysis: SystemsAnalysis) -> pl.DataFrame:
    """The parts of the split."""
    return there(analysis.split).counts
