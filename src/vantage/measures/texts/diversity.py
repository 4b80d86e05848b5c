"""How varied texts are: Self-BLEU and the entropy of n-grams, at the same sample size for all that are compared.

Both depend on how many texts there are: more texts hold more n-grams, and more references for each of them. Texts
of different conditions are therefore compared on random samples of equal size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.intervals import percentile
from vantage.measures.ratings import By, Ints, by_columns
from vantage.measures.texts.tokens import CutTexts


def self_bleu(texts: Sequence[str], *, longest: int = 4, smoothing: float = 0.1) -> float | None:
    """The mean BLEU of each text against all the others (Zhu et al. 2018); lower is more varied. Null for one text.

    BLEU (Papineni et al. 2002) of n-grams up to `longest` words, all alike in weight, with the brevity penalty of the
    reference closest in length; an n-gram length without a match counts as `smoothing` matches (Chen and Cherry 2014,
    method 1), except that a text without a word in common with the others scores 0. Empty texts are left out.

    >>> self_bleu(["they earn good wages now", "they earn good wages now"])
    1.0
    """
    return _self_bleu([tokens for tokens in CutTexts.of(texts).lists() if tokens], longest, smoothing)


def ngram_entropy(texts: Sequence[str], n: int, *, size: int | None = None, seed: int = 0) -> float | None:
    """The entropy of the distribution of n-grams, in bits (Zhang et al. 2018); higher is more varied.

    With `size`, of that many n-grams drawn without replacement; null where there are fewer, or none.

    >>> ngram_entropy(["one two three four"], 2), ngram_entropy(["one one one"], 2)
    (1.58..., 0.0)
    """
    return _entropy(_times(CutTexts.of(texts), n), size, seed)


def text_diversity(
    texts: pl.DataFrame, *, by: By = "condition", size: int | None = None, repeats: int = 20, seed: int = 0
) -> pl.DataFrame:
    """Self-BLEU and the entropies of 2- and 3-grams of every group of texts, each from samples of the same size.

    The size is that of the smallest group unless given: `texts` for Self-BLEU, and as many n-grams as the smallest
    group has for the entropies. Each number is the mean over `repeats` samples, with the range that holds 95 %
    of them. `of` is how many texts the group has in all.

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


def _summary(name: str, samples: Sequence[float | None]) -> dict[str, float | None]:
    known = np.array([value for value in samples if value is not None])
    if not len(known):
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    low, high = percentile(known)
    return {name: float(known.mean()), f"{name}_low": low, f"{name}_high": high}


def _ngrams(tokens: Sequence[int], n: int) -> Counter[tuple[int, ...]]:
    return Counter(zip(*(tokens[i:] for i in range(n)), strict=False))


def _times(tokens: CutTexts, n: int) -> Ints:
    """How often each n-gram occurs, sorted, so that draws do not depend on the order of the texts."""
    return np.sort(np.unique(tokens.ngrams(n)[1], return_counts=True)[1])


def _entropy(times: Ints, size: int | None, seed: int) -> float | None:
    if not len(times) or (size is not None and times.sum() < size):
        return None
    if size is not None and size < times.sum():
        times = np.random.default_rng(seed).multivariate_hypergeometric(times, size, method="marginals")
    share = times[times > 0] / times.sum()
    return abs(float(-(share * np.log2(share)).sum()))


def _self_bleu(texts: Sequence[Sequence[int]], longest: int = 4, smoothing: float = 0.1) -> float | None:
    if len(texts) < 2:
        return None
    counts = [[_ngrams(tokens, n) for tokens in texts] for n in range(1, longest + 1)]
    most = [_two_most(of_length) for of_length in counts]
    lengths = np.sort([len(tokens) for tokens in texts])
    scores = []
    for place, tokens in enumerate(texts):
        logs = []
        for n in range(longest):
            mine = counts[n][place]
            # A text shorter than the n-gram has none to match.
            total = mine.total() or 1
            hits = sum(min(times, _elsewhere(most[n][gram], times)) for gram, times in mine.items())
            if not hits and n == 0:
                break
            logs.append(np.log((hits or smoothing) / total))
        if not logs:
            # Not a word in common: smoothing is for longer n-grams only.
            scores.append(0.0)
            continue
        penalty = min(0.0, 1 - _closest(lengths, len(tokens)) / len(tokens))
        scores.append(float(np.exp(penalty + np.mean(logs))))
    return float(np.mean(scores))


def _closest(lengths: Ints, mine: int) -> int:
    """Of sorted lengths without one of mine, the closest to mine, the shorter of two."""
    others = np.delete(lengths, np.searchsorted(lengths, mine))
    place = int(np.searchsorted(others, mine))
    near = others[max(place - 1, 0) : place + 1].tolist()
    return int(min(near, key=lambda length: (abs(length - mine), length)))


def _two_most(counts: Sequence[Counter[tuple[int, ...]]]) -> dict[tuple[int, ...], tuple[int, int]]:
    """The two highest numbers of each n-gram in any text; for the text of the highest, the second is that elsewhere."""
    most: dict[tuple[int, ...], tuple[int, int]] = {}
    for text in counts:
        for gram, times in text.items():
            first, second = most.get(gram, (0, 0))
            most[gram] = (times, first) if times > first else (first, max(second, times))
    return most


def _elsewhere(most: tuple[int, int], mine: int) -> int:
    return most[1] if mine == most[0] else most[0]
