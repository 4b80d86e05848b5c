"""Released labels alone: TweetEval (Barbieri et al. 2020) and GoEmotions (Demszky et al. 2020).

TweetEval has one tweet per line, one label per line, and the names of the labels; `read` works for the folder of any
of its tasks, such as `datasets/sentiment` or `datasets/stance/abortion`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers import READERS
from vantage.corpora.readers.files import find, text_of
from vantage.corpora.readers.release import release
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.scales import Scale

SPLITS: Final = ("train", "val", "test")
RATER: Final = "released-label"
SENTIMENTS: Final = ("negative", "neutral", "positive")


def read(path: Path) -> Corpus:
    """Reads whichever splits the folder has; `label` is a column of the items."""
    if path.is_file():
        raise InputError("this is a file", file=path, remedy="name the folder with mapping.txt")
    names = _mapping(find(path, "mapping.txt"))
    folder = find(path, "mapping.txt").parent
    parts = [_split(folder, split, names) for split in SPLITS if (folder / f"{split}_text.txt").is_file()]
    if not parts:
        remedy = "name the folder with mapping.txt, test_text.txt and test_labels.txt"
        raise InputError("the folder has no texts", file=folder, remedy=remedy)
    items = pl.concat(parts)
    task = folder.name if folder.parent.name != "stance" else f"stance-{folder.name}"
    return labelled("tweeteval", items, list(names.values()), task=task)


def labelled(reader: str, items: pl.DataFrame, labels: list[str], task: str = "") -> Corpus:
    """Items with a column `label` as a corpus in which the release is the one who judged."""
    origin = {key: READERS[reader].about.get(key, reader).format(task=task) for key in ("name", "title")}
    question = Instrument.of_questions(origin["name"], origin["title"], {"label": Scale.labels(*labels)})
    codes = {name: float(code) for code, name in enumerate(labels)}
    value = pl.col("label").replace_strict(codes, default=None, return_dtype=pl.Float64).alias("value")
    given = items.drop_nulls("label").select(
        "item", pl.lit("label").alias("question"), pl.lit(RATER).alias("rater"), value
    )
    return release(reader, items, pl.DataFrame({"rater": [RATER], "kind": ["aggregate"]}), given, question, task=task)


def _split(folder: Path, split: str, names: dict[str, str]) -> pl.DataFrame:
    texts, labels = (_lines(find(folder, f"{split}_{what}.txt")) for what in ("text", "labels"))
    place = folder / f"{split}_labels.txt"
    if len(texts) != len(labels):
        message = f"there are {len(labels):,} labels for {len(texts):,} texts"
        raise InputError(message, file=place, remedy="download both files again")
    for row, label in enumerate(labels, 1):
        if label.strip() not in names:
            raise InputError(
                f"'{label}' is not a label", file=place, row=row, remedy=f"mapping.txt has {', '.join(names)}"
            )
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
    if path.is_file():
        raise InputError("this is a file", file=path, remedy="name the folder with emotions.txt")
    names = find(path, "emotions.txt")
    folder, emotions = names.parent, [line.strip() for line in text_of(names).split() if line.strip()]
    try:
        groups = json.loads(text_of(find(folder, "sentiment_mapping.json")))
        sentiment = {str(emotion): str(kind) for kind, members in groups.items() for emotion in members}
    except (ValueError, AttributeError, TypeError):
        place = folder / "sentiment_mapping.json"
        raise InputError("this is no mapping of emotions", file=place, remedy="download it again") from None
    parts = [
        _comments(folder / f"{split}.tsv", split, emotions, sentiment)
        for split in ("train", "dev", "test")
        if (folder / f"{split}.tsv").is_file()
    ]
    if not parts:
        remedy = "name the folder with emotions.txt, dev.tsv and test.tsv"
        raise InputError("the folder has no comments", file=folder, remedy=remedy)
    return labelled("goemotions", pl.concat(parts), list(SENTIMENTS))


def _comments(path: Path, split: str, emotions: list[str], sentiment: dict[str, str]) -> pl.DataFrame:
    rows = []
    for row, line in enumerate(_lines(path), 1):
        cells = line.split("\t")
        numbers = cells[1].split(",") if len(cells) == 3 else []
        if not numbers or any(not number.isdecimal() or int(number) >= len(emotions) for number in numbers):
            raise InputError(
                "the line is not a text, numbers of emotions and an id",
                file=path,
                row=row,
                remedy="download the file again",
            )
        named = [emotions[int(number)] for number in numbers]
        kinds = {sentiment.get(name, "neutral") for name in named}
        label = kinds.pop() if len(kinds) == 1 else None
        rows.append((f"{split}-{cells[2]}", cells[0], split, ",".join(named), label if label in SENTIMENTS else None))
    columns = dict.fromkeys(("item", "text", "split", "emotions", "label"), pl.String)
    return pl.DataFrame(rows, schema=columns, orient="row")
