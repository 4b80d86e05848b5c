"""A snapshot of the whole command line: every command, option, default and sentence of help, and how commands end.

After a change that is meant, write it again with `python -m tests.cli.test_help`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from typer.main import get_command

from tests.cli.conftest import Vantage
from vantage.cli.options import help_groups

SNAPSHOT: Final = Path(__file__).with_name("help.txt")
MOST: Final = 20
"""A command with more options than this has them in groups."""
SHARED: Final = {"--json", "--csv", "--latex", "--seed", "--database", "--k", "--allow-unique"}
"""Options that mean the same wherever they are, and are made in one place for all commands."""


def commands() -> Iterator[tuple[str, Any]]:
    """Every command of the program with its name, groups included."""
    from vantage.cli.app import app

    waiting: list[tuple[str, Any]] = [("vantage", get_command(app))]
    while waiting:
        name, command = waiting.pop(0)
        yield name, command
        waiting += [
            (f"{name} {one}", part) for one, part in getattr(command, "commands", {}).items() if not part.hidden
        ]


def options(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option" and "--help" not in one.opts]


def described() -> str:
    """The command line as text, a line for each command and option."""
    lines = []
    for name, command in sorted(commands()):
        lines.append(f"{name}: {' '.join((command.help or '').split())}")
        for one in command.params:
            if "--help" in one.opts:
                continue
            words = "/".join((*one.opts, *one.secondary_opts)) if one.param_type_name == "option" else one.name.upper()
            kind = one.metavar or re.sub(r"<class '(?:\w+\.)*(\w+)'>|\w+\.", r"\1", str(one.type_descriptor.annotation))
            default = f" [{one.show_default}]" if isinstance(getattr(one, "show_default", None), str) else ""
            many = " …" if one.multiple or one.nargs != 1 else ""
            needed = " required" if one.required else ""
            lines.append(f"  {words} {kind}{many}{default}{needed}: {getattr(one, 'help', '') or ''}".rstrip(": "))
    return "\n".join(lines) + "\n"


def test_the_command_line_is_as_it_was() -> None:
    assert described().splitlines() == SNAPSHOT.read_text("utf-8").splitlines(), (
        "if this is meant, run: python -m tests.cli.test_help"
    )


def test_commands_with_many_options_have_them_in_groups() -> None:
    many = {name: command for name, command in commands() if len(options(command)) > MOST}
    assert "vantage rate" in many
    for name, command in many.items():
        assert {one.name for one in options(command)} <= help_groups(command).keys(), name


def test_help_ends_well_and_an_unknown_option_does_not(vantage: Vantage) -> None:
    for name, command in commands():
        words = name.split()[1:]
        told = vantage(*words, "--help")
        assert (told.code, "Usage: vantage" in told.out) == (0, True), name
        # The verbs whose options depend on what is measured read them when they run.
        if not command.context_settings.get("ignore_unknown_options"):
            refused = vantage(*words, "--no-such-option-at-all")
            assert (refused.code, refused.err.count("\n")) == (2, 1), name


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("collect", "check"), "missing argument 'FILE'; see vantage collect check --help."),
        (("corpora", "describe", "c", "--wher", "x"), "see vantage corpora describe --help."),
        (
            ("collect", "invite", "c", "--count", "many"),
            "invalid value for '--count' / '-n': Input should be a valid integer;",
        ),
        (("--bogus",), "no such option: --bogus"),
        (("mesure",), "there is no command 'mesure'; did you mean 'measure'?"),
        (("import", "t.csv"), "there is no command 'import'; run: vantage corpora import."),
        (("krippendorff", "c"), "there is no command 'krippendorff'; run: vantage measure alpha."),
        (
            ("dawid_skene", "c"),
            "there is no command 'dawid_skene'; run: vantage measure aggregate FOLDER --method dawid-skene.",
        ),
        (("annotate",), "there is no command 'annotate'; run: vantage collect or vantage rate."),
        (("corpora", "describe", "x" * 5000), "File name too long; check the path and the disk."),
        (("collect", "status", "nowhere"), "nowhere: there is no such folder; check the path."),
    ],
)
def test_a_command_that_is_not_understood_ends_with_one_sentence(
    vantage: Vantage, words: tuple[str, ...], told: str
) -> None:
    done = vantage(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("vantage: ")
    assert told in done.err
    assert done.err.count("\n") == 1


def test_every_option_is_in_a_page_or_a_test_that_names_its_command() -> None:
    root = Path(__file__).parents[2]
    places = [root / "README.md", *root.glob("docs/**/*.md"), *root.glob("tests/**/test_*.py")]
    texts = [set(re.findall(r"[\w-]+", one.read_text("utf-8"))) for one in places]
    unknown = []
    for name, command in commands():
        told = set[str]().union(*(words for words in texts if words >= set(name.split()[1:])))
        unknown += [
            f"{name} {'/'.join(one.opts)}"
            for one in options(command)
            if not {*one.opts, *one.secondary_opts} & (told | SHARED) and not one.hidden
        ]
    assert unknown == [], "write them into a page of docs/ or a test, or remove them"


def test_every_option_is_documented() -> None:
    root = Path(__file__).parents[2]
    pages = "\n".join(one.read_text("utf-8") for one in [root / "README.md", *root.glob("docs/**/*.md")])
    told = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", pages))
    unknown = [
        f"{name} {'/'.join(one.opts)}"
        for name, command in commands()
        for one in options(command)
        if not one.hidden and one.name != "version" and not {*one.opts, *one.secondary_opts} & told
    ]
    assert unknown == [], "write them into a page of docs/, or remove them"


if __name__ == "__main__":
    SNAPSHOT.write_text(described(), "utf-8")
