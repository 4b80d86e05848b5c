"""The front door: for every table the command that preview prints gives the truth, or the preview stops."""

from __future__ import annotations

import random
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import openpyxl
import polars as pl
import pyreadstat
import pytest

import vantage
from tests.cli.run import run
from vantage import Corpus
from vantage.corpora.preview import preview
from vantage.corpora.readers.files import read_table

Row = dict[str, Any]
Level = Literal["nominal", "ordinal"]


@dataclass(frozen=True)
class Base:
    """Ratings of items by raters that are known, and how their files look."""

    name: str
    items: int
    raters: int
    answers: tuple[Any, ...]
    level: Level = "ordinal"
    noise: float = 0.35
    per_item: int = 0
    """How many raters judged each item, where not all did."""
    skew: bool = False

    def judgments(self) -> list[tuple[int, int, Any]]:
        draw = random.Random(self.name)  # noqa: S311 - reproducible
        made = []
        for item in range(self.items):
            true = draw.random() ** (3 if self.skew else 1)
            for rater in draw.sample(range(self.raters), self.per_item or self.raters):
                place = true if draw.random() > self.noise else draw.random()
                made.append((item, rater, self.answers[min(int(place * len(self.answers)), len(self.answers) - 1)]))
        return sorted(made)


BASES: Final = (
    Base("few raters", 12, 6, (1, 2, 3, 4, 5)),
    Base("seven points", 40, 4, (1, 2, 3, 4, 5, 6, 7)),
    Base("survey", 8, 60, (1, 2, 3, 4, 5)),
    Base("short survey", 5, 30, (1, 2, 3, 4)),
    Base("yes and no", 20, 5, ("ja", "nein"), "nominal"),
    Base("words in order", 15, 6, ("nie", "selten", "manchmal", "oft", "immer")),
    Base("some of them", 50, 10, (1, 2, 3, 4, 5), per_item=3),
    Base("binary", 30, 5, (0, 1), "nominal"),
    Base("slider", 20, 8, tuple(range(101)), "ordinal", 0.5),
    Base("skewed", 25, 9, (1, 2, 3, 4, 5), skew=True),
)
NAMES: Final = {
    "none": {},
    "de": {"item": "Satz", "rater": "Teilnehmer", "value": "Urteil", "sex": "Geschlecht", "band": "Altersgruppe",
           "age": "Alter", "weight": "Gewicht", "duration": "Dauer", "total": "Summe", "i": "satz_{}", "r": "Vp{}"},
    "fr": {"item": "phrase", "rater": "participant", "value": "jugement", "sex": "sexe", "band": "tranche d'âge",
           "age": "âge", "weight": "poids", "duration": "durée", "total": "somme",
           "i": "phrase{}", "r": "annotateur {}"},
    "es": {"item": "oración", "rater": "encuestado", "value": "valor", "sex": "sexo", "band": "grupo de edad",
           "age": "edad", "weight": "peso", "duration": "duración", "total": "suma",
           "i": "frase_{}", "r": "anotador_{}"},
    "zh": {"item": "句子", "rater": "受访者", "value": "评分", "sex": "性别", "band": "年龄段",
           "age": "年龄", "weight": "权重", "duration": "时长", "total": "总分", "i": "题{}", "r": "评分者{}"},
}  # fmt: skip
EXTRAS: Final = ("", "total", "mean", "row", "weight", "duration", "legend")
TRAITS: Final = ("", "before", "between", "after")


@dataclass(frozen=True)
class Made:
    """One file: a base table in a layout, with names of a language, traits and further columns."""

    base: Base
    layout: str
    language: str
    file: str
    traits: str
    extra: str

    @property
    def id(self) -> str:
        return "-".join(filter(None, (self.base.name, self.layout, self.language, self.file, self.traits, self.extra)))


def every() -> list[Made]:
    made, n = [], 0
    for base in BASES:
        for layout in ("long", "raters", "items"):
            for language in NAMES:
                file = ("csv", "xlsx", "sav")[n % 3]
                words = isinstance(base.answers[0], str)
                extra = EXTRAS[(n // 3 + n) % len(EXTRAS)]
                if words and extra in ("total", "mean", "row"):
                    extra = "weight"
                file = "csv" if extra == "row" and file == "sav" else "xlsx" if extra == "legend" else file
                made.append(
                    Made(base, layout, language, file, TRAITS[(n // 2) % 4] if layout != "raters" else "", extra)
                )
                n += 1
    return made


def table(made: Made) -> tuple[list[Row], list[str]]:
    """The rows of a file, and its trait columns."""
    draw = random.Random(made.id)  # noqa: S311 - reproducible
    base, judged = made.base, made.base.judgments()
    traits = {
        r: {"sex": draw.choice([1, 2]), "band": draw.choice([1, 2, 3, 4, 5]), "age": draw.randint(18, 80)}
        for r in range(base.raters)
    }
    item_id = [f"x{i + 1:03}" for i in range(base.items)]
    rater_id = [f"y{r + 1:03}" for r in range(base.raters)]
    names = NAMES[made.language]
    rows: list[Row] = []
    if made.layout == "long":
        draw.shuffle(judged)
        rows = [
            {"item": item_id[i], "rater": rater_id[r], "value": v, **(traits[r] if made.traits else {})}
            for i, r, v in judged
        ]
    elif made.layout == "raters":
        for i in range(base.items):
            cells = {r: v for j, r, v in judged if j == i}
            rows.append({"item": item_id[i], **{f"r{r + 1}": cells.get(r) for r in range(base.raters)}})
    else:
        for r in range(base.raters):
            cells = {i: v for i, s, v in judged if s == r}
            rows.append(
                {
                    "rater": rater_id[r],
                    **(traits[r] if made.traits else {}),
                    **{f"i{i + 1}": cells.get(i) for i in range(base.items)},
                }
            )
    described = list(traits[0]) if made.traits else []
    held = [name for name in rows[0] if name[0] in "ri" and name[1:].isdigit()]
    for row in rows:
        filled = [row[name] for name in held if row[name] is not None] or [0]
        if made.extra == "total" and held:
            row["total"] = sum(filled)
        elif made.extra == "mean" and held:
            row["total"] = round(sum(filled) / len(filled), 2)
        elif made.extra == "weight":
            row["weight"] = round(draw.uniform(0.4, 2.1), 3)
        elif made.extra == "duration":
            row["duration"] = draw.randint(40, 900)
    order = list(rows[0])
    if described and made.traits != "before":
        rest = [name for name in order if name not in described]
        place = len(rest) if made.traits == "after" else (len(rest) + 1) // 2
        order = [*rest[:place], *described, *rest[place:]]
    if made.extra == "row" and held:
        first = next(name for name in order if name in ("item", "rater"))
        rows.append({first: "TOTAL", **{name: sum(row[name] or 0 for row in rows) for name in held}})

    def named(name: str) -> str:
        if made.language == "none":
            return f"c{order.index(name) + 1}"
        numbered = name[0] in "ri" and name[1:].isdigit()
        return names[name[0]].format(name[1:]) if numbered else names[name]

    return [{named(name): row.get(name) for name in order} for row in rows], [named(name) for name in described]


def written(made: Made, folder: Path) -> Path:
    rows, _ = table(made)
    path = folder / f"t.{made.file}"
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if made.file == "csv":
        frame.write_csv(path)
    elif made.file == "sav":
        pandas = frame.to_pandas()
        pandas.columns = [name.replace(" ", "_").replace("'", "_") for name in frame.columns]
        pyreadstat.write_sav(pandas, path)
    else:
        book = openpyxl.Workbook()
        sheet = book.active
        assert sheet is not None
        for row in [frame.columns, *frame.rows()]:
            sheet.append(list(row))
        if made.extra == "legend":
            legend = book.create_sheet("Legende")
            for row in [("Code", "Text"), (1, "niedrig"), (2, "mittel"), (3, "hoch")]:
                legend.append(row)
        book.save(path)
    return path


@cache
def truth(base: Base) -> Corpus:
    codes = {answer: n for n, answer in enumerate(base.answers)} if isinstance(base.answers[0], str) else None
    rows = [{"item": f"i{i}", "rater": f"r{r}", "value": codes[v] if codes else v} for i, r, v in base.judgments()]
    return vantage.read(pl.DataFrame(rows))


def alpha(corpus: Corpus, level: Level) -> float:
    return float(vantage.measures.alpha(corpus, level=level, ci="none")["estimate"][0])


MADE: Final = every()


def test_there_are_enough_files() -> None:
    assert len(MADE) >= 120
    assert len({made.id for made in MADE}) == len(MADE)


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.id)
def test_the_pasted_command_gives_the_truth_or_the_preview_stops(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = preview(written(made, tmp_path))
    commands = [seen["command"]] if seen["command"] else []
    if seen["problem"]:
        return
    if not commands:
        # Two doubts make four readings, or three where the second one arises in one reading only.
        assert len(seen["readings"]) in ((3, 4) if "; also, " in seen["doubt"] else (2,))
        assert seen["doubt"]
        return
    done = run(capsys, monkeypatch, *shlex.split(commands[0])[1:-1], tmp_path / "c")
    assert done.code == 0, done.err
    corpus, known = Corpus.read(tmp_path / "c"), truth(made.base)
    assert {name: seen[name] for name in ("items", "raters", "judgments")} == corpus.sizes
    assert corpus.sizes == known.sizes
    assert alpha(corpus, made.base.level) == pytest.approx(alpha(known, made.base.level), abs=1e-9)


@pytest.mark.filterwarnings("ignore::vantage.corpora.reading.UnreadColumnsWarning")
def test_rows_and_columns_that_are_none_do_not_change_the_number(tmp_path: Path) -> None:
    draw = random.Random(3)  # noqa: S311 - reproducible
    rows = [
        {"id": f"p{n}", "sex": draw.choice([1, 2]), "years": draw.randint(18, 70), "q1": draw.randint(1, 5)}
        | {f"q{i}": min(5, max(1, i + draw.randint(-1, 1))) for i in range(2, 6)}
        for n in range(40)
    ]
    plain = pl.DataFrame(rows)
    wanted = alpha(vantage.read(plain.select("id", "^q.*$"), rater="id", columns="item"), "ordinal")
    summed = plain.with_columns(total=pl.sum_horizontal("^q.*$"), average=pl.mean_horizontal("^q.*$"))
    for frame in (plain, summed):
        frame.write_csv(path := tmp_path / "t.csv")
        seen = preview(path)
        assert seen["raters"] == 40
        made = vantage.read(path, "table")
        assert alpha(made, "ordinal") == pytest.approx(wanted, abs=1e-12)
        assert made.traits == ["sex", "years"]


def test_traits_of_a_long_table_are_no_questions(tmp_path: Path) -> None:
    rows = [
        {"who": f"r{r}", "text": f"This is text {i}.", "city": "AB"[r % 2], "social": r % 3, "score": (i * r) % 5 + 1}
        for i in range(8)
        for r in range(6)
    ]
    seen = preview(pl.DataFrame(rows))
    assert seen["command"].split(" --to")[0].endswith("--map text=text,rater=who,value=score --traits city,social")


def test_a_preview_is_a_screen_at_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"ResponseId": f"R_{n:012}", **{f"off_{i}": (i * n) % 5 + 1 for i in range(1, 301)}} for n in range(30)]
    pl.DataFrame(rows).write_csv(path := tmp_path / "t.csv")
    done = run(capsys, monkeypatch, "corpora", "preview", path)
    assert done.code == 0
    assert "answers: off_* (300 columns)" in done.out
    assert "first judgment: R_000000000000 said 1 about 'off_1'" in done.out
    assert len(done.out.splitlines()) <= 25
    assert all(len(line) < 600 for line in done.out.splitlines())


def test_most_files_with_names_are_read(tmp_path: Path) -> None:
    named = [made for made in MADE if made.language != "none"][::5]
    read = [bool(preview(written(made, tmp_path))["command"]) for made in named]
    assert sum(read) >= 0.7 * len(read)


REAL: Final = {
    "wcsent/WC-Sent_Test_Set.csv": None,
    "wcsent/WC-Sent_Wide_with_Individual_Scores.csv": None,
    "wcsent/WC-Sent_Long_with_Individual_Scores_and_Annotator_ID.csv": None,
    "social-cognition/tydip/all/en_test.csv": None,
    "social-cognition/isarcasmeval/train/train.En.csv": None,
    "appraisals/CovidET-Appraisals.csv": None,
    "response-bias/gpt-3.5-turbo/odd_even.csv": None,
    "appraisals/human_eval/TURKERS-EVAL_data-intersection-ALL_6_models.csv": (186, 3, 1488),
}
"""Published files: items, raters and judgments where they have them in one table, nothing where they do not."""


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_published_files_without_names_give_the_truth_or_stop(name: str, data_dir: Path) -> None:
    frame = read_table(data_dir / name).frame
    seen = preview(frame.rename({column: f"c{n}" for n, column in enumerate(frame.columns, 1)}))
    if seen["command"] is not None and seen["problem"] is None:
        assert (seen["items"], seen["raters"], seen["judgments"]) == REAL[name]
    else:
        assert seen["problem"] or len(seen["readings"]) == 2
