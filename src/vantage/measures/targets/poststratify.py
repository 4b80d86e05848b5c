"""What the answers would be if the raters were other people: cells of traits, predicted and summed over a target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import polars as pl

from vantage.corpora import Target, as_text
from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.parts import Part, counts, names, parts
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import By, Floats, Judgments
from vantage.measures.targets.cells import Cell, CellModel
from vantage.scales import show_code

Per: TypeAlias = Literal["mean", "item"]
FEW_IN_CELLS: Final = 20
"""With fewer raters intervals are doubted."""
FEW_OF: Final = 10
"""A group of so many raters or fewer is shrunk, and its interval doubted (docs/population.md)."""
SHRUNK: Final = (
    "few raters have {}, whose answers are drawn towards those of the others: such intervals hold the value in some "
    "90 % of cases"
)

VIEW: Final = View(
    "Answers of the population",
    columns={
        "estimate": Column("population", digits=2, interval=("low", "high")),
        "raw": Column("these raters", digits=2),
        "modelled": Column("rests on the model", percent=True, digits=0),
    },
    show=("item", "answer", "estimate", "raw", "modelled", "items", "raters", "reason"),
    notes=("Rests on the model: the share of the target in groups of which no rater judged the item.",),
    method="Answers were predicted for each combination of traits in a multilevel model and summed over {target} "
    "(Gelman and Little, 1997).",
    sources=("gelman1997",),
)


def target_of(data: Any, given: object) -> tuple[str, Target]:
    """A target by the name of weights that the corpus has, or from a file or shares; and what it is called."""
    corpus = getattr(data, "corpus", data)
    stored = getattr(getattr(corpus, "about", None), "weights", {})
    if isinstance(given, str) and given in stored:
        return given, stored[given].target
    target = Target.of(given)
    return given if isinstance(given, str) else target.describe(), target


def trait_columns(data: Any, traits: Sequence[str], by: By = ()) -> dict[str, str]:
    """The column of the judgments that holds each trait; of a corpus it is that of the raters."""
    if shared := [trait for trait in traits if trait in names(by)]:
        raise InputError(
            f"'{shared[0]}' says whom to ask, so that it cannot also say how to group", remedy="leave it out of by"
        )
    return {trait: f"rater.{trait}" if hasattr(data, "with_columns_of") else trait for trait in traits}


@measure("population", "population", view=VIEW)
def population(
    data: Judgments,
    *,
    by: By = (),
    target: str | Target | Mapping[Any, Any],
    per: Per = "mean",
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """What people would answer if they were those of a target: poststratification with partial pooling.

    `target` is the name of weights that the corpus has, or a file of shares (docs/population.md). A multilevel logit
    model predicts each item's answers for every combination of traits, which are summed over the target (Gelman and
    Little 1997). There is a row for each answer, and for the mean where answers have an order: of the corpus, or of
    each item with `per="item"`. `raw` is the same of the raters as they are. `modelled` is the share of the target in
    combinations of which no rater judged the item, and `modelled_variance` the share of the variance that comes from
    them. The interval is over other raters, for these items.

    >>> rng = np.random.default_rng(2)
    >>> item, rater = (grid.ravel() for grid in np.indices((6, 24)))
    >>> home = np.where(rater < 20, "town", "country")
    >>> value = (rng.random(144) < np.where(home == "town", 0.3, 0.8)).astype(float)
    >>> answers = pl.DataFrame({"item": item, "rater": rater, "value": value, "home": home})
    >>> rows = population(answers, target={"home": {"town": 0.5, "country": 0.5}})
    >>> rows.filter(answer="1").select(pl.col("raw", "estimate").round(1)).row(0)
    (0.4, 0.6)
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence {confidence} is not between 0 and 1", remedy="use for example 0.95")
    named, wanted = target_of(data, target)
    columns = trait_columns(data, wanted.traits, by)
    rows: list[dict[str, Any]] = []
    for part in parts(data, by, extra=list(columns.values())):
        rows += _rows(part, wanted, columns, per, confidence, seed)
    shown = table(rows, [*names(by), *(["item"] if per == "item" else [])])
    return shown.with_columns(pl.lit(named).alias("target")) if "target" not in shown.columns else shown


def _models(
    answered: pl.DataFrame, columns: Sequence[str], codes: Floats, *, ordered: bool, seed: int
) -> list[CellModel]:
    """One model of ordered answers, or of two; otherwise one for each answer against the rest."""
    value = answered["value"].to_numpy()
    if ordered or len(codes) == 2:
        return [CellModel.of(answered, columns, value, seed)]
    return [
        CellModel.of(answered, columns, (value == code).astype(np.float64), seed + 1000 * number)
        for number, code in enumerate(codes)
    ]


def _shares(models: Sequence[CellModel], cells: Sequence[Cell]) -> Floats:
    """Items × cells × answers."""
    if len(models) == 1:
        return models[0].shares(cells)
    shares = np.stack([model.shares(cells)[..., 1] for model in models], axis=-1)
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def _draws(models: Sequence[CellModel], cells: Sequence[Cell], weight: Floats) -> Floats:
    """Draws × items × answers × columns of weights of cells (items × cells × columns)."""
    if len(models) == 1:
        return models[0].draws(cells, weight)
    each = np.stack([model.draws(cells, weight)[:, :, 1] for model in models], axis=2)
    total = each[..., :1].sum(axis=2, keepdims=True)
    return np.asarray(each * weight[None, :, :, :1].sum(axis=2)[:, :, None] / np.maximum(total, 1e-12))


def _rows(
    part: Part, target: Target, columns: Mapping[str, str], per: Per, confidence: float, seed: int
) -> list[dict[str, Any]]:
    answered, scale = target.in_words(part.answered, columns), part.scale()
    based = {**part.key, **counts(answered, part.frame), "over": "raters"}
    if answered["value"].n_unique() < 2:
        reason = "all answers are the same" if len(answered) else "no item has an answer"
        return [{**based, "over": None, "reason": reason}]
    raters = answered.unique("rater", maintain_order=True).rename({column: trait for trait, column in columns.items()})
    shares, ordered = target.cells(raters), scale is None or scale.ordered
    cells, weight = list(shares), np.array(list(shares.values()))
    codes, texts = np.unique(answered["value"].to_numpy()), answered["item"].cast(pl.String)
    models = _models(answered, list(columns.values()), codes, ordered=ordered, seed=seed)
    item_of, cell_of = ({one: number for number, one in enumerate(known)} for known in (models[0].items, cells))
    seen = np.zeros((len(item_of), len(cells)), dtype=np.bool_)
    for one, *cell in set(answered.select(texts, *(as_text(answered[c]) for c in columns.values())).rows()):
        if tuple(cell) in shares:
            seen[item_of[one], cell_of[tuple(cell)]] = True
    both = np.stack([np.broadcast_to(weight, seen.shape), np.where(seen, 0.0, weight)], axis=-1)
    estimate, draws = np.einsum("uca,c->ua", _shares(models, cells), weight), _draws(models, cells, both)
    raw = np.zeros(estimate.shape)
    unit = np.array([item_of[one] for one in texts], dtype=np.int64)
    np.add.at(raw, (unit, np.searchsorted(codes, answered["value"].to_numpy())), 1.0)
    raw /= raw.sum(axis=1, keepdims=True)
    based["note"] = "; ".join(_notes(raters, target, shares, models[0])) or None
    labels = [show_code(c) if scale is None else scale.label(c) for c in codes.tolist()]
    answers: list[tuple[str, float | None, Floats]] = list(zip(labels, codes, np.eye(len(labels)), strict=True))
    if ordered and len(labels) > 2:
        answers.insert(0, ("mean", None, codes))
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    rows = []
    for item in item_of if per == "item" else [None]:
        chosen, key = slice(None), dict[str, Any]()
        if item is not None:
            chosen = slice(item_of[item], item_of[item] + 1)
            key = {**counts(answered.filter(texts == item), part.frame.head(0)), "item": item}
        modelled = float(both[chosen, :, 1].sum(axis=1).mean())
        for label, code, score in answers:
            drawn = np.einsum("duaw,a->dw", draws[:, chosen], score) / draws[:, chosen].shape[1]
            filled, unfilled = float((drawn[:, 0] - drawn[:, 1]).var()), float(drawn[:, 1].var())
            low, high = np.quantile(drawn[:, 0], tails).tolist()
            rows.append({
                **based, **key, "code": code, "answer": label, "raw": float((raw[chosen] @ score).mean()),
                "modelled": modelled, "modelled_variance": unfilled / max(filled + unfilled, 1e-300),
                "estimate": float((estimate[chosen] @ score).mean()), "low": low, "high": high,
            })  # fmt: skip
    return rows


def _notes(raters: pl.DataFrame, target: Target, shares: Mapping[Cell, float], model: CellModel) -> Iterator[str]:
    """What an estimate rests on that is no answer of a rater."""
    own = set(raters.select(as_text(raters[trait]) for trait in target.traits).rows())
    empty = [cell for cell, share in shares.items() if cell not in own and share > 0]
    yield from (f"no rater is {' × '.join(cell)} ({shares[cell]:.1%} of the target)" for cell in empty)
    for trait in target.traits:
        if number := raters[trait].null_count():
            who = "1 rater has" if number == 1 else f"{number} raters have"
            yield f"{who} no {trait}, which is taken to have nothing to do with their answers"
    few = [
        f"{trait} '{value}'"
        for k, trait in enumerate(target.traits)
        for value, number in as_text(raters[trait]).drop_nulls().alias("value").value_counts(sort=True).iter_rows()
        if number <= FEW_OF and any(value == cell[k] for cell in shares)
    ]
    if same := [target.traits[k] for k, value in model.single.items() if value]:
        others = "; how far others are from them is left to its prior" if empty else ""
        yield f"all raters have the same {' and '.join(same)}, which the model therefore leaves out{others}"
    yield from (*model.notes, *([SHRUNK.format(", ".join(few))] if few else []))
    if len(raters) < FEW_IN_CELLS:
        yield "fewer than twenty raters: the interval rests on the prior of the model"
