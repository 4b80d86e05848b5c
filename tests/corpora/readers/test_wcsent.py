from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from vantage import Corpus, InputError
from vantage.corpora.readers import load


def release(folder: Path) -> Path:
    """Files of the released shape, with byte-order marks and Windows line ends."""

    def write(name: str, *lines: str) -> None:
        (folder / name).write_bytes(b"\xef\xbb\xbf" + "".join(f"{line}\r\n" for line in lines).encode())

    write(
        "WC-Sent_Long_with_Individual_Scores_and_Annotator_ID.csv",
        "Target,Text,Score,Dimension,Annotator_ID",
        'Owls,"They hoot, wisely",2,Competence,Annotator_1',
        'Bats,"They hoot, wisely",-1,Competence,Annotator_1',
        'Owls,"They hoot, wisely",3,Trust,Annotator_10',
        "Owls,A second line,0,Sociability,Annotator_2",
    )
    write("WC-Sent_Train_Set.csv", "Text,Target,Competence,Sociability,Trust", '"They hoot, wisely",Owls,2,0,3')
    write(
        "WC-Sent_Validation_Set.csv",
        "Text,Target,Competence,Sociability,Trust",
        '"They hoot, wisely",Bats,-1,0,0',
    )
    write(
        "WC-Sent_Test_Set.csv",
        "Text,Target,Trust_mean,Sociability_mean,Competence_mean",
        "A second line,Owls,0,0,0",
    )
    return folder


def test_pairs_of_text_and_target_are_items(tmp_path: Path) -> None:
    corpus = load("wcsent", release(tmp_path))
    assert corpus.items.select("item", "target", "split", "final_trust").rows() == [
        ("wc-0001", "Owls", "test", 0),
        ("wc-0002", "Bats", "validation", 0),
        ("wc-0003", "Owls", "train", 3),
    ]
    assert corpus.raters["rater"].to_list() == ["Annotator_1", "Annotator_2", "Annotator_10"]
    assert corpus.judgments.height == 4
    assert Corpus.read(corpus.write(tmp_path / "c")) == corpus


def test_faults_are_named_with_the_row_of_the_file(tmp_path: Path) -> None:
    path = release(tmp_path) / "WC-Sent_Long_with_Individual_Scores_and_Annotator_ID.csv"
    good = path.read_bytes()
    path.write_bytes(good.replace(b",3,Trust", b",7,Trust"))
    with pytest.raises(InputError, match="row 4, column 'value': 7 is not on the scale of question 'trust'"):
        load("wcsent", tmp_path)
    path.write_bytes(good.replace(b",3,Trust", b",3,Charm"))
    with pytest.raises(InputError, match="row 4, column 'question': there is no question 'charm'"):
        load("wcsent", tmp_path)
    path.write_bytes(good.replace(b"Score,", b"Rating,"))
    with pytest.raises(InputError, match="no column 'Score'"):
        load("wcsent", tmp_path)
    with pytest.raises(InputError, match="the folder has no file"):
        load("wcsent", Path(__file__).parent)


@pytest.mark.data
def test_the_release_has_its_published_counts(data_dir: Path, tmp_path: Path) -> None:
    corpus = load("wcsent", data_dir / "wcsent")
    assert corpus.items.height == 1633
    assert corpus.items["target"].n_unique() == 7
    assert corpus.items["text"].n_unique() == 1534
    assert corpus.raters.height == 210
    assert corpus.judgments.height == 25_777
    counts = dict(corpus.items["split"].value_counts().iter_rows())
    assert counts == {"train": 1040, "validation": 266, "test": 327}
    means = corpus.judgments.group_by("item", "question").agg(pl.col("value").mean())
    final = corpus.items.unpivot(
        ["final_trust", "final_sociability", "final_competence"],
        index="item",
        variable_name="question",
        value_name="final",
    ).with_columns(pl.col("question").str.strip_prefix("final_"))
    joined = means.join(final, on=["item", "question"])
    assert joined.height == 4899
    assert joined.filter((pl.col("value") + 0.5).floor() != pl.col("final")).height == 0
    assert Corpus.read(corpus.write(tmp_path / "c")) == corpus
