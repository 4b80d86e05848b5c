"""Raters of every kind through all five studies: whatever they answer, every sentence is true of its whole table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.report.noise import Claiming
from tests.report.truth import KINDS, check_all, check_intervals, of_every_kind
from tests.studies.appraisals.release import write as write_appraisals
from tests.studies.context.judged import analysed, judged_corpus
from tests.studies.perseval.made import corpus as made_people
from tests.studies.stereomap.planted import scores
from tests.studies.wcsent.release import write as write_wcsent
from vantage import Corpus, Instrument
from vantage.corpora.readers import load
from vantage.report.parts import Result
from vantage.report.record import Record
from vantage.studies.appraisals.study import STUDY as APPRAISALS
from vantage.studies.appraisals.study import read_release
from vantage.studies.base import find
from vantage.studies.execution import Context
from vantage.studies.perseval import study
from vantage.studies.perseval.study import STUDY as PERSEVAL
from vantage.studies.stereomap.groups import groups_corpus, reference_groups
from vantage.studies.stereomap.study import STUDY as STEREOMAP
from vantage.studies.wcsent import latent, people, predictions


def answered(judged: pl.DataFrame, corpus: Corpus, kinds: tuple[str, ...], seed: int = 0) -> pl.DataFrame:
    """What raters of some kinds answer to all items and questions that people answered."""
    rng, rows = np.random.default_rng(seed), []
    for (question,), asked in judged.drop_nulls("value").group_by("question", maintain_order=True):
        wide = asked.pivot("item", index="rater", values="value", aggregate_function="mean")
        items = [name for name in wide.columns if name != "rater"]
        matrix = wide.select(items).to_numpy().astype(float)
        codes = next(one.scale.codes for one in corpus.questions if one.id == question)
        by = of_every_kind(matrix, codes, np.arange(len(matrix)) % 2 == 0, rng)
        rows += [
            {"item": i, "question": question, "rater": k, "value": v}
            for k in kinds
            for i, v in zip(items, by[k], strict=True)
        ]
    return pl.DataFrame(rows)


def checked(result: Result) -> Result:
    check_all(result)
    check_intervals(result)
    return result


def wcsent(folder: Path, kinds: tuple[str, ...], _: pytest.MonkeyPatch) -> Result:
    corpus = load("wcsent", write_wcsent(folder))
    tested = corpus.items.filter(split="test")["item"].to_list()
    told = answered(corpus.judgments.filter(pl.col("item").is_in(tested)), corpus, kinds)
    made = corpus.add(told, pl.DataFrame({"rater": kinds, "kind": ["trained"] * len(kinds)}), corpus.instruments)
    return Claiming("vantage.studies.wcsent", latent, people, predictions).result(
        predictions.WarmthAnalysis(made, find("wcsent").options(), 0)
    )


def appraisals(folder: Path, kinds: tuple[str, ...], _: pytest.MonkeyPatch) -> Result:
    corpus = read_release(write_appraisals(folder))
    experts = corpus.judgments.filter(pl.col("rater").str.starts_with("annotator"))
    told = answered(experts, corpus, kinds).with_columns(rationale=pl.lit("The narrator says so."))
    made = corpus.add(told, pl.DataFrame({"rater": kinds, "kind": ["model"] * len(kinds)}), corpus.instruments)
    few = find("appraisals").options(resamples=50, draws=1, topics=0, folds=2)
    return APPRAISALS.analyse(made, Context(few, Record("appraisals", "")))


def context(_: Path, kinds: tuple[str, ...], __: pytest.MonkeyPatch) -> Result:
    corpus = judged_corpus(24, dict.fromkeys((f"m:{kind}" for kind in kinds), (0.5, 0.5)), runs=2, people=4)
    people = corpus.judgments.filter(pl.col("rater").str.starts_with("p"), condition="static")
    told = answered(people, corpus, kinds).with_columns(rater=pl.format("m:{}+zero-shot", "rater"))
    keys = ["item", "question", "rater"]
    joined = corpus.judgments.join(told, on=keys, how="left", suffix="_told", maintain_order="left")
    known = pl.col("value_told").is_not_null()
    value = pl.coalesce("value_told", "value")
    status = pl.when(known).then(pl.lit("answered")).otherwise(pl.col("status").cast(pl.String))
    made = joined.with_columns(value.alias("value"), status.alias("status")).drop("value_told")
    return analysed(Corpus(corpus.items, corpus.raters, made, corpus.instruments), resamples=50)


def stereomap(_: Path, kinds: tuple[str, ...], __: pytest.MonkeyPatch) -> Result:
    short, groups = Instrument.load("stereotype-content:short"), reference_groups()
    of = {question: one.id for one in short.aggregates for question in one.members}
    rows = [
        {"item": group.id, "question": question.id, "rater": str(person), "sample": 0,
         "value": scores(group.reference or "MC-MW").get(of.get(question.id, ""), 3.0) + person - 1}
        for group in groups for question in short.questions for person in range(3)
    ]  # fmt: skip
    corpus = groups_corpus(groups, short)
    told = answered(pl.DataFrame(rows), corpus.add(pl.DataFrame(rows).clear(), None, [short]), kinds)
    runs = told.join(pl.DataFrame({"sample": [0, 1, 2]}), how="cross")
    made = corpus.add(runs, pl.DataFrame({"rater": kinds, "kind": ["model"] * len(kinds)}))
    return STEREOMAP.analyse(made, Context(find("stereomap").options(resamples=10), Record("stereomap", "")))


class Known:
    """A rater of some kind that knows what people answered."""

    notes = ()

    def __init__(self, split: Any, people: Corpus, kind: str) -> None:
        self.split, self.kind, self.rng = split, kind, np.random.default_rng(0)
        self.people = people.judgments.select("item", "rater", "value").join(
            people.raters.select("rater", "group"), on="rater"
        )

    def judge(self, pairs: pl.DataFrame | None = None) -> pl.DataFrame:
        asked = self.split.test.select("item", "rater") if pairs is None else pairs.select("item", "rater")
        keys = {"perfect": ["item", "rater"], "follower": ["item", "group"], "steady": ["item", "group"]}
        keys |= {"text-blind": ["rater"], "user-blind": ["item"]}
        if self.kind in keys:
            mean = self.people.group_by(keys[self.kind]).agg(pl.col("value").mean().round())
            group = self.people.select("rater", "group").unique()
            joined = asked.join(group, on="rater", how="left", maintain_order="left")
            told = joined.join(mean, on=keys[self.kind], how="left", maintain_order="left")["value"].fill_null(0.0)
        else:
            drawn = self.rng.integers(0, 2, len(asked)).astype(float)
            told = pl.Series({"random": drawn, "tied": np.arange(len(asked)) % 2 * 1.0}.get(self.kind, drawn * 0))
        return asked.with_columns(told.alias("value"))


def perseval(folder: Path, kinds: tuple[str, ...], patch: pytest.MonkeyPatch) -> Result:
    people = made_people(people=24)
    methods = ["tfidf-users", "tfidf", "majority"]

    def fitted(split: Any, kind: str, **_: Any) -> Known:
        return Known(split, people, kinds[methods.index(kind) % len(kinds)])

    patch.setattr(study, "fit", fitted)
    options = find("perseval").options(encoder="none", resamples=20, methods=",".join(methods))
    context = Context(options, Record("perseval", ""), data=people.write(folder / "made"))
    return PERSEVAL.analyse(PERSEVAL.collect(context), context)


STUDIES = {make.__name__: make for make in (appraisals, context, perseval, stereomap, wcsent)}
NO_SKILL = ("random", "constant", "tied", "text-blind")


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES)
def test_every_sentence_is_true_whoever_answers(study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = KINDS if study in ("appraisals", "context") else ("random", "perfect", "constant")
    checked(STUDIES[study](tmp_path, few, monkeypatch))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "kinds"),
    [
        ("context", ("constant", "tied")),
        ("perseval", ("random", "tied", "text-blind")),
        ("stereomap", ("constant", "tied")),
        ("stereomap", ("perfect",)),
    ],
)
def test_and_whoever_answers_alone(
    study: str, kinds: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked(STUDIES[study](tmp_path, kinds, monkeypatch))


@pytest.mark.slow
def test_who_does_not_read_is_never_closer_to_people_than_a_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One guess, the mean of the question, was worse than a constant, which so was said to beat it."""
    result = checked(appraisals(tmp_path, KINDS, monkeypatch))
    verdicts = {claim.name: claim for claim in result.ledger if claim.family.startswith("Are models closer")}
    assert {verdicts[kind].verdict for kind in ("perfect", "steady", "follower", "user-blind")} == {"below"}
    assert not any(verdicts[kind].verdict == "below" for kind in NO_SKILL)
    assert all(claim.floor is not None and claim.ceiling is not None for claim in verdicts.values())
    assert (verdicts["perfect"].skill or 0.0) > 0.9
    assert (verdicts["text-blind"].skill or 0.0) < 0.1


@pytest.mark.slow
def test_who_reads_no_text_has_a_row_in_the_leaderboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = checked(perseval(tmp_path, ("perfect", "user-blind", "constant"), monkeypatch))
    (board,) = (table.frame for table in result.tables if table.name == "ranking")
    places = {row["rater"].partition(" (")[0]: n for n, row in enumerate(board.iter_rows(named=True))}
    assert places["tfidf-users"] < places["(always “yes”, without reading)"] < places["majority"]
