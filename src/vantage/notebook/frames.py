"""Polars tables as pandas frames, without pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from vantage.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_LARGE: Final = (pl.Int128, pl.UInt128)
"""Whole numbers for which pandas has no type."""


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
