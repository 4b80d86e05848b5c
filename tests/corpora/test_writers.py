from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpora.strategies import corpora
from vantage import Corpus, Instrument, Scale
from vantage.corpora import About
from vantage.corpora.readers import load
from vantage.corpora.writers import WRITERS, csv_text, export
from vantage.corpora.writers.cells import defused, restored
from vantage.corpora.writers.place import put_file, put_folder
from vantage.errors import InputError
from vantage.scales import OptOut

TURNS = [{"speaker": "Ann", "text": "Hi, =you"}, {"speaker": "Bob", "text": "Ho"}]
INSTRUMENT = Instrument.of_questions(
    "tone",
    "Tone",
    {
        "warm": Scale.points(-3, 3, opt_outs=[OptOut("ambiguous", "cannot tell")]),
        "rude": Scale.labels("no", "yes"),
    },
)


def corpus(**about: Any) -> Corpus:
    rows = [
        ("t-1", "warm", "ann", -3, "answered", "=HYPERLINK(1)"),
        ("t-1", "warm", "@bob", 2, "answered", None),
        ("t-1", "rude", "ann", 1, "answered", "-3"),
        ("t-1", "rude", "@bob", 0, "answered", None),
        ("t-2", "warm", "ann", None, "ambiguous", "+1, but why?"),
        ("t-2", "warm", "@bob", 1, "answered", "'quoted'"),
        ("t-2", "rude", "@bob", 1, "answered", "line\nbreak"),
    ]
    return Corpus(
        items=pl.DataFrame(
            {
                "item": ["t-1", "t-2"],
                "text": ["-- so long", "Thank | you"],
                "split": ["t", "validation"],
                "conversation": pl.Series(
                    [TURNS, None], dtype=pl.List(pl.Struct({"speaker": pl.String, "text": pl.String}))
                ),
                "age": [3, 4],
            }
        ),
        raters=pl.DataFrame({"rater": ["ann", "@bob", "idle"], "age": [31, None, 7], "town": ["Ulm", "=Bonn", None]}),
        judgments=pl.DataFrame(
            rows, schema=["item", "question", "rater", "value", "status", "rationale"], orient="row"
        ),
        instruments=INSTRUMENT,
        about=About(name="tone", title="Tone: of things", language="en", **about),
    )


def test_every_writer_writes_and_refuses_to_overwrite(tmp_path: Path) -> None:
    for name, writer in WRITERS.items():
        path = tmp_path / name
        assert writer(corpus(), path) == path
        with pytest.raises(InputError, match="overwrite"):
            export(corpus(), name, path)
        assert export(corpus(), name, path, overwrite=True) == path
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(WRITERS)
    with pytest.raises(InputError, match="there is no writer 'cvs'; did you mean 'csv'"):
        export(corpus(), "cvs", tmp_path / "x")


def test_the_folder_is_the_corpus(tmp_path: Path) -> None:
    assert Corpus.read(export(corpus(), "folder", tmp_path / "out")) == corpus()


def test_long_csv_has_everything_about_a_judgment(tmp_path: Path) -> None:
    table = pl.read_csv(export(corpus(), "csv", tmp_path / "tone.csv"))
    assert table.columns[:8] == list(corpus().judgments.columns)
    assert table.columns[8:] == ["text", "split", "conversation", "age", "kind", "rater.age", "town"]
    assert table["value"].to_list() == [-3, 2, 1, 0, None, 1, 1]
    assert table["age"].to_list() == [3, 3, 3, 3, 4, 4, 4]
    assert table["rater.age"].to_list()[:2] == [31, None]
    assert json.loads(table["conversation"][0]) == TURNS
    assert table["rater"].to_list()[1] == "'@bob"
    assert table["rationale"].to_list()[:3] == ["'=HYPERLINK(1)", None, "-3"]
    assert table["text"][0] == "'-- so long"
    assert table["town"].to_list()[:2] == ["Ulm", "'=Bonn"]


def test_long_csv_comes_back_through_the_table_reader(tmp_path: Path) -> None:
    plain = corpus().filter(rater=["ann"])
    read = load(
        "table",
        export(plain, "csv", tmp_path / "tone.csv"),
        traits=["rater.age", "town"],
        instrument=INSTRUMENT,
    )
    same = read.judgments.with_columns(restored(pl.col("rationale")))
    assert same.equals(plain.judgments)
    assert read.raters["town"].to_list() == ["Ulm"]
    assert read.items.select(restored(pl.col("text")))["text"].to_list() == plain.items["text"].to_list()


@pytest.mark.slow
@given(corpora())
@settings(max_examples=30, deadline=None)
def test_long_csv_loses_no_judgment(tmp_path: Path, made: Corpus) -> None:
    file = export(made, "csv", tmp_path / "any.csv", overwrite=True)
    table = pl.read_csv(file, infer_schema=False)
    assert len(table) == len(made.judgments)
    back = table.select(restored(pl.col("item")), restored(pl.col("rater")), pl.col("value").cast(pl.Float64))
    assert back["item"].to_list() == made.judgments["item"].to_list()
    assert back["rater"].to_list() == made.judgments["rater"].to_list()
    assert back["value"].to_list() == made.judgments["value"].to_list()


@given(st.lists(st.text(st.sampled_from("'=+-@\t\r1.e x"), max_size=6), min_size=1))
@settings(max_examples=100, deadline=None)
def test_defusing_can_be_undone_and_leaves_no_formula(texts: list[str]) -> None:
    cells = pl.DataFrame({"text": texts}).with_columns(defused(pl.col("text")).alias("safe"))
    assert cells.select(restored(pl.col("safe")))["safe"].to_list() == texts
    for cell in cells["safe"]:
        if cell.startswith(("=", "+", "-", "@", "\t", "\r")):
            float(cell)


def test_result_tables_are_defused_too() -> None:
    frame = pl.DataFrame({"=name": ["=x", None], "n": [1, -2], "by": [["a"], []]})
    assert csv_text(frame) == '\'=name,n,by\n\'=x,1,"[""a""]"\n,-2,[]\n'


def test_lewidi_json(tmp_path: Path) -> None:
    made = corpus().filter(rater=["ann", "@bob"])
    folder = export(made, "lewidi", tmp_path / "out")
    assert sorted(p.name for p in folder.iterdir()) == [
        "tone-rude_dev.json",
        "tone-rude_t.json",
        "tone_dev.json",
        "tone_t.json",
    ]
    first = json.loads((folder / "tone_t.json").read_text())
    assert first == {
        "1": {
            "text": "-- so long",
            "annotation task": "warm",
            "number of annotations": 2,
            "annotations": "-3,2",
            "annotators": "ann,@bob",
            "lang": "en",
            "hard_label": "-3",
            "soft_label": {"-3": 0.5, "-2": 0.0, "-1": 0.0, "0": 0.0, "1": 0.0, "2": 0.5, "3": 0.0},
            "split": "t",
            "other_info": {
                "conversation": TURNS,
                "age": 3,
                "other annotations": {"rude": "1,0"},
            },
        }
    }
    declined = json.loads((folder / "tone_dev.json").read_text())["t-2"]
    assert declined["annotators"] == "@bob"
    assert declined["other_info"]["not answered"] == {"ann": "ambiguous"}
    assert declined["split"] == "dev"


def hs_brexit(folder: Path) -> Path:
    def item(text: str, split: str, answers: str) -> dict[str, Any]:
        share = answers.split(",").count("1") / 2
        return {
            "text": text,
            "annotation task": "hate speech detection",
            "number of annotations": 2,
            "annotations": answers,
            "annotators": "Ann1,Ann4",
            "lang": "en",
            "hard_label": "1" if share else "0",
            "soft_label": {"0": 1 - share, "1": share},
            "split": split,
            "other_info": {
                "other annotations": {
                    "aggressive language detection": "0,1",
                    "offensive language detection": "1,1",
                },
                "annotators group": "group1,group2",
                "group1": "target group",
                "group2": "control group",
            },
        }

    folder.mkdir()
    train = {"1": item("Rain again", "train", "0,0"), "2": item("Go home", "train", "0,1")}
    (folder / "HS-Brexit_train.json").write_text(json.dumps(train))
    (folder / "HS-Brexit_dev.json").write_text(json.dumps({"1": item("Tea?", "dev", "1,1")}))
    return folder


def test_lewidi_json_comes_back_through_its_reader(tmp_path: Path) -> None:
    original = load("hs-brexit", hs_brexit(tmp_path / "in"))
    folder = export(original, "lewidi", tmp_path / "out")
    assert load("hs-brexit", folder) == original
    assert json.loads((folder / "HS-Brexit_train.json").read_text()) == json.loads(
        (tmp_path / "in" / "HS-Brexit_train.json").read_text()
    )


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("reader", "name"), [("hs-brexit", "HS-Brexit"), ("md-agreement", "MD-Agreement")])
def test_released_lewidi_data_come_back(tmp_path: Path, data_dir: Path, reader: str, name: str) -> None:
    original = load(reader, data_dir / "lewidi" / "2023" / name)
    assert load(reader, export(original, "lewidi", tmp_path / "out")) == original


@pytest.mark.parametrize(
    ("rows", "scale", "told"),
    [
        ([("a", "x,y", "", 0)], Scale.labels("no", "yes"), "rater 'x,y' has a comma"),
        ([("a", "x", "", 0), ("a", "x", "static", 0)], Scale.labels("no", "yes"), "several conditions"),
        ([("a", "x", "", 0)], Scale.continuous(0, 1), "continuous scale"),
        ([], Scale.labels("no", "yes"), "no judgments"),
    ],
)
def test_what_lewidi_json_cannot_hold(
    tmp_path: Path, rows: list[tuple[str, str, str, float]], scale: Scale, told: str
) -> None:
    judgments = pl.DataFrame(
        rows,
        schema={"item": pl.String, "rater": pl.String, "condition": pl.String, "value": pl.Float64},
        orient="row",
    )
    made = Corpus(
        items=pl.DataFrame({"item": ["a"]}),
        raters=pl.DataFrame({"rater": ["x", "x,y"]}),
        judgments=judgments.with_columns(pl.lit("q").alias("question")),
        instruments=Instrument.of_questions("q", "Q", {"q": scale}),
    )
    with pytest.raises(InputError, match=told):
        export(made, "lewidi", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_samples_of_one_rater_stay_apart_in_lewidi_json(tmp_path: Path) -> None:
    made = Corpus(
        items=pl.DataFrame({"item": ["a"], "text": ["x"]}),
        raters=pl.DataFrame({"rater": ["m"], "kind": ["model"]}),
        judgments=pl.DataFrame({"item": "a", "question": "q", "rater": "m", "sample": [0, 1, 2], "value": [1, 0, 1]}),
        instruments=Instrument.of_questions("q", "Q", {"q": Scale.labels("no", "yes")}),
    )
    entry = json.loads((export(made, "lewidi", tmp_path / "out") / "corpus_all.json").read_text())["a"]
    assert (entry["annotators"], entry["annotations"], entry["hard_label"]) == ("m,m~2,m~3", "1,0,1", "1")


def test_what_people_say_again_is_no_second_annotation(tmp_path: Path) -> None:
    judgments = {"item": "a", "question": "q", "rater": ["r", "r", "s"], "sample": [1, 2, 1], "value": [1, 1, 0]}
    made = Corpus(
        items=pl.DataFrame({"item": ["a"], "text": ["x"]}),
        raters=pl.DataFrame({"rater": ["r", "s"]}),
        judgments=pl.DataFrame(judgments),
        instruments=Instrument.of_questions("q", "Q", {"q": Scale.labels("no", "yes")}),
    )
    entry = json.loads((export(made, "lewidi", tmp_path / "out") / "corpus_all.json").read_text())["a"]
    assert (entry["annotators"], entry["soft_label"]) == ("r,s", {"0": 0.5, "1": 0.5})
    assert entry["other_info"]["other raters"] == {"r": 1.0}


def test_hugging_face_folder(tmp_path: Path) -> None:
    made = corpus(licence="CC BY 4.0", source="example.org", citation="Doe 2020", notes=("Mind the gap.",))
    folder = export(made, "huggingface", tmp_path / "out")
    assert Corpus.read(folder / "data") == made
    _, front, body = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    metadata = yaml.safe_load(front)
    assert metadata["license"] == "cc-by-4.0"
    assert metadata["language"] == ["en"]
    assert metadata["pretty_name"] == "Tone: of things"
    assert metadata["size_categories"] == ["n<1K"]
    files = {c["config_name"]: c["data_files"][0]["path"] for c in metadata["configs"]}
    assert files == {t: f"data/{t}.parquet" for t in ("judgments", "items", "raters")}
    for config, path in files.items():
        assert len(pl.read_parquet(folder / path)) == len(getattr(made, config))
    for told in ("# Tone: of things", "Mind the gap.", "Doe 2020", "| warm |", "or ambiguous"):
        assert told in body
    assert "| town | =Bonn (1), Ulm (1); 1 not known |" in body
    assert "| kind | person (3) |" in body


@pytest.mark.parametrize(
    ("told", "license_", "name"),
    [
        ("", "unknown", None),
        ("not stated; ask the authors", "unknown", None),
        ("MIT", "mit", None),
        ("cc-by-sa-4.0", "cc-by-sa-4.0", None),
        ("Creative Commons BY-NC 4.0", "cc-by-nc-4.0", None),
        ("house rules: be kind", "other", "house rules: be kind"),
    ],
)
def test_licences(tmp_path: Path, told: str, license_: str, name: str | None) -> None:
    folder = export(corpus(licence=told), "huggingface", tmp_path / "out")
    metadata = yaml.safe_load((folder / "README.md").read_text().split("---\n", 2)[1])
    assert metadata["license"] == license_
    assert metadata.get("license_name") == name


@given(corpora())
@settings(max_examples=10, deadline=None)
def test_any_corpus_makes_a_card_that_the_hub_can_read(tmp_path: Path, made: Corpus) -> None:
    folder = export(made, "huggingface", tmp_path / "any", overwrite=True)
    assert yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)[1])["configs"]
    assert Corpus.read(folder / "data") == made


def test_other_peoples_files_are_never_replaced(tmp_path: Path) -> None:
    folder = export(corpus(), "huggingface", tmp_path / "out")
    (folder / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"other files in it, such as thesis\.txt"):
        export(corpus(), "huggingface", folder, overwrite=True)
    assert (folder / "thesis.txt").read_text() == "mine"
    with pytest.raises(InputError, match="this is a folder, not a file"):
        export(corpus(), "csv", folder, overwrite=True)
    with pytest.raises(InputError, match="this is a file, not a folder"):
        export(corpus(), "lewidi", folder / "thesis.txt", overwrite=True)


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        if path.is_file():
            path.write_text("half")
        raise OSError(28, os.strerror(28))

    file, folder = tmp_path / "a.csv", tmp_path / "b"
    file.write_text("old")
    folder.mkdir()
    (folder / "x_all.json").write_text("old")
    with pytest.raises(InputError, match="cannot be written"):
        put_file(file, fail, overwrite=True)
    with pytest.raises(InputError, match="cannot be written"):
        put_folder(folder, fail, ours=("*.json",), overwrite=True)
    assert file.read_text() == "old"
    assert (folder / "x_all.json").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "b"]


def test_files_get_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    file = export(corpus(), "csv", tmp_path / "tone.csv")
    assert file.stat().st_mode == (tmp_path / "plain").stat().st_mode


def with_models() -> Corpus:
    """Three people who answer 0, 1 and 2, an excluded one, and two models that answer 3."""
    raters = pl.DataFrame(
        {
            "rater": ["ann", "bob", "eve", "out", "m1", "m2"],
            "kind": ["person"] * 4 + ["model"] * 2,
            "excluded": [False, False, False, True, False, False],
        }
    )
    judgments = pl.DataFrame(
        {"item": ["a"] * 6, "question": "q", "rater": raters["rater"], "value": [0.0, 1.0, 2.0, 3.0, 3.0, 3.0]}
    )
    instrument = Instrument.of_questions("q", "Q", {"q": Scale.points(0, 3)})
    return Corpus(pl.DataFrame({"item": ["a"], "text": ["Hi"]}), raters, judgments, instrument)


def test_models_are_no_annotators_of_lewidi_json(tmp_path: Path) -> None:
    entry = json.loads((export(with_models(), "lewidi", tmp_path / "out") / "corpus_all.json").read_text())["a"]
    assert (entry["annotators"], entry["annotations"]) == ("ann,bob,eve", "0,1,2")
    assert entry["hard_label"] == "0"
    assert sum(entry["soft_label"].values()) == pytest.approx(1, abs=1e-12)
    assert entry["soft_label"]["3"] == 0
    assert entry["other_info"]["other raters"] == {"m1": 3.0, "m2": 3.0}
    everyone = export(with_models(), "lewidi", tmp_path / "all", kinds="all", include_excluded=True)
    whole = json.loads((everyone / "corpus_all.json").read_text())["a"]
    assert (whole["annotators"], whole["hard_label"]) == ("ann,bob,eve,out,m1,m2", "3")
    with pytest.raises(InputError, match="there is no rater of kind 'persona'"):
        export(with_models(), "lewidi", tmp_path / "none", kinds="persona")


def test_excluded_raters_stay_out_of_exports(tmp_path: Path) -> None:
    def written(**options: bool) -> list[str]:
        path = export(with_models(), "csv", tmp_path / "t.csv", overwrite=True, **options)
        return pl.read_csv(path)["rater"].to_list()

    assert "out" not in written()
    assert "out" in written(include_excluded=True)
    assert "out" in Corpus.read(export(with_models(), "folder", tmp_path / "c")).raters["rater"].to_list()
    assert (
        "out"
        not in Corpus.read(export(with_models(), "huggingface", tmp_path / "h") / "data").raters["rater"].to_list()
    )
