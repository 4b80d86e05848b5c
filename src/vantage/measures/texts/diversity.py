"""How varied texts are: Self-BLEU and the entropy of n-grams, at the same sample size for all that are compared.

Both depend on how many texts there are: more texts hold more n-grams, and more references for each of them. Texts
of different conditions are therefore compared on random samples of equal size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.intervals import percentile
from vantage.measures.ratings import By, Floats, Ints, by_columns
from vantage.measures.texts.tokens import CutTexts


def text_diversity(
    texts: pl.DataFrame, *, by: By = "condition", size: int | None = None, repeats: int = 20, seed: int = 0
) -> pl.DataFrame:
    """Self-BLEU and the entropies of 2- and 3-grams of every group of texts, each from samples of the same size.

    Self-BLEU is the mean BLEU of each text against all the others (Zhu et al. 2018); lower is more varied. The entropy
    of the distribution of n-grams is in bits (Zhang et al. 2018); higher is more varied. The size is that of the
    smallest group unless given: `texts` for Self-BLEU, and as many n-grams as the smallest group has for the entropies.
    Each number is the mean over `repeats` samples, with the range that holds 95 % of them. `of` is how many texts the
    group has in all.

    >>> texts = ["red fox runs", "blue sky", "old sea"] + ["same words here"] * 2
    >>> result = pl.DataFrame({"condition": ["a"] * 3 + ["b"] * 2, "text": texts})
    >>> text_diversity(result).select("condition", "of", "texts", pl.col("self_bleu").round(2)).rows()
    [('a', 3, 2, 0.0...), ('b', 2, 2, 0.5...)]
    """
    columns = by_columns(by)
    for column in ("text", *columns):
        if column not in texts.columns:
            raise InputError(f"the texts have no column '{column}'", remedy=f"they have {', '.join(texts.columns)}")
    written = texts.drop_nulls("text").filter(pl.col("text").str.contains(r"\w"))
    split = written.partition_by(columns, as_dict=True, maintain_order=True) if columns else {(): written}
    cut = {key: CutTexts.of(sorted(split[key]["text"].to_list())) for key in sorted(split, key=str)}
    pools = {key: list(tokens.lists()) for key, tokens in cut.items()}
    drawn = min((len(pool) for pool in pools.values()), default=0) if size is None else size
    times = {n: {key: _times(tokens, n) for key, tokens in cut.items()} for n in (2, 3)}
    least = {n: min((int(one.sum()) for one in times[n].values()), default=0) for n in times}
    rows: list[dict[str, Any]] = []
    for key, pool in pools.items():
        row: dict[str, Any] = {**dict(zip(columns, key, strict=True)), "of": len(pool), "texts": drawn}
        rng = np.random.default_rng(seed)
        samples = []
        if len(pool) >= drawn >= 2:
            often = 1 if len(pool) == drawn else repeats
            samples = [_self_bleu([pool[i] for i in rng.choice(len(pool), drawn, replace=False)]) for _ in range(often)]
        row |= _summary("self_bleu", samples)
        for n, count in least.items():
            entropies = [_entropy(times[n][key], count, seed + repeat) for repeat in range(repeats)] if count else []
            row |= {f"ngrams_{n}": count, **_summary(f"entropy_{n}", entropies)}
        row["reason"] = None if samples else f"fewer than {max(drawn, 2)} texts"
        rows.append(row)
    kinds = [f"{name}{end}" for name in ("self_bleu", "entropy_2", "entropy_3") for end in ("", "_low", "_high")]
    return pl.DataFrame(rows, schema_overrides={**dict.fromkeys(kinds, pl.Float64), "reason": pl.String})


def _summary(name: str, samples: Sequence[float]) -> dict[str, float | None]:
    known = np.array(samples)
    if not len(known):
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    low, high = percentile(known)
    return {name: float(known.mean()), f"{name}_low": low, f"{name}_high": high}


def _times(tokens: CutTexts, n: int) -> Ints:
    """How often each n-gram occurs, sorted, so that draws do not depend on the order of the texts."""
    return np.sort(np.unique(tokens.ngrams(n)[1], return_counts=True)[1])


def _entropy(times: Ints, size: int, seed: int) -> float:
    if size < times.sum():
        times = np.random.default_rng(seed).multivariate_hypergeometric(times, size, method="marginals")
    share = times[times > 0] / times.sum()
    return abs(float(-(share * np.log2(share)).sum()))


def _self_bleu(texts: Sequence[Sequence[int]]) -> float:
    """The mean BLEU-4 (Papineni et al. 2002), with equal weights of n-grams.

    The brevity penalty is that of the reference closest in length; an n-gram length without a match counts as
    a tenth of a match (Chen and Cherry 2014, method 1), except that a text without a word in common with the others
    scores 0.
    """
    cut = CutTexts(np.concatenate(texts).astype(np.int64), np.array([len(tokens) for tokens in texts]), [])
    matched = np.array([_matched(cut, n) for n in range(1, 5)])
    # A text shorter than the n-gram has none to match.
    possible = np.maximum(cut.sizes - np.arange(4)[:, None], 1)
    logs = np.log(np.where(matched > 0, matched, 0.1) / possible).mean(axis=0)
    penalty = np.minimum(0.0, 1 - _closest(cut.sizes) / cut.sizes)
    # Without a word in common there is nothing to smooth: that is for longer n-grams only.
    return float(np.where(matched[0] > 0, np.exp(penalty + logs), 0.0).mean())


def _matched(texts: CutTexts, n: int) -> Floats:
    """How many n-grams of each text are in another one, as often as the other text with most has them."""
    text, gram = texts.ngrams(n)
    (gram, text), times = np.unique([gram, text], axis=1, return_counts=True)
    order = np.lexsort((-times, gram))
    text, gram, times = text[order], gram[order], times[order]
    # The text with most of an n-gram comes first; elsewhere the next one has most, and for all others the first.
    first = np.diff(gram, prepend=-1) != 0
    following = np.where(np.append(first[1:], True), 0, np.append(times[1:], 0))
    most = times[np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))]
    shared = np.minimum(times, np.where(first, following, most))
    return np.bincount(text, weights=shared, minlength=len(texts.sizes)).astype(np.float64)


def _closest(sizes: Ints) -> Floats:
    """The size of another text that is closest to that of each, the smaller of two."""
    order, closest = np.argsort(sizes), np.empty(len(sizes))
    ranked = sizes[order].astype(np.float64)
    below, above = np.append(-np.inf, ranked[:-1]), np.append(ranked[1:], np.inf)
    closest[order] = np.where(ranked - below <= above - ranked, below, above)
    return closest
