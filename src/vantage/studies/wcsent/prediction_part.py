"""Predictions on the official test part: how well each rater meets the released scores, and where it fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.measures.accuracy import accuracy
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.report.published import Published
from vantage.studies.wcsent.ceiling_part import ceiling
from vantage.studies.wcsent.data_part import ordered
from vantage.studies.wcsent.failure_part import failures
from vantage.studies.wcsent.printed import BERTWEET, BERTWEET_COARSE, BERTWEET_SPEARMAN, DUMMY, LOGISTIC, QUESTIONS

CLASSES: Final = ("accuracy", "f1_macro", "f1_weighted", "precision_macro", "recall_macro", "within")


def predictions(corpus: Corpus, seed: int = 0) -> tuple[list[Section], list[Published], list[Finding]]:
    """Tables of scores, and of where raters fail; empty where nobody but people judged."""
    test = corpus.items.filter(split="test") if "split" in corpus.items.columns else corpus.items.clear()
    who = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(["trained", "model", "persona"]))["rater"]
    judged = corpus.judgments.filter(pl.col("rater").is_in(who.to_list()), pl.col("item").is_in(test["item"].to_list()))
    if judged.is_empty():
        return [], [], []
    gold = _gold(test)
    fine = judged.filter(pl.col("question").is_in(QUESTIONS))
    coarse = judged.filter(pl.col("question").str.ends_with("-coarse"))
    table = _fine(corpus, fine, gold, test)
    labels = _coarse(fine, coarse, gold)
    parts: list[Table | Figure] = [
        Table(
            "predictions",
            f"Seven points: raters against the released scores of the {len(test)} test pairs. Spearman, mean absolute "
            "and root mean squared error use expected values where a rater gives them.",
            table,
            {
                "spearman": Column("Spearman", digits=2),
                "spearman_mean": Column("Spearman, exact mean", digits=2),
                "within": Column("within 1", digits=2),
                "mae": Column("MAE", digits=2),
                "rmse": Column("RMSE", digits=2),
                "accuracy": Column(digits=2),
                "f1_macro": Column("macro F1", digits=2),
                "f1_weighted": Column("weighted F1", digits=2),
                "precision_macro": Column("precision", digits=2),
                "recall_macro": Column("recall", digits=2),
            },
            keys=("question", "rater"),
            notes=[
                "The released scores are whole numbers; exact means are the means of the ratings before rounding, with "
                "which the published correlations of fine-tuned encoders (.77, .78, .63) were most likely computed."
            ],
        ),
        Figure(
            "within",
            "Share of predictions at most one point from the released score.",
            "Bars side by side, one group per rater and one bar per question.",
            "bars",
            table.select("rater", "question", pl.col("within").alias("estimate")),
            {"category": "rater", "series": "question", "label": "within one point", "limits": (0, 1)},
        ),
        Table(
            "coarse",
            "Three labels: raters against the signs of the released scores.",
            labels,
            {
                "accuracy": Column(digits=2),
                "f1_macro": Column("macro F1", digits=2),
                "f1_weighted": Column("weighted F1", digits=2),
            },
            keys=("question", "rater"),
        ),
    ]
    parts += _beside_bertweet(table)
    people = corpus.filter(kind="person", item=test["item"].to_list())
    highest = ceiling(people, table, seed)
    parts.append(highest)
    sections = [
        Section("Predicting the scores", [_text(corpus), *_in_words(table, highest.frame)], parts),
        Section(
            "Where predictions fail",
            [
                "A rater that hardly ever says anything but zero can look good on average. The first table "
                "shows how often "
                "each rater answers neutral beside how often the released scores are; the second compares the "
                "mean absolute "
                "error of sentences with and without some signs that may mislead."
            ],
            failures(fine, gold, test),
        ),
    ]
    return sections, _rows(table, labels), _findings(table)


def _gold(test: pl.DataFrame) -> pl.DataFrame:
    return test.unpivot(
        [f"final_{q}" for q in QUESTIONS], index="item", variable_name="question", value_name="value"
    ).with_columns(pl.col("question").str.strip_prefix("final_"))


def _fine(corpus: Corpus, fine: pl.DataFrame, gold: pl.DataFrame, test: pl.DataFrame) -> pl.DataFrame:
    given = fine.select("item", "question", "rater", "value", "status")
    classes = _wide(
        accuracy(given, by=["rater", "question"], reference=gold, metric=CLASSES, labels=range(-3, 4), ci="none")
    )
    exact = pl.col("expected").fill_null(pl.col("value")) if "expected" in fine.columns else pl.col("value")
    numbers = fine.select("item", "question", "rater", exact.alias("value")).drop_nulls()
    means = (
        corpus.judgments.join(corpus.raters.filter(pl.col("kind").cast(pl.String) == "person"), on="rater", how="semi")
        .filter(pl.col("item").is_in(test["item"].to_list()))
        .group_by("item", "question")
        .agg(pl.col("value").mean())
    )
    errors = _wide(
        accuracy(numbers, by=["rater", "question"], reference=gold, metric=["spearman", "mae", "rmse"], ci="none")
    )
    means_met = _wide(accuracy(numbers, by=["rater", "question"], reference=means, metric=["spearman"], ci="none"))
    found = classes.join(errors, on=["rater", "question"], how="left", maintain_order="left").join(
        means_met.rename({"spearman": "spearman_mean"}), on=["rater", "question"], how="left", maintain_order="left"
    )
    found = found.join(_answered(given), on=["rater", "question"], how="left", maintain_order="left")
    told = found.select(
        "question", "rater", "answered", "spearman", "spearman_mean", "within", "mae", "rmse", *CLASSES[:-1]
    )
    return ordered(told.sort("spearman_mean", "within", descending=True, nulls_last=True))


def _coarse(fine: pl.DataFrame, coarse: pl.DataFrame, gold: pl.DataFrame) -> pl.DataFrame:
    """Raters that answered in bands, and the signs of those that answered in points."""
    signs = gold.with_columns(pl.col("value").sign())
    given = pl.concat(
        [
            coarse.select("item", pl.col("question").str.strip_suffix("-coarse"), "rater", "value", "status"),
            fine.select("item", "question", "rater", pl.col("value").sign(), "status"),
        ]
    )
    metrics = ("accuracy", "f1_macro", "f1_weighted")
    found = accuracy(given, by=["rater", "question"], reference=signs, metric=metrics, labels=[-1, 0, 1], ci="none")
    wide = _wide(found).join(_answered(given), on=["rater", "question"], how="left", maintain_order="left")
    return ordered(wide.select("question", "rater", "answered", *metrics))


def _answered(given: pl.DataFrame) -> pl.DataFrame:
    """How many pairs each rater answered: a model can be asked about some only, and its replies can be unreadable."""
    return given.group_by("rater", "question").agg(pl.col("value").is_not_null().sum().alias("answered"))


def _wide(found: pl.DataFrame) -> pl.DataFrame:
    """One column per metric, averages by their names."""
    name = (
        pl.when(pl.col("average").is_null()).then("metric").otherwise(pl.concat_str("metric", pl.lit("_"), "average"))
    )
    return found.with_columns(name.alias("metric")).pivot(on="metric", index=["rater", "question"], values="estimate")


def _rows(table: pl.DataFrame, labels: pl.DataFrame) -> list[Published]:
    rows = []
    known = {(r["rater"], r["question"]): r for r in table.iter_rows(named=True)}
    for n, question in enumerate(QUESTIONS):
        always = known.get(("always −1", question), {})
        logistic = known.get(("tfidf-logistic", question), {})
        why = "always −1, as in the paper, whose dummy was fitted on three classes; weighted F1"
        for metric, figure in zip(("accuracy", "f1_weighted", "within"), DUMMY[n], strict=True):
            rows.append(Published(f"dummy, {question}: {_name(metric)}", "Table 3", figure, always.get(metric), why))
        why = "to its optimum, on the released labels; the paper's solver stopped early and had other labels; macro F1"
        for metric, figure in zip(("accuracy", "f1_macro", "within"), LOGISTIC[n], strict=True):
            rows.append(
                Published(
                    f"logistic regression, {question}: {_name(metric)}", "Table 3", figure, logistic.get(metric), why
                )
            )
        why = "the labels behind this row are not in the release: none of the rules tried gives their counts"
        rows.append(
            Published(f"BERTweet, {question}: accuracy of three labels", "Table 4", BERTWEET_COARSE[n][0], None, why)
        )
    return rows


def _beside_bertweet(table: pl.DataFrame) -> list[Table | Figure]:
    """Our encoders beside the paper's, with the spread over seeds; none where no encoder was trained."""
    mine = table.filter(pl.col("rater").str.starts_with("encoder/"))
    if mine.is_empty():
        return []
    metrics = ("accuracy", "f1_macro", "within", "spearman", "spearman_mean")
    means = (
        mine.with_columns(pl.col("rater").str.replace(r"/\d+$", "").str.strip_prefix("encoder/").alias("training"))
        .group_by("training", "question", maintain_order=True)
        .agg(
            pl.len().alias("seeds"),
            *(pl.col(m).mean() for m in metrics),
            *(pl.col(m).std().alias(f"{m}_sd") for m in metrics),
        )
    )
    printed = pl.DataFrame(
        [
            {
                "training": "BERTweet, as printed",
                "question": question,
                **dict(zip(metrics[:3], map(float, BERTWEET[n]), strict=True)),
                "spearman_mean": float(BERTWEET_SPEARMAN[n]),
            }
            for n, question in enumerate(QUESTIONS)
        ]
    )
    frame = ordered(pl.concat([means, printed], how="diagonal"))
    columns = {m: Column(_title(m), digits=3, spread=f"{m}_sd") for m in metrics}
    return [
        Table(
            "encoders",
            "Our encoders beside the fine-tuned BERTweet of the paper (Tables 3 and 14): means over seeds, and "
            "standard deviations where there are several.",
            frame,
            columns,
            ("training", "question", "seeds", "spearman", "spearman_mean", "within", "accuracy", "f1_macro"),
            ("training", "question"),
            [
                "BERTweet has 135 million parameters and was made for tweets; the embedded MiniLM has 22 million. "
                "A blend is the encoder and, for three tenths, a probe of the embedded language model, which has as "
                "many parameters as BERTweet and is not changed."
            ],
        )
    ]


def _title(metric: str) -> str:
    names = {"f1_macro": "macro F1", "within": "within 1", "spearman": "Spearman", "spearman_mean": "Spearman, means"}
    return names.get(metric, metric)


def _name(metric: str) -> str:
    return {"within": "within 1", "accuracy": "accuracy"}.get(metric, "F1")


def _text(corpus: Corpus) -> str:
    trained = corpus.raters.filter(pl.col("kind").cast(pl.String) == "trained").height
    models = corpus.raters.filter(pl.col("kind").cast(pl.String).is_in(["model", "persona"])).height
    prompted = (
        f"{models} language model{'s in their styles were' if models > 1 else ' was'} asked"
        if models
        else "no language model was asked"
    )
    return (
        f"{trained} raters learned from the training and validation parts, the dummies among them, and {prompted}. "
        "None saw a text of the test part before judging it; examples in prompts come from the training part."
    )


def _in_words(table: pl.DataFrame, highest: pl.DataFrame) -> list[str]:
    """What the tables say: the best rater beside a dummy, one annotator and the noise."""
    known = {row["question"]: row for row in highest.drop_nulls(["best_value", "one"]).iter_rows(named=True)}
    if len(known) < len(QUESTIONS):
        return []
    near = table.filter(pl.col("rater") == "always −1")
    words = [
        f"Rank correlations of the best rater with the means of the ratings are "
        f"{_listed([known[q]['best_value'] for q in QUESTIONS])} for {', '.join(QUESTIONS[:-1])} and {QUESTIONS[-1]}. "
        f"A single annotator comes to {_listed([known[q]['one'] for q in QUESTIONS])} with the mean of the others, and "
        f"the noise in the means allows no more than {_listed([known[q]['highest'] for q in QUESTIONS])}: what is "
        "missing lies in the raters, not in the scores."
    ]
    if len(near) == len(QUESTIONS):
        best = [table.filter(question=q, rater=known[q]["best"])["within"][0] for q in QUESTIONS]
        dummy = [near.filter(question=q)["within"][0] for q in QUESTIONS]
        words.append(
            f"Of its answers {_listed(best, percent=True)} lie at most one point from the released score; always "
            f"answering −1 gives {_listed(dummy, percent=True)}."
        )
    return words


def _listed(values: Sequence[float], *, percent: bool = False) -> str:
    *first, last = (f"{100 * value:.0f} %" if percent else f"{value:.2f}" for value in values)
    return f"{', '.join(first)} and {last}"


def _findings(table: pl.DataFrame) -> list[Finding]:
    """The best rater of each question by rank correlation."""
    known = table.drop_nulls("spearman")
    if known.is_empty():
        return []
    words: list[str] = []
    numbers: dict[str, Any] = {}
    for question in QUESTIONS:
        mine = known.filter(question=question).sort("spearman", descending=True)
        if len(mine):
            best = mine.row(0, named=True)
            numbers |= {f"{question}_rater": best["rater"], f"{question}_value": best["spearman"]}
            words.append(f"for {question} {{{question}_rater}} ({{{question}_value:.2f}})")
    told = "The order of the released scores is met best, by rank correlation, " + ", ".join(words) + "."
    return [Finding(told, numbers)]
