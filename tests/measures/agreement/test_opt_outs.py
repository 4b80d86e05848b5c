"""Agreement on opting out, as a question of its own with two answers."""

from __future__ import annotations

import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

from vantage.errors import InputError
from vantage.measures.agreement.recoded import opt_outs

FRAME = pl.DataFrame(
    {
        "item": [i for i in range(6) for _ in "ab"],
        "rater": [*"ab"] * 6,
        "value": [1, None, None, None, 3, 4, None, None, 5, None, None, 2],
        "status": [
            "answered", "not_mentioned", "not_mentioned", "not_mentioned", "answered", "answered",
            "not_mentioned", "ambiguous", "answered", "refused", "not_mentioned", "answered",
        ],
    }
)  # fmt: skip


def test_two_raters() -> None:
    found = {row["coefficient"]: row for row in opt_outs(FRAME, resamples=50).iter_rows(named=True)}
    assert list(found) == ["agreement", "randolph", "fleiss", "cohen", "ac1"]
    assert found["agreement"]["estimate"] == pytest.approx(2 / 4)  # two of six items lack a second answer
    assert found["cohen"]["estimate"] == pytest.approx(cohen_kappa_score([0, 1, 0, 1], [1, 1, 0, 0]))
    assert found["randolph"]["estimate"] == pytest.approx(0)
    assert found["agreement"]["left_out"] == {"ambiguous": 1, "refused": 1, "unpaired": 2}


def test_several_statuses_count_as_one() -> None:
    found = opt_outs(FRAME, status=["not_mentioned", "ambiguous"], ci="none")
    assert found["estimate"][0] == pytest.approx(3 / 5)


def test_groups_keep_their_rows_together() -> None:
    frame = FRAME.with_columns(half=pl.col("item") < 3)
    found = opt_outs(frame, by="half", ci="none")
    assert found["half"].to_list() == [False] * 5 + [True] * 5
    assert found["coefficient"].to_list() == ["agreement", "randolph", "fleiss", "cohen", "ac1"] * 2


def test_nobody_opts_out() -> None:
    found = opt_outs({"item": [1, 1, 2, 2], "rater": [*"abab"], "value": [1, 2, 3, 4]}, ci="none")
    estimates = dict(found.select("coefficient", "estimate").iter_rows())
    assert estimates == {"agreement": 1, "randolph": 1, "fleiss": None, "cohen": None, "ac1": 1}


def test_what_is_no_opt_out() -> None:
    with pytest.raises(InputError, match="did you mean 'ambiguous'"):
        opt_outs(FRAME, status="ambigous")
    with pytest.raises(InputError, match="'answered' is not a way to opt out"):
        opt_outs(FRAME, status="answered")
