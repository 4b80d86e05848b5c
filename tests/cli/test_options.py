"""Options that few people need: each changes what it says it changes."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Vantage
from vantage import Corpus, demo_corpus
from vantage.cli.options import options_of


@pytest.mark.parametrize(("mark", "written"), [("|", "|"), ("tab", "\t"), (";", ";")])
def test_a_separator_may_be_named(vantage: Vantage, tmp_path: Path, mark: str, written: str) -> None:
    rows = ["item,rater,value", "a,x,1", "a,y,2", "b,x,2"]
    (path := tmp_path / "t.csv").write_text("\n".join(row.replace(",", written) for row in rows), "utf-8")
    assert vantage("corpora", "import", "table", "--from", path, "--separator", mark, "--to", tmp_path / "c").code == 0
    assert Corpus.read(tmp_path / "c").sizes == {"items": 2, "raters": 2, "judgments": 3}


def test_words_have_the_order_that_is_given(vantage: Vantage, tmp_path: Path) -> None:
    (path := tmp_path / "t.csv").write_text("item,rater,value\na,x,meh\na,y,wow\nb,x,ugh\n", "utf-8")
    words = ("corpora", "import", "table", "--from", path, "--order", "ugh,meh,wow", "--to", tmp_path / "c")
    assert vantage(*words).code == 0
    assert Corpus.read(tmp_path / "c").questions[0].scale.describe() == "ugh, meh, wow (ordinal)"


def test_tuples_may_be_of_another_field(vantage: Vantage, tmp_path: Path) -> None:
    items = pl.DataFrame({"item": [f"i{n}" for n in range(9)], "headline": [f"News {n}" for n in range(9)]})
    Corpus.of_items(items, ()).write(tmp_path / "c")
    words = ("--size", 2, "--each", 4, "--field", "headline", "--to", tmp_path / "pairs")
    assert vantage("corpora", "tuples", tmp_path / "c", *words).code == 0
    assert Corpus.read(tmp_path / "pairs").items["text_1"][0].startswith("News")
    wrong = vantage("corpora", "tuples", tmp_path / "c", "--field", "body", "--to", tmp_path / "other")
    assert "no column 'body'" in wrong.err


def test_a_split_has_the_options_of_its_function(vantage: Vantage, tmp_path: Path) -> None:
    demo_corpus().write(tmp_path / "c")
    said = {"--question": "trust", "--users": "unnamed", "--adaptation": "test", "--test-users": 0.3}
    said |= {"--stratify": "gender", "--adaptation-items": 2}
    words = [word for pair in said.items() for word in pair]
    assert vantage("perspective", "split", tmp_path / "c", *words, "--to", tmp_path / "split").code == 0
    options = json.loads((tmp_path / "split" / "split.json").read_text("utf-8"))["options"]
    wanted = {"question": "trust", "users": "unnamed", "adaptation": "test", "test_users": 0.3, "stratify": "gender"}
    assert options == {**wanted, "adaptation_items": 2}
    assert "'loud'" in vantage("perspective", "split", tmp_path / "c", "--users", "loud", "--to", tmp_path / "b").err


def test_a_condition_is_put_to_a_model(vantage: Vantage, demo: Path) -> None:
    done = vantage("rate", demo, "--question", "trust", "--condition", "static", "--show", 1)
    assert done.code == 0
    assert "Nothing was sent." in done.out


def test_options_follow_from_a_signature() -> None:
    given = options_of("runs/options.py", "RunOptions", only="workers clarify fallbacks", flags={"workers": "--hands"})
    (workers, clarify, fallbacks) = (one.__metadata__[0] for one in given.__annotations__.values())
    assert workers.default == "--hands"
    assert workers.help.startswith("With ray: how many workers")
    assert clarify.default == "--clarify/--no-clarify"
    assert clarify.show_default == "clarify"
    assert fallbacks.metavar == "A,B,…"
    assert given(workers=None, clarify=False, fallbacks="a, b") == {"clarify": False, "fallbacks": ["a", "b"]}
