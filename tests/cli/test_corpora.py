from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Vantage
from vantage import Corpus, demo_corpus
from vantage.cli.corpora import texts_or_corpus
from vantage.cli.options import pairs
from vantage.report.overview import overview


def written(folder: Path, data: str) -> Path:
    path = folder / "mine.csv"
    path.write_text(data, encoding="utf-8")
    return path


def test_readers_are_listed_with_their_homes(vantage: Vantage) -> None:
    rows = {row["reader"]: row for row in vantage("corpora", "--json").json}
    assert {"table", "wcsent", "hs-brexit", "mp", "appraisals", "isarcasm", "dices", "epic", "potato"} <= set(rows)
    assert all(row["home"] for row in rows.values())
    assert "wcsent" in vantage("corpora").out


def test_a_long_table_is_imported_with_a_mapping(vantage: Vantage, tmp_path: Path) -> None:
    path = written(tmp_path, "id,sentence,who,score,q,age\n1,Hi,ann,3,kind,30\n1,Hi,bob,1,kind,40\n")
    mapping = "item=id,rater=who,value=score,text=sentence,question=q"
    done = vantage(
        "corpora",
        "import",
        "table",
        "--from",
        path,
        "--map",
        mapping,
        "--traits",
        "age",
        "--to",
        tmp_path / "c",
    )
    assert done.code == 0, done.err
    assert "1 items, 2 raters, 2 judgments" in done.out
    assert Corpus.read(tmp_path / "c").raters["age"].to_list() == [30, 40]


def test_a_wide_table_is_imported(vantage: Vantage, tmp_path: Path) -> None:
    path = written(tmp_path, "item,ann,bob\na,1,2\nb,3,\n")
    words = ("--columns", "rater", "--question", "trust", "--instrument", "warmth-competence")
    done = vantage("corpora", "import", "table", "--from", path, *words, "--to", tmp_path / "c", "--json")
    assert done.json["judgments"] == 3


@pytest.mark.parametrize(
    ("data", "words", "sentence"),
    [
        (
            "item,rater,value\na,r,9\n",
            ("--instrument", "sarcasm"),
            "row 2, column 'value': 9 is not on the scale",
        ),
        (
            "item,rater,value\na,r,1\na,r,2\n",
            (),
            "row 3: item 'a', question 'value', rater 'r' was judged already in row 2",
        ),
        ("item,rater\na,r\n", (), "no column is mapped to the value"),
        ("", (), "the file is empty"),
        ("item,rater,value\na,r,1\n", ("--map", "item"), "--map takes NAME=VALUE, not 'item'"),
        ("item,rater,value\na,r,1\n", ("--option", "x=1"), "reader 'table' has no option 'x'"),
    ],
)
def test_bad_input_gets_one_sentence_and_leaves_no_folder(
    vantage: Vantage, tmp_path: Path, data: str, words: tuple[str, ...], sentence: str
) -> None:
    path = written(tmp_path, data)
    done = vantage("corpora", "import", "table", "--from", path, "--to", tmp_path / "c", *words)
    assert done.code == 2
    assert sentence in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.csv"]


def test_duplicates_are_resolved_on_request(vantage: Vantage, tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,value\na,r,1\na,r,3\n")
    words = ("corpora", "import", "table", "--from", path, "--to", tmp_path / "c", "--duplicates")
    assert vantage(*words, "mean").code == 0
    assert Corpus.read(tmp_path / "c").judgments["value"].to_list() == [2]


def test_an_unknown_reader_suggests_the_nearest(vantage: Vantage, tmp_path: Path) -> None:
    done = vantage("corpora", "import", "wcsnt", "--from", tmp_path, "--to", tmp_path / "c")
    assert (done.code, done.err) == (2, "vantage: there is no reader 'wcsnt'; did you mean 'wcsent'?\n")


def test_describe_speaks_to_people_and_to_programs(vantage: Vantage, demo: Path) -> None:
    told = vantage("corpora", "describe", demo, "--json").json
    assert (told["items"], told["raters"], told["targets"]) == (30, 9, 6)
    shown = vantage("corpora", "describe", demo).out
    assert "30 items, 6 targets, 9 raters, 741 judgments" in shown
    assert "synthetic" in shown


def test_validate_ends_with_2_when_something_is_wrong(vantage: Vantage, demo: Path) -> None:
    assert vantage("corpora", "validate", demo).code == 0
    path = demo / "judgments.parquet"
    pl.read_parquet(path).with_columns(pl.lit(8.0).alias("value")).write_parquet(path)
    done = vantage("corpora", "validate", demo, "--json")
    assert done.code == 2
    assert any("8 is not on the scale" in row["problem"] for row in done.json)


def test_filter_merge_and_traits(vantage: Vantage, demo: Path, tmp_path: Path) -> None:
    for name, question in (("t", "trust"), ("s", "sociability,competence")):
        done = vantage("corpora", "filter", demo, "--where", f"question={question}", "--to", tmp_path / name)
        assert done.code == 0, done.err
    assert vantage("corpora", "merge", tmp_path / "t", tmp_path / "s", "--to", tmp_path / "m").code == 0
    assert Corpus.read(tmp_path / "m").judgments.height == 741
    path = written(tmp_path, "Participant id,Country\nr1,NO\nr2,PE\n")
    done = vantage("corpora", "traits", tmp_path / "m", "--from", path)
    assert done.code == 0, done.err
    people = Corpus.read(tmp_path / "m").raters.height
    assert f"{people - 2} of {people} people are not in the table: " in done.out
    assert Corpus.read(tmp_path / "m").raters.filter(rater="r2")["country"].to_list() == ["PE"]


@pytest.mark.parametrize("form", ["csv", "lewidi", "huggingface", "folder"])
def test_every_export_writes_something(vantage: Vantage, demo: Path, tmp_path: Path, form: str) -> None:
    to = tmp_path / ("out.csv" if form == "csv" else "out")
    done = vantage("corpora", "export", demo, "--as", form, "--to", to)
    assert done.code == 0, done.err
    assert to.exists()


def test_hostile_text_cannot_drive_the_terminal(vantage: Vantage, tmp_path: Path) -> None:
    path = written(tmp_path, "item,rater,value,kind\na,\x1b[31mred,1,person\n")
    vantage("corpora", "import", "table", "--from", path, "--traits", "value", "--to", tmp_path / "c")
    assert "\x1b[31m" not in vantage("corpora", "describe", tmp_path / "c").out


@pytest.mark.data
def test_the_published_counts_of_wcsent(vantage: Vantage, data_dir: Path, tmp_path: Path) -> None:
    done = vantage("corpora", "import", "wcsent", "--from", data_dir / "wcsent", "--to", tmp_path / "wc")
    assert done.code == 0, done.err
    told = vantage("corpora", "describe", tmp_path / "wc", "--json").json
    assert (told["items"], told["targets"], told["raters"], told["judgments"]) == (1633, 7, 210, 25777)


TABLE = "id,worker,stars\ni1,ann,1\ni1,bob,2\ni2,ann,-99\ni2,bob,5\n"


def test_preview_gives_the_command_that_imports(
    vantage: Vantage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLE)
    shown = vantage("corpora", "preview", "t.csv")
    assert shown.code == 0
    assert "-99 lies far from the other values" in shown.out
    told = vantage("corpora", "preview", "t.csv", "--json").json
    assert told["command"] in shown.out
    assert (told["judgments"], told["questions"][0]["scale"]) == (3, "1…5 (ordinal)")
    words = shlex.split(told["command"])[1:]
    assert vantage(*words).code == 0
    assert Corpus.read("t").judgments["value"].to_list() == [1, 2, 5]
    described = vantage("corpora", "describe", "t")
    assert "1 cell of column 'stars' (-99) read as missing." in described.out
    again = vantage(*words)
    assert (again.code, "there is a corpus already" in again.err) == (2, True)
    assert vantage(*words, "--overwrite").code == 0


def test_preview_finds_the_grid_of_google_forms(vantage: Vantage, tmp_path: Path) -> None:
    path = tmp_path / "forms.csv"
    path.write_text(
        "Timestamp,Email Address,How old are you?,How warm? [He lied.],How warm? [She waited.],Comments\n"
        '2026,a@x.org,31,1 (not at all),5 (very),"fine, thanks"\n2026,b@x.org,52,2,4,no\n2026,c@x.org,27,,3,no\n'
    )
    preview = vantage("corpora", "preview", path, "--json").json
    assert preview["problem"] is None
    assert [column["role"] for column in preview["columns"]] == [None, "rater", "trait", "value", "value", None]
    assert (preview["questions"][0]["question"], preview["judgments"]) == ("How warm?", 5)
    assert "--columns item --traits 'How old are you?' --values '*]'" in preview["command"]
    assert any("not read: Timestamp, Comments" in note for note in preview["notes"])


def test_the_command_of_preview_works_where_names_have_commas(vantage: Vantage, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('worker id,text,"How ironic, on the whole?",sure\nw1,"Oh, great",4,90%\nw2,"Oh, great",5,80%\n')
    command = vantage("corpora", "preview", path, "--json").json["command"]
    done = vantage(*shlex.split(command)[1:-1], tmp_path / "c")
    assert done.code == 0, done.err
    assert Corpus.read(tmp_path / "c").questions[0].id == "How ironic, on the whole?"


def test_preview_knows_columns_by_their_names_however_they_are_written(vantage: Vantage, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Item ID;Rater-ID;How warm?;Native Speaker\na;x;1;yes\na;y;2;no\nb;x;3;yes\n")
    preview = vantage("corpora", "preview", path, "--json").json
    assert [column["role"] for column in preview["columns"]] == ["item", "rater", "value", "trait"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("corpora", "import", "wcsent", "--to", "c"),
            "no file given; run: vantage corpora import wcsent --from PATH --to c",
        ),
        (
            ("corpora", "import", "CSV", "--from", "t.csv", "--to", "c"),
            "there is no reader 'CSV'; use table, which reads",
        ),
        (
            ("corpora", "describe", "t.csv"),
            "t.csv: this is a file, not a corpus folder; to import a table, run: vantage corpora preview t.csv",
        ),
        (("report", "t.csv"), "this is a file, not a corpus folder"),
        (("measure", "alpha", "t.csv"), "vantage corpora preview t.csv"),
    ],
)
def test_a_first_attempt_is_answered_with_the_way_on(
    vantage: Vantage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("item,rater,value\na,x,1\n")
    done = vantage(*words)
    assert done.code == 2
    assert sentence in done.err


def test_preview_finds_the_column_that_numbers_the_texts(vantage: Vantage, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    texts = ["Thanks!", "No.", "Thanks!", "Why?", "Well.", "Yes.", "Hm."]  # one text occurs twice
    judged = [f"{100 + n},w{w},{text},{(n + w) % 3}" for n, text in enumerate(texts) for w in range(4)]
    path.write_text("\n".join(["Conversation,worker,text,Safe", *judged]))
    preview = vantage("corpora", "preview", path, "--json").json
    assert [column["role"] for column in preview["columns"]] == ["item", "rater", "text", "value"]
    assert (preview["items"], preview["judgments"], preview["questions"][0]["question"]) == (7, 28, "Safe")


def test_preview_leaves_comments_out_and_names_the_question(vantage: Vantage, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("who,sentence,warm,comment\na,x,1,fine\na,y,2,a bit odd\nb,x,3,\nb,y,1,hm\n", "utf-8")
    preview = vantage("corpora", "preview", path, "--json").json
    assert [column["role"] for column in preview["columns"]] == ["rater", "text", "value", None]
    assert preview["questions"][0]["question"] == "warm"
    assert "--map text=sentence,rater=who,value=warm --to t" in preview["command"]
    path.write_text(
        "who,sentence,warm,kind of,comment\na,x,1,no,fine\na,y,2,yes,odd\nb,x,3,no,\nb,y,1,no,hm\n", "utf-8"
    )
    preview = vantage("corpora", "preview", path, "--json").json
    assert [question["question"] for question in preview["questions"]] == ["kind of", "warm"]
    assert "--columns question --values 'warm,kind of'" in preview["command"]


def test_preview_of_what_cannot_be_read(vantage: Vantage, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    done = vantage("corpora", "preview", path)
    assert (done.code, "Problem: " in done.out) == (2, True)


def test_import_keeps_licence_source_and_language(
    vantage: Vantage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("item,rater,value\na,r,never\na,s,often\nb,r,always\n")
    words = ["--licence", "CC BY 4.0", "--source", "example.org", "--language", "en"]
    done = vantage("corpora", "import", "table", "--from", path, "--to", tmp_path / "c", *words)
    assert done.code == 0
    about = Corpus.read(tmp_path / "c").about
    assert (about.licence, about.source, about.language) == ("CC BY 4.0", "example.org", "en")
    described = vantage("corpora", "describe", tmp_path / "c")
    assert "1 never" in described.out
    assert "never < often < always" in described.out


def test_texts_alone(vantage: Vantage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("sentence,about\nHi.,Ann\nGo!,Bob\n")
    words = ["--map", "text=sentence,target=about"]
    done = vantage("corpora", "import", "texts", "--from", path, *words, "--to", tmp_path / "c")
    assert done.code == 0
    assert Corpus.read(tmp_path / "c").items.rows() == [("1", "Hi.", "Ann"), ("2", "Go!", "Bob")]
    refused = vantage("corpora", "import", "texts", "--from", path, "--to", tmp_path / "d")
    assert "no column is mapped to the text; the file has 'sentence', 'about'" in refused.err
    monkeypatch.chdir(tmp_path)
    asked = ["--instrument", "warmth-competence", "--question", "trust", "--show", "1"]
    shown = vantage("rate", path, *words, *asked)
    assert (shown.code, "Ann" in shown.out, (tmp_path / "t").exists()) == (0, True, False)
    without = vantage("rate", path, "--map", "text=sentence", *asked)
    assert "question 'trust' asks about {target}, and the items have no column 'target'" in without.err
    texts_or_corpus(path, None, None, {"text": "sentence"})
    again, corpus = texts_or_corpus(path, None, None, pairs(words[1:], "--map"))
    assert (again, corpus.items["target"].to_list()) == (Path("t"), ["Ann", "Bob"])
    assert Corpus.read("t") == corpus
    learn = vantage("train", path)
    assert "a file of texts has no judgments to learn from" in learn.err


def test_an_export_that_singles_out_people(vantage: Vantage, tmp_path: Path) -> None:
    demo_corpus().write(tmp_path / "c")
    words = ["corpora", "export", tmp_path / "c", "--as", "csv", "--to"]
    warned = vantage(*words, tmp_path / "a.csv")
    assert (warned.code, "Warning: 9 of 9 raters could be identified" in warned.err) == (0, True)
    refused = vantage(*words, tmp_path / "b.csv", "--strict")
    assert (refused.code, (tmp_path / "b.csv").exists()) == (2, False)
    assert vantage(*words, tmp_path / "c.csv", "--allow-unique").err == ""


def test_texts_become_pairs(vantage: Vantage, tmp_path: Path) -> None:
    demo_corpus().write(tmp_path / "demo")
    texts = demo_corpus().items
    done = vantage(
        "corpora", "tuples", tmp_path / "demo", "--to", tmp_path / "pairs", "--size", 2, "--each", 4, "--json"
    )
    assert done.json["items"] == 2 * len(texts)
    made = Corpus.read(tmp_path / "pairs").items
    assert made.columns == ["item", "item_1", "item_2", "text_1", "text_2"]
    known = dict(texts.select("item", "text").iter_rows())
    assert made["text_1"].to_list() == [known[name] for name in made["item_1"]]
    again = vantage("corpora", "tuples", tmp_path / "demo", "--to", tmp_path / "more", "--size", 2, "--each", 3)
    assert (again.code, "multiple of 2" in again.err) == (2, True)


def test_a_single_numbered_column_is_shown_by_its_name(vantage: Vantage, tmp_path: Path) -> None:
    rows = [(f"t{i}", f"r{j}", (i + j) % 2) for i in range(30) for j in range(5)]
    pl.DataFrame(rows, schema=["c1", "c2", "c3"], orient="row").write_csv(tmp_path / "table.csv")
    shown = vantage("corpora", "preview", tmp_path / "table.csv").out
    assert "c1" in shown
    assert "c*" not in shown


def test_sources_that_nobody_declared_are_named_and_declared_in_one_command(vantage: Vantage, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    level = rng.normal(size=12)
    given = [(post, rater, 3 + level[post // 5] + rng.normal(0, 0.4)) for post in range(60) for rater in range(4)]
    rows = [f"p{post},r{rater},{round(min(max(value, 1), 5))},t{post // 5}\n" for post, rater, value in given]
    path = written(tmp_path, "".join(["item,rater,value,thread\n", *rows]))
    folder = tmp_path / "posts"
    mapping = "item=item,rater=rater,value=value,thread=thread"
    vantage("corpora", "import", "table", "--from", path, "--map", mapping, "--to", folder)
    assert "Items of the same thread get answers alike" in vantage("corpora", "describe", folder).out
    [warning] = overview(Corpus.read(folder)).warnings
    assert "vantage corpora design CORPUS --sources thread" in warning
    assert vantage("corpora", "design", folder, "--json").json["undeclared"] == [warning]
    vantage("corpora", "design", folder, "--sources", "thread")
    assert vantage("corpora", "design", folder, "--json").json == {
        "sources": "thread",
        "groups": None,
        "undeclared": [],
    }
    assert "sources by thread" in vantage("corpora", "describe", folder).out
    assert "the items have no column 'threat'" in vantage("corpora", "design", folder, "--sources", "threat").err
