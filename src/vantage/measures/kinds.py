"""Whose judgments a measure uses: people's, unless other kinds of raters are asked for; never those of excluded raters.

People, models, personas, trained raters and aggregates live in one table and are never pooled unasked. A measure that
keeps raters or kinds apart (`by="rater"`, `between="kind"`) pools nobody and gets all of them. Of an adaptive study a
measure uses the core, of which every item has as many ratings; those beyond it went where answers differed, and would
bias it. Only what is measured item by item uses them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.ratings import UNIT, Judgments
from vantage.notebook import to_polars

if TYPE_CHECKING:
    from vantage.corpora import Corpus, TraitScale
    from vantage.instruments import Question

Kinds: TypeAlias = str | Sequence[str] | None
"""`all`, or kinds such as `person` and `model`; null for people, or for the only kind there is."""
APART: Final = ("kind", "rater", "rater.kind")
"""A measure that tells these apart pools nobody."""
EXCLUDED: Final = "excluded"
CORE: Final = "core"
EXTRA: Final = "extra"
"""How an adaptive study came to a rating: every item gets as many of the core, the extra ones depend on answers."""
ALLOCATION: Final = "allocation"
CORE_ALONE: Final = "estimated from the core alone, since the ratings beyond it were allocated by the answers"
SEATS: Final = "undefined: the raters are seats that different people may have taken, and one seat is not one person"
SEATED: Final = "the interval is over items, since raters are seats that different people may have taken"
POOLED: Final = "biased: ratings beyond the core, which were allocated by the answers, are pooled"


@dataclass(frozen=True, slots=True)
class Selection:
    """The judgments to measure, and whose were left out."""

    data: Judgments
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many raters were left out: excluded ones, or those of each kind."""
    rest: Callable[[Sequence[str]], pl.LazyFrame] | None = None
    """The judgments that were left out, with some columns beside them and the reason in `__why`."""
    note: str | None = None
    """How an adaptive study was measured."""

    @property
    def sentence(self) -> str:
        """One line for a person, empty where nobody was left out."""
        if self.note == POOLED:
            return f"Warning: {POOLED}; leave --include-extra out to use the core alone."
        if not self.counts:
            return ""
        reasons = ", ".join(f"{count:,} {_several(why, count)}" for why, count in self.counts.items())
        flags = [*(["--kinds all"] if set(self.counts) - {EXCLUDED, EXTRA} else [])]
        flags += [f"--include-{why}" for why in (EXCLUDED, EXTRA) if why in self.counts]
        return f"Left out: {reasons}; to use them too, pass {' '.join(flags)}."


@dataclass(frozen=True, slots=True)
class _Part:
    """A corpus without some raters, as far as measures look at one."""

    corpus: Corpus
    without: pl.Series
    core: bool = False

    @property
    def questions(self) -> tuple[Question, ...]:
        return self.corpus.questions

    @property
    def items(self) -> pl.DataFrame:
        return self.corpus.items

    @property
    def traits(self) -> list[str]:
        return self.corpus.traits

    @property
    def trait_scales(self) -> Mapping[str, TraitScale]:
        return self.corpus.trait_scales

    def with_columns_of(self, columns: Sequence[str]) -> pl.DataFrame:
        rows = self.corpus.with_columns_of(columns).filter(~pl.col("rater").is_in(self.without.implode()))
        return rows.filter(~_is_extra()) if self.core else rows


def selected(
    data: Judgments,
    kinds: Kinds,
    *,
    include_excluded: bool,
    pools: bool = True,
    include_extra: bool = False,
    by_item: bool = False,
) -> Selection:
    """The judgments that a measure is to use: of which raters and, of an adaptive study, the core.

    `pools` says that it tells neither raters nor kinds apart, `by_item` that each item is measured by itself.

    >>> table = {"item": [1, 1, 1], "rater": ["ann", "bob", "bot"], "value": [1, 1, 0],
    ...          "kind": ["person", "person", "model"]}
    >>> selected(table, None, include_excluded=False).sentence
    'Left out: 1 model; to use them too, pass --kinds all.'
    """
    chosen = _of_raters(data, kinds, include_excluded=include_excluded, pools=pools)
    return chosen if by_item else _core(chosen, include_extra=include_extra)


def _is_extra() -> pl.Expr:
    return (pl.col(ALLOCATION) == EXTRA).fill_null(value=False)


def _core(chosen: Selection, *, include_extra: bool) -> Selection:
    """The same without the ratings beyond the core, or with a note that they are in it."""
    data: Any = chosen.data
    part = data if isinstance(data, _Part) else None
    corpus = part.corpus if part is not None else data if _is_corpus(data) else None
    table = corpus.scan("judgments") if corpus is not None else data.lazy() if isinstance(data, pl.DataFrame) else None
    if table is None or ALLOCATION not in table.collect_schema():
        return chosen
    without = part.without if part is not None else pl.Series("rater", [], dtype=table.collect_schema()["rater"])
    mine = _is_extra() & ~pl.col("rater").is_in(without.implode())
    count = table.filter(mine).select(pl.len()).collect().item()
    if not count:
        return chosen
    if include_extra:
        return replace(chosen, note=POOLED)
    why = pl.lit(EXTRA).alias("__why")

    def rest(by: Sequence[str]) -> pl.LazyFrame:
        rows = corpus.with_columns_of(by).lazy() if corpus is not None else table
        beyond = rows.filter(mine).with_columns(why)
        return beyond if chosen.rest is None else pl.concat([chosen.rest(by), beyond], how="diagonal_relaxed")

    kept: Any = _Part(corpus, without, core=True) if corpus is not None else data.filter(~_is_extra())
    return Selection(kept, {**chosen.counts, EXTRA: count}, rest, CORE_ALONE)


def _of_raters(data: Judgments, kinds: Kinds, *, include_excluded: bool, pools: bool) -> Selection:
    corpus = data if _is_corpus(data) else None
    rows = corpus.raters if corpus is not None else to_polars(data)
    if rows is None:
        return Selection(data)
    schema, given = rows.collect_schema(), data if corpus is not None else rows
    if "rater" not in schema or not {"kind", EXCLUDED} & set(schema):
        return Selection(given)
    why = _why(rows.lazy(), kinds, include_excluded=include_excluded, pools=pools).alias("__why")
    out = rows.lazy().select("rater", why).filter(pl.col("__why").is_not_null()).unique().collect()
    if out.is_empty():
        return Selection(given)
    counts = dict(sorted(out["__why"].value_counts().iter_rows()))
    if corpus is not None:
        part: Any = _Part(corpus, out["rater"])
        return Selection(part, counts, lambda by: corpus.with_columns_of(by).lazy().join(out.lazy(), on="rater"))
    kept, rest = rows.filter(why.is_null()), rows.lazy().with_columns(why).filter(pl.col("__why").is_not_null())
    return Selection(kept, counts, lambda _: rest)


def are_seats(data: Any) -> bool:
    """Whether no rater of a selection is one person: all are seats that different people may have taken."""
    return _kinds_in(data) == ["slot"]


def have_seats(data: Any) -> bool:
    """Whether some raters of a selection are seats, whose answers nobody can leave out as those of one person."""
    return "slot" in _kinds_in(data)


def _kinds_in(data: Any) -> list[str | None]:
    part = data if isinstance(data, _Part) else None
    corpus = part.corpus if part is not None else data if _is_corpus(data) else None
    raters = data.lazy() if isinstance(data, pl.DataFrame) else None if corpus is None else corpus.raters.lazy()
    if raters is None or "kind" not in raters.collect_schema():
        return []
    if part is not None:
        raters = raters.filter(~pl.col("rater").is_in(part.without.implode()))
    return raters.select(pl.col("kind").unique()).collect()["kind"].cast(pl.String).to_list()


def with_left_out(result: pl.DataFrame, selection: Selection, by: Iterable[str]) -> pl.DataFrame:
    """A result whose `left_out` also counts the judgments of the raters who were left out, group by group."""
    if selection.rest is None or "left_out" not in result.columns:
        return result
    rest = selection.rest([column for column in by if column not in UNIT])
    there = rest.collect_schema()
    keys = [column for column in dict.fromkeys([*by, *UNIT]) if column in result.columns and column in there]
    counts = rest.group_by([*keys, "__why"]).len().collect()
    columns = []
    for why in selection.counts:
        part = counts.filter(pl.col("__why") == why).select(
            *(pl.col(key).cast(result.schema[key]) for key in keys), pl.col("len").cast(pl.Int64).alias(why)
        )
        if keys:
            rows = result.select(keys).join(part, on=keys, how="left", nulls_equal=True, maintain_order="left")
            columns.append(rows[why].fill_null(0))
        else:
            columns.append(pl.Series(why, [part[why].sum()] * len(result), dtype=pl.Int64))
    before = result["left_out"]
    fields = before.struct.unnest().get_columns() if before.struct.fields else []
    return result.with_columns(pl.DataFrame([*fields, *columns]).to_struct("left_out"))


def _why(raters: pl.LazyFrame, kinds: Kinds, *, include_excluded: bool, pools: bool) -> pl.Expr:
    """Why a row is left out: its rater is excluded or of a kind that is not used; null where it is used."""
    from vantage.corpora import is_excluded

    schema = raters.collect_schema()
    kind = pl.col("kind").cast(pl.String) if "kind" in schema else pl.lit(None, dtype=pl.String)
    excluded = is_excluded() if EXCLUDED in schema and not include_excluded else pl.lit(value=False)
    present = (
        raters.filter(~excluded).select(kind.alias("kind")).unique().collect()["kind"].drop_nulls().sort().to_list()
    )
    used = _used(kinds, present) if pools or kinds is not None else present
    return pl.when(excluded).then(pl.lit(EXCLUDED)).when(~kind.is_in(used)).then(kind)


def _used(kinds: Kinds, present: Sequence[str]) -> list[str]:
    from vantage.corpora import KINDS, PEOPLE

    if kinds is None:
        people: list[str] = [kind for kind in present if kind in PEOPLE]
        if not people and len(present) > 1:
            raise InputError(
                f"the raters are of several kinds ({', '.join(present)}) and none are people",
                remedy="say whose judgments to use with kinds, such as all, or group by kind",
            )
        return people or list(present)
    wanted = [kind.strip() for kind in (kinds.split(",") if isinstance(kinds, str) else kinds)]
    if wanted == ["all"]:
        return list(present)
    for kind in wanted:
        if kind not in KINDS:
            raise InputError(f"'{kind}' is not a kind of rater", remedy=nearest(kind, ["all", *KINDS]))
        if kind not in present:
            raise InputError(f"there is no rater of kind '{kind}'", remedy=f"there are: {', '.join(present)}")
    return wanted


def _several(why: str, count: int) -> str:
    words = {EXTRA: "rating{} beyond the core", EXCLUDED: "excluded rater{}", "trained": "trained rater{}"}
    return words.get(why, why + "{}").format("" if count == 1 else "s")


def _is_corpus(data: Any) -> TypeGuard[Corpus]:
    return hasattr(data, "with_columns_of") and hasattr(data, "raters")
