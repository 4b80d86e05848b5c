"""The reader of BiasMonkey, and the published effects by `vantage.audit`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from vantage.corpora import Corpus
from vantage.corpora.readers import load
from vantage.errors import InputError
from vantage.measures.audits.effects import audit

PROMPTS = {
    "response_order": "key,num options,orig alpha,reversed alpha\nQ1,3,one,eno\n",
    "acquiescence": "key,num options,orig alpha,pos alpha\nQ1,2,two,owt\n",
    "odd_even": "key,num options,num options new,middle alpha,no middle alpha,orig middle option\nQ2,5,4,m,n,True\n",
}
ANSWERS = {
    "response_order": "key,response,group,num_options\nQ1,a,orig alpha,3\nQ1,c,reversed alpha,3\n",
    "acquiescence": "key,response,group,num_options\nQ1,b,orig alpha,2\nQ1,a,pos alpha,2\n",
    "odd_even": "key,response,group,num_options\nQ2,c,middle alpha,5\nQ2,c,no middle alpha,5\n",
}
PUBLISHED = {
    ("gpt-3.5-turbo", "order"): (-2.708, -1.453, 271),
    ("gpt-3.5-turbo", "acquiescence"): (5.523, 2.065, 176),
    ("gpt-3.5-turbo", "middle option"): (25.048, 7.986, 126),
    ("llama2-70b-chat", "order"): (-0.494, -0.326, 271),
    ("llama2-70b-chat", "acquiescence"): (11.114, 4.227, 176),
    ("llama2-70b-chat", "middle option"): (26.476, 7.795, 126),
}
"""Mean change in percentage points, t, and number of questions, as the release gives them."""


def write(folder: Path, **changed: str) -> Path:
    for place, files in (("prompts", PROMPTS), ("bot", ANSWERS)):
        (folder / place).mkdir(parents=True)
        for name, content in files.items():
            (folder / place / f"{name}.csv").write_text(changed.get(f"{place}_{name}", content))
    return folder


def test_letters_become_codes_and_forms_presentations(tmp_path: Path) -> None:
    corpus = load("response-bias", write(tmp_path / "data"))
    rows = corpus.judgments.select("item", "question", "condition", "sample", "value", "presentation").rows()
    assert rows == [
        ("response_order:Q1", "choice-3", "response_order", 0, 1.0, "labels=letters order=up"),
        ("response_order:Q1", "choice-3", "response_order", 1, 3.0, "labels=letters order=down"),
        ("acquiescence:Q1", "agreement", "acquiescence", 0, 0.0, "direction=choice labels=letters"),
        ("acquiescence:Q1", "agreement", "acquiescence", 1, 1.0, "direction=plain labels=letters"),
        ("odd_even:Q2", "degree", "odd_even", 0, 3.0, "labels=letters middle=shown"),
        ("odd_even:Q2", "degree", "odd_even", 1, 3.0, "labels=letters middle=hidden"),
    ]
    assert corpus.raters.rows() == [("bot", "model", "bot")]
    assert corpus.about.notes[-1].startswith("1 answers of bot without a middle option are the letter c")
    assert Corpus.read(corpus.write(tmp_path / "corpus")) == corpus


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"bot_odd_even": "key,response,group\nQ2,f,middle alpha\n"},
            r"odd_even.csv, row 2, column 'response'.*'f' is",
        ),
        (
            {"bot_odd_even": "key,response,group\nQ2,a,middle\n"},
            r"odd_even.csv, row 2, column 'group'.*'middle' is not",
        ),
        ({"bot_odd_even": "key,response,group\nQ9,a,middle alpha\n"}, r"odd_even.csv, row 2, column 'key'.*prompts"),
        ({"prompts_odd_even": "key,num options\nQ2,5\n"}, r"odd_even.csv: there are no columns 'middle alpha'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load("response-bias", write(tmp_path / "data", **changed))


def test_a_folder_without_models_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "data")
    for path in (folder / "bot").iterdir():
        path.unlink()
    with pytest.raises(InputError, match="there is no folder of a model"):
        load("response-bias", folder)


@pytest.mark.slow
@pytest.mark.data
def test_the_audit_gives_the_published_effects(data_dir: Path) -> None:
    rows = audit(load("response-bias", data_dir / "response-bias"))
    for (rater, effect), (change, t, questions) in PUBLISHED.items():
        row = rows.filter(pl.col("p").is_not_null(), rater=rater, effect=effect).row(0, named=True)
        assert (round(row["estimate"], 3), round(row["t"], 3), row["items"]) == (change, t, questions)
        assert row["low"] < change < row["high"]
        assert row["unit"] == "percentage points"
