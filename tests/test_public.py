"""The public names: listed here, so that adding or losing one is a decision. docs/api.md tells what each is."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import pytest

import vantage

PUBLIC = {
    "vantage": """
        ChatRater Corpus InputError Instrument Scale __version__ demo_corpus export measures perspective plan
        rate raters read report studies to_pandas
    """,
    "vantage.measures": """
        ac1 accuracy aggregate alpha alt_test ambiguity audit balanced_gain calibration cohen compare competence
        confusion correlate defensible dif difference distance entropy error_gaps expectations
        explain facets find fleiss groups icc mean opt_outs pairwise panel
        population prevalence randolph ranks rater_matrix rater_quality rationale_agreement rationale_form
        rationale_similarity refusals registry regress reliability scaling set_alpha soft_labels
        split_half split_items unanimity whose_label
    """,
    "vantage.report": "Column Figure Finding Published Report Result Section Table published_table",
    "vantage.studies": "Context Study find names option preview run",
    "vantage.perspective": """
        Evaluation Split ablation advantage alignment average_user below evaluate
        gaps label_change minority_gap passport shared_task split stood_for vote
    """,
}


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_these(module: str) -> None:
    assert set(import_module(module).__all__) == set(PUBLIC[module].split())


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_says_what_it_is(module: str) -> None:
    for name in set(PUBLIC[module].split()) - {"__version__"}:
        thing = getattr(import_module(module), name)
        told = inspect.getdoc(thing) or ""
        assert told.split("\n")[0].rstrip().endswith((".", "?", ":")) or len(told) > 60, name
        # What a dataclass writes for itself says nothing.
        assert not told.startswith(f"{name}("), name


def test_names_that_are_not_public_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'alfa'"):
        vantage.alfa  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("name", "home"),
    [("alpha", "measures"), ("Band", "scales"), ("Personas", "raters"), ("fit", "raters"), ("during", "planning")],
)
def test_a_name_of_another_package_says_where_it_is(name: str, home: str) -> None:
    with pytest.raises(AttributeError, match=rf"no attribute '{name}'; use vantage\.{home}\.{name}$"):
        getattr(vantage, name)
    assert callable(getattr(import_module(f"vantage.{home}"), name))


def test_newcomers_see_few_names_and_read_about_each() -> None:
    pages = Path(__file__).parents[1]
    text = (pages / "README.md").read_text("utf-8") + (pages / "docs" / "index.md").read_text("utf-8")
    assert len(vantage.__all__) <= 20
    names = set(vantage.__all__) - {"__version__"}
    assert not [name for name in names if f"vantage.{name}" not in text], "not in README.md or docs/index.md"


def test_public_functions_take_nothing_untyped() -> None:
    for module in (vantage, vantage.measures):
        for name in module.__all__:
            if inspect.isfunction(function := getattr(module, name)):
                options = inspect.signature(function).parameters.values()
                plain = [p for p in options if p.kind is not p.VAR_KEYWORD]
                assert not [p.name for p in plain if "Any" in str(p.annotation).split("[")[0]], name
