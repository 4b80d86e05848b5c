from __future__ import annotations

from pathlib import Path

import pytest

from tests.collect.people import corpus, instrument, study
from vantage.collect import document
from vantage.collect.phases import accepts
from vantage.collect.study import AnnotationStudy
from vantage.documents import dump
from vantage.errors import InputError, Problems

FULL = """
id: mine-2025
title: How warm?
corpus: corpus
instrument: mine.yaml
questions: [[warm], [kind, warm]]
conditions: {between: [plain, fancy]}
raters: 2
double: {share: 0.1, raters: 4}
batch: {size: 20, per_participant: 3}
order: {items: fixed, seed: 9}
reserve_minutes: 30
attention:
  per_batch: 2
  checks: [choose-five, {id: own, instruction: Choose no., question: kind, accept: [0]}]
gold:
  per_batch: 1
  items:
    - {item: i001, accept: {warm: {from: 2, to: 4}, kind: [1]}, condition: plain}
traits:
  - {id: age, ask: How old are you?, kind: number, from: 18, to: 120, required: true}
  - {id: gender, ask: What is your gender?, options: [woman, man, another]}
quiz:
  questions: [{ask: Ready?, options: ["no", "yes"], answer: 2, explain: You should be.}]
consent: Do you agree?
warning: Rude words.
withdrawal: keep
recruitment: {via: prolific, completion_code: C1, screen_out_code: C2, full_code: C3}
"""


def written(folder: Path, text: str) -> Path:
    corpus(folder)
    (folder / "mine.yaml").write_text(dump(dict(instrument().document)), encoding="utf-8")
    file = folder / "study.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_full_study_file_is_read(tmp_path: Path) -> None:
    found = AnnotationStudy.load(written(tmp_path, FULL))
    (block,) = found.blocks
    assert block.question_sets == (("warm",), ("kind", "warm"))
    assert block.conditions == ("plain", "fancy")
    assert list(block.checks) == ["choose-five", "own"]
    assert block.checks["own"].accept == (0.0,)
    assert found.consent == "Do you agree?"
    assert not block.within
    gold = block.gold["i001"]
    assert [accepts(gold.accept["warm"], value) for value in (1, 2, 4, None)] == [False, True, True, False]
    assert accepts(gold.accept["kind"], 1.0)
    assert found.database.endswith("corpus/collect-mine-2025.sqlite")


def test_a_study_without_a_file_has_defaults(tmp_path: Path) -> None:
    found = study(tmp_path)
    assert (found.id, found.title, found.plan.raters, found.conditions) == ("mine", "My questions", 3, ("",))
    assert found.blocks[0].question_sets == (("warm", "kind"),)
    assert found.blocks[0].checks == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("raters: 2", "raters: 5", r"line 9, double.raters: must be more than 'raters', which is 5"),
        ("between: [plain, fancy]", "between: [plain, fanci]", "unknown condition 'fanci'; did you mean 'fancy'"),
        ("between: [plain, fancy]", "between: [plain], within: [fancy]", "give either 'between' or 'within'"),
        ("[[warm], [kind, warm]]", "[[warm], [kid]]", "unknown question 'kid'; did you mean 'kind'"),
        ("item: i001", "item: nope", "line 19, gold.items.1..item: the corpus has no item 'nope'"),
        ("from: 2, to: 4", "from: 2, to: 9", "9 is not on the scale 1…5"),
        ("kind: [1]", "kind: [7]", "7 is not on the scale no, yes"),
        ("checks: [choose-five", "checks: [choose-six", "unknown check of the instrument 'choose-six'"),
        ("id: age", "id: verdict", "every export has a column 'verdict'"),
        ("options: [woman, man, another]", "kind: text, options: [woman]", "'options' are required for the kinds"),
        ("answer: 2", "answer: 3", "'answer' is 3, but there are 2 options"),
        ("completion_code: C1, ", "", "Prolific needs a 'completion_code'"),
        ("via: prolific", "via: link", "only valid with 'via: prolific'"),
        ("corpus: corpus", "corpus: nowhere", "line 4, corpus: .*there is no such folder"),
        ("instrument: mine.yaml", "instrument: sarcsm", "did you mean 'sarcasm'"),
        ("id: mine-2025", "id: mine-2025\nbogus: 1", "line 3, bogus: there is no such key"),
        ("full_code: C3", 'full_code: "<script>"', "full_code"),
    ],
)
def test_a_problem_is_told_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in FULL
    with pytest.raises(Problems, match=message):
        AnnotationStudy.load(written(tmp_path, FULL.replace(old, new, 1)))


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    text = FULL.replace("raters: 2", "raters: 0").replace("answer: 2", "answer: 3").replace("item: i001", "item: x")
    with pytest.raises(Problems) as error:
        AnnotationStudy.load(written(tmp_path, text))
    assert len(error.value.problems) == 3


def test_an_instrument_that_shows_what_the_items_lack(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its items have none of the columns 'post', 'reply'"):
        AnnotationStudy.of(corpus(tmp_path), "irony")
    with pytest.raises(InputError, match=r"asks about \{target\}, and the items have no column 'target'"):
        AnnotationStudy.of(corpus(tmp_path), "warmth-competence")


def test_the_schema_that_ships_is_the_present_one() -> None:
    shipped = Path(document.__file__).with_name("schema.json").read_text("utf-8")
    assert shipped == document.json_schema(), (
        "run: python -m vantage.collect.document > src/vantage/collect/schema.json"
    )


def test_everybody_gets_an_attention_check(tmp_path: Path) -> None:
    own = "{id: own, instruction: Choose no., question: kind, accept: [0]}"
    text = FULL.replace(f"[choose-five, {own}]", f"[{own}]")
    with pytest.raises(Problems, match=r"line 15.* participants who answer 'warm' would get no check"):
        AnnotationStudy.load(written(tmp_path, text))
