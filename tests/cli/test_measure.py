from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

from tests.cli.conftest import Vantage
from vantage import InputError, demo_corpus
from vantage.measures import registry
from vantage.measures.option_text import convert

CONTRACT = (
    *("alpha", "split-half", "pairwise", "unanimity", "fleiss", "randolph", "cohen", "ac1", "icc", "entropy"),
    *("ambiguity", "distance", "accuracy", "correlate", "ranks", "alt-test", "rater-quality", "reliability"),
)
COMMON = {"estimate", "low", "high", "items", "raters", "judgments", "left_out"}


def test_every_measure_is_listed_with_what_it_is(vantage: Vantage) -> None:
    rows = {row["measure"]: row for row in vantage("measure", "--list", "--json").json}
    assert set(CONTRACT) <= set(rows)
    assert all(row["what"].endswith((".", "?")) for row in rows.values())


@pytest.mark.parametrize("name", sorted(registry()))
def test_every_measure_explains_its_options(vantage: Vantage, name: str) -> None:
    done = vantage("measure", name, "--help")
    assert done.code == 0
    assert f"vantage measure {name} FOLDER" in done.out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("alpha", ("--by", "question,target", "--level", "ordinal", "--ci", "none")),
        ("alpha", ("--by", "question", "--ci", "raters", "--resamples", "50", "--seed", "3")),
        ("split-half", ("--by", "question", "--aggregate", "median", "--correlation", "spearman", "--splits", "9")),
        ("split-half", ("--by", "question", "--spearman-brown", "--splits", "50")),
        ("pairwise", ("--by", "question", "--coarse")),
        ("unanimity", ("--by", "question")),
        ("fleiss", ("--by", "question")),
        ("randolph", ("--by", "question")),
        ("cohen", ("--by", "question", "--agreement-weights", "quadratic")),
        ("ac1", ("--by", "question")),
        ("icc", ("--by", "question")),
        (
            "entropy",
            (
                "--by",
                "question",
            ),
        ),
        (
            "ambiguity",
            (
                "--by",
                "question",
            ),
        ),
        ("distance", ("--by", "question", "--between", "gender", "--values", "man,woman")),
        ("correlate", ("--correlation", "spearman")),
        ("compare", ("--by", "question", "--between", "gender", "--values", "man,woman")),
        ("accuracy", ("--reference", "each", "--raters", "r9", "--metric", "mae", "--ci", "none")),
        ("rater-quality", ()),
        ("reliability", ("--by", "question")),
        ("aggregate", ("--method", "median")),
        ("reliability", ("--by", "question", "--show", "components")),
    ],
)
def test_measures_run_on_a_folder(vantage: Vantage, demo: Path, name: str, words: tuple[str, ...]) -> None:
    done = vantage("measure", name, demo, *words, "--json")
    assert done.code == 0, done.err
    assert done.json
    assert set(done.json[0]) >= COMMON
    assert done.json[0]["measure"] == name


def test_rows_can_be_filtered_first(vantage: Vantage, demo: Path) -> None:
    words = ("--by", "question", "--where", "rater=r1,r2,r3", "--ci", "none", "--json")
    rows = vantage("measure", "alpha", demo, *words).json
    assert {row["raters"] for row in rows} == {3}


def test_output_for_people_for_spreadsheets_and_for_papers(vantage: Vantage, demo: Path) -> None:
    words = ("measure", "alpha", demo, "--by", "question", "--ci", "none")
    assert "estimate" in vantage(*words).out
    rows = list(csv.DictReader(io.StringIO(vantage(*words, "--csv").out)))
    assert [row["question"] for row in rows] == ["competence", "sociability", "trust"]
    paper = vantage(*words, "--latex").out
    assert paper.startswith(r"\begin{tabular}")
    assert r"\toprule" in paper


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("alfa", "DEMO"), "there is no measure 'alfa'; did you mean 'alpha'?"),
        (("alpha", "DEMO", "--by", "qestion"), "no column 'qestion'; did you mean 'question'?"),
        (("alpha", "DEMO", "--levl", "ordinal"), "has no option --levl; did you mean 'level'?"),
        (("alpha", "DEMO", "--level", "cardinal"), "--level"),
        (("alpha", "DEMO", "--resamples", "many"), "--resamples takes a whole number, not 'many'"),
        (("alpha", "DEMO", "--resamples"), "--resamples needs a value"),
        (("alpha", "DEMO", "ordinal"), "'ordinal' was not expected"),
        (("alpha", "nowhere"), "nowhere: there is no such folder"),
        (("alpha",), "no corpus given"),
        (("distance", "DEMO"), "measure 'distance' needs --between"),
        (("alpha", "DEMO", "--distance", "1,2"), "--distance can only be given from Python"),
        (("alpha", "DEMO", "--where", "question"), "--where takes NAME=VALUE"),
        (("alpha", "DEMO", "--where", "gender=woman", "--where", "gender=man"), "write --where gender=woman,man"),
    ],
)
def test_bad_input_gets_one_sentence(vantage: Vantage, demo: Path, words: tuple[str, ...], sentence: str) -> None:
    done = vantage("measure", *(demo if word == "DEMO" else word for word in words))
    assert done.code == 2
    assert sentence in done.err


def test_ordinal_alpha_of_a_nominal_question_is_refused_by_name(vantage: Vantage, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,rater,value\na,r,joy\na,s,fear\nb,r,anger\n", encoding="utf-8")
    vantage("corpora", "import", "table", "--from", path, "--question", "emotion", "--to", tmp_path / "c")
    done = vantage("measure", "alpha", tmp_path / "c", "--level", "ordinal")
    assert done.code == 2
    assert "question 'emotion' has a nominal scale" in done.err


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("3", int, 3),
        ("0.5", float | None, 0.5),
        ("none", Literal["items", "none"], "none"),
        ("a,b", list[str], ["a", "b"]),
        ("yes", bool, True),
        ("2", Literal[1, 2], 2),
        ("signs", bool | Literal["signs"], "signs"),
        ("each", str | Mapping[str, Any] | Sequence[str], "each"),
        ("a,b", str | Mapping[str, Any] | Sequence[str], ["a", "b"]),
        ("no", bool, False),
    ],
)
def test_words_are_converted_as_the_signature_says(text: str, hint: Any, value: object) -> None:
    assert convert(text, hint, "--x") == value


def test_what_cannot_be_written_as_a_word_is_refused() -> None:
    with pytest.raises(InputError, match="only be given from Python"):
        convert("x", dict[str, int], "--x")


def test_people_and_others(vantage: Vantage, tmp_path: Path) -> None:
    demo = demo_corpus()
    model = demo.judgments.filter(rater="r1").with_columns(rater=pl.lit("bot"))
    raters = pl.DataFrame({"rater": ["bot"], "kind": ["model"]})
    demo.add(model, raters).write(tmp_path / "c")
    words = ["measure", "alpha", tmp_path / "c", "--by", "question", "--ci", "none", "--json"]
    people = vantage(*words)
    assert people.err == "Left out: 1 model; to use them too, pass --kinds all.\n"
    # A measure that tells raters apart by default leaves nobody out, and does not say so.
    ranked = vantage(
        "measure", "ranks", tmp_path / "c", "--between", "question", "--values", "trust,competence", "--json"
    )
    assert (ranked.json[0]["score"], ranked.err) == ("accuracy", "")
    assert [row["raters"] for row in people.json] == [9, 9, 9]
    assert people.json[0]["left_out"]["model"] > 0
    for more in (["--kinds", "all"], ["--kinds", "person,model"], ["--where", "kind=person,model"]):
        done = vantage(*words, *more)
        assert ([row["raters"] for row in done.json], done.err) == ([10, 10, 10], "")


def test_a_model_powers_what_people_judged(vantage: Vantage, tmp_path: Path) -> None:
    demo = demo_corpus()
    model = demo.judgments.filter(rater="r1").with_columns(rater=pl.lit("bot"))
    corpus = demo.add(model, pl.DataFrame({"rater": ["bot"], "kind": ["model"]}))
    asked = demo.items["item"][:18].implode()
    corpus.filter((pl.col("rater") == "bot") | pl.col("item").is_in(asked)).write(tmp_path / "c")
    words = ["measure", "mean", tmp_path / "c", "--by", "question", "--powered-by", "bot"]
    rows = vantage(*words, "--json")
    assert [row["judged_by"] for row in rows.json] == ["people", "model", "both"] * 3
    both = rows.json[2]
    assert f"question '{both['question']}': bot is worth {both['labels_gained']:.0f} additional label" in rows.err
    assert "Left out" not in rows.err
    refused = vantage("measure", "fleiss", tmp_path / "c", "--powered-by", "bot")
    assert (refused.code, "measure 'fleiss' cannot be powered by a model; use one of mean" in refused.err) == (2, True)


def test_where_that_fits_nothing(vantage: Vantage, tmp_path: Path) -> None:
    demo_corpus().write(tmp_path / "c")
    done = vantage("measure", "alpha", tmp_path / "c", "--where", "rater=zzz")
    assert (done.code, "no rater is 'zzz'" in done.err) == (2, True)
    both = vantage("measure", "alpha", tmp_path / "c", "--where", "rater=r1", "--where", "gender=man")
    assert (both.code, "nothing matches --where rater=r1 --where gender=man" in both.err) == (2, True)


def test_sentences_have_the_intervals_of_the_table_above_them(vantage: Vantage, demo: Path) -> None:
    printed = vantage("measure", "alpha", demo).out
    table, said = printed.split("\n\n", 1)
    for line in table.splitlines()[1:]:
        row = dict(zip(table.splitlines()[0].split(), line.split(), strict=True))
        low, high = (f"{float(row[end]):.2f}".replace("-", "−") for end in ("low", "high"))
        assert f"{low} to {high}" in said, row["question"]


def test_names_may_be_written_with_either_dash(vantage: Vantage, demo: Path) -> None:
    words = ("--by", "question", "--splits", 9, "--json")
    rows = [vantage("measure", name, demo, *words).json for name in ("split-half", "split_half")]
    assert rows[0] == rows[1]
    usual = vantage("measure", "aggregate", demo, "--method", "dawid-skene", "--json").json
    assert vantage("measure", "aggregate", demo, "--method", "dawid_skene", "--json").json == usual
    from vantage.measures import aggregate

    assert aggregate(demo_corpus(), method="dawid_skene").equals(aggregate(demo_corpus(), method="dawid-skene"))  # type: ignore[arg-type]
