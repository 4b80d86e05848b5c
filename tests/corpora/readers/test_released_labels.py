"""Releases with one text and one label per line: TweetEval and GoEmotions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vantage import InputError
from vantage.corpora.readers import load
from vantage.studies.context.tasks import TASKS, read_task, sampled


def tweets(folder: Path, labels: str = "1\n0\n2\n") -> Path:
    folder.mkdir(parents=True)
    (folder / "mapping.txt").write_text("0\tnone\n1\tagainst\n2\tfavor\n", "utf-8")
    (folder / "test_text.txt").write_text("No.\u2028Never.\nA tweet.\nYes, please.\n", "utf-8")
    (folder / "test_labels.txt").write_text(labels, "utf-8")
    return folder


def comments(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "emotions.txt").write_text("joy\nanger\nsurprise\nneutral", "utf-8")
    groups = {"positive": ["joy"], "negative": ["anger"], "ambiguous": ["surprise"]}
    (folder / "sentiment_mapping.json").write_text(json.dumps(groups), "utf-8")
    lines = ["Lovely!\t0\ta", "Argh.\t1\tb", "Oh?\t2\tc", "Hm.\t3\td", "Both.\t0,1\te"]
    (folder / "dev.tsv").write_text("\n".join(lines), "utf-8")
    return folder


def test_tweets_and_their_labels(tmp_path: Path) -> None:
    corpus = load("tweeteval", tweets(tmp_path / "stance" / "abortion"))
    assert corpus.about.name == "tweeteval-stance-abortion"
    assert corpus.items["text"].to_list() == ["No.\u2028Never.", "A tweet.", "Yes, please."]
    assert corpus.items["label"].to_list() == ["against", "none", "favor"]
    assert corpus.judgments["value"].to_list() == [1.0, 0.0, 2.0]


def test_labels_become_those_of_the_task(tmp_path: Path) -> None:
    tweets(tmp_path / "tweeteval" / "datasets" / "stance" / "abortion")
    comments(tmp_path / "goemotions" / "data")
    stance = read_task(tmp_path, TASKS["abortion-stance"])
    assert stance.items["label"].to_list() == ["against", "favoring"], "the task has no answer for none"
    emotion = read_task(tmp_path, TASKS["emotion-sentiment"])
    assert emotion.items.select("text", "label").rows() == [
        ("Lovely!", "positive"),
        ("Argh.", "negative"),
        ("Hm.", "neutral"),
    ]
    assert emotion.judgments.is_empty()


@pytest.mark.parametrize(
    ("labels", "message"),
    [("1\n0\n", "2 labels for 3 texts"), ("1\n7\n2\n", "'7' is not a label")],
)
def test_files_that_do_not_fit(labels: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load("tweeteval", tweets(tmp_path / "a", labels))


def test_lines_that_are_no_comments(tmp_path: Path) -> None:
    folder = comments(tmp_path / "go")
    (folder / "dev.tsv").write_text("Fine.\t0\ta\nNo number.\tx\tb", "utf-8")
    with pytest.raises(InputError, match=r"row 2.*not a text, numbers of emotions and an id"):
        load("goemotions", folder)
    (folder / "sentiment_mapping.json").write_text("[1]", "utf-8")
    with pytest.raises(InputError, match="not a mapping of emotions"):
        load("goemotions", folder)


@pytest.mark.data
def test_the_releases(data_dir: Path) -> None:
    sizes = {"abortion-stance": 710, "emotion-sentiment": 9028, "tweet-sentiment": 14270}
    for name, size in sizes.items():
        whole = read_task(data_dir, TASKS[name])
        assert len(whole.items) == size
        drawn = sampled(whole, 120, 0).items["label"].value_counts()
        for label, count in drawn.iter_rows():
            share = (whole.items["label"] == label).mean()
            assert count == pytest.approx(120 * float(share), abs=1)
