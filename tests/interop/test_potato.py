from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage import Corpus
from vantage.corpora.readers import load
from vantage.errors import InputError

CONFIG = """\
annotation_task_name: Tone
task_dir: .
data_files: [data/items.json]
item_properties: {id_key: id, text_key: text}
output_annotation_dir: annotation_output
annotation_schemes:
  - {annotation_type: radio, name: tone, description: Tone, labels: [rude, neutral, {name: polite}]}
  - {annotation_type: likert, name: warmth, description: Warm?, size: 5, min_label: cold, max_label: warm}
  - {annotation_type: multiselect, name: topics, description: Topics, labels: [sport, politics, art]}
  - {annotation_type: slider, name: strength, description: How much, min_value: 0, max_value: 100}
  - {annotation_type: text, name: tone_rationale, description: Why}
  - {annotation_type: text, name: remarks, description: Remarks}
"""


def project(path: Path) -> Path:
    (path / "data").mkdir(parents=True)
    (path / "config.yaml").write_text(CONFIG)
    items = [{"id": f"i{n}", "text": f"Text {n}", "year": 2000 + n} for n in (1, 2, 3)]
    (path / "data" / "items.json").write_text("\n".join(map(json.dumps, items)))
    return path


def state(path: Path, user: str, labels: dict[str, Any], **more: Any) -> None:
    folder = path / "annotation_output" / user
    folder.mkdir(parents=True)
    data = {"user_id": user, "instance_id_to_label_to_value": labels, **more}
    (folder / "user_state.json").write_text(json.dumps(data))


def label(scheme: str, name: str, value: Any = "true") -> list[Any]:
    return [{"schema": scheme, "name": name}, value]


def values(corpus: Corpus, question: str) -> list[tuple[str, str, float | None]]:
    return corpus.filter(question=question).judgments.select("item", "rater", "value").rows()


def test_reads_potato_2(tmp_path: Path) -> None:
    root = project(tmp_path / "tone")
    state(
        root,
        "ann",
        {
            "i1": [
                label("tone", "polite"),
                label("warmth", "4", "4"),
                label("topics", "sport"),
                label("topics", "art"),
                label("strength", "slider", "70"),
                label("tone_rationale", "text_box", "It says please."),
                label("remarks", "text_box", "none"),
            ],
            "i2": [label("tone", "rude", "rude")],
        },
        instance_id_to_behavioral_data={"i1": {"total_time_ms": 5500}},
        phase_to_page_to_label_to_value={
            "prestudy": {"page": [label("Age group", "18-30"), label("Home town", "text_box", "Ulm")]},
            "consent": {"page": [label("agree", "yes")]},
        },
    )
    state(root, "bob", {"i2": {"tone": {"neutral": True}, "warmth": {"labels": {"1": True}}}})
    corpus = load("potato", root)
    assert corpus.question("tone").scale.describe() == "rude, neutral, polite (nominal)"
    assert corpus.question("warmth").scale.codes == (1, 2, 3, 4, 5)
    assert corpus.question("strength").scale.ends == (0, 100)
    assert values(corpus, "tone") == [("i1", "ann", 2), ("i2", "ann", 0), ("i2", "bob", 1)]
    assert values(corpus, "warmth") == [("i1", "ann", 4), ("i2", "bob", 1)]
    # No box ticked means no to all of them.
    assert values(corpus, "topics: sport") == [("i1", "ann", 1), ("i2", "ann", 0), ("i2", "bob", 0)]
    assert values(corpus, "topics: politics") == [("i1", "ann", 0), ("i2", "ann", 0), ("i2", "bob", 0)]
    assert any("no box ticked was read as no" in note for note in corpus.about.notes)
    assert values(corpus, "strength") == [("i1", "ann", 70)]
    assert corpus.filter(question="tone").judgments["rationale"].to_list() == ["It says please.", None, None]
    assert corpus.filter(question="tone").judgments["seconds"].to_list() == [5.5, None, None]
    assert corpus.items.rows() == [("i1", "Text 1", 2001), ("i2", "Text 2", 2002)]
    assert corpus.raters.select("rater", "age_group", "home_town").rows() == [
        ("ann", "18-30", "Ulm"),
        ("bob", None, None),
    ]
    assert any("texts entered in 'remarks'" in note for note in corpus.about.notes)
    assert Corpus.read(corpus.write(tmp_path / "out")) == corpus
    assert load("potato", root / "annotation_output").judgments.equals(corpus.judgments)


def test_the_last_click_counts(tmp_path: Path) -> None:
    root = project(tmp_path / "tone")
    clicks = [
        {"schema_name": "tone", "label_name": name, "action": "select", "timestamp": when}
        for when, name in ((1.0, "polite"), (2.0, "rude"), (3.0, "polite"))
    ]
    both = [label("tone", "polite"), label("tone", "rude")]
    state(
        root,
        "ann",
        {"i1": both, "i2": both},
        instance_id_to_behavioral_data={"i1": {"annotation_changes": clicks}},
    )
    assert values(load("potato", root), "tone") == [("i1", "ann", 2), ("i2", "ann", 0)]


def lines(path: Path, user: str, *records: dict[str, Any]) -> None:
    folder = path / user
    folder.mkdir(parents=True)
    text = "\n".join(json.dumps({"span_annotations": {}, **record}) for record in records)
    (folder / "annotated_instances.jsonl").write_text(text + "\n")


def test_reads_potato_1(tmp_path: Path) -> None:
    lines(
        tmp_path,
        "ann",
        {
            "id": "60",
            "displayed_text": "Is it big?",
            "label_annotations": {
                "size": {"Yes": "true", "free_response": "Look at it"},
                "certain": {"scale_4": "4"},
            },
            "behavioral_data": {"time_string": "Time spent: 0d 0h 1m 5s "},
        },
        {"id": "prestudy_1.html", "displayed_text": "", "label_annotations": {"Gender?": {"Woman": "1"}}},
        {"id": "consent.html", "displayed_text": "", "label_annotations": {"Agree": {"yes": "1"}}},
    )
    lines(
        tmp_path,
        "bob",
        {"id": "60", "displayed_text": "Is it big?", "label_annotations": {"size": {"No": "2"}}},
    )
    corpus = load("potato", tmp_path)
    assert corpus.items.rows() == [("60", "Is it big?")]
    assert values(corpus, "size") == [("60", "ann", 1), ("60", "bob", 0)]
    assert values(corpus, "certain") == [("60", "ann", 4)]
    assert corpus.judgments["seconds"].to_list() == [65, 65, None]
    assert corpus.filter(question="size").judgments["rationale"].to_list() == ["Look at it", None]
    assert corpus.raters.select("rater", "gender").rows() == [("ann", "Woman"), ("bob", None)]
    assert any("kinds of questions are guessed" in note for note in corpus.about.notes)
    assert Corpus.read(corpus.write(tmp_path / "out")) == corpus


@pytest.mark.parametrize("suffix", ["tsv", "csv"])
def test_reads_the_table_of_potato_1(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame(
        {
            "user": ["ann", "bob"],
            "instance_id": ["1", "1"],
            "displayed_text": ["Hello\tyou", "Hello\tyou"],
            "irony:::yes": ["1", None],
            "irony:::no": [None, "2"],
            "rationale:::text_box": ["Too sweet", None],
            "choice:::select-one": ["red", "blue"],
            "span_annotation:::x": ["[]", "[]"],
        }
    )
    file = tmp_path / f"annotated_instances.{suffix}"
    frame.write_csv(file, separator="\t" if suffix == "tsv" else ",")
    corpus = load("potato", tmp_path, instrument="irony")
    assert values(corpus, "irony") == [("1", "ann", 1), ("1", "bob", 0)]
    assert values(corpus, "choice") == [("1", "ann", 1), ("1", "bob", 0)]
    assert corpus.judgments["rationale"].to_list() == ["Too sweet", "Too sweet", None, None]
    assert corpus.items["text"].to_list() == ["Hello\tyou"]


def test_without_a_project_file_several_marks_are_several_questions(tmp_path: Path) -> None:
    state(tmp_path, "ann", {"1": [label("topics", "a"), label("topics", "b")]})
    state(tmp_path, "bob", {"1": [label("topics", "a"), label("topics", "b", "false")]})
    corpus = load("potato", tmp_path)
    assert values(corpus, "topics: b") == [("1", "ann", 1), ("1", "bob", 0)]
    assert corpus.items.columns == ["item"]


def test_multirate_rows_are_questions(tmp_path: Path) -> None:
    root = project(tmp_path / "tone")
    with (root / "config.yaml").open("a") as config:
        config.write("  - {annotation_type: multirate, name: handling, description: H, labels: [Low, High]}\n")
    state(root, "ann", {"i1": [label("handling", "Urgency", "High"), label("handling", "Care", "Low")]})
    state(root, "bob", {"i1": [label("handling", "Urgency", "Low")]})
    corpus = load("potato", root)
    assert values(corpus, "handling: Urgency") == [("i1", "ann", 0), ("i1", "bob", 1)]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("user_state.json", "", "the file is empty"),
        ("user_state.json", '{"user_id": "a"', "ends too early"),
        ("user_state.json", "[]", "not the state of an annotator"),
        (
            "user_state.json",
            '{"instance_id_to_label_to_value": {"1": [3]}}',
            "a label is not stored as Potato does",
        ),
        (
            "user_state.json",
            '{"instance_id_to_label_to_value": {"1": 3}}',
            "labels are not stored as Potato does",
        ),
        ("user_state.json", '{"instance_id_to_label_to_value": {}}', "nothing has been annotated"),
        ("annotated_instances.jsonl", '{"id": 1}\n', "row 1: there is no 'id' or no 'label_annotations'"),
        ("annotated_instances.jsonl", "{]\n", "row 1: this is not JSON"),
        ("annotated_instances.tsv", "user\tx\na\t1\n", "there is no column 'instance_id'"),
        ("annotated_instances.csv", "user,instance_id,a\nx,1,2\n", "no annotation scheme judges an item"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str, told: str) -> None:
    folder = tmp_path / "ann" if name.endswith(("json", "jsonl")) else tmp_path
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    with pytest.raises(InputError, match=told):
        load("potato", tmp_path)


def test_a_folder_without_output(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the folder has no file"):
        load("potato", tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        load("potato", tmp_path / "absent")


def test_an_answer_off_the_scale(tmp_path: Path) -> None:
    root = project(tmp_path / "tone")
    state(root, "ann", {"i1": [label("tone", "snarky")]})
    with pytest.raises(InputError, match=r"user_state\.json: 'snarky', given by rater 'ann' for item 'i1'"):
        load("potato", root)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "schema", "name"]), inner),
    max_leaves=15,
)


@pytest.mark.slow
@given(JSON)
@settings(max_examples=100, deadline=None)
def test_no_malformed_file_escapes_as_a_traceback(tmp_path: Path, data: Any) -> None:
    file = tmp_path / "ann" / "user_state.json"
    file.parent.mkdir(exist_ok=True)
    for wrapped in (data, {"instance_id_to_label_to_value": {"1": data}}):
        file.write_text(json.dumps(wrapped))
        told = tmp_path.name
        try:
            load("potato", tmp_path)
        except InputError as error:
            told = str(error)
        assert tmp_path.name in told
