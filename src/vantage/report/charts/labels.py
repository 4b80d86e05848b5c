"""Labels that keep out of each other's way, and of the points.

Each label is put at the best of a ring of places around its point, in the order of how crowded the points are, by a
count of what it would cover; then labels that are still covered are tried again. Label placement of this kind is the
discrete one of Christensen, Marks and Shieber (1995), with a greedy start and local repair. Nothing is random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from vantage.report.charts.frames import note
from vantage.report.style import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE: Final = 7.2
SMALL: Final = 6.0
"""The size of labels where there are more than `MANY`."""
MANY: Final = 40
RINGS: Final = (5.5, 10.0, 17.0, 26.0, 37.0, 50.0, 66.0, 84.0)
"""Distances of a label from its point, in points; from the third on a line leads to it."""
ANGLES: Final = 16
ROUNDS: Final = 12

Box = NDArray[np.float64]
"""Left, bottom, right and top, in pixels."""


def place_labels(axes: Axes, x: Sequence[float], y: Sequence[float], labels: Sequence[str | None]) -> None:
    """Writes labels beside their points, each where it covers least."""
    figure = axes.figure
    pixel = figure.dpi / 72
    points = axes.transData.transform(np.column_stack([x, y]))
    chosen = [n for n, label in enumerate(labels) if label]
    font = SMALL if len(chosen) > MANY else SIZE
    sizes = [_size(axes, str(labels[n]), font) for n in chosen]
    room = np.array(axes.get_window_extent().extents)
    candidates = [_candidates(points[n], size, pixel) for n, size in zip(chosen, sizes, strict=True)]
    places = _placed(candidates, points, room, pixel)
    for n, (box, ring) in zip(chosen, places, strict=True):
        centre = ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
        offset = (np.array(centre) - points[n]) / pixel
        line = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
        how: dict[str, Any] = {"fontsize": font, "arrowprops": line if ring >= 2 else None, "annotation_clip": False}
        note(axes, str(labels[n]), (x[n], y[n]), tuple(offset), ha="center", va="center", **how)


def _size(axes: Axes, text: str, font: float) -> tuple[float, float]:
    from matplotlib.text import Text

    probe = Text(0, 0, text, fontsize=font, figure=axes.figure)
    box = probe.get_window_extent(axes.figure._get_renderer())  # type: ignore[union-attr]
    return box.width, box.height


def _candidates(point: NDArray[np.float64], size: tuple[float, float], pixel: float) -> list[tuple[Box, int]]:
    """Boxes around a point, nearest first; on each ring the right and left come before above and below."""
    candidates = []
    full = 2 * math.pi / ANGLES
    turns = sorted(range(ANGLES), key=lambda k: (round(abs(math.sin(k * full)), 6), -math.cos(k * full)))
    for ring, distance in enumerate(RINGS):
        for turn in turns:
            dx, dy = math.cos(turn * full), math.sin(turn * full)
            centre = point + np.array([dx, dy]) * distance * pixel + np.array([dx * size[0] / 2, dy * size[1] / 2])
            half = np.array(size) / 2
            candidates.append((np.concatenate([centre - half, centre + half]), ring))
    return candidates


def _placed(
    candidates: list[list[tuple[Box, int]]], points: NDArray[np.float64], room: Box, pixel: float
) -> list[tuple[Box, int]]:
    """For every label the candidate that covers least; crowded labels choose first."""
    count = len(candidates)
    boxes = [np.array([box for box, _ in options]) for options in candidates]
    fixed = [
        3 * _overlaps(options, np.hstack([points, points]), 3.5 * pixel, 3.5 * pixel)
        # A high cost for boxes that leave the axes.
        + 8.0 * ((options[:, :2] < room[:2]).any(axis=1) | (options[:, 2:] > room[2:]).any(axis=1))
        + np.array([0.02 * place + 0.8 * max(ring - 1, 0) for place, (_, ring) in enumerate(candidates[n])])
        for n, options in enumerate(boxes)
    ]
    crowded = sorted(range(count), key=lambda n: -float(np.sort(fixed[n])[: ANGLES // 2].sum()))
    current: dict[int, int] = {}
    for _ in range(ROUNDS):
        before = dict(current)
        for n in crowded:
            others = np.array([boxes[m][k] for m, k in current.items() if m != n]).reshape(-1, 4)
            # Side by side they need more room, lest two labels read as one.
            cost = fixed[n] + 6 * _overlaps(boxes[n], others, 5 * pixel, pixel)
            current[n] = int(np.argmin(cost))
        if current == before:
            break
    return [candidates[n][current[n]] for n in range(count)]


def _overlaps(boxes: Box, others: Box, beside: float, above: float) -> NDArray[np.float64]:
    """How many of the others each box covers, or comes closer to than so much beside and above it."""
    hit = (
        (boxes[:, None, 0] < others[None, :, 2] + beside)
        & (boxes[:, None, 2] > others[None, :, 0] - beside)
        & (boxes[:, None, 1] < others[None, :, 3] + above)
        & (boxes[:, None, 3] > others[None, :, 1] - above)
    )
    return np.asarray(hit.sum(axis=1), dtype=np.float64)
