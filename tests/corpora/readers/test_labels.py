"""Words for codes: kept for answers and traits, from statistics packages, legends and second header rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyreadstat
import pytest

from vantage.corpora.preview import preview
from vantage.corpora.readers.table import read
from vantage.corpora.traits import TraitScale

AGREE: dict[Any, str] = {1: "no", 2: "partly", 3: "yes"}
BANDS: dict[Any, str] = {1: "18-29", 2: "30-49", 3: "50+"}
SURVEY = pd.DataFrame(
    {
        "vp": [f"p{n}" for n in range(6)],
        "sex": [1, 2, 1, 2, 1, 2],
        "band": [1, 2, 3, 1, 2, 3],
        "q1": [1, 2, 3, 3, 2, 1],
        "q2": [3, 3, 2, 1, 1, 2],
        "q3": [2, 2, 1, 1, 3, 3],
    }
)
LABELS: Any = {"sex": {1: "female", 2: "male"}, "band": BANDS, **dict.fromkeys(("q1", "q2", "q3"), AGREE)}


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_labels_of_answers_and_traits_are_kept(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"t.{kind}"
    if kind == "sav":
        missing: Any = {name: [{"lo": 9, "hi": 9}] for name in ("q1", "q2", "q3")}
        pyreadstat.write_sav(SURVEY, path, variable_value_labels=LABELS, missing_ranges=missing)
    else:
        pyreadstat.write_dta(SURVEY, path, variable_value_labels=LABELS)
    seen = preview(path)
    assert "--map rater=vp --columns item --traits sex,band" in seen["command"]
    assert seen["first"] == "p0 said 1 ('no') about 'q1'"
    corpus = read(path, map={"rater": "vp"}, columns="item", traits=["sex", "band"])
    assert corpus.questions[0].scale.describe() == "no, partly, yes (ordinal)"
    assert corpus.raters["sex"].to_list()[:2] == ["female", "male"]
    assert corpus.trait_scales["band"] == TraitScale("ordered", ("18-29", "30-49", "50+"))
    assert corpus.trait_scales["sex"] == TraitScale("nominal", ("female", "male"))
    declared = [note for note in corpus.about.notes if "declares as missing" in note]
    assert declared == (["In 3 columns the file declares as missing: 9."] if kind == "sav" else [])


@pytest.mark.parametrize("named", [False, True])
def test_a_legend_sheet_says_what_codes_mean(tmp_path: Path, named: bool) -> None:
    book = openpyxl.Workbook()
    sheet, legend = book.active, book.create_sheet("Legende")
    assert sheet is not None
    for row in [list(SURVEY.columns), *SURVEY.to_numpy().tolist()]:
        sheet.append(row)
    legend.append(["Variable", "Code", "Text"] if named else ["Code", "Text"])
    for name in ("q1", "q2", "q3") if named else ("",):
        for code, word in AGREE.items():
            legend.append([name, code, word] if named else [code, word])
    book.save(path := tmp_path / "t.xlsx")
    corpus = read(path, map={"rater": "vp"}, columns="item", traits=["sex", "band"])
    assert corpus.questions[0].scale.describe() == "no, partly, yes (ordinal)"
    assert corpus.raters["sex"].to_list()[:2] == [1, 2]


def test_a_second_header_row_words_the_questions(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    wording = "who,sex,How warm was the first speaker?,How warm was the second speaker?,How warm was the third one?"
    lines = SURVEY[["vp", "sex", "q1", "q2", "q3"]].to_csv(index=False, header=False)
    path.write_text(f"vp,sex,q1,q2,q3\n{wording}\n{lines}")
    corpus = read(path, map={"rater": "vp"}, columns="item", values=["q*"])
    assert corpus.sizes == {"items": 3, "raters": 6, "judgments": 18}
    assert corpus.items["text"][0] == "How warm was the first speaker?"
    assert "The second row is a header too: it words the questions." in corpus.about.notes
