"""The report on any corpus: a recipe whose sections depend on who judged what.

People are measured among themselves; models, personas and trained raters stand beside them and are never pooled with
them. Raters who were excluded stay out and are named.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Final, Literal

import polars as pl

from vantage.corpora import PEOPLE, Corpus, undeclared
from vantage.corpora.describe import describe
from vantage.corpora.disclosure import shown
from vantage.errors import InputError
from vantage.measures import alpha, mean, whose_label
from vantage.measures.variance.rater_quality import UNLIKELY
from vantage.measures.variance.rater_quality import rater_quality as each_rater
from vantage.report import beside
from vantage.report.beside import CorpusAnalysis
from vantage.report.cases import LISTED, answered, label
from vantage.report.cells import counted, shortened
from vantage.report.distributions import answer_mark, counted_answers, number
from vantage.report.engine import Absent, Analysis, Data, there
from vantage.report.folder import Report
from vantage.report.marks import Mark
from vantage.report.parts import Figure, Part, Result
from vantage.report.rater_distances import RaterDistances
from vantage.report.recipe import Recipe
from vantage.report.record import made_at_once, now
from vantage.report.ruler import wright_maps

CONSTANT: Final = 5
"""From so many items on, one answer to all of them is named."""
HEAT: Final = 30
"""So many raters have a heat map, those with most answers."""
LEAST: Final = 4
"""Of fewer raters a heat map shows no groups."""
NAMED: Final = 12
"""So many raters are named who were left out of an estimate."""
SAID: Final = ("verdict", "reason", "checks", "note")
"""Columns of raters that say why somebody was excluded."""
RULERS: Final = 3
"""How many questions have a Wright map."""


def overview(corpus: Corpus, *, seed: int = 0) -> Result:
    """Sections on any corpus, with or without judgments.

    >>> from vantage import demo_corpus
    >>> [section.title for section in overview(demo_corpus()).sections][:4]
    ['How divided are the answers?', 'Do raters agree?', 'The texts', 'Who judges differently?']
    """
    recipe = Recipe.bundled("vantage.report", sys.modules[__name__], beside, file="corpus.yaml")
    part = corpus.included()
    out = corpus.raters.join(part.raters, on="rater", how="anti", maintain_order="left")
    once = _first_answers(part)
    warnings = tuple(_warnings(part, again=len(part.judgments) - len(once.judgments)))
    everyone = _first_answers(corpus.people())
    return recipe.result(CorpusAnalysis(once, None, seed, out, everyone), warnings=warnings)


def _first_answers(corpus: Corpus) -> Corpus:
    """The corpus without what people answered to an item when they were asked again."""
    if corpus.people().judgments["sample"].n_unique() < 2:
        return corpus
    first = pl.col("sample") == pl.col("sample").min().over("item", "question", "condition", "rater")
    return corpus.filter(first | ~pl.col("kind").cast(pl.String).is_in(PEOPLE))


def corpus_report(corpus: Corpus, *, seed: int = 0) -> Report:
    """The report on a plain corpus, ready to be written: `corpus_report(corpus).write("folder")`."""
    corpus, about = shown(corpus), corpus.about
    record = made_at_once("corpus", about.title or about.name, corpus, seed=seed)
    result = overview(corpus, seed=seed)
    record.finished = now()
    return Report(record, result)


def questions(analysis: CorpusAnalysis) -> pl.DataFrame:
    """The questions and how often they were judged."""
    rows = [
        {
            "question": question["question"],
            "by": question["kind"] if question["name"] != question["question"] else None,
            **{name: question[name] for name in ("scale", "items", "raters", "judgments")},
            "per_item": question["judgments_per_item"]["mean"],
            "mean": question["mean"],
            "answers": _mark(analysis.corpus, question),
            "not_answered": {s: n for s, n in question["statuses"].items() if s != "answered"} or None,
        }
        for question in _asked(describe(analysis.corpus))
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _asked(description: dict[str, Any]) -> list[dict[str, Any]]:
    """The questions, apart for each kind of raters where several kinds answered; `name` says for which."""
    asked: list[dict[str, Any]] = description["questions"]
    apart = len({question["kind"] for question in asked}) > 1
    return [{**one, "name": f"{one['question']} ({one['kind']})" if apart else one["question"]} for one in asked]


def _mark(corpus: Corpus, asked: dict[str, Any]) -> Mark | None:
    question = corpus.question(asked["question"])
    if not (question.scale.codes or question.scale.slides):
        return None
    own = answered(corpus.filter(question=question.id, **({"kind": asked["kind"]} if asked["kind"] else {})))
    return answer_mark(question, own["value"].to_numpy()) if len(own) else None


def statuses(analysis: CorpusAnalysis) -> pl.DataFrame | None:
    """Answers, opt-outs and why there is no value, where not every question was answered."""
    asked = _asked(describe(analysis.corpus))
    present = sorted({status for question in asked for status in question["statuses"]})
    if present in ([], ["answered"]):
        return None
    counts = [{"question": one["name"], **dict.fromkeys(present, 0), **one["statuses"]} for one in asked]
    return pl.DataFrame(counts, infer_schema_length=None)


def rater_quality(analysis: CorpusAnalysis) -> pl.DataFrame:
    """Each person beside the others.

    `usual` is the median correlation of all; it is left out for those who run against the others, of whom more is said.
    """
    judged = there(analysis.with_distances)
    try:
        quality = each_rater(judged, kinds="all").with_columns(about=pl.lit(""))
    except InputError:
        # Questions with different scales cannot be pooled.
        quality = each_rater(judged, by="question", kinds="all")
        quality = quality.with_columns(pl.format(" about {}", "question").alias("about"))
    slides = [one.id for one in judged.questions if one.scale.slides]
    if "question" in quality.columns:
        quality = quality.with_columns(pl.when(~pl.col("question").is_in(slides)).then("agreement").alias("agreement"))
    elif judged.judgments["question"].is_in(slides).any():
        quality = quality.drop("agreement")
    usual = pl.col("estimate").median()
    usual = usual.over("question") if "question" in quality.columns else usual
    return quality.with_columns(pl.when(pl.col("high") >= 0).then(usual).alias("usual"))


def constant(analysis: CorpusAnalysis) -> pl.DataFrame:
    """People and models who gave one answer to every item of a question, if others seldom give it."""
    judges = analysis.corpus.raters.select("rater", pl.col("kind").cast(pl.String).alias("of"))
    judges = judges.filter(pl.col("of") != "aggregate")
    given = answered(analysis.corpus).join(judges, on="rater", maintain_order="left")
    person = pl.col("of").is_in(PEOPLE)
    others, alike = (
        person.sum().over(keys) - person.sum().over("rater", *keys) for keys in (["question"], ["question", "value"])
    )
    by_rater = given.with_columns(chance=alike / others).group_by("question", "rater", maintain_order=True)
    each = by_rater.agg(
        pl.col("value", "chance").first(), values=pl.col("value").n_unique(), items=pl.col("item").n_unique()
    )
    unlikely = pl.col("chance") ** pl.col("items") < UNLIKELY
    same = there(each.filter(unlikely, pl.col("values") == 1, pl.col("items") >= CONSTANT))
    answer = [label(analysis.corpus, *row) for row in same.select("question", "value").iter_rows()]
    return same.with_columns(answer=pl.Series(answer, dtype=pl.String))


def rulers(analysis: CorpusAnalysis) -> list[Part | str] | None:
    """The Wright map of the first questions on ordered scales: people, models and items on one scale."""
    asked = set(answered(there(analysis.ordered))["question"])
    known = [one.id for one in analysis.corpus.questions if one.id in asked and not one.scale.slides]
    return wright_maps(analysis.corpus, known[:RULERS])


def rater_heat(analysis: CorpusAnalysis) -> list[Part] | None:
    """How often every two raters agree about the first question, models among people, those alike side by side."""
    for question, _ in counted_answers(analysis.corpus):
        alike = RaterDistances.of(analysis.corpus, question, HEAT)
        if len(alike.raters) < LEAST:
            continue
        kinds = alike.raters.select("rater", pl.col("kind").cast(pl.String)).iter_rows()
        names = [rater if kind in PEOPLE else f"{rater} ({kind})" for rater, kind in kinds]
        pairs = product(alike.order, repeat=2)
        cells = [(names[one], names[other], number(1 - alike.apart[one, other])) for one, other in pairs]
        of = question.title or question.id
        caption = (
            f"Agreement of each pair of raters about {of}: 1 minus the mean distance between their answers to the same "
            "texts, as a share of the scale. Raters who answer alike are next to each other."
        )
        options = {"row": "rater", "column": "other", "value": "agreement", "label": "agreement"}
        frame = pl.DataFrame(cells, ["rater", "other", "agreement"], orient="row", infer_schema_length=None)
        return [Figure("rater-heat", caption, "", "heat", frame, options)]
    return None


def careless(analysis: CorpusAnalysis) -> Data:
    """Agreement and mean answers with everyone who answered, and without those who stand out or were excluded."""
    out = analysis.left_out.to_dicts() if analysis.left_out is not None else []
    said = {str(row["rater"]): [str(row[name]) for name in SAID if row.get(name)] for row in out}
    why = {rater: ", ".join(["was excluded", *reasons]) for rater, reasons in said.items()}
    if analysis.with_distances is not None:
        flagged = rater_quality(analysis).explode("flags").drop_nulls("flags").unique(["rater", "flags"])
        for name, flags in flagged.sort("rater", "flags").group_by("rater", maintain_order=True).agg("flags").rows():
            why.setdefault(str(name), ", ".join(flags))
    everyone = there(analysis.everyone)
    rest = everyone.filter(pl.col("rater").is_in(list(why)).not_())
    if not why or answered(rest)["rater"].n_unique() < 2:
        raise Absent
    how: dict[str, Any] = {"by": "question", "kinds": "all", "include_excluded": True, "ci": "none"}
    measures: dict[str, tuple[Callable[..., pl.DataFrame], Corpus | None]]
    measures = {"alpha": (alpha, analysis.several), "mean": (mean, analysis.ordered)}
    frames = []
    for what, (measured, suited) in measures.items():
        asked = suited.judgments["question"].unique(maintain_order=True).to_list() if suited else []
        sides = []
        for side, part in (("with", everyone), ("without", rest)) if asked else ():
            frame = measured(part.filter(question=asked), **how)
            sides.append(frame.select("question", pl.col("estimate", "raters").name.prefix(f"{side}_")))
        frames += [sides[0].join(sides[1], on="question", how="left").with_columns(what=pl.lit(what))] if sides else []
    named = [f"{rater} {reason}" for rater, reason in why.items()]
    further = f" and {counted(len(named) - NAMED, 'other')}" if len(named) > NAMED else ""
    return Data(pl.concat(frames), {"careless": f"{'; '.join(named[:NAMED])}{further}"})


def excluded(analysis: CorpusAnalysis) -> pl.DataFrame:
    """The raters who were left out, with what is known of the reason."""
    out = there(analysis.left_out)
    return out.select(name for name in ("rater", *SAID) if name in out.columns)


def whose_labels(analysis: Analysis) -> Data:
    """The labels that change under each target that the corpus has weights for, and under its groups."""
    rows = _under_targets(analysis, "target").unique(["question", "target"], keep="first", maintain_order=True)
    weights = analysis.corpus.about.weights.items()
    said = " ".join(f"“{name}”: {' '.join(record.sentences)}" for name, record in weights)
    return Data(there(rows.filter(pl.col("changed").is_not_null())), {"targets": said})


def depending_texts(analysis: Analysis) -> pl.DataFrame | None:
    """The texts whose label changes under a target beyond chance, those that differ most first."""
    rows = _under_targets(analysis, "item")
    if "depends" not in rows.columns:
        return None
    largest = (pl.col("estimate") - pl.col("raw")).abs().max().over("item", "question", "target")
    shown = rows.with_columns(apart=largest).filter(pl.col("depends"), pl.col("answer") == pl.col("label"))
    shown = shown.unique(["item", "question", "target"], maintain_order=True).sort("apart", descending=True)
    text = pl.col("text" if "text" in shown.columns else "item")
    short = text.map_elements(lambda one: shortened(str(one), 280), return_dtype=pl.String)
    made = shown.head(LISTED).with_columns(short.alias("text"))
    return made if len(made) else None


def _under_targets(analysis: Analysis, per: Literal["target", "item"]) -> pl.DataFrame:
    targets = there(list(analysis.corpus.about.weights) or None)
    frames = [whose_label(analysis.people, by="question", target=name, per=per, seed=analysis.seed) for name in targets]
    return pl.concat(frames, how="diagonal_relaxed")


def _warnings(corpus: Corpus, again: int) -> Iterator[str]:
    """What must be known first: no judgments at all, people who were asked again, raters who never gave a value."""
    if corpus.judgments.is_empty():
        yield "The corpus has no judgments, so there is nothing to measure yet."
        return
    if (corpus.raters["kind"] == "slot").any():
        yield "Some raters are seats that different people may have taken, so that one seat is not one person."
    yield from undeclared(corpus)
    if again:
        yield f"This report leaves out {counted(again, 'answer')} that people gave to items they had judged before."
    if "served" in corpus.raters.columns:
        for rater, served in corpus.raters.select("rater", pl.col("served").cast(pl.String)).iter_rows():
            if served and len(versions := served.split("; ")) > 1:
                yield f"{rater} was answered by {len(versions)} versions of its model: {', '.join(versions)}."
    by_rater = corpus.judgments.group_by("rater", maintain_order=True).agg(
        pl.len().alias("all"),
        pl.col("value").is_not_null().sum().alias("values"),
        pl.col("status").cast(pl.String).mode().first().alias("mostly"),
    )
    silent = by_rater.filter(pl.col("values") == 0)
    for row in silent.head(5).iter_rows(named=True):
        mostly = row["mostly"].replace("_", " ")
        yield f"{row['rater']} gave no value in {counted(row['all'], 'judgment')} (mostly {mostly})."
    if len(silent) > 5:
        yield f"Neither did {counted(len(silent) - 5, 'other rater')}."
