"""Krippendorff's alpha under resampling of raters.

With *r* copies of an answer in a unit of *m* drawn answers, each copy has *m − r* partners (see `rater_bootstrap`)
and weighs each of them 1/(m − r), which is Krippendorff's 1/(m − 1) when everybody is drawn once.
"""

from __future__ import annotations

import numpy as np

from vantage.measures.agreement.differences import Difference
from vantage.measures.counts import centre
from vantage.measures.rater_bootstrap import Formula, Resamples, quotient
from vantage.measures.ratings import Floats


def coefficient_over_raters(difference: Difference) -> Formula:
    """Alpha as a function of how often raters and units are drawn.

    >>> from vantage.measures.agreement.differences import difference
    >>> from vantage.measures.rater_bootstrap import Answers
    >>> from vantage.measures.ratings import judgments_frame
    >>> answers = Answers.of(judgments_frame([[1, 2, 3, 1], [1, 2, 2, 1], [1, 3, 3, 2]]))
    >>> copies = np.array([[1.0, 2.0], [1.0, 0.0], [1.0, 1.0]])  # the sample itself, and a resample
    >>> alpha = coefficient_over_raters(difference("interval", answers.values))
    >>> alpha(Resamples(answers, copies, np.ones((4, 1)))).round(3).tolist()
    [0.641, 0.692]
    """

    def formula(resamples: Resamples) -> Floats:
        answers = resamples.answers
        weight = resamples.copies[answers.rater]
        partners = resamples.size[answers.unit]
        partners -= weight
        # Somebody drawn alone has no partner; nothing is gained there, and 1 only stands for "not 0".
        alone = partners <= 0
        any_alone = bool(alone.any())
        if any_alone:
            weight[alone], partners[alone] = 0.0, 1.0
        drawn = resamples.drawn[answers.cell_unit]
        counted = (np.asarray(answers.by_cell @ weight) if any_alone else resamples.cells) * drawn
        weight /= partners
        share = np.asarray(answers.by_cell @ weight)
        share *= drawn
        marginal = np.asarray(answers.by_column @ counted)
        total = marginal.sum(axis=0)
        everyone = np.arange(len(answers.values))
        if difference.name == "nominal":
            field = resamples.size[answers.cell_unit] - resamples.cells
            expected = total**2 - np.sum(marginal**2, axis=0)
        elif difference.between is not None:
            field = resamples.field(difference.between)
            between = difference.between(everyone[:, None], everyone[None, :])
            expected = np.sum(marginal * (between @ marginal), axis=0)
        else:
            at = _positions(difference, answers.values, marginal)
            field = _squared_differences(resamples, at[answers.cell_column])
            expected = 2 * (total * np.sum(marginal * at**2, axis=0) - np.sum(marginal * at, axis=0) ** 2)
        observed = np.einsum("ij,ij->j", share, field)
        defined = expected > 1e-12 * total
        return 1 - quotient((total - 1) * observed, np.where(defined, expected, 0.0))

    return formula


def _squared_differences(resamples: Resamples, x: Floats) -> Floats:
    """For each cell at place *x*, the squared differences to all answers of its unit, added up."""
    unit = resamples.answers.cell_unit
    there = resamples.cells * x
    first = resamples.per_unit(there)
    there *= x
    second = resamples.per_unit(there)
    # x (size · x − 2 first) + second, without more arrays than needed.
    field = resamples.size[unit]
    field *= x
    first *= 2
    field -= first[unit]
    field *= x
    field += second[unit]
    return field


def _positions(difference: Difference, values: Floats, marginal: Floats) -> Floats:
    """Where the values lie: at mid-ranks on an ordinal scale, at themselves on an interval scale."""
    if difference.name == "ordinal":
        return np.asarray(np.cumsum(marginal, axis=0) - marginal / 2 - marginal.sum(axis=0) / 2)
    return np.asarray(values - centre(values))[:, None]
