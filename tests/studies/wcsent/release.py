"""A release in the form of W&C-Sent, invented: words decide the scores, and annotators add their own noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

WARM = ("honest", "kind", "clever", "brave")
COLD = ("crooked", "rude", "clueless", "weak")
TARGETS = ("Donald Trump", "Hillary Clinton", "Women")


def write(folder: Path, items: int = 60, annotators: int = 8) -> Path:
    """Writes the long file and the three parts of the split."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    rows, finals = [], []
    for n in range(items):
        warm = int(rng.integers(0, 4))
        words = [str(rng.choice(WARM)) for _ in range(warm)] + [str(rng.choice(COLD)) for _ in range(3 - warm)]
        text, target = f"So {' and '.join(words)}! #Say{n}", TARGETS[n % 3]
        final = {"Text": text, "Target": target}
        for dimension, shift in (("Trust", 0), ("Sociability", 0), ("Competence", 1)):
            values = np.clip(2 * warm - 3 - shift + rng.integers(-1, 2, size=5), -3, 3)
            raters = rng.permutation(annotators)[:5]
            rows += [
                {
                    "Target": target,
                    "Text": text,
                    "Score": int(v),
                    "Dimension": dimension,
                    "Annotator_ID": f"Annotator_{r}",
                }
                for v, r in zip(values, raters, strict=True)
            ]
            final[dimension] = str(int(np.floor(values.mean() + 0.5)))
        finals.append(final)
    pl.DataFrame(rows).write_csv(folder / "W&C-Sent - Long with Individual Scores and Annotator ID.csv")
    frame = pl.DataFrame(finals).with_columns(pl.col("Trust", "Sociability", "Competence").cast(pl.Int64))
    frame[: items // 2].write_csv(folder / "W&C-Sent Train Set.csv")
    frame[items // 2 : 2 * items // 3].write_csv(folder / "W&C-Sent Validation Set.csv")
    test = frame[2 * items // 3 :].rename({d: f"{d}_mean" for d in ("Trust", "Sociability", "Competence")})
    test.write_csv(folder / "W&C-Sent Test Set.csv")
    return folder
