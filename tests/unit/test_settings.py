"""Settings: the environment over config.toml over the default, read once, refused with their place when wrong."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.errors import SettingsError
from howcome.learn.in_step import CLIENT_MEMORIES
from howcome.learn.sources import SOURCES
from howcome.settings import CONFIG_NAME, FIELDS, SOURCES_OFF, Settings, home_folder, read_settings

NUMBERS = [field for field in FIELDS if isinstance(field.default, int | float) and not isinstance(field.default, bool)]
WHOLE = [field for field in NUMBERS if isinstance(field.default, int)]


def read(folder: Path, config: str | bytes | None = None, **variables: str) -> Settings:
    """The settings with this config.toml and these variables."""
    if config is not None:
        folder.joinpath(CONFIG_NAME).write_bytes(config.encode() if isinstance(config, str) else config)
    return read_settings({"HOWCOME_HOME": str(folder), "HOME": "/nonexistent", **variables})


def test_without_anything_every_setting_has_its_default(tmp_path: Path) -> None:
    """No file, no variable: the defaults of the table, and the home."""
    settings = read(tmp_path)
    assert {field.name: getattr(settings, field.name) for field in FIELDS} == {f.name: f.default for f in FIELDS}
    assert settings.home == str(tmp_path)


@pytest.mark.parametrize("field", NUMBERS, ids=lambda field: field.name)
def test_the_environment_wins_over_the_file_and_the_file_over_the_default(field: object, tmp_path: Path) -> None:
    """Three sources, one order, for every number."""
    name, low, high = field.name, field.low, field.high
    assert read(tmp_path, f"{name} = {low:g}").__dict__[name] == low
    assert read(tmp_path, f"{name} = {low:g}", **{field.variable: f"{high:g}"}).__dict__[name] == high


def test_flags_and_folders_follow_the_same_order(tmp_path: Path) -> None:
    """A flag and a list of folders are read from the file and overridden by the environment."""
    config = 'disable = true\nexclude = ["/a", "/b"]\n'
    assert read(tmp_path, config).disable is True
    assert read(tmp_path, config).exclude == ("/a", "/b")
    overridden = read(tmp_path, config, HOWCOME_DISABLE="0", HOWCOME_EXCLUDE=os.pathsep.join(("/c", "", "/d")))
    assert overridden.disable is False
    assert overridden.exclude == ("/c", "/d")
    assert read(tmp_path, config, HOWCOME_EXCLUDE="").exclude == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", True),
        ("true", True),
        ("YES", True),
        (" on ", True),
        ("0", False),
        ("", False),
        ("No", False),
        ("off", False),
    ],
)
def test_a_flag_is_written_in_the_usual_ways(text: str, expected: bool, tmp_path: Path) -> None:
    """What people write for yes and no."""
    assert read(tmp_path, HOWCOME_DISABLE=text).disable is expected


@pytest.mark.parametrize("field", NUMBERS, ids=lambda field: field.name)
@pytest.mark.parametrize("text", ["", "many", "1e99", "-1", "nan", "inf", "-inf", "0x10", "1_0.0.0", "\u0663\ud800"])
def test_a_bad_variable_is_named(field: object, text: str, tmp_path: Path) -> None:
    """A number that is none, or out of its bounds: the message says which variable."""
    with pytest.raises(SettingsError, match=field.variable):
        read(tmp_path, **{field.variable: text})


@pytest.mark.parametrize("field", NUMBERS, ids=lambda field: field.name)
@pytest.mark.parametrize("value", ['"3"', "true", "[3]", "-1", "nan", "inf", "1e12", "{}", "2026-10-01"])
def test_a_bad_value_in_the_file_is_named(field: object, value: str, tmp_path: Path) -> None:
    """Another type, or out of bounds: the message says which file and which key."""
    with pytest.raises(SettingsError, match=rf"{CONFIG_NAME}: {field.name}: "):
        read(tmp_path, f"{field.name} = {value}")


@pytest.mark.parametrize("field", WHOLE, ids=lambda field: field.name)
def test_a_whole_number_stays_whole(field: object, tmp_path: Path) -> None:
    """Half an excerpt or half a millisecond is refused, from the file as from the environment."""
    half = field.low + 0.5
    with pytest.raises(SettingsError, match=field.name):
        read(tmp_path, f"{field.name} = {half}")
    tmp_path.joinpath(CONFIG_NAME).unlink()
    with pytest.raises(SettingsError, match=field.variable):
        read(tmp_path, **{field.variable: str(half)})


def test_sources_are_turned_off_by_their_names(tmp_path: Path) -> None:
    """By those that there are and no others; they are no folders."""
    assert (*SOURCES, CLIENT_MEMORIES) == SOURCES_OFF
    config = 'sources_off = ["plans", "client_memories"]\n'
    assert read(tmp_path, config).sources_off == ("plans", "client_memories")
    several = os.pathsep.join(("plans", "failures"))
    assert read(tmp_path, config, HOWCOME_SOURCES_OFF=several).sources_off == ("plans", "failures")
    with pytest.raises(SettingsError, match=r"expected some of directions, .*, not 'plan'"):
        read(tmp_path, 'sources_off = ["plan"]')


@pytest.mark.parametrize("line", ['disable = "no"', "disable = 1", 'exclude = "/a"', "exclude = [1]", "exclude = true"])
def test_a_bad_flag_or_list_is_named(line: str, tmp_path: Path) -> None:
    """A flag is true or false, folders are a list of strings."""
    with pytest.raises(SettingsError, match=rf"{CONFIG_NAME}: {line.split(maxsplit=1)[0]}: "):
        read(tmp_path, line)


def test_a_variable_that_is_neither_yes_nor_no_is_named(tmp_path: Path) -> None:
    """A misspelt flag does not silently turn everything off."""
    with pytest.raises(SettingsError, match="HOWCOME_DISABLE"):
        read(tmp_path, HOWCOME_DISABLE="flase")


@pytest.mark.parametrize(
    "config", [b"recall_limit = ", b"recall_limit", b"\xff\xfe = 1", b"a = 1\na = 2", b'a = "\x00"']
)
def test_a_broken_file_is_named(config: bytes, tmp_path: Path) -> None:
    """A file that is no TOML, whatever it holds."""
    with pytest.raises(SettingsError, match=CONFIG_NAME):
        read(tmp_path, config)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    """A link to nowhere is no file; a folder in its place is not read."""
    tmp_path.joinpath(CONFIG_NAME).mkdir()
    assert read(tmp_path).recall_limit == 3


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    """A misspelt setting must not be ignored in silence."""
    with pytest.raises(SettingsError, match="unknown setting 'recal_limit'"):
        read(tmp_path, "recal_limit = 3")


@given(st.sampled_from([field.name for field in FIELDS] + ["home", "anything"]), st.integers())
def test_settings_are_frozen(name: str, value: int) -> None:
    """They are read once; nobody changes or removes one."""
    settings = read_settings({"HOWCOME_HOME": "/nonexistent/howcome"})
    before = dict(vars(settings))
    with pytest.raises(AttributeError):
        setattr(settings, name, value)
    with pytest.raises(AttributeError):
        delattr(settings, name)
    assert dict(vars(settings)) == before


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"HOWCOME_HOME": "/data/memory"}, "/data/memory"),
        ({"HOWCOME_HOME": "/data/../data/memory/"}, "/data/memory"),
        ({"HOWCOME_HOME": "", "HOME": "/home/mara"}, "/home/mara/.howcome"),
        ({"HOME": "/home/mara"}, "/home/mara/.howcome"),
    ],
)
def test_the_home_is_chosen_by_the_environment(environment: dict[str, str], expected: str) -> None:
    """HOWCOME_HOME, made absolute, or .howcome in the user's home."""
    assert home_folder(environment) == expected


def test_every_setting_says_what_it_is_for() -> None:
    """Names are unique, the variable follows from the name, defaults are within their bounds, help is a sentence."""
    assert len({field.name for field in FIELDS}) == len(FIELDS)
    assert {field.name for field in FIELDS} | {"home"} == set(Settings.__annotations__)
    for field in FIELDS:
        assert field.variable == f"HOWCOME_{field.name.upper()}"
        assert field.help.endswith(".")
        if field in NUMBERS:
            assert field.low <= field.default <= field.high


def test_what_an_earlier_version_knew_stops_nothing(tmp_path: Path) -> None:
    """A setting and a source that are gone: every hook would be silent for such a line."""
    (tmp_path / "config.toml").write_text('rerank = "llm"\nsources_off = ["checks", "plans"]\n')
    assert read_settings({"HOWCOME_HOME": str(tmp_path)}).sources_off == ("plans",)
