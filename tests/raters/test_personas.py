from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from vantage.errors import InputError, Problems
from vantage.raters.personas import AGE_BANDS, Persona, Personas, sample

POOL = Personas.load("pool")
CONTROL = Personas.load("control")

GOOD: dict[str, Any] = {
    "id": "ann",
    "name": "Ann Lee",
    "age": 31,
    "gender": "woman",
    "pronouns": "she/her",
    "country": "Kenya",
    "region": "Africa",
    "education": "primary school",
    "occupation": "baker",
    "values": ["security", "tradition"],
    "experiences": ["I was mocked for a sincere question.", "I changed my mind"],
    "temperament": "She is calm.",
    "description": "Ann bakes at night.",
}


def written(tmp_path: Path, data: Any) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(data if isinstance(data, str) else yaml.safe_dump(data, sort_keys=False), "utf-8")
    return path


def problems(tmp_path: Path, data: Any) -> tuple[str, ...]:
    with pytest.raises(Problems) as raised:
        Personas.load(written(tmp_path, data))
    return raised.value.problems


# The bundled pool


def test_the_pool_crosses_age_bands_with_regions() -> None:
    assert len(POOL) == 40
    assert len({p.id for p in POOL}) == len({p.name for p in POOL}) == 40
    bands = Counter(p.age_band for p in POOL)
    assert set(bands) == {*(name for _, name in AGE_BANDS), "60 and over"}
    assert min(bands.values()) >= 8
    assert len({p.region for p in POOL}) >= 7
    assert max(Counter((p.age_band, p.region) for p in POOL).values()) == 1


def test_the_pool_spreads_gender_education_country_and_values() -> None:
    genders = Counter(p.gender for p in POOL)
    assert genders["woman"] == genders["man"] >= 16
    assert len({p.age_band for p in POOL if p.gender == "nonbinary"}) == 4
    assert len({p.region for p in POOL if p.gender == "nonbinary"}) >= 4
    assert len({p.country for p in POOL}) >= 30
    assert len({p.occupation for p in POOL}) == 40
    education = Counter(p.education for p in POOL)
    assert {"no formal schooling", "primary school", "vocational training", "doctorate"} <= set(education)
    assert min(education.values()) >= 3
    values = Counter(value for p in POOL for value in p.values)
    assert len(values) == 10
    assert min(values.values()) >= 6


def test_every_persona_of_the_pool_has_occasions_of_its_own() -> None:
    assert all(4 <= len(p.experiences) <= 6 for p in POOL)
    occasions = [occasion for p in POOL for occasion in p.experiences]
    assert len(set(occasions)) == len(occasions)
    first_person = re.compile(r"\b(I|me|my|we|us|our)\b", re.IGNORECASE)
    assert [occasion for occasion in occasions if not first_person.search(occasion)] == []


@pytest.mark.parametrize(
    ("topic", "words"),
    [
        ("vaccines", r"vaccin|polio|injection"),
        ("pregnancy", r"pregnan|abortion|expecting|childbirth|terminat|a baby"),
        ("sarcasm", r"“|joke|irony|ironic|sarcas|teas"),
        ("online life", r"\bonline|posted|\bchat|comment|\bpage\b|video|review"),
        ("writing at work", r"e-mail|letter|notice|notes?\b|wrote"),
        ("politics", r"vot(e|ed)\b|march|election|candidate|politician|government|party\b|ministry"),
    ],
)
def test_many_personas_have_something_to_recall_on_each_topic(topic: str, words: str) -> None:
    relevant = [p.id for p in POOL if re.search(words, " ".join(p.experiences), re.IGNORECASE)]
    assert len(relevant) >= 10, topic


def test_descriptions_and_manner_use_the_pronouns_of_the_persona() -> None:
    subject = {"she/her": "She ", "he/him": "He ", "they/them": "They "}
    assert [p.id for p in POOL if not (p.temperament or "").startswith(subject[p.pronouns or ""])] == []
    named = [p.id for p in POOL if (p.description or "").split()[0] not in (p.name or "")]
    assert named == []


# Profiles and traits


@pytest.mark.parametrize("persona", POOL, ids=lambda p: p.id)
def test_a_profile_renders_all_that_is_there(persona: Persona) -> None:
    profile = persona.profile()
    for text in (persona.name, persona.gender, persona.pronouns, persona.country, persona.region):
        assert text
        assert text in profile
    for text in (persona.education, persona.occupation, persona.temperament, persona.description):
        assert text
        assert text in profile
    assert all(text in profile for text in (*persona.values, *persona.experiences))
    assert f"{persona.age} years old" in profile
    assert re.search(r"\bNone\b|[{}\[\]_\n]|\.\.|  ", profile) is None


def test_the_control_says_nothing_about_who_the_person_is() -> None:
    (control,) = CONTROL
    assert control.traits() == {"persona": "control"}
    profile = control.profile()
    assert profile == control.description
    words = set(re.findall(r"[a-z/]+", profile.lower()))
    traits = {p.gender for p in POOL} | {p.pronouns for p in POOL} | {"he", "she", "his", "her", "years", "old"}
    names = {word for p in POOL for word in (p.name or "").lower().split()}
    places = {text.lower() for p in POOL for text in (p.country, p.region) if text}
    assert not words & (traits | names | places)
    assert not re.search(r"\d", profile)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            **{key: st.just(value) for key, value in GOOD.items() if isinstance(value, str) and key != "id"},
            "age": st.integers(16, 110),
            "values": st.lists(st.sampled_from(["power", "security"]), min_size=1).map(tuple),
            "experiences": st.lists(st.sampled_from(["I won.", "I lost"]), min_size=1).map(tuple),
        },
    )
)
def test_any_part_may_be_unknown(known: dict[str, Any]) -> None:
    persona = Persona("x", **known)
    profile, traits = persona.profile(), persona.traits()
    assert "None" not in profile
    assert all(value in profile for value in known.values() if isinstance(value, str))
    assert all(str(part) in profile for value in known.values() if isinstance(value, tuple) for part in value)
    assert bool(known) == bool(profile)
    assert profile == "" or profile.endswith(".")
    assert all(isinstance(value, str | int) for value in traits.values())
    assert ("age" in traits) == ("age_band" in traits) == ("age" in known)


def test_traits_are_columns() -> None:
    persona = Persona(**{**GOOD, "values": ("security", "tradition"), "experiences": ()})
    assert persona.traits() == {
        "persona": "ann",
        "age": 31,
        "age_band": "30-44",
        "gender": "woman",
        "country": "Kenya",
        "region": "Africa",
        "education": "primary school",
        "occupation": "baker",
        "values": "security; tradition",
    }


@pytest.mark.parametrize(
    ("age", "band"), [(18, "under 30"), (29, "under 30"), (30, "30-44"), (59, "45-59"), (60, "60 and over")]
)
def test_age_bands_meet_without_a_gap(age: int, band: str) -> None:
    assert Persona("x", age=age).age_band == band


# Files of one's own


def test_a_file_of_ones_own_loads_with_its_controls(tmp_path: Path) -> None:
    control = {"id": "blank", "description": "This is a person.", "experiences": ["I moved house."]}
    ann, blank = Personas.load(written(tmp_path, {"personas": [GOOD], "controls": [control]}))
    assert ann.name == "Ann Lee"
    assert ann.experiences[1] == "I changed my mind"
    assert ann.profile().endswith("(2) I changed my mind.")
    assert blank.profile() == (
        "This is a person. Occasions that this person remembers, in the first person: (1) I moved house."
    )
    assert blank.age is None


def test_json_and_a_bare_list_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([GOOD], indent="\t"), "utf-8")
    assert Personas.load(str(path)) == Personas.load(written(tmp_path, {"personas": [GOOD]}))
    del (broken := dict(GOOD))["age"]
    path.write_text(json.dumps([GOOD, broken], indent=1), "utf-8")
    with pytest.raises(Problems, match=r"line \d+, personas\[2\]\.age: this is missing"):
        Personas.load(path)


def test_wrapped_text_is_one_line_in_the_profile(tmp_path: Path) -> None:
    (ann,) = Personas.load(written(tmp_path, {"personas": [{**GOOD, "description": "Ann\n  bakes\n\nbread."}]}))
    assert ann.description == "Ann bakes bread."


def test_all_problems_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    text = yaml.safe_dump({"personas": [GOOD]}, sort_keys=False)
    text += yaml.safe_dump([GOOD], sort_keys=False)
    text = text.replace("age: 31", "age: 7", 1).replace("occupation: baker", "ocupation: baker", 1)
    text = text.replace("gender: woman", "gender: [woman]", 1)
    found = problems(tmp_path, text)
    lines = text.splitlines()

    def line(start: str, after: int = 0) -> int:
        return next(n for n, at in enumerate(lines, 1) if n > after and at.strip("- ").startswith(start))

    first, second = line("id: ann"), line("id: ann", after=2)
    assert found == (
        f"line {first}, personas[1].occupation: this is missing",
        f"line {line('age')}, personas[1].age: should be greater than or equal to 16",
        f"line {line('gender')}, personas[1].gender: should be a valid string",
        f"line {line('ocupation')}, personas[1].ocupation: there is no such key; did you mean 'occupation'?",
        f"line {second}, personas[2].id: the id 'ann' is already taken at line {first}; rename one of them",
    )


def test_an_id_is_taken_once_in_the_whole_file(tmp_path: Path) -> None:
    control = {"id": "ann", "description": "This is a person."}
    (problem,) = problems(tmp_path, {"personas": [GOOD], "controls": [control]})
    assert "controls[1].id: the id 'ann' is already taken at line 2" in problem


@pytest.mark.parametrize("key", [key for key in GOOD if key != "id"])
def test_every_field_of_a_persona_is_needed(tmp_path: Path, key: str) -> None:
    missing = {name: value for name, value in GOOD.items() if name != key}
    assert problems(tmp_path, {"personas": [missing]}) == (f"line 2, personas[1].{key}: this is missing",)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("personas: Ann\n", "line 1, personas: must be a list"),
        ("personas: [Ann]\n", "line 1, personas[1]: must be a mapping of names to values"),
        ("persona: []\n", "persona: there is no such key; did you mean 'personas'?"),
        ("personas: []\n", "there is no persona in it"),
        ("Ann\n", "the file is a text, not a mapping"),
        ("", "the file is empty"),
        ({"personas": [{**GOOD, "id": "Ann Lee"}]}, "personas[1].id: use lower-case letters"),
        ({"personas": [{**GOOD, "age": 111}]}, "personas[1].age: should be less than or equal to 110"),
        ({"personas": [{**GOOD, "age": "thirty"}]}, "personas[1].age: should be a valid integer"),
        ({"personas": [{**GOOD, "values": "security"}]}, "personas[1].values: must be a list"),
        ({"personas": [{**GOOD, "experiences": []}]}, "personas[1].experiences: list should have at least 1"),
        ({"personas": [{**GOOD, "name": "  "}]}, "personas[1].name: string should have at least 1"),
        ({"personas": [{**GOOD, "name": None}]}, "personas[1].name: should be a valid string"),
        ({"controls": [{"id": "c", "description": "x", "age": 3}]}, "controls[1].age: there is no such key"),
        ("personas:\n  - id: a\n    id: b\n", "personas[1].id: duplicate key 'id'"),
    ],
)
def test_a_bad_file_is_told_in_a_sentence_with_its_place(tmp_path: Path, data: Any, sentence: str) -> None:
    assert any(sentence in problem for problem in problems(tmp_path, data))


def test_what_cannot_be_found_or_read_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"did you mean 'control'\?"):
        Personas.load("controll")
    with pytest.raises(InputError, match="there is no such file; check the path"):
        Personas.load(tmp_path / "pool")
    with pytest.raises(InputError, match="row 3: this is not valid YAML"):
        Personas.load(written(tmp_path, "personas:\n  - [\n"))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*GOOD, "personas", "x"]) | st.integers(), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=80)
@given(
    anything
    | st.fixed_dictionaries({"personas": anything})
    | st.builds(lambda key, value: {"personas": [{**GOOD, key: value}]}, st.sampled_from([*GOOD, "y"]), anything)
)
def test_malformed_values_never_end_in_another_error(tmp_path: Path, data: Any) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(data, allow_unicode=True), "utf-8", errors="surrogatepass")
    try:
        personas = Personas.load(path)
    except InputError:
        return
    assert len(personas) >= 1
    assert all(persona.profile() and persona.traits() for persona in personas)


@settings(max_examples=80)
@given(st.text(max_size=60) | st.binary(max_size=60))
def test_no_content_of_a_file_ends_in_another_error(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError):
        Personas.load(path)


# Samples


def lag(chosen: tuple[Persona, ...], trait: str) -> float:
    """The furthest that any group of the pool is from its share."""
    wanted = Counter(getattr(p, trait) for p in POOL)
    found = Counter(getattr(p, trait) for p in chosen)
    return max(abs(found[group] - len(chosen) * size / len(POOL)) for group, size in wanted.items())


@given(n=st.integers(1, 40), seed=st.integers(0, 2**32))
def test_a_sample_mirrors_the_pool(n: int, seed: int) -> None:
    chosen = sample(POOL, n, seed)
    assert chosen == sample(POOL, n, seed)
    assert len({p.id for p in chosen}) == n
    assert [POOL.index(p) for p in chosen] == sorted(POOL.index(p) for p in chosen)
    assert all(lag(chosen, trait) <= 2 for trait in ("age_band", "gender", "region"))


@pytest.mark.parametrize("seed", range(5))
def test_a_sample_of_ten_has_every_region_once_and_every_age(seed: int) -> None:
    ten = sample(POOL, 10, seed)
    assert len({p.region for p in ten}) == 10
    assert set(Counter(p.age_band for p in ten).values()) <= {2, 3}
    assert Counter(p.gender for p in ten)["woman"] in (4, 5)


def test_larger_samples_contain_smaller_ones_and_seeds_differ() -> None:
    sizes = [set(sample(POOL, n, 3)) for n in range(1, 41)]
    assert all(small < large for small, large in pairwise(sizes))
    assert sizes[-1] == set(POOL)
    assert len({sample(POOL, 8, seed) for seed in range(10)}) > 5


def test_personas_without_demographics_can_be_sampled() -> None:
    blank = [Persona(str(number)) for number in range(6)]
    assert len(set(sample(blank, 4, 1))) == 4


@pytest.mark.parametrize("n", [-1, 0, 41])
def test_a_sample_that_is_not_there_is_refused(n: int) -> None:
    with pytest.raises(InputError, match="cannot be drawn from 40; ask for 1 to 40"):
        sample(POOL, n)
