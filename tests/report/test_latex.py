from __future__ import annotations

import polars as pl

from tests.report.reports import HOSTILE, frame
from vantage.report import Column, Table
from vantage.report.latex import LONG, escaped, latex, latex_table


def test_a_table_has_rules_a_caption_a_label_and_bold_for_the_best() -> None:
    table = Table(
        "f1", "50 % & more", pl.DataFrame({"model_a": ["x_1", "y"], "f1": [0.5, 0.9]}), {"f1": Column(best="max")}
    )
    text = latex_table(table)
    for part in (r"\toprule", r"\midrule", r"\bottomrule", r"\caption{50 \% \& more}\label{tab:f1}", r"x\_1"):
        assert part in text
    assert r"\textbf{0.900}" in text
    assert r"\begin{tabular}{lr}" in text


def test_intervals_and_dashes_are_set_as_such() -> None:
    text = latex_table(Table("a", "c", frame()))
    assert "0.597 [0.500, 0.700]" in text
    assert "skill & -- & too few raters & --" in text


def test_nothing_from_data_is_a_command() -> None:
    text = latex_table(Table("a", HOSTILE, frame(HOSTILE), notes=[HOSTILE]))
    assert r"\frac" not in text.replace(r"\textbackslash{}frac", "")
    assert "\x07" not in text
    assert escaped("\\input{x}") == r"\textbackslash{}input\{x\}"


def test_long_tables_run_over_pages_with_their_heads() -> None:
    text = latex_table(Table("a", "c", pl.DataFrame({"x": range(LONG + 1)})))
    assert text.count(r"\begin{longtable}") == 1
    assert r"\endhead" in text
    assert text.count("x \\\\") == 2


def test_a_bare_frame_leaves_out_columns_that_say_nothing() -> None:
    text = latex(pl.DataFrame({"a": [1], "b": [None]}, schema={"a": pl.Int64, "b": pl.String}))
    assert r"\begin{tabular}{r}" in text
