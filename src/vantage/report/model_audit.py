"""Can a model stand in for people? From people's judgments and a file of replies to one page with a verdict."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.disclosure import shown
from vantage.corpora.readers.files import open_rows
from vantage.corpora.readers.table_file import ROW
from vantage.corpora.reading import read
from vantage.corpora.storage import is_corpus
from vantage.errors import InputError, nearest
from vantage.instruments import Question
from vantage.measures import alt_test, error_gaps
from vantage.raters.replies.parse import parse_reply
from vantage.report import beside
from vantage.report.beside import CorpusAnalysis
from vantage.report.cases import label, with_texts
from vantage.report.engine import there
from vantage.report.folder import Report
from vantage.report.recipe import Recipe
from vantage.report.record import made_at_once, now

ROLES: Final = ("item", "question", "rater", "value")
"""What the columns of a file of replies can be."""
RATER_NAMES: Final = ("model", "rater", "system")
"""Columns that name who replied, whatever they hold."""
LOOKED_AT: Final = 200
"""So many replies of a column tell whether it holds answers."""
WORST: Final = 3
"""So many texts are shown for each group that a model serves worse."""


def people_of(path: Path) -> Corpus:
    """People's judgments: a corpus folder, or a table whose columns tell what they hold."""
    if is_corpus(path):
        return Corpus.read(path)
    if not path.is_file():
        raise InputError("there is no such file or corpus folder", file=path, remedy="name a table or a corpus folder")
    try:
        return read(path)
    except InputError as error:
        remedy = f"run: vantage corpora preview {path}; import it as that suggests, and name the folder here"
        raise InputError(error.problem, file=path, row=error.row, column=error.column, remedy=remedy) from None


def with_replies(corpus: Corpus, path: Path, mapping: Mapping[str, str] | None = None) -> Corpus:
    """The corpus with a model's replies from a file: one row per reply (or one column per question).

    The column whose values are the items of the corpus, or their texts, names the items, and the one that can be read
    as answers holds the replies; `mapping` says otherwise. Replies about other items are counted in the notes.
    """
    frame = open_rows(path).lazy.collect()
    given = dict(mapping or {})
    for role, column in given.items():
        if role not in ROLES:
            raise InputError(f"a reply has no '{role}'", remedy=nearest(role, ROLES))
        if column not in frame.columns:
            raise InputError(f"there is no column '{column}'", file=path, remedy=nearest(column, frame.columns))
    questions = {question.id: question for question in corpus.questions}
    words = frame.with_columns(pl.all().cast(pl.String))
    items, item = _items(corpus, words, given.get("item"), path)
    taken = {item, *given.values()}
    held = {name: set(words[name].drop_nulls()) for name in words.columns if name not in taken}
    asked = given.get("question") or next((name for name, one in held.items() if one and one <= {*questions}), None)
    rater = given.get("rater") or _rater(words.with_columns(item=items), {*taken, item, asked, ROW})
    long = words.with_columns(item=items, rater=pl.col(rater) if rater else pl.lit(path.name.split(".")[0]))
    taken |= {name for name in (rater, asked) if name}
    if asked is not None or len(questions) == 1:
        value = given.get("value") or _answers(long, list(questions.values()), taken, path)
        question = pl.lit(next(iter(questions))) if asked is None else pl.col(asked)
        long = long.select("item", "rater", question=question, reply=value)
    elif wide := [name for name in questions if name in words.columns]:
        long = long.unpivot(wide, index=["item", "rater"], variable_name="question", value_name="reply")
    else:
        problem = f"the questions are {', '.join(questions)}, and no column says which"
        remedy = "add a column with the question of each reply, or one column per question, named like it"
        raise InputError(problem, file=path, remedy=remedy)
    return _added(corpus, long, questions, path)


def _items(corpus: Corpus, words: pl.DataFrame, column: str | None, path: Path) -> tuple[pl.Series, str]:
    """The item of each reply, by its id or its text, and the column that says it."""
    ids = {name: name for name in corpus.items["item"]}
    texts = dict(corpus.items.select("text", "item").iter_rows()) if "text" in corpus.items.columns else {}
    tried = [
        (words[name].replace_strict(one, default=None, return_dtype=pl.String), name)
        for name in ([column] if column is not None else words.columns)
        for one in (ids, texts)
    ]
    # Of numbers, answers are ids of items, too, but the same few.
    best = max(tried, key=lambda pair: (pair[0].n_unique(), pair[0].count()))
    if not best[0].count():
        remedy = "name the column that has the ids of people's items with --map item=COLUMN"
        raise InputError("no column has the ids or the texts of the items that people judged", file=path, remedy=remedy)
    return best


def _rater(words: pl.DataFrame, taken: set[str | None]) -> str | None:
    """The column that says who replied: one so called, or one of words, each of which stands beside every item alike.

    Without one, all replies are of one model, called like the file.
    """
    free = [name for name in words.columns if name not in taken]
    if named := [name for name in RATER_NAMES if name in free]:
        return named[0]
    for name in free:
        each = words.group_by(words[name].alias("who")).agg(pl.col("item").n_unique(), replies=pl.len())
        alike = each["replies"].n_unique() == 1 and set(each["item"]) == {words["item"].n_unique()}
        if alike and len(each) > 1 and not words[name].cast(pl.Float64, strict=False).count():
            return name
    return None


def _answers(long: pl.DataFrame, questions: Sequence[Question], taken: set[str], path: Path) -> str:
    """The column of which most values can be read as answers."""
    shares: dict[str, float] = {}
    for name in [name for name in long.columns if name not in {*taken, "item", "rater", ROW}]:
        some = long[name].drop_nulls().head(LOOKED_AT).to_list()
        good = [any(parse_reply(one, question).status == "answered" for question in questions) for one in some]
        shares[name] = sum(good) / max(min(len(long), LOOKED_AT), 1)
    best = max(shares, key=lambda name: shares[name], default=None)
    if best is None or shares[best] < 0.5:
        remedy = "name the column of the replies with --map value=COLUMN"
        raise InputError("no column can be read as answers to what people were asked", file=path, remedy=remedy)
    return best


def _added(corpus: Corpus, long: pl.DataFrame, questions: Mapping[str, Question], path: Path) -> Corpus:
    """The corpus with the replies, parsed, as judgments of models."""
    other = long["item"].null_count()
    known = long.filter(pl.col("item").is_not_null(), pl.col("question").is_in(list(questions)))
    people = set(corpus.raters["rater"])
    names = known["rater"].drop_nulls().unique().sort().to_list()
    if both := sorted(people & set(names)):
        remedy = "give the model another name"
        raise InputError(f"'{both[0]}' is a rater of the corpus already", file=path, remedy=remedy)
    texts = dict(corpus.items.select("item", "text").iter_rows()) if "text" in corpus.items.columns else {}
    parsed = [
        parse_reply(reply, questions[question], texts.get(item))
        for item, question, reply in known.select("item", "question", "reply").iter_rows()
    ]
    sample = pl.int_range(pl.len()).over("item", "question", "rater").cast(pl.Int32).alias("sample")
    judgments = known.select("item", "question", "rater", sample).with_columns(
        pl.Series("value", [one.value for one in parsed], dtype=pl.Float64),
        pl.Series("status", [one.status for one in parsed], dtype=pl.String),
        pl.Series("rationale", [one.rationale for one in parsed], dtype=pl.String),
    )
    joined = corpus.add(judgments, pl.DataFrame({"rater": names, "kind": ["model"] * len(names)}))
    left = f"; {other} replies are about other items" if other else ""
    unread = int((judgments["value"].is_null()).sum())
    note = f"{path.name}: {len(judgments)} replies of {', '.join(names)}, {unread} without an answer{left}."
    joined.about = replace(corpus.about, notes=(*corpus.about.notes, note))
    return joined


@dataclass(eq=False)
class ModelAnalysis(CorpusAnalysis):
    """People and models, and what decides whether a model can stand in."""

    @cached_property
    def tested(self) -> pl.DataFrame:
        """The test of each model on each question, with skill and groups."""
        return alt_test(there(self.beside), by="question", seed=self.seed)

    @property
    def reference(self) -> str:
        """What models are scored against: the mean of people where all questions have an order, else their majority."""
        return "mean" if all(question.scale.ordered for question in self.corpus.questions) else "majority"

    @property
    def metric(self) -> list[str]:
        """The scores that suit it."""
        return ["mae", "spearman"] if self.reference == "mean" else ["accuracy", "f1_macro"]

    @cached_property
    def models(self) -> Corpus | None:
        """The models alone."""
        return self.corpus.filter(rater=self.others) if self.others else None

    @cached_property
    def gaps(self) -> pl.DataFrame | None:
        """The errors of each model by group; null where nothing is known of people, or too little."""
        return None if self.beside_known is None else error_gaps(self.beside_known, by="question")

    def seen(self, model: str, question: str) -> str:
        """That no group is served worse, with the smallest gap that would have been seen, or that none was compared."""
        tested = pl.col("worse").is_not_null()
        mine = None if self.gaps is None else self.gaps.filter(tested, model=model, question=question)
        if mine is None or mine.is_empty():
            return "no group of people could be compared"
        least = float(mine["detectable"].to_numpy().max())
        return f"we found no group of people for whom it works worse (a gap of {least:.2f} would have been seen)"


def model_report(corpus: Corpus, *, seed: int = 0) -> Report:
    """The page, ready to be written: `model_report(corpus).write("folder")`."""
    kept = shown(corpus.included())
    analysis = ModelAnalysis(kept, None, seed, kept.raters.clear())
    if analysis.beside is None:
        raise InputError("people and a model are needed", remedy="name a table of people's judgments, then replies")
    names = ", ".join(analysis.others)
    record = made_at_once("model", f"Can {names} stand in for people?", kept, seed=seed)
    recipe = Recipe.bundled("vantage.report", sys.modules[__name__], beside, file="model_audit.yaml")
    result = recipe.result(analysis, warnings=tuple(corpus.about.notes))
    record.finished = now()
    return Report(record, result)


def verdicts(analysis: ModelAnalysis) -> pl.DataFrame:
    """Whether each model stands in for a person on each question, why, and a sentence that sums it up."""
    rows = []
    for (model,), part in analysis.tested.drop_nulls("model").group_by("model", maintain_order=True):
        mine = [
            {"model": model, "question": row["question"], **_why(row, analysis.seen(str(model), row["question"]))}
            for row in part.iter_rows(named=True)
        ]
        rows += [
            {**row, "summary": _summary(str(model), mine) if number == 0 else None} for number, row in enumerate(mine)
        ]
    return pl.DataFrame(rows, infer_schema_length=None).sort("model", "question", maintain_order=True)


def _why(row: Mapping[str, Any], seen: str) -> dict[str, str]:
    """The verdict on one question in words."""
    if row["stands_in"] is None:
        return {"can": "cannot be told", "because": row["reason"] or "there are too few answers for an interval"}
    reached = None
    if row["skill"] is not None and row["skill"] > 0:
        reached = f"{_percent(row['skill'])} of the way from a rater that never reads to a person"
        if row["skill"] > 1:
            reached += ", closer to people than a person is to the others"
    against = []
    if not row["passes"]:
        against.append(f"further from people than a person is (it could replace {_percent(row['estimate'])} of them)")
    if not row["above_floor"]:
        against.append("agrees with people no more than a rater that never reads")
    if row["worse_for"]:
        against.append(f"works worse for {row['worse_for']}")
    if not against:
        return {"can": "yes", "because": f"{reached or 'agrees with people more than people with each other'}; {seen}"}
    return {"can": "no", "because": "; ".join([*against, *([reached] if reached else [])])}


def _percent(share: float) -> str:
    return f"{round(100 * share)} %"


def _summary(model: str, rows: Sequence[Mapping[str, str]]) -> str:
    yes = [row["question"] for row in rows if row["can"] == "yes"]
    if len(rows) == 1:
        can = {"yes": "can stand in for a person", "no": "cannot stand in for a person"}.get(rows[0]["can"])
        return f"{model} {can or 'may or may not stand in for a person'}: {rows[0]['because']}."
    if len(yes) == len(rows):
        return f"{model} can stand in for a person on all {len(rows)} questions."
    first = next(row for row in rows if row["can"] != "yes")
    most = f"on {len(yes)} of {len(rows)} questions ({', '.join(yes)})" if yes else f"on none of {len(rows)} questions"
    return f"{model} can stand in for a person {most}; not on {first['question']}: {first['because']}."


def gap_texts(analysis: ModelAnalysis) -> pl.DataFrame:
    """The texts that make the gaps, for each group that a model serves worse."""
    corpus = there(analysis.beside_known)
    worse = there(there(analysis.gaps).filter(pl.col("worse")))
    keys = ["question", "model", "trait", "group"]
    items = error_gaps(corpus, by="question", traits=worse["trait"].unique().to_list(), per="item")
    mine = items.join(worse.select(keys), on=keys, how="semi").filter(pl.col("estimate") > 0)
    top = mine.group_by(keys, maintain_order=True).head(WORST).select(*keys, "item", "error", "rest")
    listed = there(with_texts(analysis, top))
    unit = ["item", "question", "rater"]
    replies = corpus.judgments.drop_nulls("value").unique(unit, keep="first", maintain_order=True)
    said = {key: value for *of, value in replies.select(*unit, "value").iter_rows() for key in [tuple(of)]}
    asked = listed.select("item", "question", "model").iter_rows()
    answer = [label(corpus, key[1], said[key]) if key in said else None for key in asked]
    columns = ("model", "trait", "group", "question", "text", "answer", "answers", "error", "rest")
    return listed.with_columns(answer=pl.Series(answer, dtype=pl.String)).select(columns)
