"""Labels that keep out of each other's way, and of the points.

Each label is put at the best of a ring of places around its point, in the order of how crowded the points are, by a
count of what it would cover; then labels that are still covered are tried again. Label placement of this kind is the
discrete one of Christensen, Marks and Shieber (1995), with a greedy start and local repair. Nothing is random.
"""

from __future__ import annotations

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

Box = NDArray[np.float64]
"""Left, bottom, right and top, in pixels."""


def place_labels(axes: Axes, x: Sequence[float], y: Sequence[float], labels: Sequence[str | None]) -> None:
    """Writes labels beside their points, each where it covers least; those in a crowd choose first."""
    pixel = axes.figure.dpi / 72
    points = axes.transData.transform(np.column_stack([x, y]))
    room = np.array(axes.get_window_extent().extents)
    chosen = [n for n, label in enumerate(labels) if label]
    font = SMALL if len(chosen) > MANY else SIZE
    boxes = {n: _around(points[n], _size(axes, str(labels[n]), font), pixel) for n in chosen}
    costs = {n: _cost(boxes[n], points, room, pixel) for n in chosen}
    placed = np.empty((0, 4))
    for n in sorted(chosen, key=lambda n: -float(np.sort(costs[n])[: ANGLES // 2].sum())):
        # Side by side they need more room, or two labels read as one.
        at = int(np.argmin(costs[n] + 6 * _overlaps(boxes[n], placed, 5 * pixel, pixel)))
        box = boxes[n][at]
        placed = np.vstack([placed, box])
        offset = ((box[:2] + box[2:]) / 2 - points[n]) / pixel
        line = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
        far = at // ANGLES >= 2
        how: dict[str, Any] = {"fontsize": font, "arrowprops": line if far else None, "annotation_clip": False}
        note(axes, str(labels[n]), (x[n], y[n]), tuple(offset), ha="center", va="center", **how)


def _size(axes: Axes, text: str, font: float) -> tuple[float, float]:
    from matplotlib.text import Text

    probe = Text(0, 0, text, fontsize=font, figure=axes.figure)
    box = probe.get_window_extent(axes.figure._get_renderer())  # type: ignore[union-attr]
    return box.width, box.height


def _around(point: Box, size: tuple[float, float], pixel: float) -> Box:
    """Boxes around a point, nearest first; on each ring the right and left come before above and below."""
    angles = 2 * np.pi * np.arange(ANGLES) / ANGLES
    angles = angles[np.lexsort([-np.cos(angles), np.abs(np.sin(angles)).round(6)])]
    turns = np.column_stack([np.cos(angles), np.sin(angles)])
    centres = np.concatenate([point + turns * (distance * pixel + np.array(size) / 2) for distance in RINGS])
    return np.hstack([centres - np.array(size) / 2, centres + np.array(size) / 2])


def _cost(boxes: Box, points: Box, room: Box, pixel: float) -> Box:
    """What each place costs: the points that it covers, leaving the axes, and the way to the point."""
    outside = (boxes[:, :2] < room[:2]).any(axis=1) | (boxes[:, 2:] > room[2:]).any(axis=1)
    at = np.arange(len(boxes))
    covered = _overlaps(boxes, np.hstack([points, points]), 3.5 * pixel, 3.5 * pixel)
    return np.asarray(3 * covered + 8.0 * outside + 0.02 * at + 0.8 * np.maximum(at // ANGLES - 1, 0))


def _overlaps(boxes: Box, others: Box, beside: float, above: float) -> Box:
    """How many of the others each box covers, or comes closer to than so much beside and above it."""
    room = np.array([beside, above])
    lower, upper = boxes[:, None, :2], boxes[:, None, 2:]
    hit = (lower < others[None, :, 2:] + room).all(axis=2) & (upper > others[None, :, :2] - room).all(axis=2)
    return np.asarray(hit.sum(axis=1), dtype=np.float64)
