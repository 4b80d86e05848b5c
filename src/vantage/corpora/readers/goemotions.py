"""GoEmotions (Demszky et al. 2020): comments with the emotions that several raters agreed on, and their sentiment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import polars as pl

from vantage.corpora.corpus import Corpus
from vantage.corpora.readers.files import find, text_of
from vantage.corpora.readers.tweeteval import labelled
from vantage.errors import InputError

SPLITS: Final = ("train", "dev", "test")
SENTIMENTS: Final = ("negative", "neutral", "positive")


def read(path: Path) -> Corpus:
    """Reads whichever splits the folder has; `label` is the sentiment of the emotions, null where they differ in it."""
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
        _split(folder / f"{split}.tsv", split, emotions, sentiment)
        for split in SPLITS
        if (folder / f"{split}.tsv").is_file()
    ]
    if not parts:
        remedy = "name the folder with emotions.txt, dev.tsv and test.tsv"
        raise InputError("the folder has no comments", file=folder, remedy=remedy)
    return labelled("goemotions", pl.concat(parts), list(SENTIMENTS))


def _split(path: Path, split: str, emotions: list[str], sentiment: dict[str, str]) -> pl.DataFrame:
    rows = []
    for row, line in enumerate(text_of(path).removesuffix("\n").split("\n"), 1):
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
