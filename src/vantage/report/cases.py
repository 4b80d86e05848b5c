"""Cases that people can read: texts with the distribution of people's answers, what models said of them, and reasons.

`divided` and `agreed` are about people, `unlike_people` about models, personas and trained raters beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.schema import MODELS, PEOPLE
from vantage.report.cells import shortened
from vantage.report.distributions import answer_mark, answers_of, counted_answers, shares_of, text_of_items
from vantage.report.engine import Analysis, there
from vantage.report.marks import Mark, mark, words
from vantage.scales import Scale, show_code

LISTED: Final = 8
"""How many texts a table of texts has; of several questions, about as many together, and one of each at least."""
REASONS: Final = 2
"""How many reasons stand beside a text."""
UNIT: Final = ["item", "question"]


def divided(analysis: Analysis) -> pl.DataFrame | None:
    """The texts on which people differ most, question by question, each with its answers and reasons.

    Two people who differ are no more divided than twenty of whom ten do: the distance by which texts are ranked is that
    of two answers drawn with replacement. Of few texts, half are listed.
    """
    return with_texts(analysis, _most_divided(disagreements(analysis.people)))


def agreed(analysis: Analysis) -> pl.DataFrame | None:
    """The texts on which people differ least, question by question: of few texts, the other half."""
    units = disagreements(analysis.people)
    halved = units.with_columns(half=pl.len().over("question") // 2)
    rest = halved.join(_most_divided(units), on=UNIT, how="anti", maintain_order="left")
    return with_texts(analysis, _first(rest, "disagreement", pl.col("n").neg(), most=pl.col("half")))


def unlike_people(analysis: Analysis) -> pl.DataFrame:
    """The texts on which models together lie further from people than people from each other."""
    others = _varied(analysis.corpus)
    rows = there(beside_people(analysis, others))
    units = rows.group_by(UNIT, maintain_order=True).agg(
        (pl.col("model") - pl.col("disagreement")).mean().alias("beyond"), pl.col("n").first(), pl.len().alias("models")
    )
    # A text counts where most of the models that answered some text answered this one.
    most = units.filter(pl.col("models") * 2 > pl.col("models").max(), pl.col("beyond") > 0)
    listed = there(with_texts(analysis, _first(most, pl.col("beyond").neg())))
    given = answered(analysis.corpus).filter(pl.col("rater").is_in(others))
    parts = [given.filter(item=item, question=asked).sort("rater") for item, asked in listed.select(UNIT).iter_rows()]
    why = pl.Series([_quoted(part, named=True) for part in parts], dtype=pl.String)
    drawn = _spread if len(others) == 1 else _said
    return listed.with_columns(said=pl.Series([drawn(analysis.corpus, part) for part in parts]), why=why)


def disagreements(people: Corpus) -> pl.DataFrame:
    """Items that two people or more answered, with the mean distance of two answers as a share of the scale."""
    parts = [pl.DataFrame(schema={"item": pl.String, "question": pl.String, "disagreement": pl.Float64, "n": pl.Int64})]
    for question, counts in counted_answers(Corpus(people.items, people.raters, _of_each(people), people.instruments)):
        columns = {"item": counts.items, "disagreement": counts.disagreement, "n": counts.n[:, 0]}
        rows = pl.DataFrame(columns).filter(pl.col("n") > 1)
        parts.append(rows.select("item", pl.lit(question.id).alias("question"), "disagreement", "n"))
    return pl.concat(parts)


def beside_people(analysis: Analysis, raters: Sequence[str]) -> pl.DataFrame | None:
    """For each item that a rater and two people answered: the rater's mean distance from a person, and theirs.

    `squared` and `cubed` are moments of the difference of the two if any of those who answered were the rater.
    """
    given = answered(analysis.corpus).filter(pl.col("rater").is_in(list(raters)))
    if given.is_empty():
        return None
    spread = given.with_columns(_distributions(analysis.corpus, given))
    mine = spread.group_by("rater", *UNIT).agg("shares", answers="value", answer=pl.col("value").mode().min())
    people = _of_each(analysis.people).group_by(UNIT).agg(pl.col("value").alias("others"))
    rows = mine.join(people, on=UNIT).join(disagreements(analysis.people), on=UNIT).sort("rater", *UNIT)
    moments_of = []
    for question, own, shares, others in rows.select("question", "answers", "shares", "others").iter_rows():
        scale, values = analysis.corpus.question(question).scale, np.array(others)
        if shares[0] is None:
            from_model = _distance(scale, np.array(own)[:, None], values).mean(axis=0)
        else:
            from_model = np.mean(shares, axis=0) @ _distance(scale, np.array(scale.codes)[:, None], values)
        # Everyone's distances from all others, the rater's first.
        each = np.append(from_model.sum(), _distance(scale, values[:, None], values).sum(axis=1) + from_model)
        rest = each.sum() / 2 - each
        away = each / len(values) - rest / (len(values) * (len(values) - 1) / 2)
        moments_of.append((float(from_model.mean()), float((away**2).mean()), float((away**3).mean())))
    moments = pl.DataFrame(moments_of, schema=dict.fromkeys(("model", "squared", "cubed"), pl.Float64), orient="row")
    return pl.concat([rows.select("rater", *UNIT, "disagreement", "n", "answer"), moments], how="horizontal")


def _distributions(corpus: Corpus, given: pl.DataFrame) -> pl.Series:
    """The share that each judgment gives each answer, where models gave distributions; else null."""
    shares: list[Any] = [None] * len(given)
    for name in given["question"].unique() if "probabilities" in given.columns else ():
        question, mine = corpus.question(name), (given["question"] == name).arg_true()
        if not question.scale.slides:
            for place, one in zip(mine, shares_of(given[mine], question)[0].to_list(), strict=True):
                shares[place] = one
    return pl.Series("shares", shares, dtype=pl.List(pl.Float64))


def others_of(corpus: Corpus) -> list[str]:
    """Models, personas and trained raters who gave a value beside people; nobody where there are no people."""
    kinds = dict(corpus.raters.select("rater", pl.col("kind").cast(pl.String)).iter_rows())
    if not any(kind in PEOPLE for kind in kinds.values()):
        return []
    names = answered(corpus)["rater"].unique().to_list()
    return sorted(name for name in names if kinds[name] in MODELS)


def _varied(corpus: Corpus) -> list[str]:
    """Those of them whose answers differ between texts; one who always says the same says nothing about a text."""
    given = answered(corpus).filter(pl.col("rater").is_in(others_of(corpus)))
    units = given.group_by("rater", "question").agg(pl.col("value").n_unique(), pl.col("item").n_unique())
    varied = (pl.col("value") > 1) | (pl.col("item") == 1)
    return units.filter(varied)["rater"].unique().sort().to_list()


def with_texts(analysis: Analysis, units: pl.DataFrame) -> pl.DataFrame | None:
    """Units with their texts, the distribution of people's answers, and some reasons."""
    if units.is_empty():
        return None
    people = answered(analysis.people).join(units.select(UNIT), on=UNIT, how="semi")
    texts, rows = text_of_items(analysis.corpus), []
    for row in units.iter_rows(named=True):
        mine = people.filter(item=row["item"], question=row["question"])
        spread = answer_mark(analysis.corpus.question(row["question"]), mine["value"].to_numpy())
        text = shortened(texts.get(row["item"], row["item"]), 280)
        rows.append({**row, "text": text, "answers": spread, "reasons": _quoted(mine)})
    return pl.DataFrame(rows, infer_schema_length=None)


def label(corpus: Corpus, question: str, value: float) -> str:
    """An answer as people read it: its name, its code, or both where only some options have a name."""
    options = corpus.question(question).scale.options
    named = next((option.label for option in options if option.code == value and option.label), "")
    if not named or all(option.label for option in options):
        return named or show_code(value)
    return f"{show_code(value)} ({named})"


def _spread(corpus: Corpus, given: pl.DataFrame) -> Mark:
    """How often a model gave each answer to one text, or how likely it finds each."""
    question, shares = corpus.question(given["question"][0]), _distributions(corpus, given).drop_nulls().to_list()
    if shares:
        return mark(answers_of(question)[2], np.mean(shares, axis=0).tolist())
    return answer_mark(question, given["value"].to_numpy())


def _said(corpus: Corpus, given: pl.DataFrame) -> str:
    """What each model answered about one text: the answer, or all of several."""
    said = []
    for (rater,), mine in given.group_by("rater", maintain_order=True):
        spread, (asked, value) = _spread(corpus, mine), mine.select("question", "value").row(0)
        sure = sum(one["votes"] > 0 for one in spread) == 1
        said.append(f"{rater}: {label(corpus, asked, value) if sure else words(spread)}")
    return "; ".join(said)


def _quoted(given: pl.DataFrame, *, named: bool = False) -> str | None:
    """One reason each of the first raters, with the rater's name where that means something to a reader."""
    different = given.drop_nulls("rationale").unique("rationale", maintain_order=True)
    reasons = different.unique("rater", maintain_order=True)
    quoted = [
        f"{rater}: “{shortened(why, 240)}”" if named else f"“{shortened(why, 240)}”"
        for rater, why in reasons.select("rater", pl.col("rationale").cast(pl.String)).head(REASONS).iter_rows()
    ]
    return " · ".join(quoted) or None


def _most_divided(units: pl.DataFrame) -> pl.DataFrame:
    """The most even splits of the most people, question by question."""
    evenly = pl.col("disagreement") * (pl.col("n") - 1) / pl.col("n")
    split = units.with_columns(half=(pl.len().over("question") + 1) // 2).filter(pl.col("disagreement") > 0)
    return _first(split, evenly.round(9).neg(), pl.col("n").neg(), most=pl.col("half"))


def _first(units: pl.DataFrame, *by: str | pl.Expr, most: pl.Expr | int = LISTED) -> pl.DataFrame:
    """The first texts of each question in the order of some columns."""
    named = units["question"].unique(maintain_order=True)
    ranked = units.sort(pl.col("question").cast(pl.Enum(named)), *by, "item")
    each = -(-LISTED // max(len(named), 1))
    return ranked.filter(pl.int_range(pl.len()).over("question") < pl.min_horizontal(most, each))


def answered(corpus: Corpus) -> pl.DataFrame:
    """The judgments with a value."""
    return corpus.judgments.filter(pl.col("value").is_not_null())


def _of_each(people: Corpus) -> pl.DataFrame:
    """One answer of each person to an item, the first: two answers of one person are no distance of two people."""
    return answered(people).unique([*UNIT, "rater"], keep="first", maintain_order=True)


def _distance(scale: Scale, one: Any, other: Any) -> Any:
    """How far two answers are apart, as a share of the scale's range; 0 or 1 where answers have no order."""
    if not scale.ordered:
        return (one != other).astype(float)
    low, high = scale.ends
    return np.abs(one - other) / ((high - low) or 1.0)
