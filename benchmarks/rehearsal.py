"""Rehearsals against themselves: is the predicted width of alpha's interval the one that comes out?"""

from __future__ import annotations

import tempfile

import numpy as np

from vantage import demo_corpus
from vantage.collect.study import AnnotationStudy
from vantage.recruit.rehearsal.rehearse import rehearse

REHEARSALS = 20
PEOPLE = 45
OFFER = {"url": "https://a.example", "description": "…", "hourly_pay": 9.0, "currency": "GBP", "minutes": 6}


def main() -> None:
    predicted, realised, caught, careless, stated = [], [], 0, 0, 0.0
    checks = [{"id": "c", "instruction": "Choose 3 here.", "question": "trust", "accept": [3]}]
    with tempfile.TemporaryDirectory() as folder:
        plan = {"raters": 6, "batch": {"size": 5}, "questions": [["trust"]], "recruitment": {"offer": OFFER}}
        attention = {"per_batch": 2, "checks": checks}
        corpus = demo_corpus().write(f"{folder}/demo")
        study = AnnotationStudy.of(corpus, "warmth-competence", **plan, attention=attention)
        for seed in range(REHEARSALS):
            made = rehearse(study, people=PEOPLE, seed=seed)
            row, check = made.reliability.row(0, named=True), made.checks.row(0, named=True)
            predicted.append(row["predicted_width"])
            realised.append(row["width"])
            caught, careless, stated = caught + check["caught"], careless + check["careless"], check["stated"]
            print(f"{seed:2}: predicted {predicted[-1]:.3f}, realised {realised[-1]:.3f}", flush=True)
    ratio = np.mean(predicted) / np.mean(realised)
    print(f"predicted {np.mean(predicted):.3f}, realised {np.mean(realised):.3f}: {ratio:.2f} of it")
    print(f"careless people caught: {caught} of {careless}, stated {stated:.3f}")


if __name__ == "__main__":
    main()
