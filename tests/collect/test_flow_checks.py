"""What `vantage collect check` finds in a flow before anyone is invited, each problem with its line."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.cli.run import run
from tests.collect.people import begun
from tests.collect.test_study import written
from vantage import Corpus
from vantage.collect.service import StudyService
from vantage.collect.study import AnnotationStudy
from vantage.collect.study_setup import opened_study
from vantage.collect.views import QuestionAnswer
from vantage.errors import Problems

FLOW = """
id: mine-2026
title: How warm?
corpus: corpus
instrument: mine.yaml
raters: 2
quotas: {gender: {woman: 2, man: 2}}
flow:
  - consent
  - screener:
      questions:
        - {id: english, ask: English?, options: ["yes", "no"], required: true}
        - {id: gender, ask: Gender?, options: [woman, man, another], required: true}
        - {id: age, ask: Age?, kind: number, from: 18, to: 99, required: true}
      rules:
        - {if: english, is: ["no"], end: Sorry.}
        - {if: gender, is: [another], end: Sorry.}
        - {if: age, above: 90, end: Sorry.}
  - guidelines:
      training:
        items: [{item: i011, accept: {warm: [1]}}]
  - block: {id: before, condition: plain, items: {sample: 10}, batch: 5}
  - block: {id: after, condition: fancy, items: {same_as: before, distance: 4}}
  - questionnaire:
      questions:
        - {id: job, ask: Job?, kind: text, show_if: {if: english, is: ["yes"]}}
"""


def test_a_whole_flow_is_read(tmp_path: Path) -> None:
    study = AnnotationStudy.load(written(tmp_path, FLOW))
    stages = [phase.stage for phase in study.flow.phases]
    assert stages == ["consent", "screener", "guidelines", "training", "working", "working", "traits"]
    assert study.kept_apart == {"i011"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  - consent\n", "", "the first phase must be 'consent'"),
        ("  - guidelines:", "  - consent\n  - guidelines:", "line 19, flow.3.: 'consent' is the first phase"),
        (
            "{woman: 2, man: 2}",
            "{woman: 9, man: 2}",
            "line 7, quotas.gender: the quotas ask for 11 people, but .* for 4",
        ),
        ("{woman: 2, man: 2}", "{woman: 1, man: 2}", "this flow cannot end: the quotas admit 3 people, .* need 4"),
        ("{woman: 2, man: 2}", "{women: 2, man: 2}", "unknown option 'women'; did you mean 'woman'"),
        ("{gender: {woman", "{sex: {woman", "quotas.sex: unknown question about the participant 'sex'"),
        ("is: [another]", "is: [man, another]", "nobody can meet this quota: the screener ends the study for 'man'"),
        ('is: ["no"], end', 'is: ["yes", "no"], end', "cannot end: the rules screen out every answer to 'english'"),
        ("above: 90", "above: 10", "cannot end: the rules screen out every answer to 'age'"),
        ("above: 90", "is: ['yes']", "line 18, .*'age' is a number, so 'yes' is never its answer"),
        ("{if: age, above", "{if: agee, above", "unknown earlier question 'agee'; did you mean 'age'"),
        ('{if: english, is: ["yes"]', "{if: job, is: [x]", "unknown earlier question 'job'"),
        ("{if: gender, is", "{if: gender, below: 3, is", "give one of 'is', 'is_not', 'below' and 'above'"),
        ("if: gender, is: [another]", "if: gender, below: 3", "'gender' is of the kind 'choice'; use 'is' or 'is_not'"),
        ("id: job", "id: age", "duplicate trait 'age'"),
        ("id: job", "id: stage", "every export has a column 'stage'"),
        ("sample: 10", "sample: 40", "line 22, flow.4..block.items: 40 items are asked for, but there are 11"),
        ("sample: 10", "ids: [i001]", "each participant is to judge 5 items, but the block has 1"),
        ("sample: 10", "ids: [nope]", "the corpus has no item 'nope'"),
        ("sample: 10", "where: {colour: red}", "the items have no column 'colour'"),
        ("sample: 10", "where: {text: red}", "no items are left to judge"),
        ("distance: 4", "distance: 5", "line 23, .*distance: at most 4 pages can come between"),
        ("same_as: before", "same_as: befor", "unknown earlier block 'befor'; did you mean 'before'"),
        ("id: after", "id: before", "duplicate block 'before'"),
        ("condition: fancy", "condition: fanci", "unknown condition 'fanci'; did you mean 'fancy'"),
        ("condition: fancy", "condition: fancy, raters: 3", "not valid with 'same_as'"),
        ("condition: fancy", "condition: fancy, instrument: nowhere", "did you mean|there is no"),
        ("condition: fancy", "condition: fancy, instrument: irony", "its items have none of the columns 'post'"),
        ("accept: {warm: [1]}", "accept: {warm: [9]}", "9 is not on the scale"),
        ("item: i011", "item: x", "the corpus has no item 'x'"),
        ("        items: [{item", "        needed: 2\n        items: [{item", "'needed' is 2, but there are 1 items"),
        ("raters: 2\n", "raters: 2\ntraits: [{id: a, ask: b, kind: text}]\n", "the file has a 'flow'"),
        ("  - questionnaire:", "  - bogus: 1\n  - questionnaire:", "line 24, flow.6..bogus: there is no such key"),
        ("  - questionnaire:", "  - consnt\n  - questionnaire:", "line 24"),
    ],
)
def test_a_problem_is_told_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in FLOW
    with pytest.raises(Problems, match=message):
        AnnotationStudy.load(written(tmp_path, FLOW.replace(old, new, 1)))


MIXED = """
id: mixed
title: Two kinds of texts
corpus: corpus
instrument: mine.yaml
flow:
  - consent
  - block: {id: posts, items: {where: {kind: post}}, raters: 2, batch: 2}
  - block: {id: replies, instrument: irony, items: {where: {kind: reply}}, raters: 5, batch: 1}
"""


def test_instruments_with_different_fields_share_a_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, MIXED)
    known = Corpus.read(tmp_path / "corpus")
    items = pl.DataFrame(
        {
            "item": ["p1", "p2", "r1"],
            "kind": ["post", "post", "reply"],
            "text": ["One.", "Two.", None],
            "post": [None, None, "Rain again."],
            "reply": [None, None, "Lovely."],
        }
    )
    Corpus(items, known.raters, known.judgments, known.instruments).write(tmp_path / "corpus")
    with closing(StudyService(AnnotationStudy.load(file))) as service:
        person = begun(service)
        pages = []
        while (step := service.participants.step(person)).kind not in ("finished", "full"):
            if step.kind == "review":
                service.participants.finish(person)
            elif step.kind == "guidelines":
                service.participants.confirm(person)
            else:
                page = service.participants.page(person, step.position)
                pages.append((set(page.record), {question.id for question in page.questions}))
                given = {question.id: QuestionAnswer(1.0) for question in page.questions}
                service.participants.submit(person, step.position, given, token=page.token)
    assert pages == [({"text"}, {"warm", "kind"})] * 2 + [({"post", "reply"}, {"irony"})]
    done = run(capsys, monkeypatch, "collect", "check", file)
    assert "different numbers of people (posts 2, replies 5)" in done.out
    file.write_text(MIXED.replace("kind: post}", "kind: [post, reply]}"), "utf-8")
    with pytest.raises(Problems, match="item 'r1' has nothing to judge: text is empty"):
        AnnotationStudy.load(file)


def test_a_flow_without_a_block_cannot_end(tmp_path: Path) -> None:
    with pytest.raises(Problems, match="cannot end: no phase is a 'block'"):
        AnnotationStudy.load(written(tmp_path, FLOW[: FLOW.index("  - guidelines")].replace("quotas", "#")))


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    text = FLOW.replace("sample: 10", "sample: 99").replace("warm: [1]", "warm: [9]").replace("id: job", "id: age")
    text = text.replace("condition: fancy", "condition: fanci").replace("man: 2}}", "men: 2}}")
    with pytest.raises(Problems) as error:
        AnnotationStudy.load(written(tmp_path, text))
    assert [problem.split(",")[0] for problem in error.value.problems] == [f"line {n}" for n in (7, 21, 22, 23, 26)]


def test_an_instrument_in_another_language_or_with_another_scale(tmp_path: Path) -> None:
    file = written(tmp_path, FLOW.replace("condition: fancy", "condition: fancy, instrument: other.yaml"))
    document = (tmp_path / "mine.yaml").read_text("utf-8")
    (tmp_path / "other.yaml").write_text(document + "\nlanguage: de\n", "utf-8")
    with pytest.raises(Problems, match=r"line 23, .*'mine' is in the language 'de', the study in 'en'"):
        AnnotationStudy.load(file)
    other = yaml.safe_load(document)
    other["scales"]["scale-1"] = {"level": "ordinal", "from": 1, "to": 7}
    (tmp_path / "other.yaml").write_text(yaml.safe_dump({**other, "checks": []}), "utf-8")
    with pytest.raises(Problems, match="question 'warm' has another scale in 'mine'"):
        AnnotationStudy.load(file)


SEVERAL = """
id: two-corpora
title: Two kinds of texts
corpus: {posts: corpus, replies: replies}
instrument: mine.yaml
flow:
  - consent
  - block: {id: posts, items: {where: {corpus: posts}}, raters: 1, batch: 12}
  - block: {id: replies, instrument: irony, items: {where: {corpus: replies}}, raters: 1, batch: 1}
"""


def test_several_corpora_share_a_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, SEVERAL)
    known = Corpus.read(tmp_path / "corpus")
    replies = pl.DataFrame({"item": ["r1"], "post": ["Rain again."], "reply": ["Lovely."]})
    Corpus(replies, known.raters, known.judgments, known.instruments).write(tmp_path / "replies")
    study = AnnotationStudy.load(file)
    assert study.corpus.items["corpus"].to_list() == ["posts"] * 12 + ["replies"]
    assert [block.rows(study.corpus, ()) for block in study.blocks] == [list(range(12)), [12]]
    with closing(StudyService(study)) as service:
        person = begun(service)
        while (step := service.participants.step(person)).kind != "finished":
            if step.kind == "review":
                service.participants.finish(person)
            elif step.kind == "guidelines":
                service.participants.confirm(person)
            else:
                page = service.participants.page(person, step.position)
                given = {question.id: QuestionAnswer(1.0) for question in page.questions}
                service.participants.submit(person, step.position, given, token=page.token)
    # From here on the study runs from its database, which is beside the first corpus.
    assert (tmp_path / "corpus" / "collect-two-corpora.sqlite").exists()
    started, problem = opened_study(file)
    assert (started.folder, problem) == (tmp_path / "two-corpora", "")
    done = run(capsys, monkeypatch, "collect", "export", "--study", file)
    assert done.code == 0, done.err
    exported = Corpus.read(tmp_path / "two-corpora")
    assert exported.judgments.group_by("item").len().filter(item="r1")["len"].to_list() == [1]
    assert exported.filter(corpus="posts").judgments["question"].unique().sort().to_list() == ["kind", "warm"]
    # The corpora themselves have not changed, so that exporting again works.
    assert Corpus.read(tmp_path / "corpus").items.columns == ["item", "text"]
    assert run(capsys, monkeypatch, "collect", "export", "--study", file).code == 0


def test_what_two_corpora_cannot_share_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, SEVERAL)
    Corpus.read(tmp_path / "corpus").write(tmp_path / "replies")
    with pytest.raises(Problems, match="item 'i000' has two different values"):
        AnnotationStudy.load(file)
