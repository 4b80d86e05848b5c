"""Released labels and scores alone, of which the release counts as the rater.

TweetEval (Barbieri et al. 2020) has one tweet per line, one label per line, and the names of the labels; `read` works
for the folder of any of its tasks, such as `datasets/sentiment` or `datasets/stance/abortion`. GoEmotions (Demszky et
al. 2020) has the emotions that raters agreed on.

TyDiP, English part (Srinivasan and Choi 2022): requests of Wikipedia editors with a politeness score each. The
sentences and scores are those of the Stanford Politeness Corpus (Danescu-Niculescu-Mizil et al. 2013). Several people's
ratings were standardised and averaged; they are not in this release, so that the score is the one judgment there is.
The binary files hold the top and the bottom quarter.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers import READERS
from vantage.corpora.readers.files import find, read_csv, text_of
from vantage.corpora.readers.release import release
from vantage.corpora.readers.table_file import FileTable
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.scales import Scale

SENTIMENTS: Final = ("negative", "neutral", "positive")


def read(path: Path) -> Corpus:
    """Reads whichever splits the folder has; `label` is a column of the items."""
    file = _inside(path, "mapping.txt")
    names, folder = _mapping(file), file.parent
    splits = [split for split in ("train", "val", "test") if (folder / f"{split}_text.txt").is_file()]
    if not splits:
        remedy = "name the folder with mapping.txt, test_text.txt and test_labels.txt"
        raise InputError("the folder has no texts", file=folder, remedy=remedy)
    items = pl.concat(_tweets(folder, split, names) for split in splits)
    task = folder.name if folder.parent.name != "stance" else f"stance-{folder.name}"
    return labelled("tweeteval", items, list(names.values()), task=task)


def labelled(reader: str, items: pl.DataFrame, labels: list[str], task: str = "") -> Corpus:
    """Items with a column `label` as a corpus in which the release is the one who judged."""
    origin = {key: READERS[reader].about.get(key, reader).format(task=task) for key in ("name", "title")}
    question = Instrument.of_questions(origin["name"], origin["title"], {"label": Scale.labels(*labels)})
    codes = {name: float(code) for code, name in enumerate(labels)}
    value = pl.col("label").replace_strict(codes, default=None, return_dtype=pl.Float64).alias("value")
    return _released(reader, items, items.drop_nulls("label").select("item", value), question, "label", task)


def _released(
    reader: str, items: pl.DataFrame, values: pl.DataFrame, asked: Instrument, what: str, task: str = ""
) -> Corpus:
    """Items and their released values, of which `what` says what they are."""
    rater = f"released-{what}"
    judgments = values.with_columns(pl.lit(asked.questions[0].id).alias("question"), pl.lit(rater).alias("rater"))
    raters = pl.DataFrame({"rater": [rater], "kind": ["aggregate"]})
    return release(reader, items, raters, judgments, asked, task=task)


def _inside(path: Path, name: str) -> Path:
    """A file of the folder that was named; a file is no folder."""
    if path.is_file():
        raise InputError("this is a file", file=path, remedy=f"name the folder with {name}")
    return find(path, name)


def _tweets(folder: Path, split: str, names: dict[str, str]) -> pl.DataFrame:
    texts, labels = (_lines(find(folder, f"{split}_{what}.txt")) for what in ("text", "labels"))
    place = folder / f"{split}_labels.txt"
    if len(texts) != len(labels):
        message = f"there are {len(labels):,} labels for {len(texts):,} texts"
        raise InputError(message, file=place, remedy="download both files again")
    for row, label in enumerate(labels, 1):
        if label.strip() not in names:
            remedy = f"mapping.txt has {', '.join(names)}"
            raise InputError(f"'{label}' is not a label", file=place, row=row, remedy=remedy)
    return pl.DataFrame(
        {
            "item": [f"{split}-{n}" for n in range(1, len(texts) + 1)],
            "text": [text.strip() for text in texts],
            "split": split,
            "label": [names[label.strip()] for label in labels],
        }
    )


def _lines(path: Path) -> list[str]:
    # Some tweets hold separators that Python, unlike the files, takes for ends of lines.
    return text_of(path).removesuffix("\n").split("\n")


def _mapping(path: Path) -> dict[str, str]:
    rows = [line.split("\t") for line in _lines(path) if line.strip()]
    if not rows or any(len(row) < 2 for row in rows):
        raise InputError("the file names no labels", file=path, remedy="a number, a tab and a name in each line")
    return {row[0].strip(): row[1].strip() for row in rows}


def goemotions(path: Path) -> Corpus:
    """Reads whichever splits of GoEmotions the folder has (Demszky et al. 2020), with the emotions raters agreed on.

    `label` is the sentiment of the emotions, null where they differ in it.
    """
    names = _inside(path, "emotions.txt")
    folder, emotions = names.parent, [line.strip() for line in text_of(names).split() if line.strip()]
    try:
        groups = json.loads(text_of(find(folder, "sentiment_mapping.json")))
        sentiment = {str(emotion): str(kind) for kind, members in groups.items() for emotion in members}
    except (ValueError, AttributeError, TypeError):
        place = folder / "sentiment_mapping.json"
        raise InputError("this is not a mapping of emotions", file=place, remedy="download it again") from None
    files = {split: file for split in ("train", "dev", "test") if (file := folder / f"{split}.tsv").is_file()}
    if not files:
        remedy = "name the folder with emotions.txt, dev.tsv and test.tsv"
        raise InputError("the folder has no comments", file=folder, remedy=remedy)
    items = pl.concat(_comments(file, split, emotions, sentiment) for split, file in files.items())
    return labelled("goemotions", items, list(SENTIMENTS))


def _comments(path: Path, split: str, emotions: list[str], sentiment: dict[str, str]) -> pl.DataFrame:
    rows = []
    for row, line in enumerate(_lines(path), 1):
        cells = line.split("\t")
        numbers = cells[1].split(",") if len(cells) == 3 else []
        if not numbers or any(not number.isdecimal() or int(number) >= len(emotions) for number in numbers):
            problem = "the line is not a text, numbers of emotions and an id"
            raise InputError(problem, file=path, row=row, remedy="download the file again")
        named = [emotions[int(number)] for number in numbers]
        kinds = {sentiment.get(name, "neutral") for name in named}
        label = kinds.pop() if len(kinds) == 1 else None
        rows.append((f"{split}-{cells[2]}", cells[0], split, ",".join(named), label if label in SENTIMENTS else None))
    columns = dict.fromkeys(("item", "text", "split", "emotions", "label"), pl.String)
    return pl.DataFrame(rows, schema=columns, orient="row")


def tydip(path: Path) -> Corpus:
    """Reads both splits of TyDiP; the binary label of a sentence is a column of the items where it has one."""
    if path.is_file():
        raise InputError("this is a file", file=path, remedy="name the folder with all/ and binary/")
    items = pl.concat(_requests(path, split) for split in ("train", "test"))
    title, scale = "TyDiP: standardised politeness score", Scale.continuous(-4, 4)
    asked = Instrument.of_questions("tydip-score", title, {"politeness-score": scale})
    return _released("tydip", items.drop("value"), items.select("item", "value"), asked, "score")


def _requests(path: Path, split: str) -> pl.DataFrame:
    """The sentences of one split, with their scores and binary labels."""
    table = _scored(path, f"all/en_{split}.csv")
    binary = _scored(path, f"binary/en_{split}_binary.csv").frame.group_by("sentence").agg(pl.len())
    if len(strangers := binary.join(table.frame, on="sentence", how="anti").sort("sentence")):
        problem = f"the binary file has a sentence that is not here: '{strangers['sentence'][0][:60]}'"
        raise table.fault(problem, "download both files again")
    # A sentence that stands once in the binary file and twice here was chosen for its more extreme score.
    rank = pl.col("value").abs().rank("ordinal", descending=True).over("sentence")
    return (
        table.frame.with_columns(_scores(table).alias("value"))
        .join(binary, on="sentence", how="left", maintain_order="left")
        .with_row_index("n", offset=1)
        .select(
            pl.format(f"{split}-{{}}", "n").alias("item"),
            pl.col("sentence").alias("text"),
            pl.lit(split).alias("split"),
            pl.when(rank <= pl.col("len"))
            .then(pl.when(pl.col("value") > 0).then(pl.lit("polite")).otherwise(pl.lit("impolite")))
            .alias("binary"),
            "value",
        )
    )


def _scored(path: Path, name: str) -> FileTable:
    table = read_csv(find(path, name))
    table.require("sentence", "score")
    table.refuse(table.frame["sentence"].is_null(), "sentence", "the cell is empty", "download the file again")
    return table


def _scores(table: FileTable) -> pl.Series:
    scores = table.numbers("score")
    wrong = scores.is_null() | scores.is_nan() | (scores.abs() > 4)
    table.refuse(wrong, "score", "'{}' is not a standardised score between -4 and 4", "download the file again")
    return scores
