"""Whether traits of raters single out a person, which texts are not shown, and what to do before data are given away.

A combination of traits that fewer than *k* people share can tell who somebody is (k-anonymity, Sweeney 2002).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.errors import InputError

K: Final = 5
TECHNICAL: Final = (
    *("study", "recruited", "stage", "verdict", "batches"),
    *("excluded", "excluded_by", "excluded_rule", "excluded_reason", "excluded_at"),
)
"""Columns of the raters that say how they took part and not who they are."""


NOT_SHOWN: Final = ("no", "false", "0")
SHOWN: Final = ("yes", "true", "1")
INSTEAD: Final = "(not shown)"


class DisclosureWarning(UserWarning):
    """Traits that are about to be given away single out people."""


@dataclass(frozen=True, slots=True)
class Risk:
    """How many people share their traits with fewer than *k* others."""

    people: int
    of: int
    traits: tuple[str, ...]
    k: int
    remedy: str

    def __str__(self) -> str:
        traits = f"combination of traits ({', '.join(self.traits)})" if len(self.traits) > 1 else self.traits[0]
        few = f"fewer than {self.k} people share their {traits}"
        return f"{self.people:,} of {self.of:,} raters could be identified: {few}; {self.remedy}"


def risk(corpus: Corpus, k: int = K) -> Risk | None:
    """The risk that raters are recognised by their traits; null where every combination has *k* people.

    >>> from vantage import demo_corpus
    >>> print(risk(demo_corpus()))
    9 of 9 raters could be identified: fewer than 5 people share their combination of traits (age, gender);
    leave out age and gender.
    """
    traits = [t for t in corpus.traits if t not in TECHNICAL and not corpus.raters.schema[t].is_nested()]
    people = corpus.people().raters.select(traits)
    traits = [trait for trait in traits if people[trait].drop_nulls().n_unique() > 1]
    at_risk = _at_risk(people, traits, k)
    if not at_risk:
        return None
    return Risk(at_risk, len(people), tuple(traits), k, _remedy(people, traits, k))


def guard(corpus: Corpus, *, k: int = K, strict: bool = False, allow_unique: bool = False) -> Corpus:
    """The corpus to give away; a `DisclosureWarning` where traits single out people.

    Whatever writes traits of raters into a file that may be shared passes here.

    Args:
        corpus: What is shared.
        k: How many people must share a combination of traits (default: 5).
        strict: Refuse if traits single out a person.
        allow_unique: Let traits single out a person; the notes record that you allowed it.
    """
    if k < 1:
        raise InputError(f"{k} people cannot share traits", remedy="pass --k 1 or more")
    disclosed = risk(corpus, k)
    if disclosed is None:
        return corpus
    if allow_unique:
        made = corpus.merge()
        few = f"{disclosed.people:,} of {disclosed.of:,} raters"
        note = f"{few} share their traits with fewer than {k} people; allowed on export."
        made.about = replace(corpus.about, notes=(*corpus.about.notes, note))
        return made
    if strict:
        raise InputError(str(disclosed).rstrip("."), remedy="or pass --allow-unique where they agreed to it")
    warnings.warn(str(disclosed), DisclosureWarning, stacklevel=3)
    return corpus


def hidden(corpus: Corpus) -> pl.Series:
    """The items whose texts others are not to see: those with `no` in a column `show` that says yes or no."""
    if "show" not in corpus.items.columns:
        return pl.Series("item", [], dtype=pl.String)
    words = corpus.items["show"].cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()
    # A column with other words is another one, such as the name of a television show.
    marked = words.is_in(NOT_SHOWN).fill_null(value=False) & words.drop_nulls().is_in([*NOT_SHOWN, *SHOWN]).all()
    return corpus.items["item"].filter(marked)


def shown(corpus: Corpus) -> Corpus:
    """The corpus as others may see it: `hidden` items have no words, and nothing is left that quotes them.

    >>> from vantage import Instrument
    >>> items = {"item": ["a", "b"], "post": ["Rain.", "Secret."], "reply": ["Lovely.", "Oh."], "show": ["yes", "no"]}
    >>> shown(Corpus.of_items(pl.DataFrame(items), Instrument.load("irony"))).items["post"].to_list()
    ['Rain.', '(not shown)']
    """
    gone = hidden(corpus)
    if not len(gone):
        return corpus
    fields = {"text", *(field.name for instrument in corpus.instruments for field in instrument.fields)}
    mine = pl.col("item").is_in(gone.implode())

    def blank(table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        words = {name: INSTEAD if table.schema[name] == pl.String else None for name in names}
        return table.with_columns(
            pl.when(mine).then(pl.lit(word, dtype=table.schema[name])).otherwise(pl.col(name)).alias(name)
            for name, word in words.items()
        )

    texts = [name for name, dtype in corpus.items.schema.items() if name in fields or dtype.is_nested()]
    quoting = [name for name in ("rationale", "reply", "thinking") if name in corpus.judgments.columns]
    items, judgments = blank(corpus.items, texts), blank(corpus.judgments, quoting)
    return Corpus(items, corpus.raters, judgments, corpus.instruments, corpus.about)


def _at_risk(people: pl.DataFrame, traits: Sequence[str], k: int) -> int:
    if not traits:
        return 0
    sizes = people.group_by(traits).len()["len"]
    return int(sizes.filter(sizes < k).sum())


def _remedy(people: pl.DataFrame, traits: Sequence[str], k: int) -> str:
    """The coarsening that protects most: numbers in tens, then the traits left out that are rarest."""
    numbers = [t for t in traits if people.schema[t].is_numeric() and people[t].n_unique() > 10]
    coarse = people.with_columns((pl.col(t) // 10).floor().alias(t) for t in numbers)
    kept, dropped = list(traits), []
    while kept and _at_risk(coarse, kept, k):
        best = min(kept, key=lambda trait: _at_risk(coarse, [t for t in kept if t != trait], k))
        kept.remove(best)
        dropped.append(best)
    steps = [f"give {trait} in tens" for trait in numbers if trait in kept]
    if dropped:
        steps.append(f"leave out {' and '.join([', '.join(dropped[:-1]), dropped[-1]] if dropped[1:] else dropped)}")
    return "; ".join(steps) + "."
