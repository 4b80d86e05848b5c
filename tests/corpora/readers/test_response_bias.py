"""The reader of BiasMonkey, and the published effects by `vantage.measures.audit`."""

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
            r"odd_even.csv, row 2, column 'response'.*'f' is none of the letters",
        ),
        (
            {"bot_response_order": "key,response,group\nQ1,a,orig alpha\nQ1,d,orig alpha\n"},
            r"bot/response_order.csv, row 3, column 'response'.*'d' is none",
        ),
        (
            {"bot_odd_even": "key,response,group\nQ2,a,\n"},
            r"odd_even.csv, row 2, column 'group'",
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


def test_a_no_opinion_option_is_an_opt_out_and_forbidding_is_not_allowing(tmp_path: Path) -> None:
    folder = write(tmp_path / "data")
    prompts = {
        "opinion_float": "key,num options,num options new,orig alpha,float alpha\nQ3,5,6,o,f\n",
        "allow_forbid": "key,num options,orig alpha,forbid alpha\nQ4,2,may they?,must they not?\n",
    }
    answers = {
        "opinion_float": "key,response,group,num_options\nQ3,c,orig alpha,5\nQ3,f,float alpha,6\n",
        "allow_forbid": "key,response,group,num_options\nQ4,a,orig alpha,2\nQ4,a,forbid alpha,2\n",
    }
    for place, files in (("prompts", prompts), ("bot", answers)):
        for name, content in files.items():
            (folder / place / f"{name}.csv").write_text(content)
    corpus = load("response-bias", folder)
    rows = corpus.judgments.filter(pl.col("condition").is_in(list(prompts)))
    assert rows.select("question", "value", "status", "presentation").rows() == [
        ("opinion", 3.0, "answered", "labels=letters optout=hidden"),
        ("opinion", None, "dont_know", "labels=letters optout=offered"),
        ("allowing", 1.0, "answered", "direction=plain labels=letters"),
        ("allowing", 0.0, "answered", "direction=reversed labels=letters"),
    ]
    assert Corpus.read(corpus.write(tmp_path / "corpus")) == corpus
    (folder / "bot" / "opinion_float.csv").write_text("key,response,group\nQ3,f,orig alpha\n")
    with pytest.raises(InputError, match=r"opinion_float.csv, row 2, column 'response'.*'f' is none"):
        load("response-bias", folder)


def test_empty_answers_have_a_status_and_models_without_a_set_a_note(tmp_path: Path) -> None:
    folder = write(tmp_path / "data", bot_odd_even="key,response,group\nQ2,,middle alpha\nQ2,b,no middle alpha\n")
    (folder / "bot" / "acquiescence.csv").unlink()
    corpus = load("response-bias", folder)
    rows = corpus.judgments.filter(pl.col("condition") == "odd_even").select("value", "status").rows()
    assert rows == [(None, "unparsed"), (2.0, "answered")]
    assert corpus.about.notes[-2:] == (
        "1 answers of bot to odd_even are empty in the release; their status is unparsed.",
        "bot has no answers to acquiescence.",
    )


def test_the_folders_of_the_release_are_read_too(tmp_path: Path) -> None:
    folder = write(tmp_path / "data")
    (folder / "results" / "bot").mkdir(parents=True)
    (folder / "bot").rename(folder / "results" / "bot" / "csv")
    assert load("response-bias", folder).raters["rater"].to_list() == ["bot"]


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
