"""A Hugging Face dataset: `README.md`, the card, and `data/`, which is a corpus folder as well.

The three tables are three configurations of the dataset. `Corpus.read` opens the folder `data`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import polars as pl
import yaml

from vantage.corpora.corpus import Corpus
from vantage.corpora.storage import About
from vantage.corpora.writers.place import put_file, put_folder

OURS: Final = ("README.md", "data/*.parquet", "data/corpus.yaml", "data/.lock")
LICENCES: Final = (
    *(f"cc-{terms}-4.0" for terms in ("by-nc-sa", "by-nc-nd", "by-nc", "by-nd", "by-sa", "by")),
    *("cc0-1.0", "apache-2.0", "mit"),
)
"""Licences as the hub names them; people write them with spaces, too."""
SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
MOST: Final = 12
"""A trait with more values than this is summed up by how many there are."""


def write(corpus: Corpus, path: Path, *, overwrite: bool = False) -> Path:
    """Writes the dataset folder."""
    text = card(corpus)

    def prepare(folder: Path) -> None:
        corpus.write(folder / "data")
        (folder / "README.md").write_text(text, encoding="utf-8")

    return put_folder(path, prepare, ours=OURS, overwrite=overwrite)


def write_card(corpus: Corpus, path: Path, *, overwrite: bool = False) -> Path:
    """Writes the card alone, for data that are published in another way than as a Hugging Face dataset."""
    text = card(corpus)
    return put_file(path, lambda file: file.write_text(text, encoding="utf-8"), overwrite=overwrite)


def card(corpus: Corpus) -> str:
    """The dataset card: YAML for the hub, then what a reader has to know."""
    front = yaml.safe_dump(_metadata(corpus), sort_keys=False, allow_unicode=True, width=110)
    return f"---\n{front}---\n\n" + "\n".join(_body(corpus)).rstrip() + "\n"


def _metadata(corpus: Corpus) -> dict[str, object]:
    about = corpus.about
    return {
        **licence(about.licence),
        **({"language": codes} if (codes := languages(about)) else {}),
        "pretty_name": about.title or about.name,
        "size_categories": [next((name for limit, name in SIZES if len(corpus.judgments) < limit), "n>1M")],
        "tags": ["human label variation", "individual annotations", "vantage"],
        "configs": [
            {
                "config_name": table,
                "data_files": [{"split": "train", "path": f"data/{table}.parquet"}],
                **({"default": True} if table == "judgments" else {}),
            }
            for table in ("judgments", "items", "raters")
        ],
    }


def languages(about: About) -> list[str]:
    """The languages of a corpus, one by one."""
    return [code for code in re.split(r"[,;\s]+", about.language) if code]


def licence(text: str) -> dict[str, str]:
    """The licence as the hub names it."""
    plain = re.sub(r"[\s-]+", " ", text.strip().lower().replace("creative commons", "cc"))
    if not plain or plain.startswith(("not stated", "unknown", "see ")):
        return {"license": "unknown"}
    known = {name.replace("-", " "): name for name in LICENCES} | {"cc0": "cc0-1.0"}
    return {"license": known[plain]} if plain in known else {"license": "other", "license_name": text}


def _body(corpus: Corpus) -> Iterator[str]:
    about = corpus.about
    yield from (f"# {about.title or about.name}", "")
    for instrument in corpus.instruments:
        yield from (f"**{instrument.title}.** {' '.join(instrument.description.split())}", "")
    yield from (
        "Every judgment stands beside the rater who made it: `judgments` has one row per answer,",
        "`items` what was judged, `raters` who judged it.",
        "",
    )
    yield from _table(
        ("table", "rows", "columns"),
        ((name, f"{size:,}", ", ".join(getattr(corpus, name).columns)) for name, size in corpus.sizes.items()),
    )
    yield from ("## Questions", "")
    yield from _table(("question", "asks", "scale", "answers", "without a value"), _questions(corpus))
    yield from ("## Raters", "")
    yield from _table(("trait", "values"), _traits(corpus))
    if about.notes:
        yield from ("## Notes", "", *(f"- {_cell(note)}" for note in about.notes), "")
    yield from ("## Source", "")
    facts = (("Published at", about.source), ("Licence", about.licence or "not stated"), ("Citation", about.citation))
    yield from (f"- {name}: {_cell(value)}" for name, value in facts if value)
    yield from (
        "",
        "## Use",
        "",
        "```python",
        "import polars as pl",
        "",
        'judgments = pl.read_parquet("data/judgments.parquet")',
        "```",
        "",
        'or `datasets.load_dataset(FOLDER, "judgments")`, or `vantage.Corpus.read("data")`.',
    )


def _questions(corpus: Corpus) -> Iterator[tuple[str, ...]]:
    counts = corpus.judgments.group_by("question").agg(
        pl.col("value").is_not_null().sum().alias("answered"), pl.col("value").is_null().sum().alias("declined")
    )
    tallies = {row[0]: row[1:] for row in counts.iter_rows()}
    for question in corpus.questions:
        if question.id in tallies:
            answered, declined = tallies[question.id]
            yield question.id, question.ask, question.scale.describe(), f"{answered:,}", f"{declined:,}"


def _traits(corpus: Corpus) -> Iterator[tuple[str, str]]:
    for name in ("kind", *corpus.traits):
        column = corpus.raters[name]
        counts = column.cast(pl.String, strict=False).drop_nulls().value_counts(sort=True, name="count")
        unknown = f"; {column.null_count():,} not known" if column.null_count() else ""
        if len(counts) <= MOST:
            ranked = sorted(counts.iter_rows(), key=lambda row: (-row[1], row[0]))
            shown = ", ".join(f"{value} ({count:,})" for value, count in ranked)
        elif column.dtype.is_numeric():
            low, middle, high = (column.cast(pl.Float64).quantile(q) for q in (0, 0.5, 1))
            shown = f"{low:g} to {high:g}, median {middle:g}"
        else:
            shown = f"{len(counts):,} different values"
        yield name, f"{shown}{unknown}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
