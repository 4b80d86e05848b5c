"""Options that few people need: each changes what it says it changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from tests.cli.conftest import Vantage
from vantage import Corpus, demo_corpus
from vantage.cli.options import options_of, verb
from vantage.cli.output import VerbResult


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


Hands = Annotated[
    "dict[str, object]",
    options_of("runs/options.py", "RunOptions", only="workers clarify fallbacks", flags={"workers": "--hands"}),
]


def lent(*, hands: Hands) -> VerbResult:
    """Print what was given."""
    return VerbResult(hands)


def test_options_follow_from_a_signature() -> None:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(verb(lent))
    params: list[Any] = get_command(app).params
    workers, clarify, fallbacks, *_ = params
    assert workers.opts == ["--hands"]
    assert workers.help.startswith("With ray: how many workers")
    assert (clarify.opts, clarify.secondary_opts) == (["--clarify"], ["--no-clarify"])
    assert clarify.show_default == "clarify"
    assert fallbacks.metavar == "A,B,…"
    told = CliRunner().invoke(app, ["--no-clarify", "--fallbacks", "a, b", "--json"], catch_exceptions=False)
    assert json.loads(told.stdout) == {"clarify": False, "fallbacks": ["a", "b"]}


def opened(*, closed: Annotated[list[str], lambda: closing(Door())]) -> None:
    """Knock."""


class Door(list[str]):
    """Something that has to be closed."""

    shut = 0

    def close(self) -> None:
        Door.shut += 1


def test_what_is_opened_for_a_verb_is_closed_when_it_ends() -> None:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(verb(opened))
    assert CliRunner().invoke(app, []).exit_code == 0
    assert Door.shut == 1


def _pair(low: int, *, high: int = 9) -> tuple[int, int]:
    """Two numbers.

    Args:
        low: The lower one.
        high: The higher one.
    """
    return low, high


Pair = Annotated[tuple[int, int], _pair]


def made(
    pair: Pair,
    *,
    names: Sequence[str],
    row: list[str],
    setting: Mapping[str, str],
    how: Literal["fast", "well"] = "well",
    seed: int = 0,
) -> VerbResult:
    """Make something.

    Arguments:
        low
    What is made:
        names (A,B): Its names,
            joined by commas.
        row: May be repeated.
        setting: A setting.
    How:
        how: How well.
        high seed json
    """
    return VerbResult({"pair": pair, "names": names, "row": row, "setting": setting, "how": how, "seed": seed}, "done")


def test_a_verb_follows_from_a_function() -> None:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(verb(made))
    words = ["3", "--names", "a, b", "--row", "x=1", "--row", "y=2", "--setting", "k=v,l=w", "--json"]
    told = CliRunner().invoke(app, words, catch_exceptions=False)
    assert json.loads(told.stdout) == {
        "pair": [3, 9],
        "names": ["a", "b"],
        "row": ["x=1", "y=2"],
        "setting": {"k": "v", "l": "w"},
        "how": "well",
        "seed": 0,
    }
    assert CliRunner().invoke(app, ["3"]).stdout == "done\n"
    assert "--how cannot be 'wel'; did you mean 'well'?" in str(
        CliRunner().invoke(app, ["3", "--how", "wel"]).exception
    )
    printed = CliRunner().invoke(app, ["--help"], terminal_width=200).stdout
    for one in ("Make something.", "--names A,B", "Its names, joined by commas.", "--how fast|well", "Random seed."):
        assert one in printed
    assert "What is made" not in verb(made).__doc__  # type: ignore[operator]
    assert verb(made).help_groups["seed"] == "How"  # type: ignore[attr-defined]
