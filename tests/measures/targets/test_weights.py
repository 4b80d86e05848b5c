"""Weights of raters: raking, and measures in which raters count by their weights, against R's survey."""

from __future__ import annotations

import json
import re
import shlex
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import vantage
from tests.cli.run import run
from tests.corpora.readers.test_dices import row_350, write
from tests.measures.targets.designs import sample
from vantage import Corpus, Instrument, Scale
from vantage.corpora import Raking, Target
from vantage.errors import InputError
from vantage.measures import (
    alpha,
    difference,
    entropy,
    fleiss,
    mean,
    pairwise,
    prevalence,
    soft_labels,
    unanimity,
)
from vantage.measures.intervals import OVER, Bootstrap
from vantage.measures.kernel import Statistic, spread_of
from vantage.measures.ratings import RaterWeights
from vantage.measures.tables import counted_groups

R: dict[str, Any] = json.loads((Path(__file__).parent / "references.json").read_text())
GENDER = {"f": 0.52, "m": 0.48}
AGE = {"young": 0.3, "middle": 0.4, "old": 0.3}
TARGET = {"gender": GENDER, "age": AGE}
JOINT = {
    ("gender", "age"): {
        ("f", "young"): 0.16, ("m", "young"): 0.14, ("f", "middle"): 0.21,
        ("m", "middle"): 0.19, ("f", "old"): 0.15, ("m", "old"): 0.15,
    }
}  # fmt: skip


def corpus_of(table: pl.DataFrame) -> Corpus:
    """A table as a corpus whose raters have traits."""
    raters = table.select("rater", "gender", "age", "base").unique("rater", maintain_order=True)
    return Corpus(
        table.select("item").unique(maintain_order=True),
        raters,
        table.select("item", "rater", "value", question=pl.lit("rude")),
        Instrument.of_questions("q", "Q", {"rude": Scale.labels("no", "yes")}),
    )


def weighted(target: Any = TARGET, **options: Any) -> Corpus:
    return corpus_of(sample()).with_weights("census", target, **options)


def error_of(corpus: Any, column: str, by: tuple[str, ...] = (), key: tuple[Any, ...] = ()) -> float:
    """The standard error of the mean over raters."""
    weights = RaterWeights.of(corpus, column)
    how = Bootstrap(ci="raters", over=OVER, weights=weights)
    group = next(g for g, _ in counted_groups(corpus, by, how) if tuple(g.key.values()) == key)
    share = Statistic(lambda table: table.table @ table.values / table.size)
    assert group.answers is not None
    spread = spread_of(share, group.answers, "raters")
    assert spread is not None
    return float(spread.variance**0.5)


@pytest.mark.parametrize(
    ("name", "target", "options"),
    [
        ("raked", TARGET, {}),
        ("from_base", TARGET, {"base": "base"}),
        ("one_margin", {"gender": GENDER}, {}),
        ("joint", JOINT, {}),
    ],
)
def test_weights_means_and_errors_are_those_of_survey(name: str, target: Any, options: dict[str, Any]) -> None:
    corpus = weighted(target, **options)
    ordered = corpus.raters.sort("rater")["census"].to_numpy()
    assert ordered / ordered.mean() == pytest.approx(R[name]["weights"], rel=1e-6)
    assert prevalence(corpus, weights="census", ci="none")["estimate"][0] == pytest.approx(R[name]["mean"], rel=1e-8)
    # Replicates without each rater are raked again, as in R's rake and postStratify of JK1 replicates.
    assert error_of(corpus, "census") == pytest.approx(R[name]["se"], rel=1e-5)


def test_given_weights_are_those_of_survey() -> None:
    table = sample()
    assert mean(table, weights="base", ci="none")["estimate"][0] == pytest.approx(R["fixed"]["mean"], rel=1e-9)
    assert error_of(table, "base") == pytest.approx(R["fixed"]["jackknife"], rel=1e-6)
    assert error_of(table, "base") == pytest.approx(R["fixed"]["se"], rel=0.01)  # by linearisation
    one = table.filter(item="i3")
    assert prevalence(one, weights="base")["estimate"][0] == pytest.approx(R["share"]["mean"], rel=1e-9)
    assert error_of(one, "base") == pytest.approx(R["share"]["jackknife"], rel=1e-6)


def test_a_group_of_weighted_raters_is_that_of_survey() -> None:
    corpus = weighted()
    women = prevalence(corpus, by="gender", weights="census", ci="none").filter(gender="f")["estimate"][0]
    assert women == pytest.approx(R["group"]["mean"], rel=1e-8)
    assert error_of(corpus, "census", ("gender",), ("f",)) == pytest.approx(R["group"]["se"], rel=1e-5)


def test_people_without_a_trait_keep_their_share_and_are_said() -> None:
    corpus = corpus_of(sample(seed=2, missing=True)).with_weights("census", TARGET)
    ordered = corpus.raters.sort("rater")["census"].to_numpy()
    assert ordered == pytest.approx(R["missing"]["weights"], rel=1e-6)
    record = corpus.about.weights["census"]
    assert record.notes == ("9 raters have no age; raters outside the target keep their share",)
    assert prevalence(corpus, weights="census", ci="none")["estimate"][0] == pytest.approx(
        R["missing"]["mean"], rel=1e-8
    )


def test_bounds_are_kept_and_margins_met_where_they_can_be() -> None:
    raters = sample().unique("rater", maintain_order=True)
    raking = Raking.of(raters, Target.of(TARGET), (0.3, 1.9))
    weight = raking.weights(np.ones(60))
    assert weight.min() >= 0.3
    assert weight.max() == pytest.approx(1.9)
    assert raking.missed(weight) == []
    for code, share in zip(raking.codes, raking.shares, strict=True):
        assert np.bincount(code, weight, len(share)) / 60 == pytest.approx(share, abs=1e-8)
    # Between the bounds they are a product of one factor per margin.
    inside = {(a, b): w for a, b, w in zip(*raking.codes, weight, strict=True) if 0.301 < w < 1.899}
    assert inside[0, 0] / inside[1, 0] > 1
    tight = weighted(bounds=(0.8, 1.3)).about.weights["census"]
    assert any("since the weights keep their bounds" in note for note in tight.notes)


def test_numbers_are_put_into_the_bands_of_the_target() -> None:
    ages = {"young": 22, "middle": 41, "old": 70}
    years = sample().with_columns(pl.col("age").replace_strict(ages, return_dtype=pl.Int64))
    bands = {"18-34": 0.3, "35–64": 0.4, "65+": 0.3}
    corpus = corpus_of(years).with_weights("census", {"gender": GENDER, "age": bands})
    assert corpus.raters["census"].to_list() == pytest.approx(weighted().raters["census"].to_list())
    assert corpus.raters["age"].dtype == pl.Int64
    assert error_of(corpus, "census") == pytest.approx(R["raked"]["se"], rel=1e-5)
    from vantage.measures import whose_label

    assert "age: 65+" in whose_label(corpus, target="census", permutations=9)["target"].to_list()


def test_a_value_that_no_rater_has_is_said() -> None:
    target = {"gender": {"f": 0.5, "m": 0.45, "x": 0.05}}
    (note,) = weighted(target).about.weights["census"].notes
    assert note == "no rater has gender 'x' (5.0% of the target): the weights speak for the other 95.0%"


def test_pairs_of_raters_count_by_the_product_of_their_weights() -> None:
    table = sample(raters=12, items=3)
    expected = []
    for item in table.partition_by("item"):
        pairs = list(combinations(item.select("value", "base").rows(), 2))
        weight = np.array([a[1] * b[1] for a, b in pairs])
        expected.append(np.average([a[0] == b[0] for a, b in pairs], weights=weight))
    assert pairwise(table, weights="base")["estimate"][0] == pytest.approx(np.mean(expected), rel=1e-12)
    apart = difference(table, weights="base", ci="none")["estimate"][0]
    assert apart == pytest.approx(1 - np.mean(expected), rel=1e-12)


def test_equal_weights_change_no_estimate() -> None:
    table = sample(raters=15).with_columns(w=pl.lit(7.0), value=pl.col("value") + (pl.col("base") > 1))
    for measure in (mean, pairwise, difference, alpha, entropy):
        options: Any = {"ci": "raters"} | ({"level": "interval"} if measure is alpha else {})
        plain, same = measure(table, **options), measure(table, weights="w", **options)
        assert plain["estimate"].to_list() == pytest.approx(same["estimate"].to_list(), rel=1e-10)
        if measure in (mean, alpha, pairwise, difference):
            assert plain["high"].to_list() == pytest.approx(same["high"].to_list(), rel=1e-6)
    ordinal = [alpha(table, level="ordinal", ci="both", weights=w)["low"][0] for w in (None, "w")]
    assert ordinal[0] == pytest.approx(ordinal[1], rel=1e-8)


def test_a_weight_of_two_is_a_rater_who_is_there_twice_for_shares() -> None:
    table = sample(raters=9, items=4).with_columns(w=pl.when(pl.col("rater") < "r003").then(2.0).otherwise(1.0))
    twice = pl.concat([table, table.filter(w=2.0).with_columns(pl.col("rater") + "b")])
    one, two = (t.group_by("item").agg(pl.col("value").mean()) for t in (twice, twice))
    assert soft_labels(table, weights="w").filter(code=1.0).sort("item")["share"].to_list() == pytest.approx(
        one.sort("item")["value"].to_list()
    )
    assert mean(table, weights="w", ci="none")["estimate"][0] == pytest.approx(two["value"].mean())
    assert entropy(table, weights="w", ci="none")["estimate"][0] == pytest.approx(
        entropy(twice, ci="none")["estimate"][0]
    )


def test_unequal_weights_make_intervals_longer() -> None:
    corpus = weighted({"gender": {"f": 0.95, "m": 0.05}})
    assert corpus.about.weights["census"].design_effect > 2
    assert "uneven" in corpus.about.weights["census"].notes[-1]
    plain, far = (prevalence(corpus, ci="raters", weights=w) for w in (None, "census"))
    assert (far["high"] - far["low"])[0] > 1.2 * (plain["high"] - plain["low"])[0]


def test_weights_are_kept_with_the_corpus_and_are_no_trait(tmp_path: Path) -> None:
    corpus = weighted(bounds=(0.2, 4.0), base="base")
    corpus.write(tmp_path / "c")
    again = Corpus.read(tmp_path / "c")
    assert again.about.weights == corpus.about.weights
    assert again.traits == ["gender", "age", "base"]
    assert prevalence(again, weights="census").equals(prevalence(corpus, weights="census"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("trait,value,share\ngender,f,0.5\ngender,m,0.2\n", "the shares of gender add up to 0.7"),
        ("trait,value,share\ngender,f,0.5\ngender,f,0.5\n", "'f' is there twice"),
        ("trait,value,share\ngender,f,half\n", "row 2, column 'share': the cell is empty or not a number"),
        ("trait,value,share\ngender,,0.5\n", "row 2, column 'value': the cell is empty or not a number"),
        ("gender,age\nf,old\n", "the columns are gender, age"),
        ("trait,value,share\nsex,f,0.5\nsex,m,0.5\n", "the raters have no trait 'sex'"),
        ("trait,value,share\ngender,woman,1\n", "no rater has a gender of the target"),
    ],
)
def test_a_target_that_cannot_be_read_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=sentence):
        weighted(tmp_path / "t.csv")


def test_a_joint_target_and_numbers_of_people_are_read(tmp_path: Path) -> None:
    rows = [f"{g},{a},{round(share * 1e6)}" for (g, a), share in JOINT["gender", "age"].items()]
    (tmp_path / "t.csv").write_text("gender,age,share\n" + "\n".join(rows))
    again = weighted(tmp_path / "t.csv").raters["census"].to_numpy()
    assert again == pytest.approx(weighted(JOINT).raters["census"].to_numpy(), rel=1e-5)


def test_a_target_that_a_spreadsheet_saved_is_read(tmp_path: Path) -> None:
    text = "trait;value;share\r\ngender;f;52 %\r\ngender;m;48 %\r\n;;\r\n"
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert Target.read(tmp_path / "t.csv") == Target.of({"gender": GENDER})
    with pytest.raises(InputError, match="there is no such file"):
        Target.read(tmp_path / "u.csv")


def test_what_has_no_meaning_with_weights_refuses() -> None:
    corpus = weighted()
    with pytest.raises(InputError, match="'unanimity' takes no weights of raters"):
        unanimity(corpus, weights="census")  # type: ignore[call-arg]
    with pytest.raises(InputError, match="'fleiss' has no option 'weights'; it is now 'agreement_weights'"):
        fleiss(corpus, weights="linear")  # type: ignore[call-arg]
    with pytest.raises(InputError, match="cannot be combined with between"):
        prevalence(corpus, weights="census", between="gender")
    with pytest.raises(InputError, match="cannot use weights"):
        prevalence(corpus, weights="census", powered_by="gpt")
    with pytest.raises(InputError, match="no weights 'cencus'; did you mean 'census'"):
        prevalence(corpus, weights="cencus")
    with pytest.raises(InputError, match="weights cannot be called 'gender'"):
        corpus.with_weights("gender", TARGET)
    bad = sample(raters=3).with_columns(w=pl.when(pl.col("rater") == "r001").then(-1.0).otherwise(1.0))
    with pytest.raises(InputError, match="rater 'r001' has the weight -1"):
        mean(bad, weights="w")


def test_models_have_no_weights_and_are_left_out() -> None:
    corpus = weighted()
    said = corpus.judgments.filter(rater="r000").with_columns(rater=pl.lit("bot"))
    bot = pl.DataFrame({"rater": ["bot"], "kind": ["model"]})
    both = corpus.add(said, bot)
    assert (
        prevalence(both, weights="census")["estimate"].to_list()
        == prevalence(corpus, weights="census")["estimate"].to_list()
    )
    with pytest.raises(InputError, match="rater 'bot' has no weight"):
        prevalence(both, weights="census", kinds="all")


def test_the_weights_of_some_of_the_raters_are_taken_as_they_are() -> None:
    part = weighted().filter(pl.col("age") == "old")
    assert RaterWeights.of(part, "census").raking is None
    assert prevalence(part, weights="census")["estimate"][0] is not None


def test_a_million_raters_are_raked_in_time() -> None:
    import time

    rng = np.random.default_rng(0)
    raters = pl.DataFrame({"gender": rng.choice([*"fm"], 10**6), "age": rng.choice(["young", "middle", "old"], 10**6)})
    start = time.process_time()
    weight = Raking.of(raters, Target.of(TARGET)).weights(np.ones(10**6))
    assert time.process_time() - start < 2
    women = (raters["gender"] == "f").to_numpy()
    assert weight[women].sum() / weight.sum() == pytest.approx(GENDER["f"])


def test_the_door_on_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from vantage.cli.app import app

    corpus_of(sample()).write(tmp_path / "c")
    (tmp_path / "t.csv").write_text("trait,value,share\ngender,f,52\ngender,m,48\n")
    run = CliRunner().invoke
    made = run(app, ["corpora", "weight", str(tmp_path / "c"), "--to", str(tmp_path / "t.csv"), "--name", "census"])
    assert made.exit_code == 0, made.output
    assert "The weights stand for gender (f 52 %, m 48 %)." in made.output
    named = ["corpora", "weight", str(tmp_path / "c"), "--to", str(tmp_path / "t.csv"), "--name", "near", "--bounds"]
    assert run(app, [*named, "0.9,1.5"]).exit_code == 0
    assert vantage.Corpus.read(tmp_path / "c").about.weights["near"].bounds == (0.9, 1.5)
    for wrong, said in (("0.5", "the bounds 0.5 do not contain 1"), ("low,3", "takes a number, not 'low'")):
        refused = run(app, [*named, wrong])
        assert isinstance(refused.exception, InputError | SystemExit), refused
        assert said in str(refused.exception) + refused.output
    shown = run(app, ["measure", "prevalence", str(tmp_path / "c"), "--weights", "census", "--json"])
    assert json.loads(shown.stdout)[0]["estimate"] == pytest.approx(R["one_margin"]["mean"], rel=1e-8)
    assert vantage.Corpus.read(tmp_path / "c").about.weights["census"].raters == 60


@pytest.mark.slow
def test_the_example_of_dices_in_the_docs(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """The commands and margins of docs/population.md, on invented answers in the columns of the release."""
    page = (Path(__file__).parents[3] / "docs" / "population.md").read_text("utf-8")
    margins = next(block for block in re.findall(r"```text\n(.*?)```", page, re.S) if "age_group" in block)
    lines = next(block for block in re.findall(r"```console\n(.*?)```", page, re.S) if "import dices" in block)
    races = [row["value"] for row in pl.read_csv(margins.encode()).filter(trait="race").iter_rows(named=True)]
    rng = np.random.default_rng(0)
    rows = [
        row_350(
            n, item, rater_race=races[n % 5], rater_age=["gen z", "millenial", "gen x+"][n * 7 % 3],
            Q_overall=["No", "Unsure", "Yes"][rng.integers(3)],
        )
        for n in range(30) for item in range(6)
    ]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "350", rows)
    Path("adults.csv").write_text(margins, encoding="utf-8")
    said = {}
    for line in lines.splitlines()[:-1]:
        done = run(capsys, monkeypatch, *shlex.split(line)[1:])
        assert done.code == 0, (line, done.err)
        said[shlex.split(line)[2]] = done.out
    assert "The weights stand for gender (Man 49 %, Woman 51 %); age_group (gen z 20 %," in said["weight"]
    assert "no rater" not in said["weight"]
    assert "adults" in said["whose-label"]
