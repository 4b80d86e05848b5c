"""The shapes of the field: each read in one way, and kept by a round trip."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import openpyxl
import polars as pl
import pyreadstat
import pytest
from polars.testing import assert_frame_equal

import vantage
from tests.cli.run import run
from vantage import Corpus, InputError, Instrument, Scale
from vantage.corpora.preview import preview
from vantage.corpora.readers import READERS
from vantage.corpora.readers.table import read
from vantage.documents import dump
from vantage.scales import OptOut


def again(corpus: Corpus, folder: Path) -> Corpus:
    """The corpus after it was written as a folder, which must keep it, and then as CSV."""
    assert Corpus.read(corpus.write(folder / "c")) == corpus
    return read(vantage.export(corpus, "csv", folder / "again.csv"), instrument=corpus.instruments[0])


def cells(corpus: Corpus) -> list[tuple[str, str, str, float]]:
    return sorted(corpus.judgments.select("item", "question", "rater", "value").rows())


def test_counts_of_labels_are_people_of_whom_nothing_is_known(tmp_path: Path) -> None:
    table = pl.DataFrame({"id": ["a", "b", "c", "d"], "n_1": [3, 0, 1, 2], "n_2": [1, 0, 1, 1], "n_3": [0, 4, 2, 1]})
    seen = preview(table)
    assert (
        "add up to 4 in every row: they count answers and are not raters; pass --counts n_1,n_2,n_3" in seen["problem"]
    )
    corpus = read(table, map={"item": "id"}, counts=["n_*"])
    assert corpus.sizes == {"items": 4, "raters": 4, "judgments": 16}
    assert corpus.raters["kind"].unique().to_list() == ["slot"]
    assert corpus.judgments.filter(item="a")["value"].to_list() == [1, 1, 1, 2]
    assert cells(again(corpus, tmp_path)) == cells(corpus)
    with pytest.raises(InputError, match=r"row 1, column 'n_2': '1\.5' is not a count"):
        read(table.with_columns(n_2=pl.lit(1.5)), map={"item": "id"}, counts=["n_*"])


def test_shares_of_answers_are_distributions(tmp_path: Path) -> None:
    table = pl.DataFrame({"id": ["a", "b", "c"], "p_yes": [0.2, 0.5, 0.9], "p_no": [0.8, 0.5, 0.1]})
    wanted = "add up to 1 in every row: they are shares of answers, not raters; pass --shares p_yes,p_no"
    assert wanted in preview(table)["problem"]
    corpus = read(table, map={"item": "id"}, shares=["p_*"])
    assert corpus.questions[0].scale.describe() == "no, yes (nominal)"
    assert corpus.judgments["probabilities"].to_list() == [[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]]
    assert corpus.judgments["value"].to_list() == [0, 0, 1]
    assert corpus.raters.rows() == [("distribution", "aggregate")]
    assert Corpus.read(corpus.write(tmp_path / "c")) == corpus
    with pytest.raises(InputError, match=r"row 1, column 'p_no': the shares add up to 0\.4, not to 1"):
        read(table.with_columns(p_no=pl.Series([0.2, 0.5, 0.1])), map={"item": "id"}, shares=["p_*"])


def test_the_value_of_a_distribution_on_an_ordered_scale_is_its_median() -> None:
    table = pl.DataFrame(
        {"id": ["a", "b"], "m": ["x", "x"], "1": ["40 %", "10%"], "2": ["15", "10"], "3": ["45", "80"]}
    )
    corpus = read(table, map={"item": "id", "rater": "m"}, shares=["1", "2", "3"], kinds={"x": "model"})
    assert corpus.judgments["value"].to_list() == [2, 3]
    assert corpus.judgments["probabilities"][0].to_list() == pytest.approx([0.4, 0.15, 0.45])


DUELS = pl.DataFrame(
    {
        "left": ["x", "y", "x", "z", "w", "y", "v"],
        "right": ["y", "x", "z", "y", "x", "z", "w"],
        "best": ["x", "x", "tie", "y", "x", "y", "w"],
        "judge": ["j", "j", "k", "k", "k", "j", "j"],
    }
)


def test_comparisons(tmp_path: Path) -> None:
    seen = preview(DUELS)
    assert " --pairs left,right --map value=best,rater=judge " in seen["command"]
    corpus = read(DUELS, pairs=["left", "right"], map={"value": "best", "rater": "judge"})
    assert corpus == read(DUELS)
    assert corpus.items.row(0) == ("x | y", "x", "y")
    judged = corpus.judgments.select("item", "rater", "sample", "value", "status").rows()
    # The second row shows the first pair in the other order, to the same judge.
    assert judged[:4] == [
        ("x | y", "j", 0, 1, "answered"),
        ("x | y", "j", 1, 1, "answered"),
        ("x | z", "k", 0, None, "ambiguous"),
        ("z | y", "k", 0, 2, "answered"),
    ]
    assert judged[5] == ("z | y", "j", 0, 2, "answered")
    scores = dict(vantage.measures.scaling(corpus, ci="none").select("member", "estimate").iter_rows())
    assert scores["x"] == 1.0
    assert Corpus.read(corpus.write(tmp_path / "c")) == corpus


def test_the_winner_of_a_comparison_may_be_a_place() -> None:
    places = DUELS.with_columns(best=pl.Series(["left", "right", "tie", "right", "right", "left", "right"]))
    assert read(places) == read(DUELS)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"best": "q"}, r"row 1, column 'best': 'q' is neither 'x' nor 'y' nor a tie"),
        ({"best": None}, r"row 1, column 'best': the winner is empty"),
        ({"right": "x"}, r"row 1, column 'right': a pair needs two different members"),
    ],
)
def test_comparisons_that_are_none(change: dict[str, str | None], problem: str) -> None:
    rows = DUELS.to_dicts()
    with pytest.raises(InputError, match=problem):
        read(
            pl.DataFrame([{**rows[0], **change}, *rows[1:]]),
            pairs=["left", "right"],
            map={"value": "best", "rater": "judge"},
        )


WORDS = ["joy", "calm", "rain", "loss", "fear", "work", "lunch", "fire"]
TUPLES = pl.DataFrame(
    [
        {
            "tuple": f"t{n}",
            **{f"item{place + 1}": WORDS[(n + step) % 8] for place, step in enumerate((0, 1, 3, 6))},
            "best": min((WORDS[(n + step) % 8] for step in (0, 1, 3, 6)), key=WORDS.index),
            "worst": max((WORDS[(n + step) % 8] for step in (0, 1, 3, 6)), key=WORDS.index),
            "annotator": who,
        }
        for n in range(8)
        for who in ("ann", "bob")
    ]
)


def test_best_and_worst_of_tuples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = "--pairs item1,item2,item3,item4 --map best=best,worst=worst,rater=annotator"
    assert wanted in preview(TUPLES)["command"]
    places = [f"item{n}" for n in range(1, 5)]
    corpus = read(TUPLES, pairs=places, map={"rater": "annotator"})
    assert corpus == read(TUPLES)
    assert corpus.sizes == {"items": 8, "raters": 2, "judgments": 32}
    assert corpus.items.row(0) == ("joy | calm | loss | lunch", "joy", "calm", "loss", "lunch")
    assert corpus.judgments.select("question", "value").rows()[:2] == [("best", 1), ("worst", 4)]
    scores = dict(vantage.measures.scaling(corpus, ci="none").select("member", "estimate").iter_rows())
    assert max(scores, key=scores.__getitem__) == "joy"
    assert min(scores, key=scores.__getitem__) == "fire"
    assert read(TUPLES, pairs=places, map={"rater": "annotator"}, instrument="best-worst").sizes == corpus.sizes
    assert cells(again(corpus, tmp_path)) == cells(corpus)
    TUPLES.write_csv(tmp_path / "t.csv")
    command = ["corpora", "import", "table", "--from", str(tmp_path / "t.csv"), *wanted.split()]
    assert run(capsys, monkeypatch, *command, "--to", tmp_path / "cli").code == 0
    assert cells(Corpus.read(tmp_path / "cli")) == cells(corpus)


def test_best_and_worst_by_their_places_and_in_any_order() -> None:
    letters = TUPLES.with_columns(best=pl.lit("A"), worst=pl.lit("4"))
    corpus = read(letters, pairs=[f"item{n}" for n in range(1, 5)], map={"rater": "annotator"})
    assert {*corpus.judgments.select("question", "value").rows()} == {("best", 1.0), ("worst", 4.0)}
    turned = pl.concat(
        [TUPLES.head(1), TUPLES.head(1).with_columns(item1="item4", item4="item1", annotator=pl.lit("cy"))]
    )
    corpus = read(turned, pairs=[f"item{n}" for n in range(1, 5)], map={"rater": "annotator"})
    assert corpus.sizes["items"] == 1
    assert corpus.judgments["value"].to_list() == [1, 4, 1, 4]
    with pytest.raises(InputError, match="no column is mapped to the worst; pass --map worst=COLUMN"):
        read(TUPLES.drop("worst"), pairs=[f"item{n}" for n in range(1, 5)], map={"rater": "annotator"})


def test_where_nothing_says_which_is_the_best_both_readings_are_offered() -> None:
    seen = preview(TUPLES.rename({"best": "c1", "worst": "c2"}))
    assert "either 'c1' or 'c2' may be the best" in seen["doubt"]
    maps = [reading["command"].partition("--map ")[2].partition(" --to")[0] for reading in seen["readings"]]
    assert maps == ["best=c1,worst=c2,rater=annotator", "best=c2,worst=c1,rater=annotator"]


GROUPS = [
    {"id": f"t{n}", "sex": sex, "n_1": n % 3, "n_2": (n + at) % 4, "n_3": (3 * n + 2 * at) % 5}
    for n in range(12)
    for at, sex in enumerate(("women", "men"))
]


def test_counts_of_labels_by_group(tmp_path: Path) -> None:
    table = pl.DataFrame(GROUPS)
    seen = preview(table)
    assert "'n_1' may be an answer of 'sex' or count the answers of a group" in seen["doubt"]
    assert any("--map item=id --counts n_1,n_2,n_3 --traits sex" in one["command"] for one in seen["readings"])
    corpus = read(table, map={"item": "id"}, counts=["n_*"], traits=["sex"])
    assert len(corpus.judgments) == table.select(pl.sum_horizontal("n_1", "n_2", "n_3").sum()).item()
    assert corpus.raters["rater"].is_unique().all()
    assert {*corpus.raters.filter(pl.col("rater").str.starts_with("men "))["sex"]} == {"men"}
    assert Corpus.read(corpus.write(tmp_path / "c")) == corpus
    made = vantage.export(corpus, "csv", tmp_path / "again.csv")
    assert cells(read(made, traits=["sex"])) == cells(corpus)
    same = table.with_columns(n_3=8 - pl.col("n_1") - pl.col("n_2"))
    assert "pass --counts n_1,n_2,n_3 --traits sex" in preview(same)["problem"]


def test_answers_of_groups_without_raters_are_other_people_in_each() -> None:
    table = pl.DataFrame({"id": ["a", "a", "a", "b"], "sex": ["f", "f", "m", "m"], "value": [1, 2, 2, 3]})
    corpus = read(table, map={"item": "id", "value": "value"}, anonymous=True, traits=["sex"])
    assert corpus.raters.select("rater", "sex").rows() == [("f slot-1", "f"), ("f slot-2", "f"), ("m slot-1", "m")]


def test_rows_made_of_one_do_not_repeat_items_and_raters() -> None:
    counts = pl.DataFrame({"id": ["a", "b"], "n_1": [1, 3], "n_2": [0, 2], "text": ["Rain again.", "So it goes."]})
    corpus = read(counts, map={"item": "id", "text": "text"}, counts=["n_*"])
    assert corpus.items["item"].to_list() == ["a", "b"]
    assert corpus.raters["rater"].to_list() == [f"slot-{n}" for n in range(1, 6)]
    lists = pl.DataFrame({"id": ["a", "a"], "who": ["x", "y"], "labels": ["p|q", "q"], "age": [30, 40]})
    assert read(lists, map={"item": "id", "rater": "who"}, lists="labels", traits=["age"]).raters.rows() == [
        ("x", "person", 30),
        ("y", "person", 40),
    ]


def test_two_raters_and_one_who_decides_are_no_comparison_without_a_question() -> None:
    rows = [{"id": n, "p": "yn"[n % 2], "q": "ny"[n % 2], "final": "yyn"[n % 3]} for n in range(12)]
    assert "if it is the winner of a comparison, pass --pairs p,q" in preview(pl.DataFrame(rows))["problem"]


def test_files_of_sas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"ID": f"t{i}", "WHO": f"p{r}", "SCORE": (i + r) % 3 + 1} for i in range(4) for r in range(3)]
    pyreadstat.write_xport(pl.DataFrame(rows).to_pandas(), path := tmp_path / "t.xpt")
    corpus = read(path)
    assert cells(corpus) == cells(read(pl.DataFrame(rows)))
    # Value labels of SAS are in a catalog beside the file; none of our libraries can write one.
    given: dict[str, str] = {}

    def read_xport(path: str, **options: str) -> tuple[object, object]:
        given.update(options)
        columns, meta = pyreadstat.read_xport(tmp_path / "t.xpt", output_format="dict")
        meta.variable_value_labels = (
            {"SCORE": {1.0: "low", 2.0: "middle", 3.0: "high"}} if "catalog_file" in options else {}
        )
        return columns, meta

    monkeypatch.setattr("pyreadstat.read_sas7bdat", read_xport)
    (tmp_path / "t.sas7bdat").touch()
    assert read(tmp_path / "t.sas7bdat").questions[0].scale.describe() == "1…3 (ordinal)"
    (tmp_path / "formats.sas7bcat").touch()
    assert read(tmp_path / "t.sas7bdat").questions[0].scale.describe() == "low, middle, high (ordinal)"
    assert given["catalog_file"] == str(tmp_path / "formats.sas7bcat")


def test_rows_without_raters(tmp_path: Path) -> None:
    table = pl.DataFrame({"item": ["a", "a", "b", "b", "b"], "value": [1, 2, 3, 1, 2]})
    with pytest.raises(InputError, match="pass --map rater=COLUMN, or --anonymous if the raters are unknown"):
        read(table, map={"item": "item"})
    corpus = read(table, anonymous=True)
    assert corpus.raters.rows() == [("slot-1", "slot"), ("slot-2", "slot"), ("slot-3", "slot")]
    assert cells(again(corpus, tmp_path)) == cells(corpus)


@pytest.mark.parametrize("written", ["list", "text"])
def test_lists_of_labels(tmp_path: Path, written: str) -> None:
    lists = [["joy", "love"], ["anger"], [], ["joy"]]
    labels = lists if written == "list" else ["joy|love", "anger", "", "joy"]
    table = pl.DataFrame({"item": ["a", "a", "b", "b"], "rater": ["x", "y", "x", "y"], "emotions": labels})
    corpus = read(table, lists="emotions")
    assert [q.id for q in corpus.questions] == ["emotions: anger", "emotions: joy", "emotions: love"]
    assert corpus.judgments.filter(question="emotions: joy").sort("item", "rater")["value"].to_list() == [1, 0, 0, 1]
    assert cells(again(corpus, tmp_path)) == cells(corpus)


def test_objects_in_lists(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps(
            {
                "t1": {"text": "Hi.", "annotations": [{"rater": "a", "value": 1}, {"rater": "b", "value": 2}]},
                "t2": {"text": "Go.", "annotations": [{"rater": "a", "value": 2}]},
            }
        )
    )
    corpus = read(path, lists="annotations", map={"item": "id"})
    assert cells(corpus) == [("t1", "value", "a", 1), ("t1", "value", "b", 2), ("t2", "value", "a", 2)]


ROWS = [{"item": "a", "rater": "x", "value": 1}, {"item": "a", "rater": "y", "value": 2}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.dat", "\n".join(map(json.dumps, ROWS))),
        ("t.json", "\n".join(map(json.dumps, ROWS))),
        ("t.json", json.dumps(ROWS).replace("}]", "},]").replace('1}', '1,}')),
        ("t.json", json.dumps({"data": ROWS})),
        ("t.json", json.dumps({"r1": ROWS[0], "r2": ROWS[1]})),
        ("ratings", json.dumps(ROWS)),
    ],
)  # fmt: skip
def test_json_in_any_form(tmp_path: Path, name: str, text: str) -> None:
    (path := tmp_path / name).write_text(text)
    assert cells(read(path)) == [("a", "value", "x", 1), ("a", "value", "y", 2)]


def test_two_sheets_or_files_that_belong_together(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet, people = book.active, book.create_sheet("people")
    assert sheet is not None
    sheet.title = "ratings"
    for row in [("item", "who", "value"), ("a", "x", 1), ("a", "y", 2), ("b", "x", 2)]:
        sheet.append(row)
    for person in [("who", "age", "job"), ("x", 31, "cook"), ("y", 52, "nurse"), ("z", 40, "cook")]:
        people.append(person)
    book.save(path := tmp_path / "t.xlsx")
    corpus = read(path, sheet="ratings", join="people", map={"rater": "who"})
    assert corpus.raters.rows() == [("x", "person", 31, "cook"), ("y", "person", 52, "nurse")]
    items = tmp_path / "items.csv"
    items.write_text("item,source\na,news\nb,blog\n")
    table = pl.DataFrame({"item": ["a", "b"], "rater": ["x", "x"], "value": [1, 2]})
    assert read(table, join=items).items["source"].to_list() == ["news", "blog"]
    (tmp_path / "other.csv").write_text("item,source\nq,news\n")
    with pytest.raises(InputError, match="no 'item' of the table is in"):
        read(table, join=tmp_path / "other.csv")


def test_replies_of_models_that_were_made_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    replies = ["<think>Maybe 3?</think>Trust: 2", "I cannot tell you that, purple."]
    rows = [{"item": f"t{n}", "model": "m", "text": "He lied.", "reply": reply} for n, reply in enumerate(replies)]
    path.write_text("\n".join(map(json.dumps, rows)))
    corpus = vantage.read(path, "replies", instrument="warmth-competence", question="trust")
    assert corpus.judgments["value"].to_list() == [2, None]
    assert corpus.raters.select("rater", "kind").rows() == [("m", "model")]
    assert corpus.about.notes == ("1 of 2 replies could not be read.",)
    with pytest.raises(InputError, match="no instrument given"):
        vantage.read(path, "replies")
    path.write_text('{"item": "a", "reply": "2"}\n{"item": "b", "reply": "2"}\n')
    with pytest.raises(InputError, match="there is no column for the rater; call a column model or rater"):
        vantage.read(path, "replies", instrument="warmth-competence")


def test_the_reader_takes_every_option_that_its_function_has() -> None:
    options = list(inspect.signature(read).parameters)[1:]
    assert sorted(READERS["table"].options) == sorted(options)


def test_shares_and_pairs_have_a_door_in_python_and_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = pl.DataFrame({"id": ["a", "b"], "p_1": [0.5, 0.2], "p_2": [0.5, 0.8]})
    pairs = pl.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "won": ["x", "z"], "who": ["q", "q"]})
    shared.write_csv(tmp_path / "s.csv")
    pairs.write_csv(tmp_path / "p.csv")
    assert vantage.read(shared, shares=["p_*"], item="id").sizes["judgments"] == 2
    assert vantage.read(pairs, pairs=["a", "b"], value="won", rater="who").sizes["judgments"] == 2
    for file, options in (
        ("s", ["--shares", "p_*", "--map", "item=id"]),
        ("p", ["--pairs", "a,b", "--map", "value=won,rater=who"]),
    ):
        words = ["corpora", "import", "table", "--from", tmp_path / f"{file}.csv", *options, "--to", tmp_path / file]
        done = run(capsys, monkeypatch, *words)
        assert done.code == 0, done.err
        assert vantage.read(tmp_path / file).sizes["judgments"] == 2


def _replies(folder: Path) -> Corpus:
    rows = [{"item": f"t{n}", "model": "m", "text": "He lied.", "reply": f"Trust: {n - 2}"} for n in range(4)]
    rows.append({"item": "t4", "model": "m", "text": "He lied.", "reply": "No idea, purple."})
    (path := folder / "replies.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return vantage.read(path, "replies", instrument="warmth-competence", question="trust")


def _joined(folder: Path) -> Corpus:
    (folder / "items.csv").write_text("item,source\na,news\nb,blog\n")
    table = pl.DataFrame({"item": ["a", "a", "b"], "rater": ["x", "y", "x"], "value": [1, 2, 2]})
    return read(table, join=folder / "items.csv")


def _header_rows(folder: Path) -> Corpus:
    (path := folder / "two.csv").write_text("id,ann,,bob,\n,warm,cold,warm,cold\nt1,4,3,5,2\nt2,1,2,2,1\nt3,5,1,4,2\n")
    return read(path, map={"item": "id"}, columns="rater,question")


def _ids_to_rows(folder: Path) -> Corpus:
    rows = {"t1": {"who": "a", "stars": 3}, "t2": {"who": "a", "stars": 1}, "t3": {"who": "b", "stars": 2}}
    (path := folder / "rows.json").write_text(json.dumps(rows).replace("3}", "3,}"))
    return read(path, map={"item": "id", "rater": "who", "value": "stars"})


SHAPES = {
    "lists of labels": lambda _: read(
        pl.DataFrame({"item": ["a", "a"], "rater": ["x", "y"], "felt": [["joy", "love"], ["fear"]]}), lists="felt"
    ),
    "one label column per rater": lambda _: read(
        pl.DataFrame({"id": ["a", "b", "c"], "ann": ["yes", "no", "yes"], "bob": ["yes", None, "no"]}),
        map={"item": "id"},
        columns="rater",
    ),
    "counts": lambda _: read(
        pl.DataFrame({"id": ["a", "b"], "n_1": [3, 0], "n_2": [1, 2]}), map={"item": "id"}, counts=["n_*"]
    ),
    "shares": lambda _: read(
        pl.DataFrame({"id": ["a", "b"], "p_1": [0.25, 0.5], "p_2": [0.5, 0.5], "p_3": [0.25, 0.0]}),
        map={"item": "id"},
        shares=["p_*"],
    ),
    "softmax of models": lambda _: read(
        pl.DataFrame({"id": ["a", "b"], "m": ["x", "x"], "no": [0.25, 0.5], "yes": [0.75, 0.5]}),
        map={"item": "id", "rater": "m"},
        shares=["no", "yes"],
        kinds={"x": "model"},
    ),
    "rows without raters": lambda _: read(
        pl.DataFrame({"item": ["a", "a", "b"], "value": [1, 2, 3]}), anonymous=True
    ),
    "replies of models": _replies,
    "comparisons": lambda _: read(DUELS, pairs=["left", "right"], map={"value": "best", "rater": "judge"}),
    "ids that map to rows, with trailing commas": _ids_to_rows,
    "two files": _joined,
    "weights of raters": lambda _: read(
        pl.DataFrame(
            {"item": ["a", "b"] * 2, "rater": ["x", "x", "y", "y"], "value": [1, 2, 2, 2], "weight": [0.5, 0.5, 2, 2]}
        ),
        traits=["weight"],
    ),
    "several header rows": _header_rows,
}  # fmt: skip
"""Every shape of the field as a corpus, from files in a folder."""


def test_shares_of_opt_outs_come_back_from_csv_and_those_of_another_scale_are_refused(tmp_path: Path) -> None:
    scale = Scale.labels("no", "yes", opt_outs=[OptOut("ambiguous", "cannot tell")])
    asked = Instrument.of_questions("mine", "Mine", {"polite": scale})
    shares = [[0.25, 0.25, 0.5], [0.75, 0.25]]
    rows = pl.DataFrame(
        {"item": ["a", "b"], "rater": "m", "value": [1, 0], "question": "polite", "probabilities": shares}
    )
    rows.with_columns(pl.col("probabilities").map_elements(lambda one: str(list(one)), pl.String)).write_csv(
        path := tmp_path / "t.csv"
    )
    assert read(path, instrument=asked).judgments["probabilities"].to_list() == shares
    other = Instrument.of_questions("mine", "Mine", {"polite": Scale.points(0, 3)})
    with pytest.raises(InputError, match="row 2, column 'probabilities': the shares are of 3 answers, but the scale"):
        read(path, instrument=other)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_comes_back_from_a_folder_and_from_csv(
    tmp_path: Path, shape: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = SHAPES[shape](tmp_path)
    assert Corpus.read(corpus.write(tmp_path / "c")) == corpus
    (instrument := tmp_path / "asked.yaml").write_text(dump(dict(corpus.instruments[0].document)))
    path = vantage.export(corpus, "csv", tmp_path / "again.csv")
    items = {name: name for name in corpus.items.columns if name not in ("item", "text")}
    traits = [name for name in corpus.raters.columns if name not in ("rater", "kind")]
    words = ["corpora", "import", "table", "--from", path, "--instrument", instrument, "--to", tmp_path / "again"]
    words += ["--map", ",".join(f"{name}={name}" for name in items)] if items else []
    words += ["--traits", ",".join(traits)] if traits else []
    done = run(capsys, monkeypatch, *words)
    assert done.code == 0, done.err
    in_python = read(path, map=items, traits=traits, instrument=corpus.instruments[0])
    for again in (in_python, Corpus.read(tmp_path / "again")):
        for name in ("items", "raters", "judgments"):
            one, other = getattr(corpus, name), getattr(again, name)
            kept = [column for column in one.columns if column not in ("reply", "rule")]
            assert_frame_equal(other.select(kept), one.select(kept), check_row_order=False, check_dtypes=False)
