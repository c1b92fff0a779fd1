"""MiniLM, a BERT encoder, as an ONNX graph that is written from its weights: token ids in, unit vectors out.

The graph takes texts of one length only, so it knows no padding and no mask: the int8 form scales its activations by
the whole input, and a text's vector must not depend on the rest of a batch (`embed_minilm` runs texts one by one).

The encoder is the one of Devlin et al. (2018), post-norm; the sentence's vector is the mean of its tokens' (Reimers and
Gurevych, 2019), made to length 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from howcome.errors import ProviderError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

    Tensor: TypeAlias = NDArray[Any]

OPSET, IR_VERSION = 20, 10
"""The first operator set with Gelu; the file format of its time, which onnxruntime 1.18 and newer read."""

MAX_TOKENS = 256
"""What all-MiniLM-L6-v2 was trained on (`sentence_bert_config.json`)."""


class _Graph:
    """A graph in the making: constants by name, operators by the name of what they give."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, name: str, value: Tensor) -> str:
        """A value under a name."""
        self.constants[name] = numpy_helper.from_array(value, name)
        return name

    def floats(self, name: str) -> str:
        """A tensor of the weights."""
        return self.constant(name, self.tensor(name))

    def integers(self, name: str, *values: int) -> str:
        """A vector of whole numbers."""
        return self.constant(name, np.array(values, np.int64))

    def tensor(self, name: str) -> Tensor:
        """A tensor of the weights, as float32."""
        try:
            return self.weights[name].astype(np.float32)
        except KeyError as error:
            raise ProviderError(f"these are not the weights of a BERT encoder: {name} is missing") from error

    def apply(self, operator: str, *inputs: str, gives: str = "", **attributes: Any) -> str:  # noqa: ANN401 - as onnx has it
        """An operator on what has these names; the name of what it gives."""
        name = gives or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def dense(self, x: str, layer: str) -> str:
        """A dense layer, x W + b; the weights are stored the other way round."""
        kernel = self.constant(f"{layer}.kernel", self.tensor(f"{layer}.weight").T)
        return self.apply("Add", self.apply("MatMul", x, kernel, name=layer), self.floats(f"{layer}.bias"))

    def norm(self, x: str, layer: str, epsilon: float) -> str:
        """Layer normalisation."""
        scale, bias = self.floats(f"{layer}.weight"), self.floats(f"{layer}.bias")
        return self.apply("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)


def build(weights: Mapping[str, Tensor], heads: int, epsilon: float) -> ModelProto:
    """The graph: `ids` (int64, texts × tokens, no padding) → `vectors` (float32, texts × dimensions, of length 1)."""
    graph = _Graph(weights)
    x = _embeddings(graph, epsilon)
    dimensions = len(graph.tensor("embeddings.LayerNorm.weight"))
    if dimensions % heads:
        raise ProviderError(f"these weights have {dimensions} dimensions, which {heads} heads cannot share")
    graph.integers("split", 0, 0, heads, dimensions // heads)
    graph.integers("merge", 0, 0, dimensions)
    graph.constant("scale", np.array((dimensions // heads) ** -0.5, np.float32))
    layers = {name.split(".")[2] for name in weights if name.startswith("encoder.layer.")}
    for number in range(len(layers)):
        x = _layer(graph, x, f"encoder.layer.{number}", epsilon)
    mean = graph.apply("ReduceMean", x, graph.integers("tokens", 1), keepdims=0)
    length = graph.apply("ReduceL2", mean, graph.integers("last", -1), keepdims=1)
    graph.apply("Div", mean, length, gives="vectors")
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])
    vectors = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", dimensions])
    made = helper.make_graph(graph.nodes, "minilm", [ids], [vectors], list(graph.constants.values()))
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def _embeddings(graph: _Graph, epsilon: float) -> str:
    """Word, place and kind of each token, added up; there is one kind only."""
    zero, one = graph.constant("zero", np.array(0, np.int64)), graph.constant("one", np.array(1, np.int64))
    count = graph.apply("Gather", graph.apply("Shape", "ids"), one)
    places = graph.apply("Range", zero, count, one)
    word = graph.apply("Gather", graph.floats("embeddings.word_embeddings.weight"), "ids")
    place = graph.apply("Gather", graph.floats("embeddings.position_embeddings.weight"), places)
    kind = graph.constant("kind", graph.tensor("embeddings.token_type_embeddings.weight")[0])
    x = graph.apply("Add", graph.apply("Add", word, place), kind)
    return graph.norm(x, "embeddings.LayerNorm", epsilon)


def _layer(graph: _Graph, x: str, layer: str, epsilon: float) -> str:
    """Attention, then two dense layers; each added to what came in, and normalised."""
    attended = graph.dense(_attention(graph, x, f"{layer}.attention.self"), f"{layer}.attention.output.dense")
    x = graph.norm(graph.apply("Add", attended, x), f"{layer}.attention.output.LayerNorm", epsilon)
    inner = graph.apply("Gelu", graph.dense(x, f"{layer}.intermediate.dense"))
    outer = graph.dense(inner, f"{layer}.output.dense")
    return graph.norm(graph.apply("Add", outer, x), f"{layer}.output.LayerNorm", epsilon)


def _attention(graph: _Graph, x: str, layer: str) -> str:
    """Every token looks at every token, in each head apart."""
    query, key, value = (
        graph.apply("Transpose", graph.apply("Reshape", graph.dense(x, f"{layer}.{part}"), "split"), perm=order)
        for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
    )
    scores = graph.apply("Mul", graph.apply("MatMul", query, key), "scale")
    seen = graph.apply("MatMul", graph.apply("Softmax", scores, axis=-1), value)
    return graph.apply("Reshape", graph.apply("Transpose", seen, perm=[0, 2, 1, 3]), "merge")
