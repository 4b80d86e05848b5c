"""What the page shows, against brute force and the measures of the product."""

from __future__ import annotations

import json
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

from tests.report.eight import EIGHT
from tests.view.conftest import HOSTILE
from vantage import demo_corpus
from vantage import read as corpus_of
from vantage.corpora import Corpus
from vantage.corpora.disclosure import DisclosureWarning
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.interop.predictions import with_predictions
from vantage.measures import rater_quality
from vantage.measures.texts.composites import composites
from vantage.runs import store
from vantage.scales import Option, Scale
from vantage.view.app import parameters
from vantage.view.comparing import compared
from vantage.view.explorer import Explorer
from vantage.view.exporting import LARGEST, data_of, export
from vantage.view.opening import STORE, open_path, open_paths


def rows(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return list(answer["rows"])


def test_distributions_are_those_of_the_judgments(explorer: Explorer, corpus: Corpus) -> None:
    answers = corpus.judgments.filter(pl.col("question") == "warm").drop_nulls("value")
    for row in explorer.items("warm", size=500)["rows"]:
        mine = answers.filter(pl.col("item") == row["item"])
        people = mine.filter(pl.col("rater") != "m1")["value"].to_list()
        shown = {one["group"]: one for one in row["pictures"]}
        assert shown["people"]["counts"] == [people.count(code) for code in range(1, 6)]
        assert shown["people"]["mean"] == pytest.approx(np.mean(people))
        apart = np.mean([abs(a - b) for a, b in combinations(people, 2)]) / 4  # of the way from 1 to 5
        assert row["disagreement"] == pytest.approx(apart)
        model = mine.filter(pl.col("rater") == "m1")["value"].to_list()
        if model:
            assert row["distance"] == pytest.approx(wasserstein_distance(people, model) / 4)
        else:
            assert (row["distance"], row["declined"]) == (None, 1)


def test_distributions_that_a_model_gave_are_drawn_as_given(corpus: Corpus, tmp_path: Path) -> None:
    shares = [0.1, 0.0, 0.2, 0.0, 0.7]
    texts = corpus.items.select("item").with_columns(pl.Series("probabilities", [shares] * 6))
    users = pl.DataFrame(
        {"rater": ["ann", "bob"], "probabilities": [[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5, 0.5]]}
    )
    pairs = corpus.items.select("item").join(users, how="cross")
    stored = with_predictions(with_predictions(corpus, texts, "soft", "warm"), pairs, "each", "warm")
    stored.write(tmp_path / "predicted")
    row = Explorer(*open_paths([tmp_path / "predicted"])).items("warm", only=["a"], rater="soft")["rows"][0]
    shown = {one["group"]: one for one in row["pictures"]}
    assert shown["soft"]["shares"] == shares
    assert shown["soft"]["mean"] == pytest.approx(0.1 + 0.6 + 3.5)
    assert shown["each for users"]["shares"] == [0.5, 0.0, 0.0, 0.25, 0.25]
    assert sum(shown["each for users"]["counts"]) == 2
    assert "shares" not in shown["people"]
    assert "shares" not in shown["m1"]
    people = corpus.judgments.filter(pl.col("question") == "warm", pl.col("item") == "a", pl.col("rater") != "m1")
    codes = [1, 2, 3, 4, 5]
    assert row["distance"] == pytest.approx(wasserstein_distance(people["value"].to_list(), codes, None, shares) / 4)


def test_a_nominal_question_counts_pairs_that_differ(explorer: Explorer, corpus: Corpus) -> None:
    for row in explorer.items("fair", size=500)["rows"]:
        own = corpus.judgments.filter(pl.col("question") == "fair", pl.col("item") == row["item"])["value"].to_list()
        assert row["disagreement"] == pytest.approx(np.mean([a != b for a, b in combinations(own, 2)]))


def test_items_are_searched_filtered_and_sorted(explorer: Explorer) -> None:
    assert [row["item"] for row in rows(explorer.items("warm", search="KIND"))] == ["a"]
    assert {row["item"] for row in rows(explorer.items("warm", where={"topic": "law"}))} == set("bdf")
    assert [row["item"] for row in rows(explorer.items("warm", only=["c", "e"], sort="item"))] == ["c", "e"]
    for sort in ("disagreement", "distance", "mean", "declined", "answers"):
        up = [row["item"] for row in rows(explorer.items("warm", sort=sort, descending=False))]
        assert sorted(up) == list("abcdef")
    falling = [row["disagreement"] for row in rows(explorer.items("warm"))]
    assert falling == sorted(falling, reverse=True)
    page = explorer.items("warm", size=2, page=2, sort="item")
    assert ([row["item"] for row in rows(page)], page["total"]) == (["e", "f"], 6)


def test_people_by_a_trait(explorer: Explorer, corpus: Corpus) -> None:
    row = next(one for one in explorer.items("warm", trait="home")["rows"] if one["item"] == "b")
    shown = {one["group"]: sum(one["counts"]) for one in row["pictures"]}
    assert shown == {"people": 5, "home = north": 2, "home = south": 2, f"home = {HOSTILE}": 1}


def test_everything_about_an_item(explorer: Explorer) -> None:
    shown = explorer.item("b")
    assert len(shown["judgments"]) == 11
    model = next(one for one in shown["judgments"] if one["rater"] == "m1")
    assert (model["status"], model["kind"], "value" in model) == ("refused", "model", False)
    assert shown["neighbours"] == {"previous": "a", "next": "c"}
    assert explorer.item("e")["item"] == {"item": "e", "topic": "tea"}  # no text, and nothing invented


def test_raters_are_those_of_the_measure_among_people(explorer: Explorer, corpus: Corpus) -> None:
    own = corpus.filter(question="warm")
    beside = rater_quality(own, kinds="all")  # the corpus has one model
    quality = pl.concat([rater_quality(own), beside.filter(rater="m1")], how="diagonal_relaxed")
    known = {row["rater"]: row for row in quality.iter_rows(named=True)}
    shown = explorer.raters("warm")
    assert {row["rater"] for row in shown["rows"]} == set(known)
    for row in shown["rows"]:
        assert row["estimate"] == known[row["rater"]]["estimate"]
        assert row["flags"] == known[row["rater"]]["flags"]
    one = explorer.rater("ann", "warm")
    assert sum(one["use"]) == one["answers"] == 6
    assert one["listed"][0]["apart"] == max((row["apart"] for row in one["listed"]), key=abs)


def test_a_comparison_is_the_paired_difference(explorer: Explorer, corpus: Corpus) -> None:
    shown = explorer.compare("rater=m1", "people", "warm")
    answers = corpus.judgments.filter(pl.col("question") == "warm").drop_nulls("value")
    people = answers.filter(pl.col("rater") != "m1").group_by("item").agg(pl.col("value").mean())
    both = answers.filter(pl.col("rater") == "m1").join(people, on="item", suffix="_people")
    apart = (both["value"] - both["value_people"]).to_numpy()
    assert (shown["items"], shown["difference"]) == (5, pytest.approx(apart.mean()))
    half = 2.7764451051977934 * apart.std(ddof=1) / np.sqrt(5)  # t with four degrees of freedom
    assert ("cannot be told apart" in shown["sentence"]) is bool(abs(apart.mean()) <= half)
    assert "5 items, about these raters alone" in shown["sentence"]
    assert all(row["difference"] > 0 for row in shown["higher"])
    with pytest.raises(InputError, match="no column 'hme'"):
        explorer.compare("hme=north", "people", "warm")
    with pytest.raises(InputError, match="no answers"):
        explorer.compare("home=west", "people", "warm")


def test_without_an_order_groups_are_compared_by_how_often_they_give_an_answer(corpus: Corpus) -> None:
    explorer = Explorer([], lambda: corpus)
    shown = explorer.compare("home=north", "home=south", "fair")
    fair = corpus.judgments.filter(question="fair").join(corpus.raters, on="rater")
    yes = {home: float(fair.filter(home=home)["value"].to_numpy().mean()) for home in ("north", "south")}
    assert shown["option"] == "yes"
    assert shown["shares"] == [pytest.approx([1 - yes[home], yes[home]], abs=1e-4) for home in ("north", "south")]
    assert f"“yes” is {100 * yes['north']:.1f} % of the answers of raters with home north" in shown["sentence"]
    assert shown["difference"] == pytest.approx(yes["north"] - yes["south"])
    assert explorer.compare("home=north", "home=south", "fair", "no")["difference"] == -shown["difference"]


def test_the_spectrum_is_sorted_and_opened_in_parts(explorer: Explorer, corpus: Corpus) -> None:
    drawn = explorer.spectrum("warm")
    means = [row["pictures"][0]["mean"] for row in drawn["rows"]]
    assert (means, drawn["total"], drawn["columns"]) == (sorted(means), 6, [])
    assert drawn["pins"][0][1]["item"] in [row["item"] for row in drawn["rows"]]
    assert "divide people strongly" in drawn["said"]
    part = explorer.spectrum("warm", start=2, end=4)
    assert [row["item"] for row in part["rows"]] == [row["item"] for row in drawn["rows"]][2:4]
    by_model = explorer.spectrum("warm", rater="m1")
    assert (by_model["by"], by_model["total"]) == ("m1", 5)  # it refused to judge one
    assert {row["item"] for row in explorer.spectrum("fair", where={"topic": "law"})["rows"]} == set("bdf")


def test_of_many_texts_a_column_is_the_mean_of_neighbours() -> None:
    values = np.random.default_rng(0).integers(1, 6, (1000, 4))
    frame = pl.DataFrame(
        [(f"t{item}", f"r{rater}", float(value)) for (item, rater), value in np.ndenumerate(values)],
        schema=["item", "rater", "value"],
        orient="row",
    )
    drawn = Explorer([], lambda: corpus_of(frame, question="warm")).spectrum()
    assert (len(drawn["columns"]), drawn["rows"]) == (400, [])
    assert sum(column["texts"] for column in drawn["columns"]) == 1000
    share = sum(column["texts"] * column["shares"][0][4] for column in drawn["columns"]) / 1000
    assert share == pytest.approx((values == 5).mean(), abs=1e-3)


def test_raters_without_an_order_are_listed_by_how_often_others_agree() -> None:
    made = EIGHT["nominal"]()
    shown = {row["rater"]: row for row in Explorer([], lambda: made).raters()["rows"]}
    wide = made.judgments.pivot(on="rater", index="item", values="value").drop("item").to_numpy()
    mine = [np.mean(wide[:, :1] == np.delete(wide, 0, axis=1))]
    assert shown["p00"]["agreement"] == pytest.approx(mine[0])
    assert shown["p00"]["estimate"] is None


def test_raters_who_answer_alike_are_near_each_other_on_the_map() -> None:
    for name in ("nominal", "ordinal"):
        made = EIGHT[name]()
        same = made.judgments.filter(rater="p00").with_columns(rater=pl.lit("twin"))
        twin = made.raters.filter(rater="p00").with_columns(rater=pl.lit("twin"))
        both = Corpus(made.items, made.raters.vstack(twin), made.judgments.vstack(same), made.instruments)
        drawn = Explorer([], partial(Corpus, both.items, both.raters, both.judgments, both.instruments))
        points = {p["id"]: (p["x"], p["y"]) for p in drawn.map("agreement")["points"]}
        assert points["twin"] == pytest.approx(points["p00"], abs=1e-6)
        assert len({(round(x, 6), round(y, 6)) for x, y in points.values()}) == len(points) - 1


@pytest.mark.slow
def test_groups_of_raters_are_compared_by_raters_not_by_items() -> None:
    rng = np.random.default_rng(0)
    apart = 0
    for _ in range(20):  # a trait that is dealt at random; with items as units, half of these would differ
        severity, item = rng.normal(0, 0.7, 24), rng.normal(0, 0.7, 40)
        values = np.clip(np.round(4 + severity[:, None] + item + rng.normal(0, 0.8, (24, 40))), 1, 7)
        rater, text = np.divmod(np.arange(24 * 40), 40)
        frame = pl.DataFrame({"item": text, "rater": rater, "value": values.ravel(), "half": rater % 2})
        made = corpus_of(frame, traits=["half"], question="warm")
        sentence = compared(made, made.questions[0], "half=0", "half=1", 5)["sentence"]
        assert "24 raters" in sentence
        apart += "cannot be told apart" not in sentence
    assert apart <= 4


def test_a_group_of_few_raters_is_not_tested(explorer: Explorer) -> None:
    sentence = explorer.compare("home=north", "home=south", "warm")["sentence"]
    assert "which is not tested: 'raters with home north' has 2 raters" in sentence


def test_excluded_raters_are_listed_but_not_counted(corpus: Corpus) -> None:
    out = corpus.raters.with_columns(excluded=pl.col("rater").is_in(["ann", HOSTILE]))
    explorer = Explorer([], lambda: Corpus(corpus.items, out, corpus.judgments, corpus.instruments))
    assert explorer.overview()["excluded"] == 2
    pictures = explorer.items("warm", only=["a"])["rows"][0]["pictures"]
    assert sum(pictures[0]["counts"]) == 3
    assert "ann" in {one["rater"] for one in explorer.item("a")["judgments"]}
    ann = next(row for row in explorer.raters("warm")["rows"] if row["rater"] == "ann")
    assert (ann["estimate"], ann["answers"], ann["traits"]["excluded"]) == (None, 6, "True")
    with pytest.raises(InputError, match="no answers"):
        explorer.compare("rater=ann", "people", "warm")


def test_nobody_is_compared_with_themselves(explorer: Explorer, corpus: Corpus) -> None:
    answers = corpus.judgments.filter(pl.col("question") == "warm").drop_nulls("value")
    others = answers.filter(~pl.col("rater").is_in(["ann", "m1"])).group_by("item").agg(pl.col("value").mean())
    both = answers.filter(pl.col("rater") == "ann").join(others, on="item", suffix="_others")
    shown = explorer.compare("rater=ann", "people", "warm")
    assert shown["difference"] == pytest.approx((both["value"] - both["value_others"]).mean())
    with pytest.raises(InputError, match="the same raters"):
        explorer.compare("people", "kind=person", "warm")


def test_maps(explorer: Explorer) -> None:
    with pytest.raises(InputError, match="two questions"):
        explorer.map("items")
    demo = Explorer([], demo_corpus)
    points = demo.map("items", x="trust", y="competence")["points"]
    assert len(points) == 30
    assert all(point["x_low"] <= point["x"] <= point["x_high"] for point in points if point["x_low"] is not None)
    with pytest.raises(InputError, match="placed by 'heigth'"):
        demo.map("items", x="heigth")
    with pytest.raises(InputError, match="no map 'wright'"):
        explorer.map("wright")


def test_every_two_raters_have_a_cell_and_groups_stand_together() -> None:
    """Two camps and a model that follows one of them, in mixed order."""
    names = ["a1", "b1", "a2", "m", "b2", "a3"]
    rows = [
        {"item": f"t{n}", "question": "q", "rater": name, "value": float(n % 2 == (name[0] == "b"))}
        for n in range(8)
        for name in names
    ]
    kinds = ["model" if name == "m" else "person" for name in names]
    raters = pl.DataFrame({"rater": names, "kind": kinds, "camp": [name[0] for name in names]})
    scales = [Instrument.of_questions("i", "I", {"q": Scale.labels("no", "yes")})]
    corpus = Corpus(pl.DataFrame({"item": [f"t{n}" for n in range(8)]}), raters, pl.DataFrame(rows), scales)
    made = Explorer([], lambda: corpus).map("heat", "q")
    order = [point["id"] for point in made["points"]]
    camps = ["b" if name[0] == "b" else "a" for name in order]
    assert camps in (["a"] * 4 + ["b"] * 2, ["b"] * 2 + ["a"] * 4)
    assert all(made["cells"][i][j] == (100 if x == y else 0) for i, x in enumerate(camps) for j, y in enumerate(camps))
    assert {point["id"]: point["group"] for point in made["points"]}["m"] == "model"
    assert made["points"][0]["traits"]["camp"] in "abm"


def test_two_spectra_stand_beside_each_other_in_one_order(explorer: Explorer, corpus: Corpus, tmp_path: Path) -> None:
    made = explorer.spectrum("warm", one="home=north", other="rater=m1")
    assert made["groups"] == ("raters with home north",)
    [other] = made["beside"]
    assert other["groups"] == ("m1",)
    assert [row["item"] for row in other["rows"]] == [row["item"] for row in made["rows"]]
    assert "b" not in {row["item"] for row in made["rows"]}, "the model refused"
    means = [row["pictures"][0]["mean"] for row in made["rows"]]
    assert means == sorted(means)
    with pytest.raises(InputError, match="no text in common"):
        explorer.spectrum("fair", one="people", other="rater=m1")
    corpus.write(tmp_path / "x")
    corpus.write(tmp_path / "y")
    both = Explorer(*open_paths([tmp_path / "x", tmp_path / "y"]))
    made = both.spectrum("warm", one="source=x", other="source=y")
    assert [row["pictures"][0]["counts"] for row in made["rows"]] == [
        row["pictures"][0]["counts"] for row in made["beside"][0]["rows"]
    ]


def test_items_are_placed_by_the_scores_of_the_instrument() -> None:
    instrument = Instrument.load("stereotype-content:extended")
    judged = [
        {"item": item, "question": question.id, "rater": rater, "value": float(1 + (place + len(item)) % 5)}
        for place, question in enumerate(instrument.questions)
        for item in ("nurses", "poets")
        for rater in ("x", "y")
    ]
    raters = pl.DataFrame({"rater": ["x", "y"], "kind": ["person"] * 2})
    items = pl.DataFrame({"item": ["nurses", "poets"], "text": ["nurses", "poets"]})
    corpus = Corpus(items, raters, pl.DataFrame(judged), [instrument])
    placed = Explorer([], lambda: corpus).map("items", x="warmth", y="competence")
    scores = (
        composites(corpus, instrument)
        .filter(pl.col("item") == "nurses")
        .group_by("question")
        .agg(pl.col("value").mean())
    )
    means = dict(scores.iter_rows())
    point = next(one for one in placed["points"] if one["id"] == "nurses")
    assert (point["x"], point["y"]) == (pytest.approx(means["warmth"]), pytest.approx(means["competence"]))


def test_files_that_change_are_read_again(explorer: Explorer, corpus: Corpus, tmp_path: Path) -> None:
    before = explorer.overview()
    assert explorer.overview()["stamp"] == before["stamp"]
    corpus.filter(pl.col("item") != "f").write(tmp_path / "corpus")
    after = explorer.overview()
    assert after["stamp"] != before["stamp"]
    assert (before["items"], after["items"]) == (6, 5)
    assert explorer.items("warm")["total"] == 5


def test_several_paths_keep_their_raters_apart(corpus: Corpus, tmp_path: Path) -> None:
    corpus.write(tmp_path / "one")
    changed = corpus.judgments.with_columns(
        pl.when(pl.col("rater") == "m1").then(1.0).otherwise("value").alias("value")
    )
    changed = changed.with_columns(
        pl.when(pl.col("rater") == "m1")
        .then(pl.lit("answered"))
        .otherwise(pl.col("status").cast(pl.String))
        .alias("status")
    )
    Corpus(corpus.items, corpus.raters, changed, corpus.instruments).write(tmp_path / "two")
    both = Explorer(*open_paths([tmp_path / "one", tmp_path / "two"]))
    assert both.overview()["traits"]["source"] == ["one", "two"]
    shown = both.compare("rater=m1 (one)", "rater=m1 (two)", "warm")
    assert shown["difference"] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder / "nowhere", "no such file"),
        (lambda folder: folder, "no corpus, no run and no study"),
        (lambda folder: _file(folder / "notes.txt"), "neither a run store nor a study file"),
    ],
)
def test_what_cannot_be_opened(make: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        open_path(make(tmp_path))  # type: ignore[operator]


def _file(path: Path) -> Path:
    path.write_text("x", "utf-8")
    return path


def test_the_store_has_the_name_that_is_looked_for() -> None:
    assert store.NAME == STORE


def test_a_file_holds_every_item_and_every_rater(tmp_path: Path) -> None:
    count = 550  # more than one page
    ids = [f"i{number}" for number in range(count)]
    people = [f"p{number}" for number in range(count)]
    judgments = pl.DataFrame({"item": ids, "question": "warm", "rater": people, "value": [1.0, 2.0] * (count // 2)})
    many = Corpus(
        pl.DataFrame({"item": ids, "text": ids}),
        pl.DataFrame({"rater": people}),
        judgments,
        [Instrument.of_questions("try", "Try", {"warm": Scale.points(1, 5)})],
    )
    many.write(tmp_path / "many")
    held = data_of(Explorer(*open_paths([tmp_path / "many"])))
    assert {row["item"] for row in held["items"]["warm"]["rows"]} == set(ids)
    assert {row["rater"] for row in held["raters"]["warm"]["rows"]} == set(people)


def test_a_file_holds_a_visible_sample_of_too_many(monkeypatch: pytest.MonkeyPatch, explorer: Explorer) -> None:
    whole = _data(export(explorer))
    assert whole["sampled"] is None
    assert len(whole["judgments"]["value"]) == len(explorer.corpus.judgments) <= LARGEST
    monkeypatch.setattr("vantage.view.exporting.LARGEST", 40)
    part = _data(export(explorer))
    assert part["sampled"] == {"judgments": 33, "of": 66, "items": 3, "of_items": 6}
    assert len(part["judgments"]["value"]) == 33


def test_a_file_that_singles_out_people_is_guarded(explorer: Explorer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="5 of 5 raters could be identified"):
        export(explorer, tmp_path / "a.html", strict=True)
    assert not (tmp_path / "a.html").exists()
    with pytest.warns(DisclosureWarning, match="5 of 5 raters could be identified"):
        export(explorer, tmp_path / "a.html")
    export(explorer, tmp_path / "a.html", allow_unique=True)


def _data(page: str) -> dict[str, Any]:
    inside = page.split('<script type="application/json" id="data">')[1].split("</script>", maxsplit=1)[0]
    return dict(json.loads(inside))


def test_no_text_ends_the_element_that_holds_the_data(explorer: Explorer) -> None:
    page = export(explorer)
    assert "<img src=x" not in page
    assert page.count("<script") == 2


def test_requests_are_read_strictly() -> None:
    assert parameters([("condition", ""), ("search", "")]) == {"condition": ""}
    with pytest.raises(ValueError, match="invalid literal"):
        parameters([("page", "many")])


def test_the_use_of_a_scale_goes_by_its_options_whatever_their_codes() -> None:
    scale = Scale((Option(2.0, "often"), Option(0.0, "never"), Option(1.0, "once")), "nominal")
    judgments = pl.DataFrame({"item": [*"abcd"], "question": "q", "rater": "x", "value": [2.0, 2.0, 2.0, 0.0]})
    instrument = Instrument.of_questions("i", "I", {"q": scale})
    corpus = Corpus(pl.DataFrame({"item": [*"abcd"]}), pl.DataFrame({"rater": ["x"]}), judgments, instrument)
    one = Explorer([], lambda: corpus).rater("x")
    assert dict(zip(one["labels"], one["use"], strict=True)) == {"often": 3, "never": 1, "once": 0}
    assert one["others_use"] == [0, 0, 0], "nobody is counted among the others of themselves"


def test_the_distance_is_that_of_the_chosen_condition_and_search_finds_every_letter() -> None:
    rows = [
        {"item": "a", "question": "warm", "rater": rater, "condition": condition, "value": value}
        for rater, condition, value in (("p", "one", 1), ("p", "two", 1), ("m", "one", 1), ("m", "two", 5))
    ]
    corpus = Corpus(
        pl.DataFrame({"item": ["a"], "text": ["Die Straße"]}),
        pl.DataFrame({"rater": ["p", "m"], "kind": ["person", "model"]}),
        pl.DataFrame(rows).with_columns(pl.col("value").cast(pl.Float64)),
        Instrument.of_questions("x", "X", {"warm": Scale.points(1, 5)}),
    )
    explorer = Explorer([], lambda: corpus)
    apart = [explorer.items("warm", condition=one)["rows"][0]["distance"] for one in ("one", "two")]
    assert apart == [0.0, 1.0]
    assert explorer.items("warm", search="Straße")["total"] == 1


def test_groups_of_a_few_people_do_not_differ_because_people_do() -> None:
    rng = np.random.default_rng(1)
    item, rater = (grid.ravel() for grid in np.indices((40, 12)))
    severity = np.where(np.arange(12) % 2, 0.4, -0.4) + rng.normal(0, 0.1, 12)
    value = np.clip(np.rint(4 + severity[rater] + rng.normal(0, 1, 480)), 1, 7)
    judgments = {"item": [f"i{i}" for i in item], "question": "warm", "rater": [f"r{r}" for r in rater], "value": value}
    traits = {"rater": [f"r{r}" for r in range(12)], "true": ["a", "b"] * 6, "random": ["a", "a", "b", "b"] * 3}
    corpus = Corpus(
        pl.DataFrame({"item": [f"i{i}" for i in range(40)]}),
        pl.DataFrame(traits),
        pl.DataFrame(judgments),
        Instrument.of_questions("x", "X", {"warm": Scale.points(1, 7)}),
    )
    explorer = Explorer([], lambda: corpus)
    assert "points lower than those of raters with true b" in explorer.compare("true=a", "true=b", "warm")["sentence"]
    assert "cannot be told apart" in explorer.compare("random=a", "random=b", "warm")["sentence"]
    few = Explorer([], lambda: corpus.filter(rater=["r0", "r1", "r2", "r3"]))
    assert "which is not tested" in few.compare("true=a", "true=b", "warm")["sentence"]


def test_a_comparison_takes_the_distribution_that_a_model_gave(corpus: Corpus) -> None:
    shares = [0.1, 0.0, 0.2, 0.0, 0.7]
    texts = corpus.items.select("item").with_columns(pl.Series("probabilities", [shares] * 6))
    stored = with_predictions(corpus, texts, "soft", "warm")
    answer = Explorer([], lambda: stored).compare("rater=soft", "people", "warm")
    assert answer["shares"][0] == pytest.approx(shares)
    people = corpus.judgments.filter(pl.col("question") == "warm", pl.col("rater") != "m1")
    mean = people.group_by("item").agg(pl.col("value").mean())["value"].to_numpy().mean()
    assert answer["difference"] == pytest.approx(0.1 + 0.6 + 3.5 - mean)


def test_chosen_raters_sort_the_spectrum(corpus: Corpus) -> None:
    explorer = Explorer([], lambda: corpus)
    answer = explorer.spectrum("warm", among=["bob", "cid"])
    assert (answer["by"], answer["groups"][:2]) == ("chosen raters", ("people", "chosen raters"))
    asked = (pl.col("question") == "warm") & pl.col("rater").is_in(["bob", "cid"])
    means = dict(corpus.judgments.filter(asked).group_by("item").agg(pl.col("value").mean()).iter_rows())
    assert [means[row["item"]] for row in answer["rows"]] == sorted(means.values())
    assert parameters([("among", "bob"), ("among", "cid")]) == {"among": ["bob", "cid"]}


def test_a_rater_is_compared_with_others_and_not_with_themselves(corpus: Corpus) -> None:
    one = Explorer([], lambda: corpus).rater("ann", "warm")
    given = corpus.judgments.filter(question="warm").join(corpus.people().raters, on="rater", how="semi")
    rest = given.filter(pl.col("rater") != "ann")
    assert sum(one["others_use"]) == len(rest)
    means = dict(rest.group_by("item").agg(pl.col("value").mean()).iter_rows())
    assert {row["item"]: row["others"] for row in one["listed"]} == pytest.approx(means)
    model = Explorer([], lambda: corpus).rater("m1", "warm")
    assert sum(model["others_use"]) == len(given)
