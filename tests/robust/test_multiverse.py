"""Conclusions in all specifications, on corpora whose effects are planted."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from time import process_time

import polars as pl
import pytest

from tests.cli.conftest import Vantage
from tests.robust.planted import planted
from vantage import Corpus, InputError
from vantage.measures import alpha, find
from vantage.report import Report, Result, Section, made_at_once
from vantage.report.ledger import settle
from vantage.report.views import present
from vantage.robust import Alternative, Conclusion, Universe, default_universe, robust, sentences, with_robust
from vantage.robust.universe import ONE_AT_A_TIME, SAME_COLUMN

DIFFERENCE = {"between": "era", "values": ["new", "old"]}


def test_an_effect_that_all_choices_show() -> None:
    corpus = planted(items=60, people=3, effect=1.2, models={"m0": 0.0, "m1": 0.1})
    made = robust(corpus, Conclusion.of("mean", DIFFERENCE))
    assert made.claimed["verdict"] == "above"
    assert made.same == 1.0
    assert made.overturned.is_empty()
    assert made.joint is not None
    assert made.joint.p < 0.05
    assert set(made.decisions) >= {"whose", "design", "left out"}


def test_an_effect_that_one_prompt_makes() -> None:
    corpus = planted(people=0, items=60, prompts={"plain": 0.0, "strict": 0.0, "loaded": 2.0}, seed=3)
    claim = Conclusion.of("mean", DIFFERENCE, {"condition": ["loaded"]})
    universe = Universe().varied(claim, corpus, "condition")
    assert [*universe.choices["condition"]] == ["loaded", "plain", "strict"]
    universe = universe.varied(claim, corpus, "ci=auto,items")
    made = robust(corpus, claim, universe)
    assert made.claimed["verdict"] == "above"
    assert made.same == pytest.approx(1 / 3)
    assert made.overturned["changes"].unique().to_list() == [1]
    assert made.changed(made.overturned.row(0, named=True)).startswith("condition: ")
    top = made.importance.row(0, named=True)
    assert top["decision"] == "condition"
    assert top["share"] > 0.9
    assert top["share_low"] > 0.3
    assert made.importance.filter(decision="ci")["share"].item() == pytest.approx(0.0, abs=1e-9)


def test_every_specification_is_reproduced_by_its_command(vantage: Vantage, tmp_path: Path) -> None:
    corpus = planted(items=60, people=8, effect=0.5, models={"m0": 0.2})
    corpus.write(tmp_path / "corpus")
    made = robust(corpus, Conclusion.of("alpha", {"level": "ordinal"}, reference=0.3), folder=str(tmp_path / "corpus"))
    assert len(made.specifications) > 10
    for row in made.specifications.sample(5, seed=1).iter_rows(named=True):
        done = vantage(*shlex.split(row["command"])[1:], "--json")
        (again,) = done.json
        assert again["estimate"] == pytest.approx(row["estimate"])
        assert again["low"] == pytest.approx(row["low"])


@pytest.mark.slow
@pytest.mark.parametrize("between", ["era", "gender"])
def test_differences_of_groups_in_a_thousand_specifications_take_less_than_a_minute(between: str) -> None:
    corpus = planted(items=840, people=60, effect=0.2)
    raters = corpus.raters.with_columns(gender=pl.Series(["f", "m"] * 30), age=pl.Series(list("aabbcc") * 10))
    items = corpus.items.with_columns(site=pl.Series([f"s{n % 5}" for n in range(840)]))
    corpus = Corpus(items, raters, corpus.judgments, corpus.instruments)
    claim = Conclusion.of("mean", {"between": between})
    universe = Universe()
    for text in ("site", "age", "ci=auto,items"):
        universe = universe.varied(claim, corpus, text)
    begin = process_time()
    made = robust(corpus, claim, universe)
    # 60 s of wall time for 1,000 on two cores are 120 s of processor time.
    assert process_time() - begin < 0.12 * len(made.specifications)
    assert len(made.specifications) > 40


def test_what_does_not_go_together_is_excluded_and_counted() -> None:
    corpus = planted(items=60, people=20, models={"m0": 0.0})
    universe = default_universe(Conclusion.of("alpha"), corpus)
    kept, excluded = universe.specifications()
    assert set(excluded) == {SAME_COLUMN, ONE_AT_A_TIME}
    assert len(kept) + sum(excluded.values()) == universe.size
    assert kept[0].choices == tuple(next(iter(one)) for one in universe.choices.values())
    for one in kept:
        assert not {"rater", "rater!"} <= set(one.where)


def test_a_large_universe_is_sampled_with_all_single_changes() -> None:
    for number in (5, 9):
        choices = {
            f"d{n}": {f"a{m}": Alternative(options={"seed": 10 * n + m}) for m in range(5)} for n in range(number)
        }
        kept, _ = Universe(choices=choices).specifications(most=60)
        assert len(kept) == 60
        assert sum(one.changes == 1 for one in kept) >= 4 * number


def test_a_universe_is_read_from_a_file_and_its_rules_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "universe.yaml"
    file.write_text(
        "choices:\n  whose:\n    people:\n    bot: {where: {rater: m0}}\n  level:\n    ordinal:\n"
        "    interval: {options: {level: interval}}\nexclude:\n"
        "  - {when: {whose: bot, level: interval}, because: one rater has no level}\n",
        encoding="utf-8",
    )
    universe = Universe.read(file)
    kept, excluded = universe.specifications()
    assert [one.choices for one in kept] == [("people", "ordinal"), ("people", "interval"), ("bot", "ordinal")]
    assert excluded == {"one rater has no level": 1}
    assert Universe.model_validate(universe.model_dump(exclude_defaults=True)) == universe
    file.write_text("choices: {whose: {people: {wher: {rater: m0}}}}\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 1"):
        Universe.read(file)
    for when, said in (("who: a", "did you mean 'whose'"), ("whose: b", "choice 'whose' has no alternative 'b'")):
        file.write_text(f"choices: {{whose: {{a: }}}}\nexclude: [{{when: {{{when}}}, because: x}}]\n", encoding="utf-8")
        with pytest.raises(InputError, match=said):
            Universe.read(file)


def test_specifications_that_the_measure_refuses_are_counted() -> None:
    corpus = planted(items=60)
    how = {"mean": Alternative(), "nobody": Alternative(where={"rater": ["nobody"]})}
    made = robust(corpus, Conclusion.of("mean", reference=4.0), Universe(choices={"aggregation": how}))
    assert len(made.specifications) == 1
    assert made.rules.row(0)[0] == "there are no judgments"


def test_claims_that_are_no_claims_are_refused() -> None:
    corpus = planted(items=60)
    with pytest.raises(InputError, match="has no value to compare with; pass one"):
        Conclusion.of("mean")
    with pytest.raises(InputError, match="has no option 'betwen'"):
        Conclusion.of("mean", {"betwen": "era"})
    with pytest.raises(InputError, match="about 2 rows, not one"):
        robust(corpus, Conclusion.of("mean", {"by": ["era"]}, reference=4.0))
    with pytest.raises(InputError, match="the corpus has no column 'eraa'; did you mean 'era'"):
        robust(corpus, Conclusion.of("mean", {"between": "eraa"}))
    with pytest.raises(InputError, match="has no column 'group'"):
        robust(corpus, Conclusion.of("mean", row={"group": "x"}, reference=4.0))


def reported(corpus: Corpus) -> Report:
    """A report of one measure, with its ledger."""
    shown = present(alpha(corpus, by="question", kinds="all"), find("alpha").view, name="alpha", by=["question"])
    ledger = [claim for one in settle([one.claims for one in shown.statements]) for claim in one]
    result = Result([Section("Agreement", (), shown.parts)], ledger=ledger)
    return Report(made_at_once("corpus", "Agreement", corpus), result)


def test_a_row_of_a_ledger_is_a_claim(tmp_path: Path) -> None:
    corpus = planted(items=60, people=8, effect=0.5)
    reported(corpus).write(tmp_path / "report")
    claim = Conclusion.of_ledger(Report.read(tmp_path / "report"), 1)
    assert (claim.measure, claim.where) == ("alpha", {"question": ["trust"]})
    level = {"ordinal": Alternative(), "interval": Alternative(options={"level": "interval"})}
    made = robust(corpus, claim, Universe(choices={"level": level}))
    assert made.claimed["estimate"] == pytest.approx(claim.said)
    row = Report.read(tmp_path / "report").result.ledger[0]
    assert [made.claimed[name] for name in ("low", "high", "p", "verdict")] == [row.low, row.high, row.p, row.verdict]
    with pytest.raises(InputError, match="the ledger has 1 rows, not 7"):
        Conclusion.of_ledger(Report.read(tmp_path / "report"), 7)


def test_a_claim_about_people_is_about_people_in_a_corpus_with_models(vantage: Vantage, tmp_path: Path) -> None:
    corpus = planted(items=60, people=4, effect=0.5, models={"m0": 0.0})
    reported(corpus.people()).write(tmp_path / "report")
    claim = Conclusion.of_ledger(Report.read(tmp_path / "report"), 1, corpus)
    level = {"ordinal": Alternative(), "interval": Alternative(options={"level": "interval"})}
    made = robust(corpus, claim, Universe(choices={"level": level}))
    assert made.claimed["estimate"] == pytest.approx(claim.said)
    assert made.claimed["raters"] == 4
    alone = robust(corpus, claim, Universe(choices={"whose": default_universe(claim, corpus).choices["whose"]}))
    assert alone.rules["rule"].item().startswith("there is no estimate: ")
    assert alone.overturned.is_empty()
    corpus.write(tmp_path / "corpus")
    words = ("robust", f"{tmp_path / 'report'}#1", tmp_path / "corpus", "--vary", "level=ordinal,interval", "--json")
    assert not any("other judgments" in line for line in vantage(*words).json["sentences"])


def test_a_report_has_one_curve_for_each_research_question() -> None:
    corpus = planted(items=60, people=4, effect=0.5)
    report = reported(corpus)
    twice = with_robust(with_robust(report, corpus), corpus)
    assert [one.name for one in twice.result.figures if one.chart == "specifications"] == ["robust-1-curve"]
    assert "has the same verdict in" in twice.result.sections[-1].findings[0].text
    ledger = [replace(claim, table="gone") for claim in report.result.ledger]
    without = with_robust(replace(report, result=replace(report.result, ledger=ledger)), corpus)
    assert without.result.sections[-1].title == "Claims without a specification curve"
    assert "not a comparison made by a measure" in without.result.sections[-1].text[0]


def test_ways_of_reading_are_those_that_the_corpus_has() -> None:
    corpus = planted(items=60, people=2, models={"m0": 0.0})
    ways = ["json:number", "json:fraction", "line:number", "cut:number", "clarified:whole:number", "unparsed"]
    of_model = [ways[n % 2 if n % 10 < 6 else n % 4 + 2] for n in range(60)]
    rules = pl.Series("rule", [*[None] * 120, *of_model], pl.String)
    silent = pl.when(rules == "unparsed").then(None).otherwise("value").alias("value")
    judgments = corpus.judgments.with_columns(silent, rules)
    judgments = judgments.with_columns(
        status=pl.when(pl.col("value").is_null()).then(pl.lit("unparsed")).otherwise(pl.lit("answered"))
    )
    read = Corpus(corpus.items, corpus.raters, judgments, corpus.instruments)
    claim = Conclusion.of("mean", DIFFERENCE, {"rater": ["m0"]})
    choices = default_universe(claim, read).choices["reading"]
    assert [*choices] == ["all", "clarified left out", "cut left out", "line left out"]
    assert choices["cut left out"].where == {"rule!": ["cut:number"]}
    made = robust(read, claim, Universe(choices={"reading": choices}))
    assert made.specifications["judgments"].to_list() == [
        there - sum(rule.startswith(way) for rule in of_model)
        for there in [60 - of_model.count("unparsed")] for way in ("none", "clarified", "cut", "line")
    ]  # fmt: skip


def test_weights_of_raters_are_a_choice() -> None:
    corpus = planted(items=30, people=4)
    raters = corpus.raters.with_columns(home=pl.Series(["town", "town", "town", "hills"]))
    corpus = Corpus(corpus.items, raters, corpus.judgments, corpus.instruments)
    corpus = corpus.with_weights("census", {"home": {"town": 0.5, "hills": 0.5}})
    claim = Conclusion.of("mean", reference=4.0)
    made = robust(corpus, claim, Universe(choices={"weights": default_universe(claim, corpus).choices["weights"]}))
    assert made.specifications["weights"].to_list() == ["as claimed", "census"]
    assert made.specifications["command"][1].endswith("--weights census")
    weighted = Conclusion.of("mean", {"weights": "census"}, reference=4.0)
    assert [*default_universe(weighted, corpus).choices["weights"]] == ["as claimed", "none"]
    assert made.specifications["estimate"].n_unique() == 2


def test_what_counts_as_drawn_is_a_choice() -> None:
    corpus = planted(items=60, people=4, effect=0.5)
    latent = corpus.judgments.group_by("item").agg(pl.col("value").mean()).sort("value", "item")
    sites = latent.select("item", site=pl.Series([f"s{n // 6}" for n in range(60)]))
    items = corpus.items.join(sites, on="item", maintain_order="left")
    alike = Corpus(items, corpus.raters, corpus.judgments, corpus.instruments)
    claim = Conclusion.of("mean", reference=4.0)
    made = robust(alike, claim, Universe(choices={"unit": default_universe(claim, alike).choices["unit"]}))
    assert made.specifications["unit"].to_list() == ["as claimed", "site"]
    assert made.specifications["command"][1].endswith("--sources site")
    one, whole = (row["high"] - row["low"] for row in made.specifications.iter_rows(named=True))
    assert whole > 1.3 * one
    assert "unit" not in default_universe(claim, corpus).choices


@pytest.mark.slow
def test_that_a_model_stands_in_for_people_is_a_claim() -> None:
    corpus = planted(items=200, people=12, effect=0.5, models={"good": 0.0, "loaded": 3.0})
    for model, verdict in (("good", "holds"), ("loaded", "fails")):
        claim = Conclusion.of("alt-test", {"epsilon": 0.15}, row={"model": model})
        made = robust(corpus, claim, Universe().varied(claim, corpus, "epsilon=0.15,0.2"))
        assert (claim.reference, made.claimed["verdict"], made.same) == (0.5, verdict, 1.0)
        assert sentences(made)[0].startswith("The claim (")
        assert f"takes for {'yes' if verdict == 'holds' else 'no'}" in sentences(made)[0]


def test_leaving_out_keeps_what_has_no_value() -> None:
    corpus = planted(items=20, people=2, models={"m0": 0.0})
    raters = corpus.raters.with_columns(team=pl.Series(["a", "b", None]))
    whole = type(corpus)(corpus.items, raters, corpus.judgments, corpus.instruments)
    assert whole.filter(**{"team!": "a"}).raters["rater"].to_list() == ["p1", "m0"]


def test_the_judgments_of_a_specification_are_selected_and_opened(vantage: Vantage, tmp_path: Path) -> None:
    folder = planted(items=10, people=2, models={"m0": 0.0}).write(tmp_path / "corpus")
    assert vantage("corpora", "filter", folder, "--where", "rater!=p0,p1", "--to", tmp_path / "part").code == 0
    assert Corpus.read(tmp_path / "part").raters["rater"].to_list() == ["m0"]
    assert (
        "no rater is 'p7'" in vantage("corpora", "filter", folder, "--where", "rater!=p7", "--to", tmp_path / "x").err
    )
    page, words = tmp_path / "page.html", ("--reference", "3", "--vary", "rater", "--to", tmp_path / "robust")
    assert vantage("robust", "mean", folder, "--where", "question=trust", *words).code == 0
    table = pl.read_csv(tmp_path / "robust" / "tables" / "robust-specifications.csv")
    number = table.filter(rater="m0")["specification"].item()
    assert vantage("view", f"{tmp_path / 'robust'}#{number}", "--export", page).code == 0
    assert '"p0"' not in page.read_text("utf-8")
    assert "no specification 9; 1 to 4" in vantage("view", f"{tmp_path / 'robust'}#9", "--export", page).err
