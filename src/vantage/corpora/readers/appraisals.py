"""CovidET-Appraisals (Zhan, Ong and Li 2023): 24 appraisals of 241 posts, by two annotators and by models.

One row of the release is one annotator's sheet for one post: `dim1` … `dim24` with a rationale each, in the
order of the questions of the instrument `appraisals`; a blank rating means "not mentioned". The recorded
answers of language models have the same columns, but not always the same order of rows: everything is joined
by the post's id. `human_evaluation` reads the judgments that other people made of the rationales.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.files import find, read_csv, read_json
from vantage.corpora.readers.release import codes, release
from vantage.corpora.readers.table_file import FileTable
from vantage.corpora.schema import Place
from vantage.errors import InputError, nearest
from vantage.instruments import Instrument

Replies = Literal["raw", "cleaned", "none"]

DIMENSIONS: Final = tuple(f"dim{number}" for number in range(1, 25))
EMOTIONS: Final = ("anger", "anticipation", "disgust", "fear", "joy", "sadness", "trust")
MODELS: Final = {"alpaca-native": "alpaca-7B"}
"""File names of models that the release elsewhere calls by another name."""
CRITERIA: Final = {
    "factuality": "factuality", "relevance": "relevance", "consistency": "justifies", "usefulness": "usefulness",
}  # fmt: skip
"""Questions of the instrument `rationale-quality` and the columns that answer them."""

_END_MARK = r"\s*(?:</s>|### End)\s*$"


def read(path: Path, replies: Replies = "raw") -> Corpus:
    """Reads the annotators' ratings and, unless `replies` is none, the recorded answers of language models.

    `raw` takes the models' verbatim answers and accepts those that are a rating and nothing else; `cleaned`
    takes the ratings that the authors extracted.
    """
    if replies not in get_args(Replies):
        raise InputError(f"there are no replies '{replies}'", remedy=nearest(str(replies), get_args(Replies)))
    sheets = read_csv(find(path, "CovidET-Appraisals.csv"))
    sheets.require("Worker ID", "Reddit ID", "Reddit Post", *_columns())
    instrument = Instrument.load("appraisals")
    questions = [question.id for question in instrument.questions]
    annotators = _pseudonyms("annotator", [sheets])
    rater = pl.col("Worker ID").replace_strict(annotators, return_dtype=pl.String)
    people = _ratings(sheets, questions, rater, 0, lambda name: _rated(sheets.numbers(name), "not_mentioned"))
    tables, blocks = [sheets], [people]
    for file in _reply_files(sheets.path.parent, replies):
        table = read_csv(file)
        table.require("Reddit ID", *_columns())
        tables.append(table)
        blocks.append(_ratings_of_model(table, questions, raw=replies == "raw"))
    judgments = pl.concat(blocks, how="diagonal")
    models = sorted({block["rater"][0] for block in blocks[1:]})
    items = _posts(sheets)
    emotions = _emotions(sheets.path.parent)
    names = [*annotators.values(), *models]
    return release(
        "appraisals",
        items.join(emotions, on="item", how="left", maintain_order="left") if len(emotions) else items,
        pl.DataFrame({"rater": names, "kind": ["person"] * len(annotators) + ["model"] * len(models)}),
        judgments,
        instrument,
        _REPLY_NOTES[replies if len(blocks) > 1 else "none"],
        _place(tables, len(DIMENSIONS)),
    )


_REPLY_NOTES: Final[Mapping[Replies, tuple[str, ...]]] = {
    "raw": (
        "A model's answer counts if it is a whole number from 1 to 9 and nothing else, apart from blanks, "
        "square brackets and an end-of-text mark; a blank, NA or N/A is 'not mentioned', anything else is "
        "unparsed. The column reply holds the answer as recorded; a blank one stands for a lost NA.",
        "The sample of a model's judgment is the seed of its run.",
    ),
    "cleaned": (
        "The models' ratings are those that the authors extracted: the first whole number in the answer, if "
        "it is 1 to 9. They write 0 both for NA and for answers without a usable rating; such judgments are "
        "unparsed.",
        "The sample of a model's judgment is the seed of its run.",
    ),
    "none": ("The answers of language models are not part of this corpus.",),
}


def human_evaluation(path: Path) -> Corpus:
    """Reads the judgments of rationales: factuality, relevance, consistency and usefulness."""
    first = find(path, "*_models.csv")
    files = [first] if path.is_file() else sorted(first.parent.glob("*_models.csv"))
    tables = [read_csv(file) for file in files]
    for table in tables:
        table.require("Worker ID", "Reddit ID", "Reddit Post", "Dim", "Model", "Scale", "Rationale")
        table.require(*CRITERIA.values())
    instrument = Instrument.load("rationale-quality")
    raters = _pseudonyms("evaluator", tables)
    rated = [_rationales(table) for table in tables]
    blocks = [
        pl.concat(
            rationales.select(
                "item",
                pl.lit(question).alias("question"),
                table.frame["Worker ID"].replace_strict(raters, return_dtype=pl.String).alias("rater"),
                _codes(table, instrument, question, column).alias("value"),
            )
            for question, column in CRITERIA.items()
        )
        for table, rationales in zip(tables, rated, strict=True)
    ]
    return release(
        "rationale-evaluation",
        pl.concat(rated).unique("item", keep="first", maintain_order=True),
        pl.DataFrame({"rater": list(raters.values())}),
        pl.concat(blocks),
        instrument,
        place=_place(tables, len(CRITERIA)),
    )


def _columns() -> list[str]:
    return [column for name in DIMENSIONS for column in (name, f"{name}_rationale")]


def _place(tables: Sequence[FileTable], questions: int) -> Place:
    """Where a judgment stands: each table gives one block of rows for every question."""

    def place(_: str, index: int) -> dict[str, Any]:
        for table in tables[:-1]:
            if index < questions * len(table.frame):
                break
            index -= questions * len(table.frame)
        else:
            table = tables[-1]
        return {"file": table.path, "row": table.row(index % len(table.frame))}

    return place


def _pseudonyms(prefix: str, tables: Sequence[FileTable]) -> dict[str, str]:
    """Stable names for worker ids: the one with the most rows first."""
    for table in tables:
        _refuse_empty(table, "Worker ID", "Reddit ID")
    workers = pl.concat(table.frame.select("Worker ID") for table in tables)
    counted = workers.group_by("Worker ID").len().sort(["len", "Worker ID"], descending=[True, False])
    return {worker: f"{prefix}-{number}" for number, worker in enumerate(counted["Worker ID"], 1)}


def _refuse_empty(table: FileTable, *columns: str) -> None:
    for column in columns:
        table.refuse(table.frame[column].is_null(), column, "the cell is empty", "fill it in")


def _posts(sheets: FileTable) -> pl.DataFrame:
    posts = sheets.frame.select(item="Reddit ID", text="Reddit Post")
    other = posts.select(pl.col("text").ne_missing(pl.col("text").first().over("item"))).to_series()
    sheets.refuse(other, "Reddit Post", "the post has a different text in an earlier row", "download the file again")
    return posts.unique("item", keep="first", maintain_order=True)


def _emotions(folder: Path) -> pl.DataFrame:
    """CovidET's split of each post, and how many of its two annotators saw each emotion in it."""
    rows: list[dict[str, Any]] = []
    for split in ("train", "val", "test"):
        file = folder / "covidet_posts" / f"{split}_anonymized-WITH_POSTS.json"
        if not file.is_file():
            continue
        posts = read_json(file)
        if not isinstance(posts, Mapping):
            raise _damaged(file)
        for key, post in posts.items():
            try:
                seen = [{part["Emotion"] for part in parts} for parts in post["Annotations"].values()]
                row: dict[str, Any] = {"item": str(post["Reddit ID"]), "covidet_split": split}
            except (AttributeError, KeyError, TypeError):
                raise _damaged(f"{file}, post '{key}'") from None
            rows.append(row | {f"emotion_{name}": sum(name in each for each in seen) for name in EMOTIONS})
    schema = {"item": pl.String, "covidet_split": pl.String} | {f"emotion_{e}": pl.Int8 for e in EMOTIONS}
    return pl.DataFrame(rows, schema=schema).unique("item", keep="first", maintain_order=True)


def _damaged(place: object) -> InputError:
    return InputError("this is not a post with annotations", file=place, remedy="download the file again")


def _ratings(
    table: FileTable, questions: Sequence[str], rater: pl.Expr, sample: int, answer: Callable[[str], Sequence[Any]]
) -> pl.DataFrame:
    """One judgment per row and dimension, whose value and status `answer` reads from the dimension's column."""
    return pl.concat(
        table.frame.select(
            pl.col("Reddit ID").alias("item"),
            pl.lit(question).alias("question"),
            rater.alias("rater"),
            pl.lit(sample, pl.Int32).alias("sample"),
            *answer(name),
            _stripped(f"{name}_rationale").alias("rationale"),
        )
        for name, question in zip(DIMENSIONS, questions, strict=True)
    )


def _reply_files(folder: Path, replies: Replies) -> list[Path]:
    """The recorded answers, in the folder of this name or where the release has them."""
    if replies == "none":
        return []
    released = folder.parent / "LLM_responses" / f"Responses-{replies.capitalize()}"
    return [*sorted((folder / f"responses_{replies}").glob("*.csv")), *sorted(released.glob("*/*.csv"))]


def _ratings_of_model(table: FileTable, questions: Sequence[str], *, raw: bool) -> pl.DataFrame:
    match = re.fullmatch(r"(.+)_seed-(\d{1,9})", table.path.stem)
    if not match:
        raise table.fault("the file name does not say which model and seed it is", "name it MODEL_seed-NUMBER.csv")
    _refuse_empty(table, "Reddit ID")

    def cleaned(name: str) -> list[pl.Series]:
        """A rating that the authors extracted; their 0 says that there is none."""
        rating = table.numbers(name)
        return _rated(rating.set(rating == 0, None), "unparsed")

    rater = pl.lit(model_name(match[1]))
    return _ratings(table, questions, rater, int(match[2]), _raw_answer if raw else cleaned)


def model_name(spelled: str) -> str:
    """The one name of a model that the release spells in several ways.

    >>> model_name("alpaca-native"), model_name("alpaca-13b"), model_name("Dolly-v2-12B"), model_name("chatgpt")
    ('alpaca-7B', 'alpaca-13B', 'dolly-v2-12B', 'chatgpt')
    """
    name = MODELS.get(spelled.lower(), spelled.lower())
    return re.sub(r"(?<=\d)b$", "B", name, flags=re.IGNORECASE)


def _raw_answer(column: str) -> list[pl.Expr]:
    """Value, status and verbatim reply of an answer that counts only if it is a rating and nothing else."""
    core = pl.col(column).str.replace(_END_MARK, "").str.strip_chars().str.replace(r"^\[(.*)\]$", "${1}")
    rating = core.str.contains("^[1-9]$")
    silent = core.is_null() | core.str.to_lowercase().is_in(["", "na", "n/a"])
    return [
        pl.when(rating).then(core).cast(pl.Float64).alias("value"),
        pl.when(silent)
        .then(pl.lit("not_mentioned"))
        .when(rating)
        .then(pl.lit("answered"))
        .otherwise(pl.lit("unparsed"))
        .alias("status"),
        pl.col(column).alias("reply"),
    ]


def _rated(value: pl.Series, otherwise: str) -> list[pl.Series]:
    """Value and status of ratings, and the status of those that are missing."""
    status = pl.Series("status", [otherwise]).new_from_index(0, len(value)).set(value.is_not_null(), "answered")
    return [value.alias("value"), status]


def _stripped(column: str) -> pl.Expr:
    text = pl.col(column).str.replace(_END_MARK, "").str.strip_chars()
    return pl.when(text != "").then(text)


def _rationales(table: FileTable) -> pl.DataFrame:
    """For every row of the evaluation, the rationale that was judged."""
    questions = {
        name: (question.id, question.ask)
        for name, question in zip(DIMENSIONS, Instrument.load("appraisals").questions, strict=True)
    }
    _refuse_empty(table, "Reddit Post", "Dim", "Model", "Scale")
    table.refuse(~table.frame["Dim"].is_in(list(questions)), "Dim", "there is no dimension '{}'", "use dim1 to dim24")
    judged = ["Reddit ID", "Dim", "Model"]
    rationales = table.frame.select(*judged, "Reddit Post", "Scale", _stripped("Rationale").alias("Rationale"))
    # The rationales of a post's two annotators are both called "gold"; they differ in what they say.
    number = pl.struct("Scale", "Rationale").rank("dense").over(judged)
    several = pl.struct("Scale", "Rationale").n_unique().over(judged) > 1
    name = pl.concat_str(judged, separator="-")
    return rationales.select(
        pl.when(several).then(pl.format("{}-{}", name, number)).otherwise(name).alias("item"),
        pl.col("Reddit Post").alias("post"),
        pl.col("Dim").replace_strict({k: ask for k, (_, ask) in questions.items()}).alias("asked"),
        pl.when((pl.col("Scale") == "0") & (pl.col("Model") == "gold"))
        .then(pl.lit("not mentioned"))
        .otherwise("Scale")
        .alias("rating"),
        pl.col("Rationale").alias("rationale"),
        pl.col("Reddit ID").alias("reddit_id"),
        pl.col("Dim").replace_strict({k: id_ for k, (id_, _) in questions.items()}).alias("appraisal"),
        pl.col("Model").map_elements(model_name, pl.String).alias("source"),
    )


def _codes(table: FileTable, instrument: Instrument, question: str, column: str) -> pl.Series:
    """A column of labels or numbers as codes of the question's scale."""
    options = instrument.question(question).scale.options
    _refuse_empty(table, column)
    words = {option.label.lower(): option.code for option in options if option.label}
    return codes(table, column, words | {f"{option.code:g}": option.code for option in options})
