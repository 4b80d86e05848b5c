from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import matplotlib as mpl
import polars as pl
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from tests.report.eight import EIGHT
from tests.report.reports import HOSTILE, frame
from vantage.report import Column, Table
from vantage.report.latex import GAP, LONG, WIDTH, escaped, latex, latex_table
from vantage.report.marks import mark
from vantage.report.overview import corpus_report


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


FONT = FontProperties(fname=str(Path(mpl.get_data_path()) / "fonts" / "ttf" / "cmr10.ttf"))
POINTS = {"": 10, r"\small": 9, r"\footnotesize": 8, r"\scriptsize": 7}


def width_of(text: str) -> list[float]:
    """The width of every part of a table in points, measured with LaTeX's own letters."""
    widths: list[float] = []
    size = 10
    for line in text.splitlines():
        if given := re.match(r"\{(\\[a-z]+)\\setlength", line):
            size = POINTS[given[1]]
        if begun := re.match(r"\\begin\{(?:tabular|longtable)\}\{(.*)\}$", line):
            columns = re.findall(r"p\{(\d+)pt\}|([lr])(?![a-z])", re.sub(r">\{[^}]*\}", "", begun[1]))
            shown = [[""] * len(columns)]
        elif line.endswith(r"\\") and " & " in line:
            shown.append(line.removesuffix(r"\\").split(" & "))
        elif line.startswith((r"\end{tabular}", r"\end{longtable}")):
            gap = 6 if size == 10 else GAP
            total = 2.0 * gap * len(columns)
            for at, (given, _) in enumerate(columns):
                written = [re.sub(r"\\(rule\{[^}]*\}\{[^}]*\},?|textbf|[&%_$#,])|[${}]", "", row[at]) for row in shown]
                if given:
                    total += float(given)
                else:
                    ends = [TextPath((0, 0), one, size=size, prop=FONT).get_extents() for one in {*written} if one]
                    total += max(end.width for end in ends)
            widths.append(total)
    return widths


@pytest.mark.parametrize("columns", [3, 14, 30])
def test_tables_fit_the_width_of_a_text(columns: int) -> None:
    named = {f"some_measure_{n}": [0.123, 0.456] for n in range(columns)}
    text = "A long text with many words that nobody would set in one line of a paper. " * 2
    votes = [mark("12345", [1, 0, 3, 2, 0])] * 2
    made = pl.DataFrame({"question": ["trustworthiness", "sociability"], "text": [text] * 2, "votes": votes, **named})
    written = latex_table(Table("wide", "c", made.with_columns(estimate=0.5, low=0.25, high=0.75), keys=("question",)))
    widths = width_of(written)
    assert widths
    assert max(widths) <= WIDTH
    assert all(f"measure {n}" in written for n in range(columns))
    assert written.count(r"\rule{.55em}") == 2 * 5
    assert written.count("trustworthiness") == len(widths), "each part names its rows"


def test_a_long_table_of_many_columns_fits_too() -> None:
    made = pl.DataFrame({"question": ["trust"] * 60, **{f"some_measure_{n}": [0.123] * 60 for n in range(14)}})
    written = latex_table(Table("long", "c", made, keys=("question",)))
    assert max(width_of(written)) <= WIDTH
    assert written.count(r"\label{tab:long}") == 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed; widths are measured above")
@pytest.mark.parametrize("name", ["ordinal", "models"])
def test_the_tables_of_a_report_compile_and_none_runs_off_the_page(name: str, tmp_path: Path) -> None:
    corpus_report(EIGHT[name]()).write(tmp_path / "report")
    tables = sorted((tmp_path / "report" / "tables").glob("*.tex"))
    assert len(tables) > 8
    inside = "\n".join(f"\\typeout{{TABLE {one.name}}}\n\\input{{{one}}}\n\\clearpage" for one in tables)
    packages = r"\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\usepackage{array,booktabs,longtable}"
    paper = tmp_path / "paper.tex"
    paper.write_text(f"\\documentclass{{article}}{packages}\\begin{{document}}{inside}\\end{{document}}", "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", paper.name]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=240, check=False)
    log = (tmp_path / "paper.log").read_text("latin-1")
    assert ran.returncode == 0, log[-1500:]
    # Half a millimetre is not seen.
    wide = [float(points) for points in re.findall(r"Overfull .hbox .([\d.]+)pt too wide", log)]
    assert max(wide, default=0.0) < 1.5, re.findall(r"TABLE \S+|Overfull .hbox[^\n]*", log)
