"""Variance components by restricted maximum likelihood, for crossed random effects and any pattern of gaps.

The deviance is profiled over the mean and the residual variance (Bates, Mächler, Bolker and Walker 2015, as in lme4):
with relative standard deviations θ, indicator matrices Z and the factorisation of ΛZ'ZΛ + I it is
log|ΛZ'ZΛ + I| + log Σ V⁻¹ + (n − 1) log(residual sum of squares). The matrix is sparse, so the work grows with the
answers and with the square of the number of raters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vantage.measures.ratings import Floats, Ints


def restricted_likelihood(value: Floats, codes: Sequence[Ints], start: Floats) -> Floats:
    """The variance of each factor and, last, of the residual; none falls below zero.

    `start` holds other estimates of the same variances, from which the search begins.

    >>> answers = np.array([[1.0, 2, 3, 4], [2, 3, 4, 5], [1, 3, 3, 5]])
    >>> rater, item = (grid.ravel() for grid in np.indices(answers.shape))
    >>> restricted_likelihood(answers.ravel(), [item, rater], np.ones(3)).round(3).tolist()
    [1.889, 0.222, 0.111]
    """
    from scipy.optimize import minimize
    from scipy.sparse import coo_array, diags_array, eye_array, hstack
    from scipy.sparse.linalg import splu

    n = len(value)
    centred = value - value.mean()
    sizes = [int(code.max()) + 1 for code in codes]
    indicators = hstack(
        [coo_array((np.ones(n), (np.arange(n), code)), (n, size)) for code, size in zip(codes, sizes, strict=True)]
    ).tocsc()
    crossed = (indicators.T @ indicators).tocsc()
    sides = np.column_stack([indicators.T @ np.ones(n), indicators.T @ centred])
    inner = np.array([[n, 0.0], [0.0, centred @ centred]])  # of (1, y), which are orthogonal after centring

    def profiled(theta: Floats) -> tuple[float, float]:
        """The deviance and the residual variance at these relative standard deviations."""
        spread = diags_array(np.repeat(theta, sizes))
        matrix = (spread @ crossed @ spread + eye_array(len(sides))).tocsc()
        factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        scaled = spread @ sides
        left = inner - scaled.T @ factor.solve(scaled)
        squares = left[1, 1] - left[0, 1] ** 2 / left[0, 0]
        logarithm = float(np.log(np.abs(factor.U.diagonal())).sum())
        deviance = logarithm + np.log(left[0, 0]) + (n - 1) * np.log(max(squares, 1e-300))
        return float(deviance), float(squares / (n - 1))

    first = np.sqrt(np.clip(start[:-1], 1e-3 * max(start.max(), 1e-12), None) / max(start[-1], 1e-3 * start.max()))
    found = minimize(
        lambda theta: profiled(theta)[0],
        first,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * len(codes),
        options={"ftol": 1e-14, "gtol": 1e-7, "maxiter": 200},
    )
    theta = np.asarray(found.x, dtype=np.float64)
    return np.append(np.square(theta), 1.0) * profiled(theta)[1]
