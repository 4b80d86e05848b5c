"""From whatever people have (a corpus, a frame, arrays) to the coordinate form that measures compute on.

A *unit* is what is judged: an item under one question and one condition. A *coder* is who judges: a rater,
or one of the repeated samples of a rater. `Ratings` holds three parallel arrays, so memory grows with the
number of answers and never with raters × items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeGuard

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vantage.corpora import Raking, checked_weights
from vantage.errors import InputError, nearest
from vantage.measures.codes import any_twice, dense, encode, numbered
from vantage.notebook import to_polars
from vantage.scales import LEVELS, NO_OPT_OUTS, Level, Scale

if TYPE_CHECKING:
    from vantage.corpora import Corpus


class ArrowFrame(Protocol):
    """A frame of another library that shares its columns through Arrow, such as pandas or PyArrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Judgments: TypeAlias = (
    "Corpus | pl.DataFrame | pl.LazyFrame | ArrowFrame | Mapping[str, Any] | NDArray[Any] | Sequence[Sequence[float]]"
)
"""What every measure accepts:

* a `Corpus`;
* a frame (Polars, pandas, PyArrow or anything with the Arrow interface) with the columns `item`, `rater`, `value`
  (and `question`, `condition`, `sample`, `status`, `kind` where there are several);
* a mapping of such names to plain arrays or lists;
* a two-dimensional NumPy array or nested list, one row per rater and one column per item, with NaN for "no answer".
"""
By: TypeAlias = str | Sequence[str]
Key: TypeAlias = tuple[Any, ...]
"""The values of the `by` columns that a group has."""

UNIT = ("item", "question", "condition")
CODER = ("rater", "sample")
ALONE: Final = "no item has answers from two raters"
"""Why nothing can be said about how answers differ."""
REPEATED: Final = (
    "some raters answered an item more than once, and their own answers are compared with each other too "
    "(keep one sample to compare raters only)"
)
SAMPLED: Final = (
    "some raters answered an item more than once, and the model takes these answers for independent ones "
    "(keep one sample for intervals and tests that hold)"
)
SPREAD_OUT: Final = (
    "there are fewer than 20 answers for each parameter of the model, which spreads severities a tenth or more too far"
)
TOGETHER: Final = "several raters are scored together (group by rater to tell them apart)"
"""Notes on estimates that may answer another question than the one that was meant."""
OPTED_OUT: Final = ~pl.col("status").cast(pl.String).is_in(NO_OPT_OUTS)
"""Whether the rater chose an opt-out, whichever the instrument names."""


@dataclass(frozen=True, slots=True)
class Ratings:
    """The answers of one group: answer *i* is `value[i]`, given to `unit[i]` by `coder[i]`."""

    unit: Ints
    coder: Ints
    value: Floats
    units: int
    coders: int

    @classmethod
    def of(cls, unit: Ints, coder: Ints, value: Floats) -> Ratings:
        """Ratings with units and coders renumbered 0, 1, 2 … in the order of the codes given."""
        unit, units = dense(unit)
        coder, coders = dense(coder)
        return cls(unit, coder, value, units, coders)

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, slots=True)
class Named:
    """Ratings sorted by unit, rater and value, with the names behind the numbers.

    Repeated samples of one rater have that rater's number: they are one person's, or one model's, answers.
    """

    ratings: Ratings
    units: pl.DataFrame
    """Row *i* names unit *i*: its item, question and condition."""
    raters: pl.Series
    """Entry *j* names rater *j*."""


def canonical(answered: pl.DataFrame) -> Named:
    """Answers in an order of their own, with units and raters numbered in the order of their names.

    A seeded draw and a sum of floating-point numbers both depend on order. What is computed from these ratings is the
    same, bit for bit, for every order of the rows.

    >>> rows = {"item": ["b", "a", "b"], "rater": ["z", "z", "y"], "value": [1, 2, 3]}
    >>> named = canonical(judgments_frame(rows))
    >>> named.ratings.value.tolist(), named.units["item"].to_list(), named.raters.to_list()
    ([2.0, 3.0, 1.0], ['a', 'b'], ['y', 'z'])
    """
    (unit, units), (rater, raters) = _numbered(answered, UNIT), _numbered(answered, ["rater"])
    value = answered["value"].to_numpy()
    points, place = np.unique(value, return_inverse=True)
    order = np.argsort((unit * len(raters) + rater) * len(points) + place.reshape(-1), kind="stable")
    ratings = Ratings(unit[order], rater[order], value[order], len(units), len(raters))
    return Named(ratings, units, raters["rater"])


def _numbered(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[Ints, pl.DataFrame]:
    """A number for each row in the order of the names that it has in these columns, and those names."""
    codes = encode(frame, columns)
    first = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    names = frame.select(columns)[first].with_row_index("code").sort(*columns)
    number = np.empty(len(names), dtype=np.int64)
    number[names["code"].to_numpy()] = np.arange(len(names))
    return number[codes], names.drop("code")


def repeats(unit: Ints, rater: Ints) -> bool:
    """Whether one of several raters answered a unit more than once; units and raters are numbered.

    >>> repeats(np.array([0, 0, 1]), np.array([0, 0, 1])), repeats(np.array([0, 0]), np.array([3, 3]))
    (True, False)
    """
    raters = int(rater.max(initial=0)) + 1
    return bool(np.any(rater != rater[:1])) and any_twice(unit * raters + rater)


def on_repeats(answered: pl.DataFrame, note: str) -> str | None:
    """The note, where one of several raters answered a unit more than once."""
    return note if repeats(encode(answered, UNIT), encode(answered, ["rater"])) else None


def partitioned(frame: pl.DataFrame, columns: Sequence[str]) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """The rows of each group in turn, in the order of the groups' keys."""
    split = frame.partition_by(columns, as_dict=True) if columns else {(): frame}
    for key in sorted(split, key=key_order):
        yield dict(zip(columns, key, strict=True)), split[key]


def judgments_frame(data: Judgments, by: Sequence[str] = ()) -> pl.DataFrame:
    """One checked frame with the unit, coder, value and status columns and every `by` column."""
    frame = judgments_query(data, by).collect()
    if not frame["value"].is_finite().all():
        raise not_finite(frame.lazy())
    defaults = {"question": pl.lit(""), "condition": pl.lit(""), "sample": pl.lit(0)}
    frame = frame.with_columns([value.alias(c) for c, value in defaults.items() if c not in frame.columns])
    return frame.select(list(dict.fromkeys([*by, *UNIT, *CODER, "value", "status"])))


def has_column(data: Judgments, column: str) -> bool:
    """Whether judgments have a column of their own, of their items or of their raters."""
    if not _is_corpus(data):
        frame = to_polars(data)
        return frame is not None and column in frame.collect_schema()
    try:
        data.with_columns_of([column])
    except InputError:
        return False
    return True


def judgments_query(data: Judgments, by: Sequence[str] = ()) -> pl.LazyFrame:
    """The same as a query, for measures that need sums and not rows: nothing is read yet.

    Columns that a plain table leaves out (`question`, `condition`, `sample`) stay out; the values are
    floating-point numbers, which the caller still has to find finite.
    """
    if _is_corpus(data):
        query = data.with_columns_of(by).lazy()
    else:
        frame = to_polars(data)
        query = (_from_matrix(data) if frame is None else frame).lazy()
    schema = query.collect_schema()
    for column in ("item", "rater", "value"):
        if column not in schema:
            raise InputError(
                f"the table has no column '{column}'",
                remedy=f"it has {_listed(schema)}; rename one, say vantage.read(frame, {column}=…), or pass a"
                " raters × items matrix as an array",
            )
    for column in by:
        if column not in (*schema, *UNIT, *CODER, "status"):
            raise InputError(f"there is no column '{column}' to group by", remedy=nearest(column, [*schema]))
    dtype = schema["value"]
    if not (dtype.is_numeric() or dtype in (pl.Null, pl.Boolean)):
        held = "words" if dtype == pl.String or isinstance(dtype, pl.Enum | pl.Categorical) else str(dtype)
        raise InputError(
            f"the column 'value' holds {held}, not numbers",
            remedy="make a corpus of the table, which codes them: vantage.read(frame)",
        )
    derived = [] if dtype == pl.Float64 else [pl.col("value").cast(pl.Float64)]
    if "status" not in schema:
        status = pl.when(pl.col("value").is_null()).then(pl.lit("missing")).otherwise(pl.lit("answered"))
        derived.append(status.alias("status"))
    defaults = {"question": pl.lit(""), "condition": pl.lit(""), "sample": pl.lit(0)}
    derived += [value.alias(c) for c, value in defaults.items() if c in by and c not in schema]
    present = [*by, *(column for column in (*UNIT, *CODER) if column in schema), "value", "status"]
    return query.with_columns(derived).select(list(dict.fromkeys(present)))


@dataclass(frozen=True, slots=True)
class ChangedCorpus:
    """A corpus, or a part of one, whose judgments a measure sees changed."""

    corpus: Any
    change: Callable[[pl.DataFrame], pl.DataFrame]

    @property
    def questions(self) -> Any:
        """The questions of the corpus."""
        return self.corpus.questions

    def with_columns_of(self, columns: Sequence[str]) -> pl.DataFrame:
        """The changed judgments with further columns."""
        return self.change(self.corpus.with_columns_of(columns))


def recoded(data: Judgments, by: By, value: pl.Expr, *, scales: bool = False) -> Any:
    """The judgments with other values, null where one does not count; of a corpus with its scales where these hold."""
    if scales and _is_corpus(data):
        return ChangedCorpus(data, lambda frame: frame.with_columns(value=value))
    query = judgments_query(data, by_columns(by)).with_columns(value=value)
    return query if isinstance(data, pl.LazyFrame) else query.collect()


def not_finite(query: pl.LazyFrame) -> InputError:
    """The error for the first value that is not a finite number; there must be one."""
    row, value = (
        query.select("value").with_row_index("row").filter(~pl.col("value").is_finite()).first().collect().row(0)
    )
    return InputError(f"the value is {value}", row=row + 1, column="value", remedy="leave it empty")


def left_out_of(query: pl.LazyFrame, by: Sequence[str]) -> dict[Key, dict[str, int]]:
    """How many judgments of each group have no value, by status."""
    missing = query.filter(pl.col("value").is_null()).with_columns(__status=pl.col("status").cast(pl.String))
    left_out: dict[Key, dict[str, int]] = {}
    for *key, status, count in missing.group_by([*by, "__status"]).len().sort("__status").collect().iter_rows():
        left_out.setdefault(tuple(key), {})[status] = count
    return left_out


@dataclass(frozen=True, slots=True)
class ItemSources:
    """The source of each item, such as its conversation or author; the jackknife leaves out whole sources.

    >>> posts = {"item": ["a", "b", "c"], "rater": [1, 1, 1], "value": [1, 2, 3], "author": [*"xyx"]}
    >>> sources = ItemSources.of(posts, "author")
    >>> sources.codes(pl.Series(["c", "b", "a"])).tolist()
    [0, 1, 0]
    """

    column: str
    of_items: pl.DataFrame
    """`item` and `source`; an item without a source stands alone."""

    @classmethod
    def of(cls, data: Judgments, column: str) -> ItemSources:
        """The sources that a column of items names; no item has two."""
        named = judgments_query(data, [column]).select("item", pl.col(column).alias("source")).unique().collect()
        if named["item"].is_duplicated().any():
            item = named.filter(pl.col("item").is_duplicated())["item"].sort()[0]
            raise InputError(
                f"item '{item}' has several sources",
                column=column,
                remedy="name a column that has one value for each item",
            )
        return cls(column, named)

    def codes(self, items: pl.Series) -> Ints:
        """The number of each item's source."""
        return _drawn_together(items, self.of_items)


@dataclass(frozen=True, slots=True)
class RaterGroups:
    """The group that each rater was drawn in, such as a class or a team; the jackknife leaves out whole groups.

    >>> groups = RaterGroups("team", pl.DataFrame({"rater": ["a", "b", "c"], "group": ["x", "x", None]}))
    >>> groups.codes(pl.Series(["c", "b", "a"])).tolist()
    [0, 1, 1]
    """

    column: str
    of_raters: pl.DataFrame
    """`rater` and `group`; a rater without a group stands alone."""

    @classmethod
    def of(cls, corpus: Any, column: str) -> RaterGroups:
        """The groups that a column of the raters of a corpus names."""
        return cls(column, corpus.raters.select("rater", group=pl.col(column)))

    def codes(self, raters: pl.Series) -> Ints:
        """The number of each rater's group."""
        return _drawn_together(raters, self.of_raters)


def _drawn_together(units: pl.Series, drawn: pl.DataFrame) -> Ints:
    """The number of the source or group that each unit was drawn in; a unit without one stands alone."""
    unit, group = drawn.columns
    known = units.to_frame(unit).join(drawn, on=unit, how="left", maintain_order="left")
    alone = pl.when(pl.col(group).is_null()).then(pl.col(unit))
    return dense(encode(known.select(group, alone=alone), [group, "alone"]))[0]


def drawn_raters(raters: pl.Series, groups: RaterGroups | None) -> Ints:
    """The number of what each row's rater was drawn as: the rater, or the group of raters where these were drawn."""
    return numbered(raters)[0] if groups is None else groups.codes(raters)


def by_columns(by: By) -> list[str]:
    """The grouping columns as a list."""
    return [by] if isinstance(by, str) else list(by)


def in_polars(data: Judgments) -> Judgments:
    """A frame of another library as one of Polars, so that it is converted once; a corpus or a matrix as it is."""
    frame = None if _is_corpus(data) else to_polars(data)
    return data if frame is None else frame


def questions_apart(by: By, data: Judgments) -> By:
    """The grouping columns with the question before them, where judgments are answers to several questions.

    >>> table = {"item": ["a", "a"], "question": ["warm", "able"], "rater": ["x", "x"], "value": [1, 2]}
    >>> questions_apart("rater", table)
    ['question', 'rater']
    """
    table = data.with_columns_of(()) if _is_corpus(data) else to_polars(data)
    if table is None or "question" not in table.collect_schema():
        return by
    several = table.lazy().select(pl.col("question").n_unique() > 1).collect().item()
    return list(dict.fromkeys(["question", *by_columns(by)])) if several else by


def key_order(key: Key) -> list[Any]:
    """What to sort groups by: their keys, nulls last."""
    return [(value is None, str(type(value)), value) for value in key]


def group_name(key: Mapping[str, Any]) -> str:
    """A group in words, for messages.

    >>> group_name({"question": "trust"}), group_name({})
    ("question 'trust'", 'all judgments')
    """
    return ", ".join(f"{column} '{value}'" for column, value in key.items()) or "all judgments"


def scales_of(data: Judgments) -> dict[str, Scale]:
    """The scale of each question of a corpus; empty for plain tables."""
    return {question.id: question.scale for question in data.questions} if _is_corpus(data) else {}


def one_scale(questions: Sequence[str], scales: Mapping[str, Scale], key: Mapping[str, Any]) -> Scale:
    """The scale that the questions of a group share; two different ones cannot be pooled.

    Where the questions word its points differently, an ordered scale is left with its codes alone.
    """
    first = scales[questions[0]]
    for question in questions[1:]:
        other = scales[question]
        if (other.codes, other.range, other.level) != (first.codes, first.range, first.level):
            raise InputError(
                f"questions '{questions[0]}' ({first.describe()}) and '{question}' ({other.describe()})"
                " have different scales and cannot be pooled",
                remedy="add question to by" if "question" not in key else "correct the instrument",
            )
    if first.ordered and any(scales[question].options != first.options for question in questions):
        return first.relabelled(dict.fromkeys(first.codes, ""))
    return first


def level_of(scale: Scale | None, asked: Level | None, questions: Sequence[str]) -> Level:
    """The level of measurement to use: as asked where the scale allows it, else the scale's own."""
    if asked is not None and asked not in LEVELS:
        raise InputError(f"level '{asked}' is not known", remedy=nearest(asked, LEVELS))
    if scale is None:
        if asked is None:
            raise InputError(
                "a plain table does not say its level of measurement",
                remedy="pass level='nominal', 'ordinal', 'interval' or 'ratio'",
            )
        return asked
    if asked not in (None, "nominal") and not scale.has_distances:
        named = ", ".join(f"'{question}'" for question in questions)
        raise InputError(
            f"question {named} has a nominal scale, so a coefficient at {asked} level means nothing",
            remedy="use level nominal",
        )
    return asked or scale.level


@dataclass(frozen=True)
class RaterWeights:
    """The weight of each rater, and how it was raked where that is known: intervals then rake again without raters.

    >>> table = {"item": [1, 1], "rater": ["ann", "bob"], "value": [0, 1], "w": [1.0, 3.0]}
    >>> RaterWeights.of(table, "w").values.tolist()
    [1.0, 3.0]
    """

    column: str
    raters: pl.Series
    values: Floats
    raking: tuple[Raking, Floats] | None = None
    """How they were raked, and from which weights."""
    groups: RaterGroups | None = None

    @classmethod
    def of(cls, data: Any, column: str, groups: RaterGroups | None = None) -> RaterWeights:
        """The weights in a column of the raters, or of a plain table, which has one for each rater."""
        corpus = getattr(data, "corpus", data)
        if not _is_corpus(corpus):
            frame = to_polars(data)
            given = judgments_query(data).collect() if frame is None else frame.lazy().collect()
            held = given.select(["rater", *([column] if column in given.columns else [])]).unique().sort("rater")
            if held["rater"].is_duplicated().any():
                rater = held.filter(pl.col("rater").is_duplicated())["rater"][0]
                raise InputError(f"rater '{rater}' has several weights", column=column, remedy="keep one of them")
            return cls(column, held["rater"], checked_weights(held, column))
        judged = corpus.scan("judgments").select("rater").unique().collect()["rater"]
        without = getattr(data, "without", judged.clear())
        raters = corpus.raters.filter(
            pl.col("rater").is_in(judged.implode()) & ~pl.col("rater").is_in(without.implode())
        )
        values, record = checked_weights(raters, column), corpus.about.weights.get(column)
        if record is None or set(record.target.traits) - set(raters.columns):
            return cls(column, raters["rater"], values, groups=groups)
        start = checked_weights(raters, record.base) if record.base else np.ones(len(raters))
        raking = Raking.of(record.target.in_words(raters), record.target, record.bounds)
        again = raking.weights(start)
        # Of a part of the raters, or of raters whose traits have changed, the weights are taken as they are.
        same = np.allclose(again / again.mean(), values / values.mean(), rtol=1e-6)
        return cls(column, raters["rater"], values, (raking, start) if same else None, groups)

    def codes(self, raters: pl.Series) -> Ints:
        """The place of each rater among those with a weight."""
        return raters.replace_strict(self.raters, np.arange(len(self.raters)), default=None).to_numpy()

    @cached_property
    def replicates(self) -> Floats:
        """The weights without each rater, or group of raters, in turn, or without each of a hundred groups of them."""
        assert self.raking is not None  # noqa: S101
        (raking, start), groups = self.raking, drawn_raters(self.raters, self.groups)
        drawn = int(groups.max()) + 1
        if drawn > LEFT_OUT:
            groups = (np.random.default_rng(0).permutation(drawn) % LEFT_OUT_GROUPS)[groups]
        return np.array([raking.weights(start, groups == group) for group in range(groups.max() + 1)])


def weight_of(raters: pl.Series, weights: object) -> pl.Series:
    """The weight of the rater of each row: one where there are no weights."""
    if not isinstance(weights, RaterWeights):
        return pl.Series("weight", np.ones(len(raters)))
    return pl.Series("weight", weights.values[weights.codes(raters)])


LEFT_OUT: Final = 400
"""Of more raters, groups are left out when weights are raked again."""
LEFT_OUT_GROUPS: Final = 100


def _listed(columns: Iterable[str]) -> str:
    names = list(columns)
    return ", ".join([*names[:8], f"and {len(names) - 8} more"] if len(names) > 8 else names) or "no columns"


def _from_matrix(data: Any) -> pl.DataFrame:
    try:
        matrix = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            "this is neither a corpus, nor a frame with named columns, nor an array of numbers",
            remedy="give one row per rater and one column per item, or a frame with item, rater and value",
        ) from None
    if matrix.ndim != 2:
        raise InputError(
            f"an array of {matrix.ndim} dimensions was given",
            remedy="give one row per rater, one column per item",
        )
    coder, unit = np.nonzero(~np.isnan(matrix))
    return pl.DataFrame({"item": unit, "rater": coder, "value": matrix[coder, unit]})


def _is_corpus(data: Judgments) -> TypeGuard[Corpus]:
    # By its method and not by its class, so that a frame can be measured without importing corpora.
    return hasattr(data, "with_columns_of")
