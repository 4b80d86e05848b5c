"""Awkward files: right values, or one sentence with file, row, column and remedy; nothing else."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pyreadr
import pyreadstat
import pytest

from vantage import Corpus, InputError
from vantage.corpora.preview import preview
from vantage.corpora.readers import load
from vantage.corpora.readers.table import read

ROWS = [("i1", "r1", 1.0), ("i1", "r2", 2.0), ("i2", "r1", 3.0), ("i2", "r2", 2.0)]
PLAIN = "item,rater,value\ni1,r1,1\ni1,r2,2\ni2,r1,3\ni2,r2,2\n"
Data = str | bytes | Callable[[Path], None]


@dataclass
class Case:
    """A file, how it is read, and what must come out."""

    id: str
    data: Data
    rows: list[tuple[str, str, float]] | None = None
    """The judgments, where it can be read."""
    told: tuple[str, ...] = ()
    """Parts of the sentence where it cannot, or of the notes."""
    name: str = "t.csv"
    options: dict[str, Any] = field(default_factory=dict)
    check: Callable[[Corpus], bool] | None = None


def good(
    name_: str, data: Data, rows: Any = ROWS, *told: str, name: str = "t.csv", check: Any = None, **options: Any
) -> Case:
    return Case(name_, data, rows, told, name, options, check)


def bad(name_: str, data: Data, *told: str, name: str = "t.csv", **options: Any) -> Case:
    return Case(name_, data, None, told, name, options)


def table(*values: object, column: str = "value", extra: str = "") -> str:
    """One judgment per value, of raters r1, r2, … about items i1, i2 in turn."""
    lines = [f"i{n // 2 + 1},r{n % 2 + 1},{value}{extra}" for n, value in enumerate(values)]
    return "\n".join([f"item,rater,{column}", *lines, ""])


def judged(*values: float) -> list[tuple[str, str, float]]:
    return [(f"i{n // 2 + 1}", f"r{n % 2 + 1}", float(value)) for n, value in enumerate(values)]


def codes(*values: float) -> Any:
    return judged(*values)


TEXTS = {
    "utf-8": "naïve – 日本語 Ω",
    "utf-8-sig": "naïve – 日本語",
    "utf-16": "naïve – 日本語",
    "utf-16-le": "naïve – plain enough text",
    "utf-16-be": "naïve – plain enough text",
    "utf-32": "naïve – 日本語",
    "cp1252": "naïve – €",
    "latin-1": "naïve",
    "mac-roman": "naïve",
    "cp1250": "źle",
    "cp1251": "плохо",
    "koi8-r": "плохо",
    "shift_jis": "日本語",
    "gb18030": "中文",
    "big5": "中文",
    "euc-kr": "한국어",
    "iso8859-15": "€ naïve",
}
TOLD = {"cp1252", "latin-1", "mac-roman", "cp1250", "cp1251", "koi8-r", "shift_jis", "gb18030", "big5", "euc-kr"}


def encoded(encoding: str, end: str) -> bytes:
    return f"item,rater,value,text{end}i1,r1,1,{TEXTS[encoding]}{end}i1,r2,2,{TEXTS[encoding]}{end}".encode(encoding)


def has_text(text: str) -> Callable[[Corpus], bool]:
    return lambda corpus: corpus.items["text"].to_list() == [text]


ENCODED = [
    good(
        f"{encoding} with {end!r}",
        encoded(encoding, end),
        judged(1, 2),
        check=has_text(TEXTS[encoding]),
        **({"encoding": encoding} if encoding in TOLD or encoding == "iso8859-15" else {}),
    )
    for encoding in TEXTS
    for end in ("\n", "\r\n", "\r")
]
UNTOLD = [
    bad(f"{encoding} untold", encoded(encoding, "\n"), "row 2", "the text is not UTF-8", "--encoding")
    for encoding in ("cp1252", "latin-1", "cp1251", "shift_jis")
]
SEPARATED = [
    good(f"separator {sep!r} in {name}", PLAIN.replace(",", sep), name=name)
    for sep in (",", ";", "\t", "|")
    for name in ("t.csv", "t.tsv", "t.txt")
]


def packed(kind: str) -> Case:
    data = PLAIN.encode()
    made: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    return good(f"packed as {kind}", made[kind](data), name=f"t.csv.{kind}")


def zipped(**files: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return made.getvalue()


def excel(rows: list[list[Any]], *, second: bool = False, above: int = 0) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        book = openpyxl.Workbook()
        sheet = book.active
        assert sheet is not None
        sheet.title = "answers"
        for _ in range(above):
            sheet.append([])
        for row in rows:
            sheet.append(row)
        if second:
            book.create_sheet("other").append(["x"])
        book.save(path)

    return write


SHEET: list[list[Any]] = [
    ["item", "rater", "value"],
    ["i1", "r1", 1],
    ["i1", "r2", 2],
    ["i2", "r1", 3],
    ["i2", "r2", 2],
]
FRAME = pd.DataFrame(ROWS, columns=["item", "rater", "value"])
LABELS: dict[int | float, str] = {1: "low", 2: "middle", 3: "high"}


def spss(**options: Any) -> Callable[[Path], None]:
    frame = options.pop("frame", FRAME)
    return lambda path: pyreadstat.write_sav(frame, str(path), **options)


def anchored(corpus: Corpus) -> bool:
    return [option.label for option in corpus.questions[0].scale.options] == ["low", "middle", "high"]


STATISTICS = [
    good("SPSS", spss(), name="t.sav"),
    good("SPSS with value labels", spss(variable_value_labels={"value": LABELS}), name="t.sav", check=anchored),
    good(
        "SPSS with user-missing codes",
        spss(
            frame=pd.DataFrame([*ROWS, ("i3", "r1", -99.0)], columns=["item", "rater", "value"]),
            missing_ranges={"value": [-99]},
            variable_value_labels={"value": {**LABELS, -99: "no answer"}},
        ),
        ROWS,
        "declares as missing: -99",
        name="t.sav",
        empty="skip",
        check=anchored,
    ),
    good("packed SPSS", spss(compress=True), name="t.zsav"),
    good(
        "Stata",
        lambda path: pyreadstat.write_dta(FRAME, str(path), variable_value_labels={"value": LABELS}),
        name="t.dta",
        check=anchored,
    ),
    good("SAS transport", lambda path: pyreadstat.write_xport(FRAME, str(path)), name="t.xpt"),
    good("R", lambda path: pyreadr.write_rds(str(path), FRAME), name="t.rds"),
    good("R workspace", lambda path: pyreadr.write_rdata(str(path), FRAME, df_name="answers"), name="t.rdata"),
    good("Parquet", FRAME.to_parquet, name="t.parquet"),
    bad("no SPSS", b"nothing", "not a .sav file that can be read", name="t.sav"),
    bad("no Stata", b"nothing", "not a .dta file that can be read", name="t.dta"),
    bad("no SAS", b"nothing", "not a .sas7bdat file that can be read", name="t.sas7bdat"),
    bad("no R", b"nothing", "not an R data frame", name="t.rds"),
    bad("packed SPSS in gz", gzip.compress(b"x"), "unpack it first", name="t.sav.gz"),
]
SHEETS = [
    good("Excel", excel(SHEET), name="t.xlsx"),
    good("Excel with empty rows above", excel(SHEET, above=3), name="t.xlsx"),
    good(
        "Excel with numbers as ids",
        excel([[7 if c == "i1" else c for c in row] for row in SHEET[:3]]),
        [("7", "r1", 1.0), ("7", "r2", 2.0)],
        name="t.xlsx",
    ),
    good("Excel with an empty row", excel([*SHEET[:3], [None, None, None], *SHEET[3:]]), name="t.xlsx"),
    good("Excel with text numbers", excel([[str(c) for c in row] for row in SHEET]), name="t.xlsx"),
    good("Excel, one sheet named", excel(SHEET, second=True), name="t.xlsx", sheet="answers"),
    bad("Excel with two sheets", excel(SHEET, second=True), "2 sheets: answers, other", "--sheet", name="t.xlsx"),
    bad("Excel without that sheet", excel(SHEET), "no sheet 'x'", "it has answers", name="t.xlsx", sheet="x"),
    bad("Excel with a header only", excel(SHEET[:1]), "a header but no rows", name="t.xlsx"),
    bad("an empty Excel file", excel([]), "the file is empty", name="t.xlsx"),
    bad("Excel with equal columns", excel([["item", "item"], [1, 2]]), "two columns are named 'item'", name="t.xlsx"),
    bad("no Excel", b"PK", "not a spreadsheet that can be read", name="t.xlsx"),
    bad(
        "Excel with a bad cell", excel([*SHEET, ["i3", "r1", "five"]]), "row 6", "'five' is not a number", name="t.xlsx"
    ),
]
QUOTED = [
    bad(
        "an open quotation mark",
        "item,rater,value\n" + "".join(f"{chr(34) if n == 8 else ''}i{n},r1,{n % 5}\n" for n in range(18)),
        "row 10",
        "line 10",
        "does not match",
        "--quotes literal",
    ),
    bad("an open mark in the last row", PLAIN + '"i3,r1,2\n', "row 6", "does not match"),
    bad("two open marks", PLAIN.replace("i1,r2", '"i1,r2').replace("i2,r2", '"i2,r2'), "does not match"),
    bad(
        "text behind a closing mark",
        'item,rater,value,text\na,r,1,"Great" film\na,s,2,"Great" film\nb,r,1,x"\n',
        "match",
    ),
    good(
        "literal marks",
        'item,rater,value\n"i1,r1,1\n"i1,r2,2\n',
        [('"i1', "r1", 1.0), ('"i1', "r2", 2.0)],
        quotes="literal",
    ),
    good(
        "marks inside a cell",
        'item,rater,value\n5" disk,r1,1\n5" disk,r2,2\n',
        [('5" disk', "r1", 1.0), ('5" disk', "r2", 2.0)],
    ),
    good(
        "one mark inside a cell", 'item,rater,value\n5" disk,r1,1\nb,r2,2\n', [('5" disk', "r1", 1.0), ("b", "r2", 2.0)]
    ),
    good(
        "doubled marks",
        'item,rater,value,text\ni1,r1,1,"He said ""no"""\ni1,r2,2,"He said ""no"""\n',
        judged(1, 2),
        check=has_text('He said "no"'),
    ),
    good(
        "a line break in a cell",
        'item,rater,value,text\ni1,r1,1,"one\ntwo"\ni1,r2,2,"one\ntwo"\n',
        judged(1, 2),
        check=has_text("one\ntwo"),
    ),
    good(
        "separators in a cell",
        'item,rater,value,text\ni1,r1,1,"a, b, c, d"\ni1,r2,2,"a, b, c, d"\n',
        judged(1, 2),
        check=has_text("a, b, c, d"),
    ),
    good("marks around everything", PLAIN.replace("i1", '"i1"').replace("value", '"value"')),
    good(
        "a separator in a column name",
        'item;rater;"value, 1-5"\ni1;r1;1\ni1;r2;2\n',
        judged(1, 2),
        map={"value": "value, 1-5"},
    ),
]
MISSING = [
    bad(
        "-99 and 999",
        table(1, 2, -99, 7, 999, 3),
        "row 4",
        "'value'",
        "-99 and 999 lie far",
        "--missing=-99,999",
        "--valid",
    ),
    good(
        "-99 and 999 said",
        table(1, 2, 5, 7, -99, 999),
        judged(1, 2, 5, 7),
        "2 cells of column 'value' (-99, 999) read as missing",
        missing=["-99", "999"],
    ),
    good("-99 is an answer", table(1, 2, -99), judged(1, 2, -99), valid=["-99"]),
    good("99 on a slider", table(0, 50, 99, 100), judged(0, 50, 99, 100)),
    good("8 and 9 of ten", table(0, 3, 8, 9, 10, 7), judged(0, 3, 8, 9, 10, 7)),
    good("-1 between -3 and 3", table(-3, -1, 0, 3), judged(-3, -1, 0, 3)),
    bad("-9 below four", table(1, 2, 3, 4, -9, -9), "-9 lies far"),
    bad("NA among numbers", table(1, 2, "NA", 3), "row 4", "'NA' may mean", "--missing=NA"),
    bad("NaN among numbers", table(1, 2, "NaN", 3), "row 4", "'NaN' may mean"),
    good(
        "NA with --empty",
        table(1, 2, 3, "NA"),
        judged(1, 2, 3),
        "1 cell of column 'value' (NA) read as missing",
        empty="skip",
    ),
    good("NaN with --empty", table(1, 2, 3, "NaN"), judged(1, 2, 3), empty="skip"),
    good("NA said", table(1, 2, 3, "NA"), judged(1, 2, 3), missing=["NA"]),
    good("n/a, small", table(1, 2, 3, "n/a"), judged(1, 2, 3), missing=["N/A"]),
    good("None said", table(1, 2, 3, "None"), judged(1, 2, 3), missing=["None"]),
    bad("None among words", table("yes", "no", "None", "yes"), "'None' may mean"),
    good("none is an answer", table("some", "none", "some", "none"), judged(1, 0, 1, 0), valid=["none"]),
    bad("an empty cell", table(1, 2, "", 3), "row 4", "the cell is empty", "--empty skip"),
    good("an empty cell skipped", table(1, 2, 3, ""), judged(1, 2, 3), "1 row without a value left out", empty="skip"),
    good("blanks in an empty cell", table(1, 2, 3, "  "), judged(1, 2, 3), empty="skip"),
    good("-99.0 for -99", table("1.0", "2.0", "3.0", "-99.0"), judged(1, 2, 3), missing=["-99"]),
    good(
        "skipped as not mentioned",
        table(1, 2, 3, ""),
        judged(1, 2, 3),
        empty="not_mentioned",
        check=lambda c: "not_mentioned" in set(c.judgments["status"]),
    ),
    bad("every cell is empty", table("", ""), "no row has a value", empty="skip"),
    bad(
        "NA in a trait",
        "item,rater,value,age\na,r,1,31\na,s,2,NA\n",
        "row 3, column 'age'",
        "'NA' may mean",
        "--missing=NA",
        traits=["age"],
    ),
    bad(
        "999 in a trait",
        "item,rater,value,age\na,r,1,31\na,s,2,999\na,t,2,40\n",
        "row 3, column 'age'",
        "999 lies far",
        traits=["age"],
    ),
    good(
        "999 in a trait said",
        "item,rater,value,age\na,r,1,31\na,s,2,999\n",
        [("a", "r", 1.0), ("a", "s", 2.0)],
        traits=["age"],
        missing=["999"],
        check=lambda c: c.raters["age"].to_list() == [31, None],
    ),
    bad("an error of Excel", table(1, 2, "#N/A"), "'#N/A' may mean"),
    bad("#REF!", table(1, 2, "#REF!"), "'#REF!' is not a number", "'--missing=#REF!'"),
    bad("inf", table(1, 2, "inf"), "'inf' is not a number"),
    bad(
        "a word among numbers",
        table(1, 2, "five", 3),
        "row 4, column 'value'",
        "'five' is not a number, although",
        "correct the cell",
    ),
]
NUMBERS = [
    bad(
        "decimal commas",
        table('"0,5"', '"1,5"', 2),
        "row 2",
        "'0,5' looks like a number with a decimal comma",
        "--decimal ,",
    ),
    good(
        "decimal commas said", table('"0,5"', '"1,5"', 2), judged(0.5, 1.5, 2), "Commas in column 'value'", decimal=","
    ),
    good(
        "decimal commas with semicolons",
        table("0,5", "1,5", 2)
        .replace("r1,", "r1;")
        .replace("r2,", "r2;")
        .replace(",r", ";r")
        .replace("rater,", "rater;"),
        judged(0.5, 1.5, 2),
        decimal=",",
    ),
    good("thousands", table('"1.234,5"', '"2,5"', 3), judged(1234.5, 2.5, 3), decimal=","),
    good("commas as words", table('"a,b"', '"c,d"'), judged(0, 1), decimal="."),
    good("spaces around numbers", table(" 1", "2 ", " 3 "), judged(1, 2, 3), "3 numbers of column 'value' had spaces"),
    good("no-break spaces", table("1\u00a0", 2), judged(1, 2)),
    good("a real minus sign", table("\u22121", 0, 1), judged(-1, 0, 1)),
    good("plus signs", table("+1", "-1", "0"), judged(1, -1, 0)),
    good("exponents", table("1e0", "2E0", 3), judged(1, 2, 3)),
    good("leading zeros", table("01", "02"), judged(1, 2)),
    good("halves", table(0.5, 1, 1.5), judged(0.5, 1, 1.5), check=lambda c: c.questions[0].scale.range == (0.5, 1.5)),
    good("one value only", table(3, 3), judged(3, 3)),
    good("booleans as words", table("TRUE", "FALSE", "true"), judged(1, 0, 1)),
]
WORDS = [
    good("yes and Yes", table("yes", "no", "Yes", "yes"), judged(1, 0, 1, 1), "'Yes' (1 cell) was read as 'yes'"),
    good("words with spaces", table("yes ", " no", "yes"), judged(1, 0, 1)),
    good(
        "agreement",
        table("agree", "strongly disagree", "neutral", "strongly agree", "disagree", "agree"),
        judged(4, 1, 3, 5, 2, 4),
        "taken as ordered",
        check=lambda c: c.questions[0].scale.level == "ordinal",
    ),
    good("frequency", table("Never", "Often", "Sometimes"), judged(1, 3, 2), "Never < Sometimes < Often"),
    good(
        "given order",
        table("bad", "fine", "great"),
        judged(1, 2, 3),
        order=["bad", "fine", "great"],
        check=lambda c: c.questions[0].scale.ordered,
    ),
    bad(
        "a word outside the order",
        table("bad", "fine", "graet"),
        "row 4, column 'value'",
        "'graet' is not in the order",
        order=["bad", "fine", "great"],
    ),
    good(
        "words without order",
        table("cat", "dog", "cow"),
        judged(0, 2, 1),
        "without an order (cat, cow, dog)",
        check=lambda c: not c.questions[0].scale.ordered,
    ),
    good(
        "numbered words",
        table("1 - not at all", "2", "5 - very", "3"),
        judged(1, 2, 5, 3),
        "are numbered",
        check=lambda c: c.questions[0].scale.label(5.0) == "very",
    ),
    good("numbers in brackets", table("1 (low)", "2 (middle)", "3 (high)"), judged(1, 2, 3), check=anchored),
    bad("too many words", table(*[f"text number {chr(97 + n % 26)}{n}" for n in range(60)]), "60 different texts"),
    good("one word only", table("yes", "yes"), judged(1, 1)),
    good("umlauts", table("manchmal", "häufig", "nie", "immer"), judged(2, 3, 1, 4), "taken as ordered"),
]
TITLED = "item;rater;value\n" + "".join(f"{i};{r};{v:g}\n" for i, r, v in ROWS)
IDS = [
    bad("an accent in two forms", "item,rater,value\na,Jos\u00e9,1\nb,Jose\u0301,2\n", "by invisible characters only"),
    bad("a zero-width space", "item,rater,value\na,AnnLee,1\nb,Ann\u200bLee,2\n", "by invisible characters only"),
    bad("two spaces inside an id", "item,rater,value\na,Ann Lee,1\nb,Ann  Lee,2\n", "by spaces only", "--strip"),
    good(
        "accents composed",
        "item,rater,value\na,Jos\u00e9,1\nb,Jose\u0301,2\n",
        [("a", "Jos\u00e9", 1.0), ("b", "Jos\u00e9", 2.0)],
        strip=True,
    ),
    good("an answer in two forms", table("f\u00fcr", "fu\u0308r", "an", "an"), judged(1, 1, 0, 0)),
    bad("ids that Excel has cut", "item,rater,value\n1.23457E+18,a,1\n1.23457E+18,b,2\n", "only the first digits"),
    bad(
        "ids that a spreadsheet cannot hold",
        excel([["item", "rater", "value"], [1234567890123456701, "a", 1], [1234567890123456702, "a", 2]]),
        "row 2, column 'item'",
        "only the first digits",
        name="t.xlsx",
    ),
    bad("0, 1 and 9", table(0, 1, 9, 1), "row 4", "9 lies far from the other values", "--missing=9"),
    bad("1 to 5 and 9", table(1, 2, 5, 9), "9 lies far from the other values"),
    bad("1 to 5 and -1", table(1, 5, 3, -1), "-1 lies far from the other values"),
    good("-1, 0 and 1", table(-1, 0, 1, 1), judged(-1, 0, 1, 1)),
    good("1 to 9", table(1, 4, 7, 9), judged(1, 4, 7, 9)),
    bad(
        "the mean of answers without an order",
        "item,rater,value\na,r,cat\na,r,dog\nb,r,cow\n",
        "row 3",
        "without an order have no mean",
        duplicates="mean",
    ),
    good(
        "duplicates are counted",
        "item,rater,value\na,r,1\na,r,3\nb,r,2\n",
        [("a", "r", 3.0), ("b", "r", 2.0)],
        "1 duplicate judgment resolved (last)",
        duplicates="last",
    ),
    good(
        "a number for every row",
        "item,text,rater,value\n1,Hi.,a,1\n2,Hi.,b,2\n",
        [("1", "a", 1.0), ("2", "b", 2.0)],
        "Every row became an item of its own although texts repeat",
    ),
    bad(
        "spaces around an item",
        "item,rater,value\n i1 ,a,1\ni1,b,2\n",
        "row 2, column 'item'",
        "item ' i1 ' differs from 'i1' by spaces only",
        "--strip",
    ),
    bad(
        "a space behind a rater",
        "item,rater,value\na,r1,1\nb,r1 ,2\n",
        "row 3, column 'rater'",
        "rater 'r1 ' differs from 'r1'",
    ),
    good(
        "stripped",
        "item,rater,value\n i1 ,r1,1\ni1,r2 ,2\n",
        judged(1, 2),
        "Spaces around 1 item id removed",
        strip=True,
    ),
    good("spaces kept", "item,rater,value\n i1 ,a,1\ni1,b,2\n", [(" i1 ", "a", 1.0), ("i1", "b", 2.0)], strip=False),
    bad("a tab behind an id", "item,rater,value\na,r1,1\nb,r1\t,2\n", "by spaces only"),
    bad("a no-break space", "item,rater,value\na,r1,1\nb,r1\u00a0,2\n", "by spaces only"),
    bad(
        "spaces and case at once",
        "item,rater,value\na,ann,1\nb,Ann ,2\n",
        "'Ann ' differs from 'ann' by spaces and case",
    ),
    good(
        "a title in a spreadsheet",
        excel([["Survey"], [], *SHEET]),
        ROWS,
        "The first 2 lines are a title",
        name="t.xlsx",
    ),
    good("a title above the header", f"Survey;;\n;;\n{TITLED}", ROWS, "The first 2 lines are a title", "in line 3"),
    good("a title without separators", f"My survey\n\n{TITLED}", ROWS, "The first 2 lines are a title"),
    good(
        "separators behind the last column", "item,rater,value,,\n" + "".join(f"{i},{r},{v:g},,\n" for i, r, v in ROWS)
    ),
    good("addresses of raters", "item,rater,value\na,ann@x.org,1\n", [("a", "ann@x.org", 1.0)], "e-mail addresses"),
    bad(
        "a row of totals", "item,rater,value\na,r1,1\nb,r1,2\nTotal,,3\n", "the rater is empty", "a total, for example"
    ),
    bad("one column of texts with commas", "text\na, b, c\nd, e\n", "cells under 1 column"),
    bad("several words among numbers", table(1, 2, "five", "7o"), "'7o', 'five' are not numbers", "--missing=7o,five"),
    bad("a comma among words", table(1, '"2,5"', "3 - high"), "looks like a number with a decimal comma"),
    bad(
        "raters in two cases",
        "item,rater,value\na,Ann,1\nb,ann,2\n",
        "row 3",
        "by upper and lower case only",
        "--case fold",
    ),
    good(
        "cases folded",
        "item,rater,value\na,Ann,1\nb,ann,2\n",
        [("a", "Ann", 1.0), ("b", "Ann", 2.0)],
        "1 rater id joined",
        case="fold",
    ),
    good("cases kept", "item,rater,value\na,Ann,1\nb,ann,2\n", [("a", "Ann", 1.0), ("b", "ann", 2.0)], case="keep"),
    bad(
        "a trait in two spellings",
        "item,rater,value,sex\na,r,1,Female\na,s,2,female\n",
        "column 'sex'",
        "by upper and lower case only",
        traits=["sex"],
    ),
    bad(
        "a trait with a space",
        "item,rater,value,sex\na,r,1,f\na,s,2,f \n",
        "column 'sex'",
        "by spaces only",
        traits=["sex"],
    ),
    bad("an empty rater", "item,rater,value\na,,1\n", "row 2, column 'rater'", "the rater is empty"),
    bad("an empty item", "item,rater,value\n,r,1\n", "row 2, column 'item'", "the item is empty"),
    bad("a judgment twice", PLAIN + "i1,r1,3\n", "row 6", "was judged already in row 2", "--duplicates"),
    good("the last of two", "item,rater,value\ni1,r1,3\ni1,r1,1\ni1,r2,2\n", judged(1, 2), duplicates="last"),
    bad(
        "a trait that contradicts",
        "item,rater,value,age\na,r,1,31\nb,r,2,32\n",
        "row 3, column 'age'",
        "rater 'r' has a different value than in row 2",
        traits=["age"],
    ),
    bad(
        "a text that contradicts",
        "item,rater,value,text\na,r,1,x\na,s,2,y\n",
        "row 3, column 'text'",
        "item 'a' has a different value",
    ),
]
SHAPES = [
    bad("no columns", "", "the file is empty"),
    bad("only blank lines", "\n\n", "the file is empty"),
    bad("a header only", "item,rater,value\n", "a header but no rows"),
    bad("equal columns", "item,item,value\na,b,1\n", "two columns are named 'item'"),
    bad("too many cells", PLAIN + "i3,r1,2,9\n", "row 6", "4 cells under 3 column names"),
    bad(
        "no rater",
        "item,value\na,1\n",
        "no column is mapped to the rater; the table has 'item', 'value'",
        "--map rater=COLUMN",
    ),
    bad(
        "a wrong mapping",
        PLAIN,
        "there is no column 'score'",
        "it has 'item', 'rater', 'value'",
        map={"value": "score"},
    ),
    good("blank lines between", PLAIN.replace("i2,r1", "\ni2,r1")),
    good(
        "a nameless column",
        "item,rater,value,\ni1,r1,1,x\ni1,r2,2,\n",
        judged(1, 2),
        "Columns that were not read: column 4.",
    ),
    good("sep=; of Excel", "sep=;\n" + PLAIN.replace(",", ";")),
    bad("sep=; and a bad row", "sep=;\n" + PLAIN.replace(",", ";") + "i3;r1;x\n", "row 7", "'x' is not a number"),
    good("a packed zip file", zipped(t_csv=PLAIN), name="t.zip"),
    bad("two tables in a zip file", zipped(a_csv=PLAIN, b_csv=PLAIN), "2 tables (a.csv, b.csv)", name="t.zip"),
    bad("no table in a zip file", zipped(a_png="x"), "no table", name="t.zip"),
    bad("no zip file", b"x", "cannot be read", name="t.zip"),
    bad("no gz file", b"x", "cannot be read", name="t.csv.gz"),
    bad("a cut gz file", gzip.compress(PLAIN.encode() * 50)[:60], "cannot be read", name="t.csv.gz"),
    bad("an unknown kind of file", b"x", "files named '.docx' are not known", name="t.docx"),
    bad("an unknown encoding", PLAIN, "no encoding 'klingon'", encoding="klingon"),
    *map(packed, ("gz", "bz2", "xz")),
]
LINES = [json.dumps({"item": i, "rater": r, "value": v}) for i, r, v in ROWS]
NESTED = [
    good("JSON Lines", "\n".join(LINES), name="t.jsonl"),
    good("JSON", json.dumps([json.loads(line) for line in LINES]), name="t.json"),
    good("packed JSON Lines", gzip.compress("\n".join(LINES).encode()), name="t.jsonl.gz"),
    bad(
        "a list as a value", LINES[0].replace("1.0", "[1, 2]"), "row 1, column 'value'", "holds a list", name="t.jsonl"
    ),
    bad(
        "an object as a value",
        LINES[0].replace("1.0", '{"a": 1}'),
        "row 1, column 'value'",
        "holds an object",
        name="t.jsonl",
    ),
    bad("a list as an item", LINES[0].replace('"i1"', '["i1"]'), "column 'item'", "holds lists", name="t.jsonl"),
    bad(
        "mixed types",
        "\n".join([LINES[0], LINES[1].replace("2.0", '"x"')]),
        "row 2",
        "mixes numbers and text",
        name="t.jsonl",
    ),
    bad("broken JSON", LINES[0] + "\n{", "row 2", "this is not JSON", name="t.jsonl"),
]
QUALTRICS = (
    'StartDate,Status,ResponseId,T1,T2,age\n"Start Date","Response Type","Response ID","How warm is text one?",'
    '"How warm is text two?",Age\n"{""ImportId"":""start""}","{""ImportId"":""status""}","{""ImportId"":""_id""}",'
    '"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}","{""ImportId"":""QID3""}"\n'
    "2024-01-01,Survey Preview,R_0,5,5,20\n2024-01-01,IP Address,R_1,1,2,31\n2024-01-02,IP Address,R_2,3,,44\n"
)
FORMS = (
    "Timestamp,How warm? [First text],How warm? [Second text],How old are you?\n2024/01/01 10:00,1 - cold,5 - warm,31\n"
    "2024/01/01 10:01,2,4,44\n"
)
WIDE = [
    good(
        "Qualtrics",
        QUALTRICS,
        [("T1", "R_1", 1.0), ("T1", "R_2", 3.0), ("T2", "R_1", 2.0)],
        "1 previews and test responses",
        map={"rater": "ResponseId"},
        columns="item",
        traits=["age"],
        check=lambda c: c.items["text"].to_list() == ["How warm is text one?", "How warm is text two?"],
    ),
    good(
        "Google Forms",
        FORMS,
        [
            ("First text", "respondent-1", 1.0),
            ("First text", "respondent-2", 2.0),
            ("Second text", "respondent-1", 5.0),
            ("Second text", "respondent-2", 4.0),
        ],
        columns="item",
        values=["How warm*"],
        traits=["How old are you?"],
        check=lambda c: c.questions[0].id == "How warm?" and c.questions[0].scale.label(5.0) == "warm",
    ),
    good("a column per rater", "item,r1,r2\ni1,1,2\ni2,3,2\n", ROWS, columns="rater"),
    good("a column per item", "rater,i1,i2\nr1,1,3\nr2,2,2\n", ROWS, columns="item"),
    good(
        "respondents without a name",
        "i1,i2\n1,3\n2,2\n",
        [
            ("i1", "respondent-1", 1.0),
            ("i1", "respondent-2", 2.0),
            ("i2", "respondent-1", 3.0),
            ("i2", "respondent-2", 2.0),
        ],
        columns="item",
    ),
    good(
        "a column per question",
        "item,rater,warm,kind\ni1,r1,1,5\ni1,r2,2,5\n",
        [("i1", "r1", 1.0), ("i1", "r2", 2.0), ("i1", "r1", 5.0), ("i1", "r2", 5.0)],
        columns="question",
        check=lambda c: [q.id for q in c.questions] == ["kind", "warm"],
    ),
    good(
        "questions with numbers and with words",
        "item,rater,warm,tone\ni1,r1,1,rude\ni1,r2,2,Polite\ni2,r1,3,polite\ni2,r2,2,rude\n",
        [*ROWS, ("i1", "r1", 1.0), ("i1", "r2", 0.0), ("i2", "r1", 0.0), ("i2", "r2", 1.0)],
        "differ in case or spaces only",
        columns="question",
        check=lambda c: [q.scale.level for q in c.questions] == ["nominal", "ordinal"],
    ),
    bad(
        "a word among the numbers of one question",
        "item,rater,warm,tone\ni1,r1,1,rude\ni1,r2,two,polite\n",
        "row 3, column 'warm'",
        "'two' is not a number",
        columns="question",
    ),
    good(
        "questions in rows",
        "item,rater,question,value\ni1,r1,warm,1\ni1,r1,tone,rude\ni1,r2,warm,2.25\ni1,r2,tone,polite\n",
        [("i1", "r1", 1.0), ("i1", "r1", 1.0), ("i1", "r2", 2.25), ("i1", "r2", 0.0)],
    ),
    good("some columns", "rater,i1,i2,note\nr1,1,3,x\nr2,2,2,y\n", ROWS, columns="item", values=["i*"]),
    bad("no such column", "rater,i1\nr1,1\n", "there is no column 'Q*'", columns="item", values=["Q*"]),
    bad("a bad cell of a rater", "item,r1,r2\ni1,1,2\ni2,3,x\n", "row 3", "'x' is not a number", columns="rater"),
    bad("a code for missing", "item,r1,r2\ni1,1,2\ni2,3,-99\n", "row 3", "-99 lies far", columns="rater"),
]
CASES = [
    *ENCODED,
    *UNTOLD,
    *SEPARATED,
    *STATISTICS,
    *SHEETS,
    *QUOTED,
    *MISSING,
    *NUMBERS,
    *WORDS,
    *IDS,
    *SHAPES,
    *NESTED,
    *WIDE,
]


def made(folder: Path, case: Case) -> Path:
    path = folder / case.name
    if callable(case.data):
        case.data(path)
    else:
        path.write_bytes(case.data.encode() if isinstance(case.data, str) else case.data)
    return path


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 150
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_file_gives_the_right_values_or_one_sentence(tmp_path: Path, case: Case) -> None:
    path = made(tmp_path, case)
    if case.rows is None:
        with pytest.raises(InputError) as caught:
            read(path, **case.options)
        sentence = str(caught.value)
        assert all(part in sentence for part in case.told), sentence
        assert "\n" not in sentence
        assert str(path) in sentence or "encoding" in sentence
        assert sentence.endswith((".", "?"))
        return
    corpus = read(path, **case.options)
    found = corpus.judgments.filter(pl.col("value").is_not_null()).select("item", "rater", "value").rows()
    assert sorted(found) == sorted(case.rows)
    notes = " ".join(corpus.about.notes)
    assert all(part in notes for part in case.told), notes
    assert case.check is None or case.check(corpus)


STREAMED = [case for case in CASES if case.name.split(".")[1] in ("csv", "tsv", "txt", "parquet")]


@pytest.mark.parametrize("case", STREAMED[::4], ids=lambda case: case.id)
def test_a_streamed_file_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    monkeypatch.setattr("vantage.corpora.readers.files.LARGE", 0)
    test_a_file_gives_the_right_values_or_one_sentence(tmp_path, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.id)
def test_every_streamed_file_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case) -> None:
    test_a_streamed_file_gives_the_same(tmp_path, monkeypatch, case)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_preview_never_fails_and_its_command_reads_the_file(tmp_path: Path, case: Case) -> None:
    path = made(tmp_path, case)
    told = preview(path)
    assert json.dumps(told)
    if told["readings"]:
        assert (told["command"], len(told["readings"])) == (None, 2)
    elif told["problem"] is None:
        assert told["judgments"] > 0
        assert told["command"].startswith("vantage corpora import table --from ")


def test_a_million_rows_with_one_bad_one(tmp_path: Path) -> None:
    size = 1_000_000
    frame = pl.select(
        pl.format("i{}", pl.int_range(size) // 10).alias("item"),
        pl.format("r{}", pl.int_range(size) % 10).alias("rater"),
        (pl.int_range(size) % 7).cast(pl.String).alias("value"),
    )
    frame[777_777, "value"] = "7o"
    frame.write_csv(path := tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"t\.csv, row 777779, column 'value': '7o' is not a number, although other"):
        read(path)


def test_extras_are_named_where_they_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("vantage.corpora.readers.foreign.import_module", refuse)
    for name, package in (("t.xlsx", "python-calamine"), ("t.sav", "pyreadstat"), ("t.rds", "pyreadr")):
        (tmp_path / name).write_bytes(b"x")
        with pytest.raises(
            InputError, match=rf"needs the package {package}; run: pip install 'vantage-raters\[tables\]'"
        ):
            load("table", tmp_path / name)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a folder, not a file; name a file inside it"):
        load("table", tmp_path)


def test_the_preview_takes_the_only_column_left_for_the_rater(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id;wer;stars\ni1;r1;1\ni1;r2;2\ni2;r1;3\n")
    assert "--map item=id,rater=wer,value=stars" in preview(path)["command"]


def test_the_preview_shows_lists_in_one_line(tmp_path: Path) -> None:
    (path := tmp_path / "t.jsonl").write_text('{"item": "a", "rater": "r", "value": [1, 2]}\n')
    assert preview(path)["columns"][2]["examples"] == ["[1, 2]"]


def test_the_preview_shows_the_status_of_an_answer_as_read(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("item,rater,value,status\na,x,1,answered\na,y,,refused\nb,x,0,answered\nb,y,1,answered\n")
    told = preview(path)
    assert "status=status" in told["command"]
    assert {row["column"]: row["role"] for row in told["columns"]}["status"] == "status"


def test_the_preview_sees_that_an_id_numbers_rows_and_that_none_is_an_answer(tmp_path: Path) -> None:
    rows = [f"{n},Text {n // 2},{'ab'[n % 2]},{['hate', 'none'][n % 2]}" for n in range(6)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["id,tweet,annotator,label", *rows, ""]), encoding="utf-8")
    seen = preview(path)
    assert (seen["items"], seen["judgments"]) == (3, 6)
    assert "--map text=tweet,rater=annotator,value=label --valid none" in seen["command"]


WORDS_BY_RATER = "id,text,anna,ben,carla,{}\n1,aa,y,n,y,{}\n2,bb,n,n,n,{}\n3,cc,y,y,y,{}\n4,dd,n,y,n,{}\n"
NUMBERS_BY_RATER = "id,text,anna,ben,carla,{}\n1,aa,4,5,4,{}\n2,bb,1,2,2,{}\n3,cc,3,3,4,{}\n4,dd,1,2,1,{}\n"


@pytest.mark.parametrize(
    ("table", "cells"),
    [
        pytest.param(WORDS_BY_RATER, ("news", "blog", "blog", "news"), id="source"),
        pytest.param(WORDS_BY_RATER, ("short", "long", "short", "longer"), id="words"),
        pytest.param(NUMBERS_BY_RATER, (13, 5, 29, 11), id="length"),
        pytest.param(NUMBERS_BY_RATER, (2021, 2022, 2021, 2023), id="year"),
        pytest.param(NUMBERS_BY_RATER, (-70, -10, -3, -40), id="below"),
    ],
)
def test_a_column_with_other_answers_is_no_rater(tmp_path: Path, table: str, cells: tuple[object, ...]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table.format("more", *cells))
    with pytest.raises(InputError, match=r"column 'more' are unlike.*--map more=more.*--unlike keep"):
        load("table", path, map={"item": "id", "text": "text"}, columns="rater")
    seen = preview(path)
    assert seen["raters"] == 3
    assert "more=more" in seen["command"]
    every = load("table", path, map={"item": "id", "text": "text"}, columns="rater", unlike="keep")
    assert every.sizes["raters"] == 4
    kept = load("table", path, map={"item": "id", "text": "text", "more": "more"}, columns="rater")
    assert kept.sizes["raters"] == 3
    assert "more" in kept.items.columns
    assert "Columns read as people: anna, ben, carla." in kept.about.notes


@pytest.mark.parametrize(
    ("table", "cells"),
    [
        pytest.param(WORDS_BY_RATER, ("y", "unsure", "unsure", "unsure"), id="own answer"),
        pytest.param(WORDS_BY_RATER, ("neutral",) * 4, id="always the same"),
        pytest.param(NUMBERS_BY_RATER, (6, 6, 7, 7), id="lenient"),
        pytest.param(NUMBERS_BY_RATER, (90, "", "", ""), id="one answer"),
    ],
)
def test_a_rater_with_answers_of_their_own_is_a_rater(tmp_path: Path, table: str, cells: tuple[object, ...]) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table.format("more", *cells))
    assert load("table", path, map={"item": "id", "text": "text"}, columns="rater").sizes["raters"] == 4


def test_columns_of_different_questions_are_not_raters(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,polite,mood\n1,rude,sad\n2,polite,glad\n3,rude,sad\n")
    with pytest.raises(InputError, match=r"no answer in common with others.*--columns question if they are questions"):
        load("table", path, map={"item": "id"}, columns="rater")


def test_a_column_that_describes_respondents_is_no_item(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("who,q1,q2,q3,semester\na,1,2,3,11\nb,2,2,4,12\nc,1,4,5,9\nd,2,2,3,4\n")
    with pytest.raises(InputError, match="would count as an item; pass --traits semester if it describes the raters"):
        load("table", path, map={"rater": "who"}, columns="item")
    assert "--columns item --traits semester" in preview(path)["command"]
