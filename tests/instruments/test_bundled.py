"""The instruments that come with the package: each is complete, and holds what its studies rely on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from vantage.instruments import Instrument, Question, bundled

NAMES = bundled()
IN_CONVERSATION = ["politeness", "sarcasm", "vaccine-stance", "abortion-stance", "sentiment"]
APPRAISALS = [
    "self-responsibility",
    "other-responsibility",
    "circumstances-responsibility",
    "problem-focused-coping",
    "goal-relevance",
    "attentional-activity",
    "emotion-focused-coping",
    "self-control",
    "other-control",
    "circumstances-control",
    "predictability",
    "threat",
    "pleasantness",
    "certainty",
    "goal-conduciveness",
    "fairness",
    "future-expectancy",
    "social-norms",
    "loss",
    "familiarity",
    "effort",
    "challenge",
    "internal-values",
    "expectedness",
]


def labels(question: Question) -> dict[float, str]:
    """The wording of the points that have one."""
    return {option.code: option.label for option in question.scale.options if option.label}


def texts(item: Mapping[str, Any]) -> dict[str, str]:
    """The fields of an item that can stand inside a question."""
    return {name: value for name, value in item.items() if isinstance(value, str)}


def test_all_announced_instruments_are_bundled() -> None:
    announced = {
        "warmth-competence",
        "appraisals",
        "stereotype-content",
        *IN_CONVERSATION,
        "irony",
        "hate-speech",
        "offensiveness",
        "conversation-safety",
        "rationale-quality",
        "context-quality",
        "sarcasm-rating",
        "conversation-abuse",
        "hate-speech-components",
    }
    assert announced <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
class TestEveryInstrument:
    def test_has_what_a_study_needs(self, name: str) -> None:
        instrument = Instrument.load(name)
        assert instrument.id == name
        assert instrument.sources
        assert instrument.warning
        assert len(instrument.guidelines.split()) > 80
        assert "voluntary" in instrument.consent
        assert "18 years" in instrument.consent
        assert 2 <= len(instrument.examples) <= 5
        assert instrument.checks

    def test_worked_examples_show_different_answers(self, name: str) -> None:
        instrument = Instrument.load(name)
        answered = {question for example in instrument.examples for question in example.answers}
        for question in answered:
            given = [e.answers[question].answer for e in instrument.examples if question in e.answers]
            if len(instrument.questions) <= 4:
                assert len(set(given)) > 1, question
        assert len({a.answer for e in instrument.examples for a in e.answers.values()}) > 1

    def test_worked_examples_answer_the_questions(self, name: str) -> None:
        instrument = Instrument.load(name)
        everything = {question.id for question in instrument.questions}
        if not instrument.forms:
            assert set().union(*(example.answers for example in instrument.examples)) == everything
        for form in instrument.forms:
            assert len(instrument.form(form).examples) >= 2

    def test_worked_examples_show_the_fields_of_their_condition(self, name: str) -> None:
        instrument = Instrument.load(name)
        for example in instrument.examples:
            assert {field.name for field in instrument.shown(example.condition)} == set(example.item)
            for field in instrument.shown(example.condition):
                value = example.item[field.name]
                if field.kind != "conversation":
                    assert isinstance(value, str)
                    continue
                assert value
                assert all(turn.keys() == {"speaker", "text"} for turn in value)

    def test_every_wording_is_filled_by_the_examples(self, name: str) -> None:
        instrument = Instrument.load(name)
        for example in instrument.examples:
            for question in instrument.questions:
                wording = question.wording(example.condition, **texts(example.item))
                assert not re.search(r"[{}]", wording), wording
                assert wording.endswith("?")
        assert not re.search(r"[{}]", instrument.guidelines)

    def test_every_question_explains_both_ends(self, name: str) -> None:
        for question in Instrument.load(name).questions:
            low, high = question.scale.ends
            assert {low, high} <= labels(question).keys()

    def test_checks_ask_for_an_answer_that_they_accept(self, name: str) -> None:
        instrument = Instrument.load(name)
        for check in instrument.checks:
            scale = instrument.question(check.question).scale
            wanted = [scale.label(code) for code in check.accept]
            # Typographic minus and plus signs belong to the text, not to the code.
            numbers = [f"{code:g}" for code in check.accept]
            said = check.instruction.replace("−", "-")
            assert any(answer in said for answer in [*wanted, *numbers])


class TestWarmthCompetence:
    def test_bands_are_half_a_point_around_zero(self) -> None:
        for question in Instrument.load("warmth-competence").questions:
            assert question.scale.codes == tuple(range(-3, 4))
            bands = [question.scale.band(mean) for mean in (-3, -0.5, -0.49, 0, 0.49, 0.5, 3)]
            assert bands == ["low", "low", "neutral", "neutral", "neutral", "high", "high"]


class TestAppraisals:
    instrument = Instrument.load("appraisals")

    def test_dimensions_stand_in_the_published_order(self) -> None:
        assert [question.id for question in self.instrument.questions] == APPRAISALS

    def test_scale_is_one_to_nine_with_not_mentioned(self) -> None:
        for question in self.instrument.questions:
            assert question.scale.codes == tuple(range(1, 10))
            assert [opt_out.status for opt_out in question.scale.opt_outs] == ["not_mentioned"]
            assert question.rationale == "required"

    def test_midpoint_is_worded_where_the_original_words_it(self) -> None:
        worded = [n for n, q in enumerate(self.instrument.questions, 1) if 5 in labels(q)]
        assert worded == [13, 14, 15, 16, 17, 18, 23, 24]

    def test_every_question_has_anchors_of_its_own(self) -> None:
        ends = [(labels(q)[1], labels(q)[9]) for q in self.instrument.questions]
        assert len(set(ends)) == 24

    def test_sections_hold_six_questions_each(self) -> None:
        sections = [question.section for question in self.instrument.questions]
        assert len(set(sections)) == 4
        assert all(len(set(sections[start : start + 6])) == 1 for start in range(0, 24, 6))

    def test_one_example_is_worked_in_full(self) -> None:
        answers = [set(example.answers) for example in self.instrument.examples]
        assert set(APPRAISALS) in answers
        given = {a.answer for example in self.instrument.examples for a in example.answers.values()}
        assert "not_mentioned" in given


class TestStereotypeContent:
    instrument = Instrument.load("stereotype-content")

    def members(self, form: str, aggregate: str) -> tuple[str, ...]:
        return next(a.members for a in self.instrument.form(form).aggregates if a.id == aggregate)

    def test_every_question_has_five_points(self) -> None:
        assert {q.scale.codes for q in self.instrument.questions} == {(1.0, 2.0, 3.0, 4.0, 5.0)}

    def test_every_question_belongs_to_a_form(self) -> None:
        asked = set().union(*self.instrument.forms.values())
        assert asked == {question.id for question in self.instrument.questions}

    def test_short_form(self) -> None:
        assert set(self.members("short", "competence")) == {
            *("competent", "confident", "independent", "competitive"),
            *("intelligent", "capable", "efficient", "skillful"),
        }
        assert set(self.members("short", "warmth")) == {
            *("tolerant", "warm", "good-natured", "sincere"),
            *("friendly", "well-intentioned", "trustworthy"),
        }
        scores = ["competence", "warmth", "status", "competition"]
        asked = [question for score in scores for question in self.members("short", score)]
        assert len(asked) == 8 + 7 + 3 + 3
        assert set(asked) == {q.id for q in self.instrument.form("short").questions}

    def test_extended_form(self) -> None:
        sections: dict[str, list[str]] = {}
        for question in self.instrument.form("extended").questions:
            sections.setdefault(question.section, []).append(question.id)
        traits = [*sections["Competence"], *sections["Warmth"], *sections["Beliefs and standing"]]
        assert set(traits) == {
            *("friendly", "sociable", "trustworthy", "honest", "competent", "skilled"),
            *("confident", "assertive", "traditional", "conservative", "wealthy", "high-status"),
        }
        assert len(sections["Social structure"]) == 4
        assert len(sections["Emotions"]) == 8
        assert len(sections["Behaviours"]) == 8

    @pytest.mark.parametrize(
        ("score", "members"),
        [
            ("sociability", ("friendly", "sociable")),
            ("morality", ("trustworthy", "honest")),
            ("ability", ("competent", "skilled")),
            ("assertiveness", ("confident", "assertive")),
            ("warmth", ("sociability", "morality")),
            ("competence", ("ability", "assertiveness")),
            ("contempt", ("feel-contempt", "feel-disgust")),
            ("admiration", ("feel-admiration", "feel-pride")),
            ("pity", ("feel-pity", "feel-sympathy")),
            ("envy", ("feel-envy", "feel-jealousy")),
            ("active-facilitation", ("help", "protect")),
            ("active-harm", ("fight", "attack")),
            ("passive-facilitation", ("cooperate", "associate")),
            ("passive-harm", ("exclude", "demean")),
            ("status", ("economic-success", "job-prestige")),
            ("competition", ("special-treatment", "resources")),
        ],
    )
    def test_extended_scores_are_means_of_two(self, score: str, members: tuple[str, str]) -> None:
        assert self.members("extended", score) == members

    def test_aggregates_lead_back_to_questions(self) -> None:
        known = {question.id for question in self.instrument.questions}
        for aggregate in self.instrument.aggregates:
            assert set(aggregate.members) <= known
            known.add(aggregate.id)

    def test_society_can_be_replaced(self) -> None:
        assert "American society" in self.instrument.guidelines
        abroad = self.instrument.with_parameters(society="Dutch society")
        assert "American" not in abroad.guidelines
        for question in abroad.questions:
            wording = question.wording(group="nurses")
            assert "Dutch society" in wording
            assert "nurses" in wording


@pytest.mark.parametrize("name", IN_CONVERSATION)
class TestInConversation:
    def test_there_is_a_static_and_an_in_conversation_wording(self, name: str) -> None:
        instrument = Instrument.load(name)
        assert instrument.conditions == {"static": ("text",), "context": ("conversation", "text")}
        (question,) = instrument.questions
        static = question.wording("static", text="So it goes.")
        context = question.wording("context", text="So it goes.")
        assert "conversation" not in static
        assert "conversation" in context
        assert '"So it goes."' in context

    def test_raters_may_call_it_ambiguous(self, name: str) -> None:
        instrument = Instrument.load(name)
        (question,) = instrument.questions
        assert question.id == name
        assert [opt_out.status for opt_out in question.scale.opt_outs] == ["ambiguous"]
        given = {example.answers[name].answer for example in instrument.examples}
        assert "ambiguous" in given

    def test_there_are_examples_of_both_conditions(self, name: str) -> None:
        examples = Instrument.load(name).examples
        assert {example.condition for example in examples} == {"static", "context"}

    def test_the_statement_stands_in_its_conversation(self, name: str) -> None:
        for example in Instrument.load(name).examples:
            if example.condition == "context":
                turns = [turn["text"] for turn in example.item["conversation"]]
                assert any(example.item["text"] in turn for turn in turns)


@pytest.mark.parametrize(
    ("name", "question", "level", "options"),
    [
        ("politeness", "politeness", "nominal", {0: "no", 1: "yes"}),
        ("sarcasm", "sarcasm", "nominal", {0: "no", 1: "yes"}),
        ("vaccine-stance", "vaccine-stance", "ordinal", {-1: "against", 0: "neutral", 1: "favoring"}),
        ("abortion-stance", "abortion-stance", "ordinal", {-1: "against", 1: "favoring"}),
        ("sentiment", "sentiment", "ordinal", {-1: "negative", 0: "neutral", 1: "positive"}),
        ("irony", "irony", "nominal", {0: "no", 1: "yes"}),
        ("hate-speech", "hate-speech", "nominal", {0: "no", 1: "yes"}),
        ("hate-speech", "aggressiveness", "nominal", {0: "no", 1: "yes"}),
        ("hate-speech", "offensiveness", "nominal", {0: "no", 1: "yes"}),
        ("offensiveness", "offensive", "nominal", {0: "no", 1: "yes"}),
        ("conversation-safety", "harmful-content", "ordinal", {0: "no", 1: "unsure", 2: "yes"}),
        ("conversation-safety", "unsafe", "ordinal", {0: "no", 1: "unsure", 2: "yes"}),
        ("hate-speech-components", "hatespeech", "ordinal", {0: "no", 1: "unclear", 2: "yes"}),
        ("rationale-quality", "factuality", "ordinal", {0: "no", 0.5: "minor", 1: "yes"}),
        ("rationale-quality", "consistency", "nominal", {0: "no", 1: "yes"}),
        ("rationale-quality", "usefulness", "ordinal", {0: "no", 0.5: "maybe", 1: "yes"}),
    ],
)
def test_named_answers(name: str, question: str, level: str, options: dict[float, str]) -> None:
    asked = Instrument.load(name).question(question)
    assert asked.scale.level == level
    assert {option.code: option.label for option in asked.scale.options} == options


@pytest.mark.parametrize(
    ("name", "question", "low", "high"),
    [
        ("sarcasm-rating", "sarcasm-rating", 1, 6),
        ("conversation-abuse", "abuse", -3, 1),
        ("rationale-quality", "relevance", 1, 5),
        *[("context-quality", question, 1, 5) for question in ("label-alignment", "natural-flow", "redundancy")],
        *[
            ("hate-speech-components", question, 0, 4)
            for question in (
                *("sentiment", "respect", "insult", "humiliate", "status"),
                *("dehumanize", "violence", "genocide", "attack-defend"),
            )
        ],
    ],
)
def test_numbered_answers(name: str, question: str, low: int, high: int) -> None:
    scale = Instrument.load(name).question(question).scale
    assert scale.level == "ordinal"
    assert scale.codes == tuple(range(low, high + 1))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("appraisals", ["text"]),
        ("stereotype-content", ["group"]),
        ("irony", ["post", "reply"]),
        ("sarcasm-rating", ["context", "response"]),
        ("conversation-safety", ["conversation", "response"]),
        ("conversation-abuse", ["conversation"]),
        ("rationale-quality", ["post", "asked", "rating", "rationale"]),
        ("context-quality", ["statement", "label", "conversation"]),
    ],
)
def test_items_show_these_fields(name: str, fields: list[str]) -> None:
    assert [field.name for field in Instrument.load(name).fields] == fields


def test_abuse_is_what_lies_below_zero() -> None:
    scale = Instrument.load("conversation-abuse").question("abuse").scale
    bands = [scale.band(code) for code in (-3, -1, 0, 1)]
    assert bands == ["abusive", "abusive", "unclear", "not-abusive"]


def test_higher_points_towards_hate_on_every_component() -> None:
    instrument = Instrument.load("hate-speech-components")
    hateful, supportive = instrument.examples[:2]
    assert {question.id for question in instrument.questions} == set(hateful.answers)
    for question in instrument.questions:
        assert hateful.answers[question.id].answer == question.scale.ends[1]
    assert supportive.answers["attack-defend"].answer == 0
    assert labels(instrument.question("attack-defend"))[4] == "strongly attacking"


@pytest.mark.parametrize(
    ("question", "for_it", "against_it"),
    [
        ("trust", ["moral", "honesty", "sincerity", "kindness"], ["lying", "betrayal", "harmful"]),
        ("sociability", ["friendliness", "helpful", "generosity"], ["selfishness", "indifference", "antisocial"]),
        ("competence", ["ability", "power", "dominance", "control", "influence", "assertive"], ["submissive", "weak"]),
    ],
)
def test_warmth_and_competence_mean_what_the_paper_defines(
    question: str, for_it: list[str], against_it: list[str]
) -> None:
    """The constructs of Ayesh, Mohammad and Ousidhoum (2026), Appendix D, in words of our own."""
    instrument = Instrument.load("warmth-competence")
    meaning = instrument.question(question).guidelines.lower()
    assert [word for word in [*for_it, *against_it] if word not in meaning] == []
    assert "what the author expresses, not your own opinion" in " ".join(instrument.guidelines.split())
    assert [option.code for option in instrument.question(question).scale.options] == [-3, -2, -1, 0, 1, 2, 3]
    assert "not expressed" in labels(instrument.question(question))[0]
    if question == "competence":
        assert "whatever it is used for" in " ".join(meaning.split())
