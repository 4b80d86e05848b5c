"""Scales of traits: inferred from values, declared, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import vantage
from tests.cli.run import run
from vantage import Corpus, InputError, demo_corpus
from vantage.corpora.orders import known_order
from vantage.corpora.traits import TraitScale, inferred_scale_of


@pytest.mark.parametrize(
    ("values", "level", "order"),
    [
        ([23, 44, 31], "numeric", ()),
        (["23", "44", "31.5"], "numeric", ()),
        ([1, 2, 1, 2], "nominal", ()),
        ([True, False], "nominal", ()),
        (list(range(1, 30)), "nominal", ()),
        ([90210345, 90210399, 90219999, 90213333, 90215555, 90218888], "nominal", ()),
        (["01234", "99887", "04711"], "nominal", ()),
        (["f", "m", "d"], "nominal", ()),
        (["25–34", "18–24", "65+", "35–64"], "ordered", ("18–24", "25–34", "35–64", "65+")),
        (["über 65", "unter 18", "18 bis 65"], "ordered", ("unter 18", "18 bis 65", "über 65")),
        (["$20,000 - $39,999", "less than $20,000", "$40,000 or more"], "ordered",
         ("less than $20,000", "$20,000 - $39,999", "$40,000 or more")),
        (["18岁以下", "65岁以上", "18~24岁", "25~64岁"], "ordered", ("18岁以下", "18~24岁", "25~64岁", "65岁以上")),
        (["3 = high", "1 = low", "2 = middle"], "ordered", ("1 = low", "2 = middle", "3 = high")),
        (["Bachelor's degree", "High school", "PhD", "Prefer not to say"], "ordered",
         ("High school", "Bachelor's degree", "PhD")),
        (["agree", "strongly agree", "neutral", "disagree"], "ordered",
         ("disagree", "neutral", "agree", "strongly agree")),
        (["souvent", "jamais", "parfois"], "ordered", ("jamais", "parfois", "souvent")),
        (["2024-01-02", "2024-02-03", "2024-03-05"], "nominal", ()),
        (["10-20", "15-30", "20-40"], "nominal", ()),
        (["Berlin", "Paris", "Rome"], "nominal", ()),
        ([None, None], "nominal", ()),
        ([["a"], ["b"]], "nominal", ()),
    ],
)  # fmt: skip
def test_values_tell_their_scale(values: list[Any], level: str, order: tuple[str, ...]) -> None:
    scale = inferred_scale_of(pl.Series(values))
    assert (scale.level, scale.order) == (level, order)


@pytest.mark.parametrize(
    "words",
    [
        ["★", "★★", "★★★"],
        ["I", "II", "III", "IV"],
        ["0 %", "20 %", "60 %"],
        ["stimme nicht zu", "teils-teils", "stimme zu"],
        ["en desacuerdo", "de acuerdo", "muy de acuerdo"],
        ["不同意", "同意", "非常同意"],
    ],
)
def test_signs_and_words_in_order(words: list[str]) -> None:
    assert known_order(sorted(words, reverse=True)) == words


def test_a_declared_scale_survives_every_round_trip(tmp_path: Path) -> None:
    corpus = demo_corpus().with_trait_scales({"age": "ordered"}, gender=["woman", "man"])
    wanted = {"age": TraitScale("ordered"), "gender": TraitScale("ordered", ("woman", "man"))}
    assert corpus.about.traits == wanted
    again = Corpus.read(corpus.write(tmp_path / "c"))
    assert again == corpus
    for made in (again.filter(question="trust"), again.people(), again.merge(), again.included()):
        assert made.about.traits == wanted
        assert made.trait_scales["gender"].describe() == "ordered (woman < man)"
    assert again.trait_scales["age"].order[0] == str(corpus.raters["age"].min())
    plain = pl.DataFrame({"rater": corpus.raters["rater"], "wave": 1})
    assert again.join_traits(plain).trait_scales["wave"].level == "nominal"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"agee": "ordered"}, "the raters have no trait 'agee'; did you mean 'age'?"),
        ({"age": "ordinal"}, "a trait cannot be 'ordinal'; use nominal, ordered, numeric."),
        ({"gender": "numeric"}, "the values of 'gender' are not all numbers; use ordered or nominal."),
        ({"gender": "ordered"}, "the order of the values of 'gender' is not known"),
        ({"gender": ["woman", "men"]}, "no rater has gender 'men'; did you mean 'man'?"),
    ],
)
def test_a_scale_that_does_not_fit_is_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        demo_corpus().with_trait_scales(given)
    assert sentence in str(caught.value)


def test_import_and_describe_have_scales(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ok(*words: object) -> str:
        done = run(capsys, monkeypatch, *words)
        assert done.code == 0, done.err
        return done.out

    table = tmp_path / "t.csv"
    table.write_text("item,rater,value,band,edu\na,x,1,18-24,low\na,y,2,65+,top\nb,x,3,18-24,low\nb,y,1,65+,top\n")
    folder = tmp_path / "c"
    ok(
        "corpora",
        "import",
        "table",
        "--from",
        table,
        "--traits",
        "band",
        "--trait",
        "edu:ordered:low,top",
        "--to",
        folder,
    )
    assert Corpus.read(folder).about.traits == {"edu": TraitScale("ordered", ("low", "top"))}
    shown = ok("corpora", "describe", folder)
    assert "ordered" in shown
    ok("corpora", "traits", folder, "--trait", "edu:nominal")
    assert Corpus.read(folder).trait_scales["edu"].level == "nominal"
    made = vantage.read(table, "table", traits={"band": None, "edu": ["low", "top"]})
    assert made.trait_scales["edu"].order == ("low", "top")
