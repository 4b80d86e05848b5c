"""The Croissant description. mlcroissant 1.1.1 validates it and reads the three tables through it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vantage import Corpus, demo_corpus, export
from vantage.corpora import About


def described(tmp_path: Path, corpus: Corpus) -> dict[str, Any]:
    folder = export(corpus, "croissant", tmp_path / "out")
    told: dict[str, Any] = json.loads((folder / "croissant.json").read_text("utf-8"))
    assert Corpus.read(folder / "data") == corpus
    for file in told["distribution"]:
        data = (folder / file["contentUrl"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(data).hexdigest()
        assert file["contentSize"] == f"{len(data)} B"
    return told


def test_the_tables_and_who_judged_are_described(tmp_path: Path) -> None:
    told = described(tmp_path, demo_corpus())
    assert told["conformsTo"][0] == "http://mlcommons.org/croissant/1.0"
    sets = {one["@id"]: one for one in told["recordSet"]}
    assert set(sets) == {"items", "raters", "judgments"}
    fields = {one["@id"]: one for one in sets["judgments"]["field"]}
    assert fields["judgments/value"]["dataType"] == "sc:Float"
    assert fields["judgments/sample"]["dataType"] == "sc:Integer"
    assert fields["judgments/item"]["references"] == {"field": {"@id": "items/item"}}
    files = {one["@id"] for one in told["distribution"]}
    assert {one["source"]["fileObject"]["@id"] for one in fields.values()} <= files
    assert [one["@id"] for one in sets["judgments"]["key"]][:2] == ["judgments/item", "judgments/question"]
    assert "9 person" in told["rai:annotatorDemographics"][0]
    assert told["rai:personalSensitiveInformation"] == ["trait of raters: age", "trait of raters: gender"]
    assert len(told["rai:dataAnnotationProtocol"]) == 3


def test_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    demo = demo_corpus()
    bare = Corpus(demo.items, demo.raters.select("rater", "kind"), demo.judgments.clear(), demo.instruments)
    told = described(tmp_path, bare)
    assert not {"license", "url", "citeAs", "inLanguage", "rai:annotationsPerItem"} & set(told)


@pytest.mark.parametrize(
    ("licence", "address"),
    [
        ("CC BY-SA 4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
        ("CC0", "https://creativecommons.org/publicdomain/zero/1.0/"),
        ("MIT", "https://spdx.org/licenses/MIT"),
        ("ask the authors", "ask the authors"),
    ],
)
def test_licences_have_addresses(tmp_path: Path, licence: str, address: str) -> None:
    demo = demo_corpus()
    about = About(name="x", licence=licence, source="https://example.org/x", language="en, de")
    told = described(tmp_path, Corpus(demo.items, demo.raters, demo.judgments, demo.instruments, about))
    assert (told["license"], told["url"], told["inLanguage"]) == (address, "https://example.org/x", ["en", "de"])


def test_nested_columns_are_in_the_files_and_not_described(tmp_path: Path) -> None:
    demo = demo_corpus()
    items = demo.items.with_columns(pl.concat_list("text").alias("turns"), pl.lit(True).alias("seen"))
    told = described(tmp_path, Corpus(items, demo.raters, demo.judgments, demo.instruments))
    fields = {field["@id"]: field["dataType"] for field in told["recordSet"][0]["field"]}
    assert "items/turns" not in fields
    assert fields["items/seen"] == "sc:Boolean"


def test_the_card_alone_is_a_file(tmp_path: Path) -> None:
    path = export(demo_corpus(), "card", tmp_path / "README.md")
    assert path.read_text("utf-8").startswith("---\nlicense:")
