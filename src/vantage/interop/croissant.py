"""Croissant 1.0 (Akhtar et al. 2024): `croissant.json` describes the three tables for dataset search and loaders.

The tables stand beside it in `data/`, which is a corpus folder as well. Who judged, how often and what is known of the
raters is in the vocabulary for responsible AI (Croissant RAI 1.0). Nested columns, such as conversations, are in
the files but are not described, since Croissant 1.0 has no word for them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl

from vantage.corpora import schema, storage
from vantage.corpora.corpus import Corpus
from vantage.corpora.writers.place import put_folder
from vantage.interop.huggingface import languages, licence

OURS: Final = ("croissant.json", "data/*.parquet", "data/corpus.yaml", "data/.lock")
SPECIFICATIONS: Final = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
_TERMS: Final = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
CONTEXT: Final[dict[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}
"""What the words of the file mean, as the specification gives it."""
TABLES: Final = {
    "items": "What was judged: one row per item.",
    "raters": "Who judged: one row per rater, with its kind and its traits.",
    "judgments": "One row per rater's answer to one question about one item.",
}
COLUMNS: Final = {
    "condition": "Under what circumstances; empty where there is only one.",
    "sample": "Repetition by the same rater.",
    "value": "The code on the question's scale; missing where the status is not answered.",
    "status": "answered, or why there is no value: an opt-out of the question, refused, unparsed or failed.",
    "rationale": "The reason that the rater gave.",
    "kind": "What the rater is: a person, a slot that several people filled, an author, an aggregate or a model.",
}
KEYS: Final = {"items": ("item",), "raters": ("rater",), "judgments": schema.KEY}


def write(corpus: Corpus, path: Path, *, overwrite: bool = False) -> Path:
    """Writes the folder."""

    def prepare(folder: Path) -> None:
        corpus.write(folder / "data")
        text = json.dumps(description(corpus, folder / "data"), ensure_ascii=False, indent=2)
        (folder / "croissant.json").write_text(f"{text}\n", encoding="utf-8")

    return put_folder(path, prepare, ours=OURS, overwrite=overwrite)


def description(corpus: Corpus, data: Path) -> dict[str, Any]:
    """The description of a corpus whose folder stands at `data`."""
    about = corpus.about
    fields: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(SPECIFICATIONS),
        "name": about.title or about.name,
        "description": " ".join([*(instrument.description for instrument in corpus.instruments), *about.notes]),
        "license": about.licence and _licence(about.licence),
        "url": about.source if about.source.startswith(("http://", "https://")) else "",
        "isBasedOn": "" if about.source.startswith(("http://", "https://")) else about.source,
        "citeAs": about.citation,
        "inLanguage": languages(about),
        "version": "1.0.0",
        "isLiveDataset": False,
        **_annotation(corpus),
        "distribution": [_file(name, storage.file(data, f"{name}.parquet")) for name in TABLES],
        "recordSet": [_table(corpus, name) for name in TABLES],
    }
    return {key: value for key, value in fields.items() if value not in ("", [])}


def _licence(text: str) -> str:
    """The address of a known licence, or what people wrote."""
    known = licence(text)["license"]
    if known == "cc0-1.0":
        return "https://creativecommons.org/publicdomain/zero/1.0/"
    if known.startswith("cc-"):
        kind, _, version = known.removeprefix("cc-").rpartition("-")
        return f"https://creativecommons.org/licenses/{kind}/{version}/"
    return {"mit": "https://spdx.org/licenses/MIT", "apache-2.0": "https://spdx.org/licenses/Apache-2.0"}.get(
        known, text
    )


def _annotation(corpus: Corpus) -> dict[str, Any]:
    """How it was judged, and by whom."""
    judgments = corpus.judgments
    per_item = judgments.filter(pl.col("sample") == 0).group_by("item", "question").agg(pl.col("rater").n_unique())
    raters = per_item["rater"].to_list()
    kinds = corpus.raters["kind"].cast(pl.String).value_counts(sort=True).iter_rows()
    fields = {
        "rai:dataAnnotationProtocol": [
            f"{question.id}: {question.ask} Scale: {question.scale.describe()}." for question in corpus.questions
        ],
        "rai:annotationsPerItem": f"{min(raters)} to {max(raters)} raters per item and question" if raters else "",
        "rai:annotatorDemographics": [
            f"Raters: {', '.join(f'{count:,} {kind}' for kind, count in kinds)}.",
            *(f"Known of raters: {trait}." for trait in corpus.traits),
        ],
        "rai:personalSensitiveInformation": [f"trait of raters: {trait}" for trait in corpus.traits],
    }
    return {key: value for key, value in fields.items() if value}


def _file(name: str, path: Path) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": f"{name}.parquet",
        "name": f"{name}.parquet",
        "description": TABLES[name],
        "contentUrl": f"data/{name}.parquet",
        "contentSize": f"{path.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def _table(corpus: Corpus, name: str) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": TABLES[name],
        "key": [{"@id": f"{name}/{column}"} for column in KEYS[name]],
        "field": list(_fields(name, getattr(corpus, name))),
    }


def _fields(table: str, frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for column, dtype in frame.schema.items():
        kind = _type(dtype)
        if kind is None:
            continue
        entry: dict[str, Any] = {
            "@type": "cr:Field",
            "@id": f"{table}/{column}",
            "name": f"{table}/{column}",
            "description": COLUMNS.get(column, column),
            "dataType": kind,
            "source": {"fileObject": {"@id": f"{table}.parquet"}, "extract": {"column": column}},
        }
        other = {"item": "items", "rater": "raters"}.get(column)
        if table == "judgments" and other:
            entry["references"] = {"field": {"@id": f"{other}/{column}"}}
        yield entry


def _type(dtype: pl.DataType) -> str | None:
    if dtype.is_nested() or dtype == pl.Binary:
        return None
    if dtype == pl.Boolean:
        return "sc:Boolean"
    if dtype.is_integer():
        return "sc:Integer"
    if dtype.is_numeric():
        return "sc:Float"
    times = {pl.Date: "sc:Date", pl.Datetime: "sc:DateTime", pl.Time: "sc:Time"}
    return times.get(dtype.base_type(), "sc:Text")
