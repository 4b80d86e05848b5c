"""Polars tables as pandas frames without pyarrow, and frames of any library as Polars tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from vantage.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

ACROSS: Final = 8
"""So many columns of a result are printed in a terminal, as Polars does."""
UNSEEN: Final = ("measure", "options")
"""Columns of results that make a row recomputable."""
_LARGE: Final = (pl.Int128, pl.UInt128)
"""Whole numbers for which pandas has no type."""


class ResultFrame(pl.DataFrame):
    """The result of a measure: a table that shows its estimate and interval first, after the names of its rows.

    Polars hides the columns in the middle; what makes a row recomputable, and what is null in all rows, is not printed.

    >>> ResultFrame({"items": [9], "by": ["a"], "estimate": [0.6], "low": [0.5], "high": [0.7]}).seen().columns
    ['by', 'estimate', 'low', 'high', 'items']
    """

    def __str__(self) -> str:
        seen = self.seen()
        return str(seen.select(seen.columns[:ACROSS]))

    __repr__ = __str__

    def _repr_html_(self, **how: Any) -> str:
        with pl.Config(tbl_cols=-1):
            return str(self.seen()._repr_html_(**how))

    def seen(self) -> pl.DataFrame:
        """What is printed: names, the estimate with its interval, and whatever else some row has."""
        bare = [name for name, kind in self.schema.items() if isinstance(kind, pl.Struct) and not kind.fields]
        null = [name for name in self.columns if len(self) and self[name].null_count() == len(self)]
        known = [name for name in self.columns if name not in (*UNSEEN, *bare, *null)]
        until = known.index("estimate") if "estimate" in known else len(known)
        names = [name for name in known[:until] if self.schema[name] == pl.String and name != "level"]
        first = [*names, *(name for name in ("estimate", "low", "high") if name in known)]
        return pl.DataFrame(self.select(*first, *(name for name in known if name not in first)))


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """A table as a pandas frame, such as the result of a measure or a table of a corpus.

    Polars' own `to_pandas` needs pyarrow, which Vantage does not; this needs pandas alone. Missing whole numbers stay
    whole (`Int64`), missing texts are None, and the statuses of judgments become a categorical column.

    >>> import polars as pl
    >>> to_pandas(pl.DataFrame({"item": ["a", "b"], "votes": [3, None]})).dtypes["votes"]
    Int64Dtype()
    """
    try:
        import pandas as pd
    except ImportError:
        raise InputError("pandas is not installed", remedy="run: pip install pandas") from None
    return pd.DataFrame({name: _column(frame[name], pd) for name in frame.columns})


def _column(column: pl.Series, pd: Any) -> Any:
    dtype, missing = column.dtype, column.null_count() > 0
    if isinstance(dtype, pl.Enum):
        return pd.Categorical(column.cast(pl.String).to_list(), categories=dtype.categories.to_list())
    if isinstance(dtype, pl.Categorical):
        return pd.Categorical(column.cast(pl.String).to_list())
    if dtype == pl.Boolean and missing:
        return pd.array(column.to_list(), dtype="boolean")
    if dtype.is_integer() and missing and dtype not in _LARGE:
        return pd.array(column.to_list(), dtype=str(dtype))
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is None:
            return column.to_numpy()
        # pandas keeps the zone of a time; NumPy cannot.
        plain = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return pd.Series(plain.to_numpy()).dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone)
    if (dtype.is_numeric() and dtype not in _LARGE) or dtype in (pl.Boolean, pl.Date, pl.Duration):
        return column.to_numpy()
    return pd.Series(column.to_list(), dtype=object)


def to_polars(data: Any) -> pl.DataFrame | pl.LazyFrame | None:
    """A frame of any library as a Polars one, by the names of its columns; null for anything that is no frame.

    Takes Polars, pandas, PyArrow, anything with the Arrow interface (DuckDB, narwhals …) and mappings of names to
    columns. NumPy arrays and nested lists have no column names and are no frames. In pandas NaN means "missing", so
    it becomes null; ordered categories stay ordered.

    >>> import pandas as pd
    >>> to_polars(pd.DataFrame({"item": ["a", "b"], "value": [1.0, float("nan")]})).rows()
    [('a', 1.0), ('b', None)]
    >>> to_polars([[1, 2], [2, 2]]) is None
    True
    """
    if isinstance(data, pl.DataFrame | pl.LazyFrame):
        return data
    try:
        if isinstance(data, Mapping):
            return pl.DataFrame(
                {str(name): pl.Series(str(name), column, strict=False) for name, column in data.items()}
            )
        if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
            return _of_pandas(data)
        if hasattr(data, "__arrow_c_stream__"):
            return pl.DataFrame(data)
        if hasattr(data, "to_polars"):
            made = data.to_polars()
            return made if isinstance(made, pl.DataFrame | pl.LazyFrame) else None
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"the frame cannot be read ({reason})", remedy="give every column one type") from None
    return None


def _of_pandas(frame: pd.DataFrame) -> pl.DataFrame:
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    if frame.columns.nlevels > 1:
        raise InputError("the frame has several rows of column names", remedy="give every column one name")
    names = [str(name) for name in frame.columns]
    if twice := next((name for i, name in enumerate(names) if name in names[:i]), None):
        raise InputError(f"two columns are named '{twice}'", remedy="rename one of them")
    return pl.DataFrame([_of_pandas_column(name, frame.iloc[:, i]) for i, name in enumerate(names)])


def _of_pandas_column(name: str, column: Any) -> pl.Series:
    kind, dtype = column.dtype.kind if hasattr(column.dtype, "kind") else "O", column.dtype
    if hasattr(dtype, "categories"):
        words = [None if code < 0 else dtype.categories[code] for code in column.cat.codes]
        if dtype.ordered and all(isinstance(category, str) for category in dtype.categories):
            return pl.Series(name, words, dtype=pl.Enum(list(dtype.categories)))
        return pl.Series(name, words, strict=False)
    if kind in "biufM" and isinstance(values := column.to_numpy(), np.ndarray) and values.dtype.kind in "biufM":
        return pl.Series(name, values, nan_to_null=True)
    cells = column.astype(object).where(column.notna(), None).tolist()
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) > 1 and not kinds <= {bool, int, float} and not any(issubclass(k, list | dict) for k in kinds):
        cells = [cell if cell is None else str(cell) for cell in cells]
    return pl.Series(name, cells, strict=False)
