"""Keywords that raters give, read through a dictionary: how many are found, on which dimensions, in which direction.

Prevalence (how often a dimension comes up) and direction (whether its words are high or low) are reported apart. Every
occurrence counts, since a word that is given ten times says more than one that is given once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.counts import quotient
from vantage.measures.intervals import percentile
from vantage.measures.multiplicity import share_beyond
from vantage.measures.parts import partitioned
from vantage.measures.ratings import By, Floats, by_columns
from vantage.measures.texts.dictionary import STAGES, Dictionary, Lemmatize, PartOfSpeech, lemmas

PARTS: Final[Mapping[str, tuple[PartOfSpeech, ...]]] = {
    "traits": ("ADJ", "NOUN", "VERB"),
    "emotions": ("NOUN", "ADJ", "VERB"),
    "behaviours": ("VERB", "NOUN", "ADJ"),
}
"""Which part of speech a keyword most likely is, by what was asked for (the column `about`)."""


def matched(keywords: pl.DataFrame, dictionary: Dictionary, *, lemmatize: Lemmatize = lemmas) -> pl.DataFrame:
    """Keywords with what the dictionary says of them: one row per occurrence and dimension.

    A column `about` (a key of `PARTS`) tells which part of speech to expect. A `keyword` that is not found has one row,
    with a null `stage`. `occurrence` numbers the rows of `keywords`.

    >>> words = pl.DataFrame({"item": ["a", "a"], "keyword": ["Friendly", "tall"]})
    >>> small = Dictionary.of({"Sociability": {"high": ["friendly"]}})
    >>> matched(words, small).select("keyword", "stage", "dimension", "direction").rows()
    [('Friendly', 'exact', 'Sociability', 1.0), ('tall', None, None, None)]
    """
    if "keyword" not in keywords.columns:
        raise InputError("the table has no column 'keyword'", remedy=f"it has {', '.join(keywords.columns)}")
    about = keywords["about"].to_list() if "about" in keywords.columns else [""] * len(keywords)
    matches: dict[tuple[str, str], list[dict[str, Any]]] = {}
    rows: list[dict[str, Any]] = []
    for occurrence, (word, kind) in enumerate(zip(keywords["keyword"], about, strict=True)):
        if (word, kind) not in matches:
            matches[word, kind] = _match_rows(word, dictionary, PARTS.get(kind, PARTS["traits"]), lemmatize)
        rows += [{"occurrence": occurrence, **hits} for hits in matches[word, kind]]
    schema = {
        "occurrence": pl.Int64,
        **dict.fromkeys(("stage", "entry"), pl.String),
        "negated": pl.Boolean,
        "dimension": pl.String,
        "direction": pl.Float64,
    }
    hits = pl.DataFrame(rows, schema=schema)
    return (
        keywords.with_row_index("occurrence")
        .with_columns(pl.col("occurrence").cast(pl.Int64))
        .join(hits, on="occurrence", how="left", maintain_order="left")
    )


def coverage(matches: pl.DataFrame, *, by: By = ()) -> pl.DataFrame:
    """How many keywords the dictionary knows, stage after stage, in a result of `matched`.

    One row per stage: `found` occurrences, the share that is covered with this stage and those before it (`covered`),
    and the same for different words (`covered_words`).

    >>> words = pl.DataFrame({"keyword": ["kind", "kind", "good natured", "tall"]})
    >>> small = Dictionary.of({"Warmth": {"high": ["kind", "good-natured"]}})
    >>> coverage(matched(words, small)).select("stage", "found", "covered").rows()
    [('exact', 2, 0.5), ('variant', 1, 0.75), ('lemma', 0, 0.75), ('head', 0, 0.75)]
    """
    columns = by_columns(by)
    single = matches.unique("occurrence", maintain_order=True).with_columns(pl.col("keyword").str.to_lowercase())
    rows: list[dict[str, Any]] = []
    for key, part in partitioned(single, columns):
        different = part.unique("keyword")
        for place, stage in enumerate(STAGES):
            so_far = list(STAGES[: place + 1])
            row = {**key, "stage": stage, "found": int((part["stage"] == stage).sum()), "keywords": len(part)}
            covered, words = (some["stage"].is_in(so_far).fill_null(value=False) for some in (part, different))
            row |= {"covered": covered.mean() or 0.0, "words": len(different), "covered_words": words.mean() or 0.0}
            rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def profile(
    matches: pl.DataFrame,
    dictionary: Dictionary,
    *,
    of: str = "cluster",
    by: By = (),
    resamples: int = 1000,
    seed: int = 0,
) -> pl.DataFrame:
    """Prevalence and direction of every dimension in each class of items, beside what chance gives.

    `matches` is a result of `matched` with the columns `item` and `of`, the class. Prevalence is the share of all
    keywords of a class, found or not, that belong to the dimension; direction the mean of the directions of those that
    have one, null where the dictionary has none. Intervals resample items within the class. Two baselines stand beside:
    `chance`, the mean when classes are dealt out to the items at random (with a two-sided permutation p, Phipson and
    Smyth 2010); and what blind drawing from the dictionary would give. Everything is computed within `by`.
    """
    rates = dictionary.base_rates()
    rows: list[dict[str, Any]] = []
    columns = by_columns(by)
    for key, part in partitioned(matches, columns):
        items = part.select("item", of).unique().sort("item", of)
        if items["item"].n_unique() < len(items):
            raise InputError(f"an item has several values of '{of}'", remedy="put each item into one class")
        classes = items[of].unique().sort().to_list()
        member = np.array([[value == name for name in classes] for value in items[of]], dtype=np.float64)
        words = part.unique("occurrence").group_by("item").len()
        total = items.join(words, on="item", how="left", maintain_order="left")["len"].to_numpy().astype(np.float64)
        draws = _Draws(member, resamples, seed)
        for dimension in dictionary.dimensions:
            mine = part.filter(pl.col("dimension") == dimension)
            if mine.is_empty():
                continue
            sums = _per_item(items, mine)
            use = draws.ratios(sums[:, 0], total)
            directed = dimension in dictionary.directed
            side = draws.ratios(sums[:, 1], sums[:, 2]) if directed else [dict.fromkeys(_COLUMNS)] * len(classes)
            for name, one, two in zip(classes, use, side, strict=True):
                count = int(member[:, classes.index(name)] @ sums[:, 0])
                row = {**key, of: name, "dimension": dimension, "keywords": count}
                row |= {f"prevalence{suffix}": one[column] for column, suffix in _COLUMNS.items()}
                row |= {f"direction{suffix}": two[column] for column, suffix in _COLUMNS.items()}
                row |= {"dictionary_share": rates[dimension][0], "dictionary_direction": rates[dimension][1]}
                row["reason"] = _why(directed, row["direction"])
                rows.append(row)
    numbers = [f"{kind}{suffix}" for kind in ("prevalence", "direction") for suffix in _COLUMNS.values()]
    schema = {**dict.fromkeys((*numbers, "dictionary_share", "dictionary_direction"), pl.Float64), "reason": pl.String}
    return pl.DataFrame(rows, schema_overrides=schema, infer_schema_length=None)


_COLUMNS: Final = {
    "estimate": "",
    **{name: f"_{name}" for name in ("low", "high", "chance", "chance_low", "chance_high", "p")},
}


class _Draws:
    """Ratios of sums per class, their intervals over items, and what random classes of the same sizes give."""

    def __init__(self, member: Floats, resamples: int, seed: int) -> None:
        self.member = member
        rng = np.random.default_rng(seed)
        n = len(member)
        self.dealt = np.stack([member[rng.permutation(n)] for _ in range(resamples)])
        self.weights = np.zeros((resamples, *member.shape))
        for c in range(member.shape[1]):
            inside = np.flatnonzero(member[:, c])
            self.weights[:, inside, c] = rng.multinomial(len(inside), np.full(len(inside), 1 / len(inside)), resamples)

    def ratios(self, above: Floats, below: Floats) -> list[dict[str, float | None]]:
        """One row of numbers per class."""
        observed = quotient(above @ self.member, below @ self.member)
        resampled = quotient(np.einsum("i,bic->bc", above, self.weights), np.einsum("i,bic->bc", below, self.weights))
        dealt = quotient(np.einsum("i,bic->bc", above, self.dealt), np.einsum("i,bic->bc", below, self.dealt))
        rows: list[dict[str, float | None]] = []
        for c, estimate in enumerate(observed):
            if not np.isfinite(estimate):
                rows.append(dict.fromkeys(_COLUMNS))
                continue
            low, high = percentile(resampled[:, c])
            by_chance = dealt[np.isfinite(dealt[:, c]), c]
            row = {**dict.fromkeys(_COLUMNS), "estimate": float(estimate), "low": low, "high": high}
            if self.member.shape[1] > 1 and len(by_chance) > 0:
                row["chance"] = mean = float(by_chance.mean())
                row["chance_low"], row["chance_high"] = percentile(by_chance)
                row["p"] = share_beyond(np.abs(by_chance - mean) >= abs(estimate - mean) - 1e-12)
            rows.append(row)
        return rows


def _match_rows(
    word: str, dictionary: Dictionary, parts: Sequence[PartOfSpeech], lemmatize: Lemmatize
) -> list[dict[str, Any]]:
    match = dictionary.find(word, parts=parts, lemmatize=lemmatize)
    if match is None:
        return [dict.fromkeys(("stage", "entry", "negated", "dimension", "direction"))]
    about = {"stage": match.stage, "entry": match.word, "negated": match.negated}
    return [{**about, "dimension": entry.dimension, "direction": entry.direction} for entry in match.entries]


def _per_item(items: pl.DataFrame, mine: pl.DataFrame) -> Floats:
    """Per item: keywords of a dimension, the sum of their directions, and how many have one."""
    shares = mine.group_by("item").agg(
        pl.len().cast(pl.Float64).alias("count"),
        pl.col("direction").sum().alias("sum"),
        pl.col("direction").count().cast(pl.Float64).alias("directed"),
    )
    joined = items.join(shares, on="item", how="left", maintain_order="left")
    return joined.select(pl.col("count", "sum", "directed").fill_null(0.0)).to_numpy()


def _why(directed: bool, direction: float | None) -> str | None:
    if not directed:
        return "the dictionary gives this dimension no direction"
    return "no keyword of this dimension has a direction" if direction is None else None
