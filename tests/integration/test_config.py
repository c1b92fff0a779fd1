"""`howcome config`: what is chosen is shown with its place, and nothing that cannot be read is ever written."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.processes import ask, run

from howcome.retrieve.ranking import STRATEGIES, WEIGHTED
from howcome.settings import CONFIG_NAME, FIELDS, FUSIONS

TEXT = '# mine\nrecall_limit = 2  # two are enough\nexclude = ["/srv/clients"]\n'


@pytest.fixture
def settings(store_folder: Path) -> Path:
    """The file of a person who has one."""
    store_folder.mkdir(exist_ok=True)
    path = store_folder / CONFIG_NAME
    path.write_text(TEXT, encoding="utf-8")
    path.chmod(0o640)
    return path


def test_what_was_chosen_is_listed_with_its_place(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable counts more than the file, and that more than the default."""
    assert settings.is_file()
    monkeypatch.setenv("HOWCOME_RECALL_LIMIT", "1")
    found = {one["name"]: one for one in ask("config", "list")["settings"]}
    assert (found["recall_limit"]["value"], found["recall_limit"]["from"]) == (1, "HOWCOME_RECALL_LIMIT")
    assert (found["exclude"]["value"], found["exclude"]["from"]) == (["/srv/clients"], CONFIG_NAME)
    assert len(ask("config", "list", "--all")["settings"]) == len(FIELDS)
    assert run("config", "get", "recall_limit").stdout == "1\n"
    assert run("config", "get", "exclude").stdout == "/srv/clients\n"
    assert run("config", "get", "llm_url").stdout == ""


def test_a_change_leaves_the_rest_of_the_file_as_it_is(settings: Path) -> None:
    """Comments, order, other settings."""
    assert ask("config", "set", "recall_limit", "3")["value"] == 3
    assert settings.read_text(encoding="utf-8") == TEXT.replace("= 2 ", "= 3 ")
    ask("config", "set", "exclude", "/a b", "~/c")
    assert 'exclude = ["/a b", "~/c"]' in settings.read_text(encoding="utf-8")
    assert ask("config", "unset", "exclude")["value"] == []
    assert settings.read_text(encoding="utf-8") == "# mine\nrecall_limit = 3  # two are enough\n"
    assert settings.stat().st_mode & 0o777 == 0o640
    settings.unlink()
    ask("config", "set", "recall_limit", "1")
    assert settings.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set", "recall_limit", "99"), "expected 0 to 10"),
        (("set", "recal_limit", "1"), "did you mean recall_limit?"),
        (("set", "disable", "perhaps"), "expected yes or no"),
        (("set", "exclude", "relative"), "no absolute folder"),
        (("set", "fusion", "mean"), "expected one of weighted, rrf, union, intersection"),
        (("set", "recall_limit", "1", "2"), "takes one value"),
        (("get", "nothing"), "there is no setting"),
    ],
)
def test_what_is_no_value_is_refused_and_changes_nothing(settings: Path, words: tuple[str, ...], said: str) -> None:
    """Wrong usage, in a sentence that names the setting."""
    done = run("config", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert settings.read_text(encoding="utf-8") == TEXT


def test_a_file_that_cannot_be_read_is_left_as_it_is(settings: Path) -> None:
    """Somebody may be about to mend it."""
    settings.write_text("recall_limit = \n", encoding="utf-8")
    done = run("config", "set", "recall_limit", "1")
    assert done.returncode == 1
    assert "config.toml" in done.stderr
    assert settings.read_text(encoding="utf-8") == "recall_limit = \n"


@pytest.mark.parametrize(
    ("script", "code", "text"),
    [
        ("sed -i s/2/4/", 0, TEXT.replace("= 2", "= 4")),
        ("sed -i s/2/40/", 1, TEXT),
        ("sed -i s/recall_limit/nonsense/", 1, TEXT),
        ("sh -c 'echo broken >$0; exit 0'", 1, TEXT),
        ("sh -c 'printf \"recall_limit = 2\\302\\240\" >$0'", 1, TEXT),
        ("rm", 2, TEXT),
        ("false", 2, TEXT),
        ("no-such-editor", 2, TEXT),
        ("'", 2, TEXT),
    ],
)
def test_what_an_editor_leaves_is_kept_only_when_it_can_be_read(
    settings: Path, monkeypatch: pytest.MonkeyPatch, script: str, code: int, text: str
) -> None:
    """The draft is gone afterwards, whatever became of it."""
    monkeypatch.setenv("EDITOR", script)
    done = run("config", "edit")
    assert done.returncode == code, done.stderr
    assert settings.read_text(encoding="utf-8") == text
    assert [path.name for path in settings.parent.iterdir()] == [CONFIG_NAME]


def test_what_an_editor_complains_of_is_shown(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error stream is the person's."""
    monkeypatch.setenv("EDITOR", "sh -c 'echo no terminal here >&2; exit 3'")
    assert "no terminal here" in run("config", "edit").stderr
    assert settings.read_text(encoding="utf-8") == TEXT


def test_a_link_stays_a_link(settings: Path, tmp_path: Path) -> None:
    """Settings may lie in a repository of dotfiles."""
    kept = tmp_path / "dotfiles.toml"
    settings.rename(kept)
    settings.symlink_to(kept)
    ask("config", "set", "recall_limit", "1")
    assert settings.is_symlink()
    assert "recall_limit = 1 " in kept.read_text(encoding="utf-8")


def test_what_is_no_utf_8_is_refused(settings: Path) -> None:
    """A folder's name may be any bytes, a file of settings may not."""
    done = run("config", "set", "exclude", b"/tmp/\xff")
    assert done.returncode == 2
    assert "HOWCOME_EXCLUDE" in done.stderr
    assert settings.read_text(encoding="utf-8") == TEXT


def test_the_strategies_of_a_search_are_those_that_there_are() -> None:
    """The setting names them before anything that ranks is imported."""
    assert FUSIONS == STRATEGIES
    assert FUSIONS[0] == WEIGHTED


def test_a_search_makes_its_order_as_the_setting_says(settings: Path) -> None:
    """Whatever the order, what was found is found."""
    run("import", str(Path(__file__).resolve().parents[2] / "samples"))
    assert ask("config", "set", "fusion", "rrf")["value"] == "rrf"
    assert ask("search", "redis", "--all-projects")["results"]
    assert settings.is_file()
