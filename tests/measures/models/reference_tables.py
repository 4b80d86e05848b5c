"""Small tables of invented answers, the same on every machine, for which R has fitted the models of comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np


def tables() -> dict[str, dict[str, Any]]:
    """Columns by table: `value`, `item`, `rater`, what is compared (`level` or `number`), and `source` in one."""
    random = np.random.RandomState(20)  # its stream is frozen

    def normal(size: int, spread: float = 1.0) -> Any:
        return random.normal(0, spread, size)

    made: dict[str, dict[str, Any]] = {}
    item, rater, level = (grid.ravel() for grid in np.indices((10, 12, 2)))
    value = normal(10)[item] + normal(12, 0.6)[rater] + normal(12, 0.7)[rater] * level + normal(10, 0.6)[item] * level
    value += normal(120, 0.5)[item * 12 + rater] + 0.5 * level + normal(len(item), 0.8)
    made["within"] = {"value": value, "item": item, "rater": rater, "level": level}
    item, rater = (grid.ravel() for grid in np.indices((30, 8)))
    source = np.arange(30) // 3
    level = (source % 2)[item]
    value = np.where(level == 1, 0.5, 1.0) * normal(10)[source][item] + normal(30, 0.6)[item] * np.where(level, 1, 1.6)
    value += normal(8, 0.5)[rater] + normal(8, 0.6)[rater] * level + normal(len(item))
    made["sources"] = {"value": value, "item": item, "rater": rater, "level": level, "source": source[item]}
    item, rater = (grid.ravel() for grid in np.indices((16, 26)))
    kept = (item + rater) % 2 == 0  # every group has the same part in every item
    item, rater = item[kept], rater[kept]
    level = (rater < 6).astype(int)
    value = normal(16)[item] + normal(26)[rater] * np.where(level, 1.4, 0.4) + normal(16, 0.5)[item] * level
    made["unequal"] = {"value": value + normal(len(item)), "item": item, "rater": rater, "level": level}
    item, rater = (grid.ravel() for grid in np.indices((15, 20)))
    number = np.round(normal(20, 12) + 40)[rater]
    value = normal(15)[item] + normal(20, 0.5)[rater] + 0.04 * normal(15)[item] * (number - 40) + 0.02 * number
    made["number"] = {"value": value + normal(len(item)), "item": item, "rater": rater, "number": number}
    return {name: {key: np.round(column, 6) for key, column in table.items()} for name, table in made.items()}
