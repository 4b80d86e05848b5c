"""Key phrases of texts: what distinguishes classes of texts from each other, with the names of the items masked.

Light by default, by counting (`class_phrases`, c-TF-IDF); with a sentence encoder, by likeness to the texts
(`similar_phrases`). Names are masked whole, in every spelling, and no phrase reaches across a mask.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.errors import InputError

Encode: TypeAlias = Callable[[Sequence[str]], NDArray[np.float64]]
"""From texts to one vector each."""
Names: TypeAlias = Iterable[str] | Mapping[str, Iterable[str]]
"""Names to be masked in all texts, or, by the item that a text is about, in its own texts."""
MASK: Final = "⟨group⟩"
"""What replaces a name."""
CANDIDATES: Final = 200
"""Of so many distinctive phrases of a class, those most like its texts are chosen."""
_TOKEN: Final = re.compile(rf"{MASK}|[^\W_]+(?:['’.-][^\W_]+)*|[^\w\s]")

_FUNCTION_WORDS: Final = """
a about above after again against all also am among an and any are aren't as at be because been before being
below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during
each either else ever every few for from further get gets had hadn't has hasn't have haven't having he her here
hers herself him himself his how however i if in into is isn't it it's its itself just let many may me might
more most much must my myself neither no nor not of off often on once only or other others our ours ourselves
out over own per quite rather same shall she should shouldn't since so some such than that that's the their
theirs them themselves then there these they they're this those though through thus to too toward towards under
until up upon us very was wasn't we were weren't what when where whether which while who whom whose why will
with within without won't would wouldn't yet you your yours yourself yourselves
"""
STOP_WORDS: Final = frozenset(_FUNCTION_WORDS.split())
"""English function words; a phrase neither begins nor ends with one."""


def masked(text: str, names: Iterable[str], mask: str = MASK) -> str:
    """A text with names replaced, whatever their case, hyphens or number, longest names first.

    >>> masked("The Middle-Class is content; ivy leaguers and an Ivy-leaguer agree.", ["middle class", "Ivy-leaguers"])
    'The ⟨group⟩ is content; ⟨group⟩ and an ⟨group⟩ agree.'
    """
    pattern = _names_pattern(tuple(sorted({name.casefold() for name in names if name.strip()})))
    return pattern.sub(mask, text) if pattern else text


def phrases(text: str, *, longest: int = 3, stop_words: frozenset[str] = STOP_WORDS) -> Iterator[str]:
    """The phrases of a text, of one to `longest` words: within a clause, and not across a `MASK`.

    >>> list(phrases("High wages, and steady jobs.", longest=2))
    ['high', 'high wages', 'wages', 'steady', 'steady jobs', 'jobs']
    """
    clause: list[str] = []
    for token in [*_TOKEN.findall(text.casefold()), "."]:
        if token != MASK.casefold() and token[0].isalnum():
            clause.append(token)
            continue
        for start, first in enumerate(clause):
            if first in stop_words or first.isdigit():
                continue
            for end in range(start + 1, min(start + longest, len(clause)) + 1):
                if clause[end - 1] not in stop_words and not clause[end - 1].isdigit():
                    yield " ".join(clause[start:end])
        clause = []


def class_phrases(
    texts: pl.DataFrame,
    *,
    of: str | Sequence[str],
    names: Names = (),
    count: int = 15,
    longest: int = 3,
    least_texts: int = 2,
    stop_words: frozenset[str] = STOP_WORDS,
) -> pl.DataFrame:
    """What distinguishes each class of texts: class-based TF-IDF (Grootendorst 2022).

    `texts` has a column `text` and the columns of classes, `of`. The weight of a phrase in a class is its share of the
    class's phrases times log(1 + A / f), with *f* its number in all classes and *A* the mean number of phrases in a
    class. A text that occurs twice about the same `item` counts once; a phrase must occur in `least_texts` of them.
    `names` are masked. A phrase that is part of a longer one with the same count is left out.

    >>> texts = pl.DataFrame({"cluster": ["low"] * 2 + ["high"] * 2, "text": [
    ...     "They face poverty.", "Poverty and stigma.", "They earn high wages.", "Nurses get high wages."]})
    >>> class_phrases(texts, of="cluster", names=["nurses"]).select("cluster", "phrase", "texts").rows()
    [('high', 'high wages', 2), ('low', 'poverty', 2)]
    """
    columns = [of] if isinstance(of, str) else list(of)
    counts: dict[tuple[Any, ...], tuple[Counter[str], Counter[str]]] = {}
    for key, mine in _classes(texts, columns, names):
        times: Counter[str] = Counter()
        in_texts: Counter[str] = Counter()
        for text in mine:
            given = Counter(phrases(text, longest=longest, stop_words=stop_words))
            times.update(given)
            in_texts.update(given.keys())
        counts[key] = times, in_texts
    everywhere: Counter[str] = Counter()
    for times, _ in counts.values():
        everywhere.update(times)
    mean = everywhere.total() / max(len(counts), 1)
    rows: list[tuple[Any, ...]] = []
    for key, (times, in_texts) in counts.items():
        usable = _longest_only({p: n for p, n in times.items() if in_texts[p] >= least_texts})
        weight = {p: times[p] / times.total() * np.log1p(mean / everywhere[p]) for p in usable}
        best = sorted(weight, key=lambda p: (-weight[p], p))[:count]
        rows += [(*key, n, p, float(weight[p]), times[p], in_texts[p]) for n, p in enumerate(best, 1)]
    schema = dict.fromkeys(columns, pl.String) | _SHAPE
    return pl.DataFrame(rows, schema=schema, orient="row").sort([*columns, "place"])


def similar_phrases(
    texts: pl.DataFrame,
    encode: Encode,
    *,
    of: str | Sequence[str],
    names: Names = (),
    count: int = 15,
    diversity: float = 0.3,
) -> pl.DataFrame:
    """The phrases most like the texts of each class by a sentence encoder, as KeyBERT does (Grootendorst 2020).

    A class is the mean of the vectors of its texts. The most distinctive phrases by `class_phrases` are the candidates,
    chosen one by one by (1 − diversity) · likeness to the class − diversity · greatest likeness to a chosen one
    (maximal marginal relevance, Carbonell and Goldstein 1998). `weight` is the likeness.
    """
    if not 0 <= diversity <= 1:
        raise InputError(f"the diversity {diversity} does not lie between 0 and 1", remedy="use 0.3")
    columns = [of] if isinstance(of, str) else list(of)
    offered = class_phrases(texts, of=of, names=names, count=CANDIDATES)
    rows: list[tuple[Any, ...]] = []
    for key, mine in _classes(texts, columns, names):
        pool = offered.filter(*(pl.col(column) == value for column, value in zip(columns, key, strict=True)))
        if pool.is_empty():
            continue
        centre = np.asarray(encode([text.replace(MASK, "they") for text in mine])).mean(axis=0)
        vectors = unit(np.asarray(encode(pool["phrase"].to_list())))
        likeness = vectors @ unit(centre[None])[0]
        chosen = _marginal(vectors, likeness, count, diversity)
        counts = pool.select("phrase", "times", "texts").rows()
        rows += [(*key, n, counts[i][0], float(likeness[i]), *counts[i][1:]) for n, i in enumerate(chosen, 1)]
    schema = dict.fromkeys(columns, pl.String) | _SHAPE
    return pl.DataFrame(rows, schema=schema, orient="row").sort([*columns, "place"])


_SHAPE: Final = {"place": pl.Int64, "phrase": pl.String, "weight": pl.Float64, "times": pl.Int64, "texts": pl.Int64}


def _classes(texts: pl.DataFrame, columns: Sequence[str], names: Names) -> list[tuple[tuple[Any, ...], list[str]]]:
    """The different texts of each class, with names masked."""
    needed = ["text", *columns, *(["item"] if isinstance(names, Mapping) else [])]
    for column in needed:
        if column not in texts.columns:
            raise InputError(f"the texts have no column '{column}'", remedy=f"they have {', '.join(texts.columns)}")
    classed = texts.drop_nulls(needed).with_columns(pl.col(columns).cast(pl.String))
    everywhere = () if isinstance(names, Mapping) else tuple(names)
    own = {item: tuple(given) for item, given in names.items()} if isinstance(names, Mapping) else {}
    items = classed["item"].cast(pl.String).to_list() if own else [""] * len(classed)
    clean = [masked(text, own.get(item, everywhere)) for text, item in zip(classed["text"], items, strict=True)]
    once = ["text", *columns, *(["item"] if "item" in classed.columns else [])]
    classed = classed.with_columns(pl.Series("text", clean, dtype=pl.String)).unique(once, maintain_order=True)
    split = classed.partition_by(columns, as_dict=True)
    return [(key, split[key]["text"].to_list()) for key in sorted(split)]


def _longest_only(times: Mapping[str, int]) -> list[str]:
    """Phrases that are not just a part of a longer phrase that occurs as often."""
    swallowed: set[str] = set()
    for phrase, n in times.items():
        pieces = phrase.split(" ")
        spans = combinations(range(len(pieces) + 1), 2)
        parts = (" ".join(pieces[i:j]) for i, j in spans if j - i < len(pieces))
        swallowed.update(part for part in parts if times.get(part) == n)
    return [phrase for phrase in times if phrase not in swallowed]


def _marginal(vectors: NDArray[np.float64], likeness: NDArray[np.float64], count: int, diversity: float) -> list[int]:
    chosen = [int(np.argmax(likeness))]
    while len(chosen) < min(count, len(likeness)):
        close = (vectors @ vectors[chosen].T).max(axis=1)
        gain = (1 - diversity) * likeness - diversity * close
        gain[chosen] = -np.inf
        chosen.append(int(np.argmax(gain)))
    return chosen


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows to length one; rows of zeros stay."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1.0), dtype=np.float64)


@cache
def _names_pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    """All names as one pattern: hyphen, space or neither between words, plural or singular, longest first."""
    forms = {form for name in names for form in _numbers(name)}
    each = sorted(forms, key=lambda form: (-len(form), form))
    spelt = [r"[\s-]*".join(re.escape(word) for word in re.split(r"[\s-]+", form) if word) for form in each]
    body = "|".join(spelt)
    return re.compile(rf"(?<!\w)(?:{body})(?:['’]s?)?(?!\w)", re.IGNORECASE) if spelt else None


def _numbers(name: str) -> Iterator[str]:
    """A name in the plural and, roughly, in the singular."""
    yield name
    for ending, singular in (("ies", "y"), ("ves", "fe"), ("men", "man"), ("people", "person"), ("s", ""), ("es", "")):
        if name.endswith(ending) and len(name) > len(ending) + 2:
            yield name.removesuffix(ending) + singular
    if not name.endswith("s"):
        yield f"{name}s"
