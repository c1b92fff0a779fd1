"""Which embedder the settings open, what is said when it cannot be had, and what asking costs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import bert
from tests.endpoint import serving
from tests.hashing import HashingEmbedder

from howcome.clients.projects import REPOSITORY_FILE
from howcome.errors import ProviderError, SettingsError
from howcome.providers import minilm_places
from howcome.providers.embed import embedding_status, model_name, open_embedder, prefixes
from howcome.providers.minilm_cache import Weights, build, built_models
from howcome.providers.minilm_places import MODEL_NAME, PACKAGE
from howcome.settings import EMBEDDERS, FIELDS, Settings, read_settings


def settings_of(home: Path, **chosen: str) -> Settings:
    """The settings of a home, with these of the embedding's (without their prefix; `is_` is the choice itself)."""
    named = {f"HOWCOME_EMBEDDING_{name.upper()}".removesuffix("_IS_"): text for name, text in chosen.items()}
    return read_settings({"HOWCOME_HOME": str(home), **named})


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a tiny model."""
    return bert.write_model(tmp_path_factory.mktemp("bert") / "model")


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no package brings weights: it is looked for under a name that nobody has."""
    monkeypatch.setattr(minilm_places, "PACKAGE", "howcome_no_such_package")


# -- the settings themselves -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("choice", EMBEDDERS)
def test_each_choice_can_be_made_in_the_file_and_the_environment(choice: str, tmp_path: Path) -> None:
    """The environment wins."""
    tmp_path.joinpath("config.toml").write_text(f'embedding = "{choice}"\nembedding_model = " m "\n')
    assert settings_of(tmp_path).embedding == choice
    assert settings_of(tmp_path).embedding_model == "m"
    assert settings_of(tmp_path, is_="off", model="other").embedding == "off"
    assert settings_of(tmp_path, model="other").embedding_model == "other"


@pytest.mark.parametrize(
    "line", ['embedding = "on"', "embedding = true", 'embedding_url = "a\\nb"', "embedding_model = 3"]
)
def test_what_is_no_choice_is_refused_with_its_place(line: str, tmp_path: Path) -> None:
    """From the file and from a variable."""
    tmp_path.joinpath("config.toml").write_text(line)
    with pytest.raises(SettingsError, match=rf"config.toml: {line.split(maxsplit=1)[0]}: expected"):
        settings_of(tmp_path)
    tmp_path.joinpath("config.toml").unlink()
    with pytest.raises(SettingsError, match="HOWCOME_EMBEDDING: expected one of auto, off, minilm, fastembed, http"):
        settings_of(tmp_path, is_="on")


def test_a_repository_cannot_set_an_endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own file may only narrow: whoever works in a cloned repository sends nothing anywhere."""
    lines = [f'{field.name} = "http"' for field in FIELDS if field.name.startswith("embedding")]
    tmp_path.joinpath(REPOSITORY_FILE).write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    found = settings_of(tmp_path / "home")
    assert {name: value for name, value in vars(found).items() if name.startswith("embedding")} == {
        field.name: field.default for field in FIELDS if field.name.startswith("embedding")
    }


# -- what is opened ----------------------------------------------------------------------------------------------------
def test_off_opens_nothing_and_says_so(tmp_path: Path) -> None:
    """Even with everything there."""
    assert open_embedder(settings_of(tmp_path, is_="off")) is None
    assert embedding_status(settings_of(tmp_path, is_="off")).state == "off"


@pytest.mark.usefixtures("no_package")
def test_without_a_model_auto_is_none_and_minilm_says_the_next_step(tmp_path: Path) -> None:
    """Nothing is made, not even a folder."""
    assert open_embedder(settings_of(tmp_path)) is None
    assert embedding_status(settings_of(tmp_path)).state == "model"
    with pytest.raises(ProviderError, match="howcome model install"):
        open_embedder(settings_of(tmp_path, is_="minilm"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_package")
@pytest.mark.parametrize("choice", ["auto", "minilm"])
def test_weights_of_ones_own_are_built_once_and_found_again(choice: str, source: Path, tmp_path: Path) -> None:
    """Unless building is not wanted; without the weights the built one is still here under its name."""
    weights = tmp_path / "weights"
    shutil.copytree(source, weights)
    chosen = settings_of(tmp_path / "home", is_=choice, weights=str(weights))
    status = embedding_status(chosen)
    assert (status.state, status.model[:5]) == ("ready", "bert-")
    assert "will be built" in status.what
    if choice == "auto":
        assert open_embedder(chosen, build=False) is None
    else:
        with pytest.raises(ProviderError, match="is not here"):
            open_embedder(chosen, build=False)
    opened = open_embedder(chosen)
    assert opened is not None
    assert opened.name == status.model
    assert opened.embed(["a"]).shape == (1, opened.dimensions)
    assert open_embedder(chosen, build=False) is not None
    shutil.rmtree(weights)
    named = settings_of(tmp_path / "home", is_=choice, model=opened.name)
    again = open_embedder(named)
    assert again is not None
    assert np.array_equal(again.embed(["a"]), opened.embed(["a"]))
    assert embedding_status(named).what == f"{opened.name} is here"


@pytest.mark.usefixtures("no_package")
def test_a_damaged_model_without_its_weights_is_said(source: Path, tmp_path: Path) -> None:
    """Auto goes on without it; what is there is left as it is."""
    model = build(Weights(str(source)), str(tmp_path))
    Path(model.path("model.onnx")).write_bytes(b"")
    chosen = settings_of(tmp_path, model=model.name)
    assert embedding_status(chosen).state == "damaged"
    assert open_embedder(chosen) is None
    assert [one.name for one in built_models(str(tmp_path))] == [model.name]


def test_a_package_with_other_weights_is_not_taken_for_minilm(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors of different weights must never meet under one name."""
    package = tmp_path / "site" / "howcome_other_weights"
    package.mkdir(parents=True)
    package.joinpath("__init__.py").write_text("raise SystemExit('imported')")
    shutil.copytree(source, package / "model")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(minilm_places, "PACKAGE", package.name)
    assert open_embedder(settings_of(tmp_path / "home")) is None
    with pytest.raises(ProviderError, match=f"does not hold the weights of {MODEL_NAME}"):
        open_embedder(settings_of(tmp_path / "home", is_="minilm"))
    assert built_models(str(tmp_path / "home")) == []


@pytest.mark.parametrize("folder", ["weights", "/nowhere/at/all"])
def test_a_folder_of_weights_that_is_none_is_said(folder: str, tmp_path: Path) -> None:
    """Relative to what? And one that is not there."""
    assert embedding_status(settings_of(tmp_path, weights=folder)).state == "broken"
    assert open_embedder(settings_of(tmp_path, weights=folder)) is None
    with pytest.raises(ProviderError, match=r"embedding_weights has to begin|no such folder"):
        open_embedder(settings_of(tmp_path, is_="minilm", weights=folder))


def test_an_endpoint_is_opened_without_being_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key comes from the variable that is named; the status really asks."""
    monkeypatch.setenv("HARBOUR_KEY", " k-planted \n")
    with serving() as server:
        chosen = settings_of(tmp_path, is_="http", url=server.url(), model="m", key_env="HARBOUR_KEY")
        opened = open_embedder(chosen)
        assert opened is not None
        assert server.asked == []
        assert opened.embed(["a", "b"]).shape == (2, 24)
        status = embedding_status(chosen)
    assert (status.state, status.model) == ("ready", "http-m")
    assert "24 dimensions" in status.what
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer k-planted"}
    assert embedding_status(chosen).state == "broken"  # the server is gone


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({}, "embedding_model"),
        ({"model": "m"}, "embedding_url"),
        ({"model": "m", "url": "http://h/v1", "key_env": "NOBODY_SET_THIS"}, "NOBODY_SET_THIS"),
    ],
)
def test_an_endpoint_without_its_settings_is_said(chosen: dict[str, str], said: str, tmp_path: Path) -> None:
    """Which one is missing."""
    settings = settings_of(tmp_path, is_="http", **chosen)
    with pytest.raises(ProviderError, match=said):
        open_embedder(settings)
    assert embedding_status(settings).state == "broken"


FASTEMBED = """
import numpy as np
class TextEmbedding:
    def __init__(self, model_name, cache_dir, threads):
        if model_name == "unknown": raise ValueError("not supported")
        if model_name == "offline": raise ConnectionError("no network")
        self.asked = model_name, cache_dir, threads
    def embed(self, documents, batch_size=256):
        for text in documents:
            yield np.array([len(text) + 1.0, 2.0, 3.0], np.float64)
"""


def test_fastembed_is_used_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of its shape: unit rows, its default model, its folder; what it raises is a sentence."""
    tmp_path.joinpath("fastembed.py").write_text(FASTEMBED)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fastembed", raising=False)
    opened = open_embedder(settings_of(tmp_path / "home", is_="fastembed"), threads=2)
    assert opened is not None
    assert opened._engine.asked == ("BAAI/bge-small-en-v1.5", str(tmp_path / "home" / "models" / "fastembed"), 2)
    assert opened.name.startswith("fastembed-baai-bge-small-en-v1.5-")
    rows = opened.embed(["", "a" * 9000])
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert opened.embed([]).shape == (0, 3)
    assert embedding_status(settings_of(tmp_path, is_="fastembed")).state == "ready"
    for model in ("unknown", "offline"):
        with pytest.raises(ProviderError, match=f"no model {model}, or cannot download"):
            open_embedder(settings_of(tmp_path, is_="fastembed", model=model))
    monkeypatch.delitem(sys.modules, "fastembed")


def test_the_embedder_of_tests_keeps_to_the_port() -> None:
    """Unit rows, the same in every process, nearer the more words are shared."""
    texts = ["the queue is locked", "the queue is slow", "make tea", ""]
    rows = HashingEmbedder().embed(texts)
    assert (rows.shape, rows.dtype) == ((4, 384), np.float32)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert rows[0] @ rows[1] > 0.4
    assert abs(rows[0] @ rows[2]) < 0.2
    assert [HashingEmbedder().embed([text]).tobytes() for text in texts] == [row.tobytes() for row in rows]


# -- what it costs -----------------------------------------------------------------------------------------------------
HIDE = """
import sys
class Hide:
    def __init__(self, finder): self.finder = finder
    def __getattr__(self, name): return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in HIDDEN else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Hide(finder) for finder in sys.meta_path]
"""
"""A machine without some packages: nothing finds them."""

ASK = """
import sys
from howcome.providers.embed import embedding_status, model_name, open_embedder
from howcome.settings import read_settings
settings = read_settings({"HOWCOME_HOME": sys.argv[1], "HOWCOME_EMBEDDING": sys.argv[2]})
opened = open_embedder(settings)
loaded = sorted(name for name in sys.modules if "." not in name)
status = embedding_status(settings)
import json
print(json.dumps(dict(name=opened and opened.name, loaded=loaded, state=status.state, missing=status.missing)))
"""


def asked(home: Path, choice: str, *hidden: str) -> dict[str, Any]:
    """What a fresh process says that lacks these packages."""
    script = f"import sys; sys.path[:] = {sys.path!r}\nHIDDEN = {hidden!r}{HIDE}{ASK}"
    words = [sys.executable, "-S", "-c", script, str(home), choice]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize(("choice", "hidden"), [("off", ()), ("auto", ("numpy",)), ("auto", ("onnxruntime", PACKAGE))])
def test_no_embedder_costs_nothing(choice: str, hidden: tuple[str, ...], tmp_path: Path) -> None:
    """Whoever asks and gets None has loaded neither numpy nor what is dear of the standard library."""
    answer = asked(tmp_path, choice, *hidden)
    assert answer["name"] is None
    dear = {"numpy", "onnxruntime", "tokenizers", "typing", "dataclasses", "pathlib", "zipfile", "hashlib", "re"}
    assert not dear & set(answer["loaded"])
    assert answer["missing"] == [name for name in hidden if name != PACKAGE]
    assert answer["state"] == ("off" if choice == "off" else "packages")


def test_without_a_model_nothing_dear_is_loaded(tmp_path: Path) -> None:
    """The packages are here, the model is not."""
    answer = asked(tmp_path, "auto", PACKAGE)
    assert answer["name"] is None
    assert answer["state"] == "model"
    assert not {"numpy", "onnxruntime", "tokenizers", "onnx", "typing", "zipfile", "hashlib"} & set(answer["loaded"])


def test_what_only_building_needs_is_missed_only_then(source: Path, tmp_path: Path) -> None:
    """A built model runs without onnx and safetensors."""
    answer = asked(tmp_path, "auto", "safetensors", "onnx")
    assert (answer["name"], answer["state"]) == (None, "packages")
    assert answer["missing"] == ["onnx", "safetensors"]
    model = build(Weights(str(source)), str(tmp_path))
    shutil.copytree(model.folder, tmp_path / "models" / MODEL_NAME)
    card = tmp_path / "models" / MODEL_NAME / "model.json"
    card.write_text(card.read_text().replace(model.name, MODEL_NAME))
    answer = asked(tmp_path, "auto", "safetensors", "onnx")
    assert (answer["name"], answer["state"]) == (MODEL_NAME, "ready")


@pytest.mark.parametrize(
    ("chosen", "question", "passage"),
    [
        ({"is_": "http", "model": "nomic-embed-text:latest"}, "search_query: ", "search_document: "),
        ({"is_": "fastembed", "model": "intfloat/multilingual-e5-small"}, "query: ", "passage: "),
        ({"is_": "fastembed"}, "Represent this sentence for searching relevant passages: ", ""),
        ({"is_": "http", "model": "intfloat/e5-mistral-7b-instruct"}, "", ""),
        ({"is_": "http", "model": "my-own"}, "", ""),
        ({"is_": "http", "model": "my-own", "question_prefix": " ask:", "passage_prefix": "none"}, "ask: ", ""),
        ({"is_": "http", "model": "nomic-embed-text", "question_prefix": "none"}, "", "search_document: "),
        ({"is_": "auto", "question_prefix": "ask:"}, "", ""),
    ],
)  # fmt: skip
def test_a_model_gets_the_prefixes_that_it_was_trained_with(
    chosen: dict[str, str], question: str, passage: str, tmp_path: Path
) -> None:
    """Those of the settings where they name any; the local model has none."""
    assert prefixes(settings_of(tmp_path, **chosen)) == (question, passage)


def test_vectors_of_passages_with_another_prefix_are_other_vectors(tmp_path: Path) -> None:
    """They have another name, so they are made anew; the question's prefix changes nothing that is stored."""
    chosen = {"is_": "http", "model": "m", "url": "http://127.0.0.1:9/v1"}
    same = [chosen, chosen | {"question_prefix": "ask:"}]
    others = [chosen | {"passage_prefix": "said:"}, chosen | {"passage_prefix": "told:"}]
    names = [opened.name for each in (*same, *others) if (opened := open_embedder(settings_of(tmp_path, **each)))]
    assert names[0] == names[1] == "http-m"
    assert len(set(names)) == 3
    assert names == [model_name(settings_of(tmp_path, **each)) for each in (*same, *others)]


def test_an_endpoint_s_model_has_a_name_without_numpy(tmp_path: Path) -> None:
    """`howcome doctor` asks for it wherever something is stored."""
    asking = f"""
import sys
sys.modules["numpy"] = None
from howcome.providers.embed import model_name
from howcome.settings import read_settings
print(model_name(read_settings({{"HOWCOME_HOME": {str(tmp_path)!r}, "HOWCOME_EMBEDDING": "http",
    "HOWCOME_EMBEDDING_MODEL": "nomic", "HOWCOME_EMBEDDING_URL": "http://127.0.0.1:9/v1"}})))
"""
    done = subprocess.run([sys.executable, "-c", asking], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("http-nomic\n", "")
