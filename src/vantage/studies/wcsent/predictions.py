"""Predictions on the official test part: how well each rater meets the released scores, and where it fails."""

from __future__ import annotations

from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.measures.resampling import Resampling, mean_with_interval, named
from vantage.measures.scoring.accuracy import accuracy
from vantage.report.engine import Absent, Analysis, there

QUESTIONS: Final = ("trust", "sociability", "competence")
CLASSES: Final = ("accuracy", "f1_macro", "f1_weighted", "precision_macro", "recall_macro", "within")
PAIR: Final = ["rater", "question"]
SHOWN: Final = 12
"""How many pairs are listed on which few-shot answers went astray."""


class WarmthAnalysis(Analysis):
    """The test part with what raters other than people said of it."""

    @cached_property
    def test(self) -> pl.DataFrame:
        """The items of the test part."""
        items = self.corpus.items
        return items.filter(split="test") if "split" in items.columns else items.clear()

    @cached_property
    def judged(self) -> pl.DataFrame:
        """What trained raters and models said of them."""
        kinds = pl.col("kind").cast(pl.String).is_in(["trained", "model", "persona"])
        who, items = self.corpus.raters.filter(kinds)["rater"], self.test["item"]
        return self.corpus.judgments.filter(pl.col("rater").is_in(who.implode()), pl.col("item").is_in(items.implode()))

    @cached_property
    def fine(self) -> pl.DataFrame:
        """Answers on the seven points, with expected values where a rater gives them."""
        judged = self.judged.filter(pl.col("question").is_in(QUESTIONS))
        exact = pl.col("expected").fill_null(pl.col("value")) if "expected" in judged.columns else pl.col("value")
        return judged.with_columns(exact.alias("exact"))

    @cached_property
    def gold(self) -> pl.DataFrame:
        """The released scores."""
        finals = there([name for q in QUESTIONS if (name := f"final_{q}") in self.test.columns] or None)
        long = self.test.unpivot(finals, index="item", variable_name="question", value_name="value")
        return long.with_columns(pl.col("question").str.strip_prefix("final_"))

    @cached_property
    def raters_of_test(self) -> Corpus:
        """The test part as people and all others judged it."""
        items = there(self.judged)["item"].unique().to_list()
        return self.corpus.filter(question=list(QUESTIONS), item=items)


@lru_cache(maxsize=1)
def scores(analysis: WarmthAnalysis) -> pl.DataFrame:
    """Raters against the released scores on seven points: every rater and question with all scores."""
    fine, gold = analysis.fine, analysis.gold
    people = analysis.corpus.filter(kind="person", item=analysis.test["item"].to_list())
    means = people.judgments.group_by("item", "question").agg(pl.col("value").mean())
    exact = there(fine.select("item", "question", "rater", pl.col("exact").alias("value")).drop_nulls())
    answers = fine.select("item", "question", "rater", "value", "status")
    classes = accuracy(answers, by=PAIR, reference=gold, metric=CLASSES, labels=range(-3, 4), ci="none")
    errors = accuracy(exact, by=PAIR, reference=gold, metric=["mae", "rmse"], ci="none")
    # Raters are compared on what all answered: a model can be asked about some pairs only, and refuse others.
    raters = pl.col("rater").n_unique()
    shared = exact.filter(raters.over("item", "question") == raters.over("question"))
    table = _wide(classes).join(_wide(errors), on=PAIR, how="left", maintain_order="left")
    for name, some in (("spearman", exact), ("same", shared)):
        ranks = accuracy(some, by=PAIR, reference=gold, metric=["spearman"], seed=analysis.seed)
        ends = {f"{name}_{end}": end for end in ("low", "high")}
        named_ranks = ranks.select(*PAIR, **{name: "estimate", **ends})
        table = table.join(named_ranks, on=PAIR, how="left", maintain_order="left")
    to_means = accuracy(exact, by=PAIR, reference=means, metric=["spearman"], ci="none")
    for more in (_wide(to_means).rename({"spearman": "spearman_mean"}), _answered(fine)):
        table = table.join(more, on=PAIR, how="left", maintain_order="left")
    same_pairs = pl.col("same") if len(shared) < len(exact) else pl.lit(None, dtype=pl.Float64)
    return table.with_columns(same_pairs=same_pairs).sort("spearman_mean", "within", descending=True, nulls_last=True)


def coarse(analysis: WarmthAnalysis) -> pl.DataFrame:
    """Raters that answered in bands, and the signs of those that answered in points."""
    bands = analysis.judged.filter(pl.col("question").str.ends_with("-coarse"))
    given = pl.concat(
        [
            bands.select("item", pl.col("question").str.strip_suffix("-coarse"), "rater", "value", "status"),
            analysis.fine.select("item", "question", "rater", pl.col("value").sign(), "status"),
        ]
    )
    there(given)
    signs = analysis.gold.with_columns(pl.col("value").sign())
    metrics = ("accuracy", "f1_macro", "f1_weighted", "precision_macro", "recall_macro")
    result = accuracy(given, by=PAIR, reference=signs, metric=metrics, labels=[-1, 0, 1], ci="none")
    return _wide(result).join(_answered(given), on=PAIR, how="left", maintain_order="left")


def encoders(analysis: WarmthAnalysis) -> pl.DataFrame:
    """Our encoders beside the paper's, with the spread over seeds."""
    mine = there(scores(analysis).filter(pl.col("rater").str.starts_with("encoder/")))
    metrics = ("accuracy", "f1_macro", "within", "spearman", "spearman_mean")
    training = pl.col("rater").str.replace(r"/\d+$", "").str.strip_prefix("encoder/").alias("training")
    means = mine.group_by(training, "question", maintain_order=True).agg(
        pl.len().alias("seeds"), pl.col(metrics).mean(), pl.col(metrics).std().name.suffix("_sd")
    )
    # The paper's fine-tuned encoder (Tables 3 and 14).
    printed = pl.read_csv(files(__package__).joinpath("printed.csv").read_bytes())
    return pl.concat([means, printed], how="diagonal")


def neutral(analysis: WarmthAnalysis) -> pl.DataFrame:
    """How often raters answer neutral, how often the released scores are, and who is on the wrong side."""
    wrong_side = pl.col("value").sign() * pl.col("gold").sign() < 0
    shares = {"says_neutral": pl.col("value") == 0, "is_neutral": pl.col("gold") == 0, "wrong_side": wrong_side}
    answers = _errors(analysis).group_by("rater", "question")
    return answers.agg(**{name: share.mean() for name, share in shares.items()}).sort("rater")


def few_against_zero(analysis: WarmthAnalysis) -> pl.DataFrame | None:
    """Few-shot against zero-shot answers of the same model, pair by pair: errors, their difference, and strays.

    An answer strays when it is two points or more from the released score and from the answer in the other setting.
    """
    rows: list[dict[str, Any]] = []
    for (model, style, question), mine in _settings(analysis).group_by(
        "model", "style", "question", maintain_order=True
    ):
        more = (mine["error_few"] - mine["error_zero"]).to_numpy()
        change = mean_with_interval(mine["item"], more, Resampling(seed=analysis.seed))
        row: dict[str, Any] = {"model": model, "style": style, "question": question, "pairs": len(mine)}
        row |= {"zero": mine["error_zero"].mean(), "few": mine["error_few"].mean(), **named("difference", change)}
        for setting in ("few", "zero"):
            lost = mine.filter(_astray(setting))
            row |= {f"astray_{setting}": len(lost), f"neutral_{setting}": lost.filter(pl.col(setting) == 0).height}
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None) if rows else None


def astray(analysis: WarmthAnalysis) -> pl.DataFrame:
    """The pairs on which few-shot answers went furthest astray, with their texts and reasons."""
    lost = there(_settings(analysis).filter(_astray("few")))
    text = lost.join(analysis.test.select("item", "text", "target"), on="item", maintain_order="left")
    return text.sort("error_few", "item", descending=[True, False]).head(SHOWN)


def _settings(analysis: WarmthAnalysis) -> pl.DataFrame:
    """Answers of each model without and with examples to the same pair and question, beside the released score."""
    raters = analysis.corpus.raters
    if not {"model", "style"} <= set(raters.columns):
        raise Absent
    few = pl.col("style").str.contains("few-shot")
    plain = pl.col("style").str.replace(r"\+?few-shot:\d+\+?", "").str.replace("^$", "zero-shot")
    named = raters.drop_nulls("style").select("rater", "model", few.alias("shown"), plain.alias("style"))
    judged = _errors(analysis).join(named, on="rater", maintain_order="left")
    keys = ["model", "style", "item", "question", "gold"]
    sides = [
        judged.filter(pl.col("shown") == shown).select(
            *keys, pl.col("value").alias(name), pl.col("error").alias(f"error_{name}"), pl.col("rationale").alias(why)
        )
        for name, shown, why in (("zero", False, "why_zero"), ("few", True, "why_few"))
    ]
    return sides[0].join(sides[1], on=keys, maintain_order="left")


def _astray(setting: str) -> pl.Expr:
    return (pl.col(f"error_{setting}") >= 2) & ((pl.col("few") - pl.col("zero")).abs() >= 2)


def _errors(analysis: WarmthAnalysis) -> pl.DataFrame:
    fine = there(analysis.fine).drop_nulls("value")
    both = fine.join(analysis.gold.rename({"value": "gold"}), on=["item", "question"])
    return both.with_columns((pl.col("value") - pl.col("gold")).abs().alias("error"))


def _answered(given: pl.DataFrame) -> pl.DataFrame:
    """How many pairs each rater answered: a model can be asked about some only, and its replies can be unreadable."""
    return given.group_by(PAIR).agg(pl.col("value").is_not_null().sum().alias("answered"))


def _wide(frame: pl.DataFrame) -> pl.DataFrame:
    """One column per metric, averages by their names."""
    average = pl.concat_str("metric", pl.lit("_"), "average")
    name = pl.when(pl.col("average").is_null()).then("metric").otherwise(average)
    return frame.with_columns(name.alias("metric")).pivot(on="metric", index=PAIR, values="estimate")
