from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given

from tests.corpora.strategies import INSTRUMENT, corpora
from vantage import Corpus, InputError, Instrument, Scale, demo_corpus
from vantage.corpora import About


def small(**changes: Any) -> Corpus:
    tables: dict[str, Any] = {
        "items": pl.DataFrame({"item": ["a", "b"], "text": ["x", "y"], "target": ["T", "U"]}),
        "raters": pl.DataFrame({"rater": ["r", "s"], "age": [30, 40]}),
        "judgments": pl.DataFrame(
            {"item": ["a", "a", "b"], "question": "rating", "rater": ["r", "s", "r"], "value": [1, 2, 3]}
        ),
    }
    return Corpus(**{**tables, **changes}, instruments=INSTRUMENT)


@given(corpora())
def test_what_is_written_is_read_again(tmp_path: Path, corpus: Corpus) -> None:
    corpus.write(tmp_path / "c")
    assert Corpus.read(tmp_path / "c") == corpus


def judged(**changes: Any) -> pl.DataFrame:
    row: dict[str, Any] = {"item": ["a"], "question": ["rating"], "rater": ["r"], "value": [1.0]}
    return pl.DataFrame({**row, **changes})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"judgments": judged(value=[5.0])},
            "row 1, column 'value': 5 is not on the scale of question 'rating'",
        ),
        ({"judgments": judged(value=[1.5])}, "1.5 is not on the scale"),
        (
            {"judgments": judged(question=["ratting"])},
            "there is no question 'ratting'; did you mean 'rating'",
        ),
        ({"judgments": judged(item=["z"])}, "column 'item': there is no item 'z'"),
        ({"judgments": judged(rater=["z"])}, "column 'rater': there is no rater 'z'"),
        (
            {"judgments": pl.concat([judged(), judged()])},
            "row 2: item 'a', question 'rating', rater 'r' was judged",
        ),
        ({"judgments": judged(value=[None])}, "the status is 'answered' but there is no value"),
        ({"judgments": judged(status=["refused"])}, "there is a value but the status is not 'answered'"),
        ({"judgments": judged(value=[float("nan")])}, "not a finite number"),
        ({"judgments": judged(value=[float("inf")])}, "not a finite number"),
        ({"judgments": judged(status=["shrug"])}, "'shrug' is not one of answered"),
        ({"judgments": judged(value=["one"])}, "'one' is not a number"),
        ({"judgments": judged(sample=["x"])}, "'x' is not a whole number"),
        ({"judgments": judged(rater=[None])}, "column 'rater': the cell is empty"),
        ({"judgments": judged().drop("item")}, "no column 'item'"),
        ({"judgments": judged().drop("value")}, "no column 'value'"),
        (
            {"judgments": judged(value=pl.Series([None], dtype=pl.Float64), status=["ambiguous"])},
            "question 'rating' has no opt-out 'ambiguous'",
        ),
        ({"items": pl.DataFrame({"item": ["a", "a", "b"]})}, "items, row 2, column 'item': duplicate id 'a'"),
        ({"items": pl.DataFrame({"item": ["a", "b", ""]})}, "the id is empty"),
        ({"raters": pl.DataFrame({"rater": ["r", "s", None]})}, "the cell is empty"),
        (
            {"raters": pl.DataFrame({"rater": ["r", "s"], "kind": ["robot", "person"]})},
            "'robot' is not one of person",
        ),
    ],
)
def test_every_construction_is_checked(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        small(**changes)
    assert sentence in str(caught.value)


def test_opening_reads_no_rows_and_the_first_use_checks_them(tmp_path: Path) -> None:
    small().write(tmp_path / "c")
    path = tmp_path / "c" / "judgments.parquet"
    pl.read_parquet(path).with_columns(pl.lit(99.0).alias("value")).write_parquet(path)
    corpus = Corpus.read(tmp_path / "c")
    assert corpus.items.height == 2
    assert corpus.scan().select(pl.len()).collect().item() == 3
    with pytest.raises(InputError, match=r"judgments\.parquet, row 1, column 'value': 99 is not on the scale"):
        _ = corpus.judgments


def test_the_files_are_read_without_us(tmp_path: Path) -> None:
    folder = demo_corpus().write(tmp_path / "c")
    query = f"""
        select gender, count(*) from '{folder}/judgments.parquet' j
        join '{folder}/raters.parquet' r using (rater) where status = 'answered' and question = 'trust'
        group by gender order by gender
    """  # noqa: S608
    counted = dict(duckdb.connect().execute(query).fetchall())
    expected = demo_corpus().filter(question="trust").with_columns_of(["gender"]).group_by("gender").len()
    assert counted == dict(expected.iter_rows())
    assert pl.read_parquet(folder / "judgments.parquet").to_pandas()["status"].unique().tolist() == ["answered"]


def test_traits_and_item_columns_join_the_judgments() -> None:
    joined = small().with_columns_of(["age", "target"])
    assert joined.select("age", "target").rows() == [(30, "T"), (40, "T"), (30, "U")]
    assert small().with_columns_of(["rater.age"])["rater.age"].to_list() == [30, 40, 30]
    with pytest.raises(InputError, match="the corpus has no column 'aeg'; did you mean 'age'"):
        small().with_columns_of(["aeg"])


def test_filtering_takes_columns_of_all_three_tables() -> None:
    corpus = small()
    assert corpus.filter(target="T").items["item"].to_list() == ["a"]
    assert corpus.filter(pl.col("age") > 35).judgments["rater"].to_list() == ["s"]
    high = corpus.filter(pl.col("value") >= 2)
    assert high.judgments["value"].to_list() == [2, 3]
    assert corpus.filter(rater=["r"]).raters["rater"].to_list() == ["r"]
    assert corpus.filter(value=3.0).items["item"].to_list() == ["b"]
    both = corpus.filter((pl.col("target") == "T") & (pl.col("age") == 30))
    assert both.judgments.select("item", "rater").rows() == [("a", "r")]


def test_filtering_compares_numbers_and_truth_as_such() -> None:
    corpus = small(raters=pl.DataFrame({"rater": ["r", "s"], "age": [30.0, 41.5], "native": [True, False]}))
    assert corpus.filter(value=2).judgments["rater"].to_list() == ["s"]
    assert corpus.filter(age=30).raters["rater"].to_list() == corpus.filter(native=True).raters["rater"].to_list()
    assert corpus.filter(native="False", age="41.5").raters["rater"].to_list() == ["s"]
    assert (corpus.values_of("value"), corpus.values_of("age")) == (["1", "2", "3"], ["30", "41.5"])


@pytest.mark.parametrize("mark", [[True, False], ["yes", "no"], [1, 0], [1.0, None], ["failed a check", None]])
def test_raters_are_excluded_however_they_are_marked(mark: list[object]) -> None:
    corpus = small(raters=pl.DataFrame({"rater": ["r", "s"], "excluded": mark}))
    assert corpus.included().raters["rater"].to_list() == ["s"]


def test_items_that_nobody_judged_survive_a_filter_of_judgments() -> None:
    items = pl.DataFrame({"item": ["a", "b", "new"], "text": ["x", "y", "z"], "target": ["T", "U", "V"]})
    assert small(items=items).filter(rater="s").items["item"].to_list() == ["a", "new"]


def test_judgments_of_a_new_rater_and_a_new_instrument_are_added() -> None:
    extra = Instrument.of_questions("mood", "Mood", {"mood": Scale.labels("low", "high")})
    new = pl.DataFrame({"item": ["a", "b"], "question": ["mood", "rating"], "rater": "gpt", "value": [1, 0]})
    corpus = small().add(new, pl.DataFrame({"rater": ["gpt"], "kind": ["model"]}), extra)
    assert corpus.judgments.height == 5
    assert corpus.raters.filter(rater="gpt").row(0) == ("gpt", "model", None)
    assert [q.id for q in corpus.questions] == ["rating", "choice", "slider", "mood"]
    with pytest.raises(InputError, match="there is no rater 'gpt'"):
        small().add(new.filter(pl.col("question") == "rating"))


def test_merging_keeps_what_agrees_and_refuses_what_does_not() -> None:
    other = small(
        items=pl.DataFrame({"item": ["a", "c"], "text": ["x", "w"]}),
        raters=pl.DataFrame({"rater": ["r", "t"], "gender": ["f", "m"]}),
        judgments=pl.DataFrame({"item": ["c"], "question": "rating", "rater": ["t"], "value": [0]}),
    )
    merged = small().merge(other)
    assert merged.items["item"].to_list() == ["a", "b", "c"]
    assert merged.raters.filter(rater="r").select("age", "gender").row(0) == (30, "f")
    assert merged.judgments.height == 4
    with pytest.raises(InputError, match="was judged already"):
        small().merge(small())
    clash = small(items=pl.DataFrame({"item": ["a", "b"], "text": ["x", "other"]}), judgments=judged().clear())
    with pytest.raises(InputError, match="item 'b' has two different values, 'y' and 'other'"):
        small().merge(clash)


def test_merging_names_people_who_are_in_several_corpora() -> None:
    other = small(
        items=pl.DataFrame({"item": ["c"]}),
        raters=pl.DataFrame({"rater": ["r", "t"]}),
        judgments=judged(item=["c"]),
    )
    (note,) = small().merge(other).about.notes
    assert note.endswith("count as one person each: r.")


def test_a_column_of_two_kinds_cannot_be_merged() -> None:
    other = pl.DataFrame({"rater": ["t"], "age": [[30]]})
    new = pl.DataFrame({"item": ["a"], "question": ["rating"], "rater": ["t"], "value": [1]})
    with pytest.raises(InputError, match=r"column 'age': the column holds Int64 in one table and List\(Int64\)"):
        small().add(new, other)
    texts = small().add(new, pl.DataFrame({"rater": ["t"], "age": ["thirty"]}))
    assert texts.raters["age"].to_list() == ["30", "40", "thirty"]


@given(corpora())
def test_merging_with_nothing_changes_nothing(corpus: Corpus) -> None:
    empty = Corpus(corpus.items, corpus.raters, corpus.judgments.clear(), corpus.instruments, corpus.about)
    assert corpus.merge(empty) == corpus


def test_two_versions_of_an_instrument_merge_when_their_scales_agree() -> None:
    newer = Instrument.from_document({**INSTRUMENT.document, "version": 2})
    merged = small().merge(Corpus(small().items, small().raters, judged().clear(), newer))
    assert [(i.id, i.version) for i in merged.instruments] == [("mixed", 2)]
    other = Instrument.of_questions("other", "Other", {"rating": Scale.points(1, 5)})
    with pytest.raises(InputError, match="two instruments have a question 'rating' with different scales"):
        small().merge(Corpus(small().items, small().raters, judged().clear(), other))


def test_traits_of_nobody_are_refused_and_those_of_others_are_kept() -> None:
    with pytest.raises(InputError, match=r"no rater of the corpus is in the table, such as 'r'; the table has 'r1'"):
        small().join_traits(pl.DataFrame({"rater": ["r1"], "age": [20]}))
    assert small().join_traits(pl.DataFrame({"rater": ["r"], "age": [20]})).raters["age"].to_list() == [20, 40]


def test_traits_are_joined_to_raters() -> None:
    traits = pl.DataFrame({"id": ["s", "r", "stranger"], "country": ["NO", "KE", "PE"], "age": [41, 31, 1]})
    joined = small().join_traits(traits, on="id")
    assert joined.raters.select("rater", "age", "country").rows() == [("r", 31, "KE"), ("s", 41, "NO")]
    with pytest.raises(InputError, match="duplicate rater 's'"):
        small().join_traits(pl.concat([traits, traits]), on="id")
    with pytest.raises(InputError, match="no column 'rater'"):
        small().join_traits(traits)


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ("[]", "not the manifest of a corpus"),
        ("format: 99\ninstruments: []\n", "format 99, this Vantage reads format 1; update Vantage"),
        ("format: 1\ninstruments: [{id: x}]\n", "this is missing"),
        ("format: 1\nabout: {shoe: 1}\ninstruments: []\n", "keys that are not known"),
    ],
)
def test_a_damaged_manifest_is_told(tmp_path: Path, manifest: str, sentence: str) -> None:
    small().write(tmp_path / "c")
    (tmp_path / "c" / "corpus.yaml").write_text(manifest, encoding="utf-8")
    with pytest.raises(InputError, match=sentence):
        Corpus.read(tmp_path / "c")


def test_damaged_tables_are_told(tmp_path: Path) -> None:
    folder = small().write(tmp_path / "c")
    path = folder / "judgments.parquet"
    table = pl.read_parquet(path)
    table.drop("rater").write_parquet(path)
    with pytest.raises(InputError, match=r"judgments\.parquet: the judgments table has no column 'rater'"):
        Corpus.read(folder)
    table.with_columns(pl.lit("x").alias("value")).write_parquet(path)
    with pytest.raises(InputError, match=r"column 'value': the column holds String, not Float64"):
        Corpus.read(folder)
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        Corpus.read(folder)
    path.unlink()
    with pytest.raises(InputError, match="the file is missing"):
        Corpus.read(folder)


def test_about_travels_with_the_corpus(tmp_path: Path) -> None:
    about = About(name="n", title="no", source="yes", licence="CC0", citation="c: d", notes=("1", "- x: [y"))
    corpus = Corpus(small().items, small().raters, small().judgments, INSTRUMENT, about)
    assert Corpus.read(corpus.write(tmp_path / "c")).about == about


def test_filtering_by_id_keeps_nothing_else_whether_judged_or_not() -> None:
    corpus = Corpus(
        items=pl.DataFrame({"item": ["a", "b", "c"]}),
        raters=pl.DataFrame({"rater": ["ann", "bob"]}),
        judgments=pl.DataFrame({"item": ["a"], "question": ["trust"], "rater": ["ann"], "value": [1.0]}),
        instruments=Instrument.load("warmth-competence"),
    )
    assert corpus.filter(item="b").items["item"].to_list() == ["b"]
    assert corpus.filter(item=["a", "c"]).items["item"].to_list() == ["a", "c"]
    assert corpus.filter(rater="bob").raters["rater"].to_list() == ["bob"]
    assert len(corpus.filter(item="a").judgments) == 1
