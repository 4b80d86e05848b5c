"""The public names: listed here, so that adding or losing one is a decision. docs/api.md tells what each is."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

import vantage

PUBLIC = {
    "vantage": """
        About Band ChatRater Corpus InputError Instrument OptOut Option PairRater Persona Personas Question Reply
        Scale Style TrainedRater VantageError __version__ ac1 accuracy aggregate alpha alt_test ambiguity bands
        calibration cohen compare competence components confusion corpus correlate d_study demo_corpus describe
        difference distance entropy export fit fit_pairs fleiss icc load needed_raters opposed_items opt_outs pairwise
        parse_replies parse_reply perspective randolph ranks rate rater_matrix rater_quality raters rationale_agreement
        rationale_form rationale_similarity
        refusals scott soft_labels split_half split_items to_pandas unanimity
    """,
    "vantage.report": "Column Dialogue Figure Finding Published Report Result Section Table published_table",
    "vantage.studies": "Context Study find names option preview run",
    "vantage.perspective": """
        Evaluation Split ablation advantage against_majority alignment average_user below evaluate exaggeration
        explained gaps jury label_change minority_gap shared_task split stood_for vote
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
        vantage.alfa  # noqa: B018
