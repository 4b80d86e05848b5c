from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import vantage
from tests.report.made import made
from tests.report.truth import check_all
from vantage import InputError
from vantage.documents import Document
from vantage.measures import accuracy, alpha, registry, split_half
from vantage.measures.base import REGISTRY, measure, table
from vantage.measures.presentation import Against, Extremes, Fact
from vantage.report.parts import Figure, Result
from vantage.report.recipe import Analysis, Data, Recipe
from vantage.report.references import entries


def recipe(show: str, **more: str) -> str:
    head = "".join(f"{key}: {value}\n" for key, value in more.items())
    return f"title: T\n{head}sections:\n  - title: S\n    show:\n      - {show}\n"


def ran(text: str, functions: Any = None, **options: Any) -> Result:
    result = Recipe.parse(text, functions or {}).result(Analysis(made(3, signal=1.0, models=2), options))
    check_all(result)
    return result


def test_measures_are_put_to_people_unless_an_entry_says_otherwise() -> None:
    people, everyone = made(3, signal=1.0, models=2).filter(kind="person"), made(3, signal=1.0, models=2)
    assert ran(recipe("{measure: alpha}")).tables[0].frame["estimate"][0] == alpha(people, ci="none")["estimate"][0]
    found = ran(recipe("{measure: alpha, of: everyone}")).tables[0]
    assert found.frame["estimate"][0] == alpha(everyone, ci="none", kinds="all")["estimate"][0]
    assert "16 people and 2 models" in found.caption


def test_an_entry_without_groups_keeps_questions_apart() -> None:
    one = made(3, signal=1.0)
    other = one.judgments.with_columns(pl.col("question") + "-2", pl.col("value").reverse())
    both = pl.concat([one.judgments, other]).with_columns(pl.col("question").cast(pl.String))

    def found(entry: str) -> Any:
        return Recipe.parse(recipe(entry), {}).result(Analysis(vantage.read(both), {})).tables[0]

    apart, pooled = found("{measure: alpha}"), found("{measure: alpha, by: []}")
    assert apart.frame["question"].n_unique() == len(apart.frame) == 2
    assert "by question" in apart.caption
    assert len(pooled.frame) == 1


def test_measures_stand_side_by_side_with_their_intervals() -> None:
    text = recipe("{name: both, by: question, side_by_side: {alpha: {}, halves: {measure: split-half}}}")
    frame = ran(text).tables[0].frame
    people = made(3, signal=1.0, models=2).filter(kind="person")
    assert frame["alpha"][0] == alpha(people, ci="none")["estimate"][0]
    assert frame["halves"][0] == pytest.approx(split_half(people)["estimate"][0])
    assert frame["alpha_low"][0] < frame["alpha"][0] < frame["alpha_high"][0]


def test_options_of_the_study_reach_measures_and_texts() -> None:
    text = recipe("{measure: alpha, options: {level: $level}}", methods='["At {level} level.", "With {nothing}."]')
    result = ran(text, level="nominal")
    assert "nominal level" in result.tables[0].caption
    assert result.methods[0] == "At nominal level."
    assert not any("With" in paragraph for paragraph in result.methods), "a paragraph without its value is left out"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{measure: alpha, of: poeple}", "there are no judgments of 'poeple'; did you mean 'people'"),
        (
            "{measure: alpha, options: {level: $levle}}",
            "'\\$levle' is neither an option nor a fact of the study; did you mean 'level'",
        ),
    ],
)
def test_what_a_study_does_not_have_is_named(entry: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        ran(recipe(entry), level="nominal")


@pytest.mark.slow
def test_parts_of_the_analysis_reach_measures() -> None:
    corpus = made(3, signal=1.0, models=2)

    class Gold(Analysis):
        labels = corpus.items.select("item", value=pl.lit(4.0))

    text = recipe("{measure: accuracy, of: everyone, by: rater, options: {reference: $labels, metric: mae}}")
    frame = Recipe.parse(text).result(Gold(corpus, {})).tables[0].frame
    expected = accuracy(corpus, by="rater", reference=Gold.labels, metric="mae")
    assert frame["estimate"].to_list() == expected["estimate"].to_list()


def test_a_figure_stacks_columns_keeps_rows_and_joins_names() -> None:
    rows = {"task": ["a", "b"], "part": ["all", "rest"], "one": [1.0, 2.0], "one_low": [0.5, 1.5], "two": [3.0, None]}
    figure = "{chart: points, where: {part: all}, stack: {one: first, two: second}, category: '{task}: {of}'}"
    result = ran(recipe(f"{{function: frame, figure: {figure}}}"), {"frame": lambda _: pl.DataFrame(rows)})
    drawn = result.figures[0]
    assert drawn.options["category"] == "category"
    assert drawn.data.select("category", "estimate", "low").rows() == [("a: first", 1.0, 0.5), ("a: second", 3.0, None)]
    drawn.draw()


def test_a_figure_can_be_drawn_for_each_value_of_a_column() -> None:
    rows = {"model": ["A b", "A b", "c"], "x": [1, 2, 1], "estimate": [0.1, 0.2, 0.3]}
    entry = "{function: frame, table: false, caption: 'Of {model}.', figure: {chart: curve, each: model, x: x}}"
    figures = ran(recipe(entry), {"frame": lambda _: pl.DataFrame(rows)}).figures
    told = [(one.name, one.caption, len(one.data)) for one in figures]
    assert told == [("frame-a-b", "Of A b.", 2), ("frame-c", "Of c.", 1)]


def test_functions_give_frames_facts_paragraphs_and_nothing() -> None:
    functions = {
        "frame": lambda a: Data(pl.DataFrame({"name": ["x"], "n": [len(a.corpus.items)]}), {"count": 7}),
        "paragraphs": lambda _: [
            "Said by a function.",
            Figure("f", "F.", data=pl.DataFrame({"q": ["a"], "estimate": [1.0]}), options={"category": "q"}),
        ],
        "nothing": lambda _: None,
    }
    text = (
        "title: T\nsections:\n  - title: S\n    text: There are {count}.\n    show:\n"
        "      - {function: frame, caption: 'Of {count}.', say: [{fact: '{name} has {n}.'}]}\n"
        "      - {function: paragraphs}\n"
        "  - {title: Empty, show: [{function: nothing}]}\n"
    )
    result = ran(text, functions)
    assert [section.title for section in result.sections] == ["S"]
    assert result.sections[0].text == ["There are 7.", "Said by a function."]
    assert result.tables[0].caption == "Of 7."
    assert result.sections[0].findings[0].text == "x has 40."
    assert [figure.name for figure in result.figures] == ["f"]


def test_a_section_can_be_repeated_for_each_part() -> None:
    functions = {
        "halves": lambda a: {name: Analysis(a.corpus.filter(rater=list(who)), a.options) for name, who in PARTS.items()}
    }
    text = "title: T\nsections:\n  - {title: S, each: halves, show: [{measure: alpha}]}\n"
    result = ran(text, functions)
    assert [section.title for section in result.sections] == ["S: First ones", "S: others"]
    assert [part.name for part in result.tables] == ["alpha-first-ones", "alpha-others"]


PARTS = {"First ones": [f"p{n}" for n in range(8)], "others": [f"p{n}" for n in range(8, 16)]}


def test_data_that_a_measure_cannot_use_leave_a_sentence() -> None:
    result = ran(recipe("{measure: correlate}"))
    assert result.tables == []
    assert result.sections[0].text[0].startswith("Correlations of item scores: ")


def test_headlines_open_the_report_in_their_order() -> None:
    text = (
        "title: T\nsections:\n"
        "  - {title: A, show: [{measure: alpha, headline: 2, say: [{fact: 'Second {estimate}.'}]}]}\n"
        "  - {title: B, show: [{measure: pairwise, headline: 1, say: [{fact: 'First {estimate}.'}]}]}\n"
    )
    assert [finding.text.split()[0] for finding in ran(text).findings] == ["First", "Second"]


def test_at_most_six_sentences_open_a_report_and_those_that_claim_something_are_kept() -> None:
    facts = "".join(
        f"      - {{function: known, name: f{n}, headline: {n}, say: [{{fact: 'Fact {n} of {{name}}.'}}]}}\n"
        for n in range(2, 9)
    )
    text = (
        f"title: T\nsections:\n  - title: S\n    show:\n{facts}"
        "      - {function: unclear, headline: 6, say: [{against: {reference: 0, above: High, within: Not shown}}]}\n"
        "      - {function: clear, headline: 7, say: [{against: {reference: 0, above: High, within: Not shown}}]}\n"
    )

    def row(low: float) -> pl.DataFrame:
        return pl.DataFrame({"estimate": [1.0], "low": [low], "high": [2.0 - low]})

    functions = {
        "known": lambda _: pl.DataFrame({"name": ["x"]}),
        "unclear": lambda _: row(-2.0),
        "clear": lambda _: row(0.9),
    }
    result = ran(text, functions)
    told = [finding.text.split(" (")[0] for finding in result.findings]
    assert told == ["Fact 2 of x.", "Fact 3 of x.", "Fact 4 of x.", "Fact 5 of x.", "Fact 6 of x.", "High"]
    assert len(result.sections[0].findings) == 9, "all sentences stand in their section"


def test_a_measure_without_a_presentation_gets_a_plain_table() -> None:
    @measure("plainest", family="variation")
    def plainest(data: Any, *, by: Any = ()) -> pl.DataFrame:
        """Nothing but a number."""
        return table([{"estimate": 0.5}], by)

    try:
        found = ran(recipe("{measure: plainest}"))
        assert found.tables[0].frame["estimate"].to_list() == [0.5]
        assert found.sections[0].findings == []
    finally:
        del REGISTRY["plainest"]


def test_every_measure_says_how_it_is_shown_and_cites_works_that_are_there() -> None:
    for name, found in registry().items():
        assert found.view.title, name
        assert set(found.view.sources) <= set(entries()), name
        for rule in found.view.says:
            assert isinstance(rule, Against | Extremes | Fact), name


@pytest.mark.parametrize("name", ["appraisals", "demo", "stereomap", "wcsent"])
def test_notes_and_texts_are_whole_sentences(name: str) -> None:
    """A comma in a list of YAML parts one sentence into two."""
    document = Document.bundled(f"vantage.studies.{name}", "recipe.yaml").data
    for section in document["sections"]:
        for entry in section["show"]:
            for text in [*listed(entry.get("notes")), *listed(section.get("text"))]:
                assert text.rstrip().endswith((".", "}")), text


def listed(texts: str | list[str] | None) -> list[str]:
    return [texts] if isinstance(texts, str) else texts or []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title: T\nsections: [{title: S, show: [{measure: alpha, of: 3}]}]", "show"),
        ("sections: []", "title: this is missing"),
        ("title: T\nsectoins: []", "sectoins: there is no such key"),
        ("title: T\nsections: [{title: S, each: nobody}]", "there is no function 'nobody'"),
        ("title: T\nsources: [shanon1948]", "'shanon1948' is not in the bibliography; did you mean 'shannon1948'"),
        ("- 1", "not a mapping"),
    ],
)
def test_bad_recipes_end_with_their_problems(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Recipe.parse(text)


def test_a_family_comes_after_one_that_is_declared_before_it() -> None:
    families = "title: T\nfamilies: {one: First?, two: Second?}\n"
    assert Recipe.parse(f"{families}after: {{two: one}}\n").after == {"two": "one"}
    for wrong in ("{one: two}", "{two: tow}", "{tow: one}"):
        with pytest.raises(InputError, match="can only come after a family that is declared before it"):
            Recipe.parse(f"{families}after: {wrong}\n")
