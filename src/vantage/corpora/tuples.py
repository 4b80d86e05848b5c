"""Items that are tuples of texts, for pairwise comparisons and best–worst scaling: a balanced design from a seed.

The texts are put in a random circle. A base block says how far apart on it the members of a tuple stand, and is turned
once round the circle (a cyclic design; David 1963): every text is then in as many tuples as a block has members, once
in each place. Blocks are drawn so that no distance occurs twice, and so no two texts meet twice, and so that the
distances have no divisor in common with the circle, since the texts would fall into parts that are never compared.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import gcd
from random import Random
from typing import Any, Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.errors import InputError
from vantage.presentations import seeded

ATTEMPTS: Final = 20_000
"""Blocks that are drawn before a design is given up."""


def design(texts: int, size: int, each: int, seed: int = 0) -> list[tuple[int, ...]]:
    """Tuples of the numbers 0 … texts − 1: each in `each` tuples, equally often in every place, no pair twice.

    >>> made = design(9, size=2, each=4)
    >>> len(made), [sum(7 in pair for pair in made), sum(pair[0] == 7 for pair in made)]
    (18, [4, 2])
    """
    if size < 2 or each < 1 or each % size:
        problem = f"tuples of {size} cannot have every text in {each} of them, equally often in each place"
        raise InputError(problem, remedy=f"let each text be in a multiple of {max(size, 2)} tuples")
    blocks, needed = each // size, size * (size - 1) // 2
    most = (texts - 1) // 2 // needed
    rng = seeded("tuples", texts, size, each, seed)
    bases = _bases(texts, size, blocks, rng) if blocks <= most else None
    if bases is None:
        fewer = f"at most {most * size}" if most else "fewer"
        problem = f"{texts} texts do not allow {each} tuples of {size} with each of them unless two meet twice"
        raise InputError(problem, remedy=f"ask for {fewer} tuples per text, or take more texts")
    circle = list(range(texts))
    rng.shuffle(circle)
    tuples = [tuple(circle[(turn + step) % texts] for step in base) for base in bases for turn in range(texts)]
    rng.shuffle(tuples)
    return tuples


def _bases(texts: int, size: int, blocks: int, rng: Random) -> list[tuple[int, ...]] | None:
    """Base blocks of which no distance occurs twice; null where none were found."""
    bases: list[tuple[int, ...]] = []
    taken: set[int] = set()
    for _ in range(ATTEMPTS):
        if len(bases) == blocks:
            if gcd(texts, *taken) == 1:
                return bases
            bases, taken = [], set()
        base = (0, *rng.sample(range(1, texts), size - 1))
        # A distance and its way round the other side of the circle are the same; half the circle would meet itself.
        apart = [min((a - b) % texts, (b - a) % texts) for a, b in combinations(base, 2)]
        if len(set(apart)) == len(apart) and not taken & set(apart) and 2 * max(apart) != texts:
            bases.append(base)
            taken |= set(apart)
        elif bases and rng.random() < 0.002:
            bases, taken = [], set()
    return None


def tuples(corpus: Corpus, size: int = 4, each: int = 8, *, field: str = "text", seed: int = 0) -> Corpus:
    """A corpus whose items are tuples of the texts of another.

    The columns `item_1`, `item_2` … name the members and `text_1`, `text_2` … hold their texts.

    Args:
        corpus: Whose items are compared.
        size: Texts in a tuple: 2 for pairs, 4 for best–worst scaling.
        each: How many tuples each text is in; a multiple of the size.
        field: The column of the items that holds the text.
        seed: Random seed.
    """
    if field not in corpus.items.columns:
        raise InputError(f"the items have no column '{field}'", remedy=f"they have {', '.join(corpus.items.columns)}")
    ids, texts = corpus.items["item"].to_list(), corpus.items[field].to_list()
    if None in texts:
        raise InputError(f"item '{ids[texts.index(None)]}' has no {field}", remedy="leave it out with corpora filter")
    made = design(len(ids), size, each, seed)
    width = len(str(len(made)))
    rows: list[dict[str, Any]] = [
        {"item": f"{size}-tuple-{number:0{width}}"}
        | {f"item_{place}": ids[member] for place, member in enumerate(members, 1)}
        | {f"text_{place}": texts[member] for place, member in enumerate(members, 1)}
        for number, members in enumerate(made, 1)
    ]
    note = f"{len(made):,} tuples of {size} from {len(ids):,} texts, each text in {each} of them (seed {seed})."
    return Corpus.of_items(pl.DataFrame(rows), (), replace(corpus.about, notes=(*corpus.about.notes, note)))
