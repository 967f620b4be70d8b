"""A network of ocrtune (JSON of graph_dump) as a PaddlePaddle layer.

Values are kept as images [N, C, H, W] or as tokens [N, T, C], whichever the next layer wants, as
PaddleOCR's own models do.
"""

import math

import paddle
import paddle.nn.functional as F
from paddle import nn

ACTIVATIONS = {
    "none": lambda x: x, "relu": F.relu, "hard_swish": F.hardswish, "gelu": F.gelu,
    "hard_sigmoid": lambda x: F.hardsigmoid(x, slope=1 / 6, offset=0.5), "swish": F.silu,
}


class Value:
    def __init__(self, image=None, tokens=None, h=1):
        self._image, self._tokens, self.h = image, tokens, h

    @property
    def image(self):
        if self._image is None:
            n, t, c = self._tokens.shape
            self._image = self._tokens.transpose([0, 2, 1]).reshape([n, c, self.h, t // self.h])
        return self._image

    @property
    def tokens(self):
        if self._tokens is None:
            self._tokens = self._image.flatten(2).transpose([0, 2, 1])
        return self._tokens

    def has_tokens(self):
        return self._image is None

    def apply(self, function):
        if self.has_tokens():
            return Value(tokens=function(self._tokens), h=self.h)
        return of_image(function(self._image))


def of_image(image):
    return Value(image=image, h=image.shape[2])


class Network(nn.Layer):
    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        channels = {0: 3}
        for layer in graph["layers"]:
            channels[layer["output"]] = self._add(layer, [channels[i] for i in layer["inputs"]])

    def _keep(self, layer, module):
        self.add_sublayer(layer["name"].replace(".", "_"), module)
        layer["module"] = module

    def _add(self, layer, inputs):
        op, c = layer["op"], inputs[0]
        if op == "conv":
            def conv(out):
                weight = layer["parameters"][0]
                return nn.Conv2D(c, out, layer["kernel"], layer["stride"], layer["pad"],
                                 groups=layer["groups"],
                                 weight_attr=paddle.ParamAttr(initializer=nn.initializer.Uniform(
                                     weight["low"], weight["high"])),
                                 bias_attr=None if layer["bias"] else False)
            # Branches of a dense convolution are one wide convolution; of a depthwise one they are
            # several, as PaddleOCR has them.
            split = layer["branches"] if layer["groups"] > 1 else 1
            self._keep(layer, nn.LayerList([conv(layer["out"] // split) for _ in range(split)]))
            return layer["out"]
        if op == "batch_norm":
            self._keep(layer, nn.BatchNorm2D(c, epsilon=layer["epsilon"]))
        if op == "norm_sum":
            self._keep(layer, nn.LayerList(
                [nn.BatchNorm2D(k, epsilon=layer["epsilon"]) for k in inputs]))
            return layer["channels"]
        if op == "affine":
            numbers = nn.ParameterList([
                self.create_parameter([1], default_initializer=nn.initializer.Constant(value))
                for value in (1.0, 0.0, 1.0, 0.0)])
            self._keep(layer, numbers)
        if op == "bi_lstm":
            self._keep(layer, nn.LSTM(c, layer["hidden"], direction="bidirect"))
            return 2 * layer["hidden"]
        if op == "linear":
            self._keep(layer, nn.Linear(c, layer["out"],
                                        bias_attr=None if layer["bias"] else False))
            return layer["out"]
        if op == "layer_norm":
            self._keep(layer, nn.LayerNorm(c, epsilon=layer["epsilon"]))
        if op == "attention":
            return c // 3
        return sum(inputs) if op == "concat" else c

    def forward(self, x):
        values = {0: of_image(x)}
        for layer in self.graph["layers"]:
            inputs = [values[i] for i in layer["inputs"]]
            values[layer["output"]] = getattr(self, "_" + layer["op"])(layer, inputs)
        return values[self.graph["output"]].tokens  # [N, T, classes]

    def _conv(self, layer, inputs):
        parts = [conv(inputs[0].image) for conv in layer["module"]]
        y = parts[0] if len(parts) == 1 else paddle.concat(parts, axis=1)
        return of_image(ACTIVATIONS[layer["activation"]](y))

    def _batch_norm(self, layer, inputs):
        y = ACTIVATIONS[layer["activation"]](layer["module"](inputs[0].image))
        h, w = layer["pool"]
        if (h, w) != (1, 1):
            kernel = [h or y.shape[2], w or y.shape[3]]
            y = F.max_pool2d(y, kernel, kernel)
        return of_image(y)

    def _norm_sum(self, layer, inputs):
        total = None
        for norm, value in zip(layer["module"], inputs):
            y = norm(value.image)
            for part in paddle.split(y, y.shape[1] // layer["channels"], axis=1):
                total = part if total is None else total + part
        return of_image(total)

    def _affine(self, layer, inputs):
        s0, t0, s1, t1 = layer["module"]
        return inputs[0].apply(
            lambda x: s1 * ACTIVATIONS[layer["activation"]](s0 * x + t0) + t1)

    def _bi_lstm(self, layer, inputs):
        return Value(tokens=layer["module"](inputs[0].tokens)[0])

    def _linear(self, layer, inputs):
        return Value(tokens=layer["module"](inputs[0].tokens), h=inputs[0].h)

    _layer_norm = _linear

    def _attention(self, layer, inputs):
        tokens, heads = inputs[0].tokens, layer["heads"]
        n, t, c = tokens.shape
        width = c // 3 // heads
        qkv = tokens.reshape([n, t, 3, heads, width]).transpose([2, 0, 3, 1, 4])
        weights = F.softmax(qkv[0] @ qkv[1].transpose([0, 1, 3, 2]) / math.sqrt(width), -1)
        y = (weights @ qkv[2]).transpose([0, 2, 1, 3]).reshape([n, t, c // 3])
        return Value(tokens=y, h=inputs[0].h)

    def _activate(self, layer, inputs):
        return inputs[0].apply(ACTIVATIONS[layer["activation"]])

    def _sum(self, layer, inputs):
        if any(value.has_tokens() for value in inputs):
            return Value(tokens=sum(value.tokens for value in inputs[1:]) + inputs[0].tokens,
                         h=inputs[0].h)
        return of_image(sum(value.image for value in inputs[1:]) + inputs[0].image)

    def _concat(self, layer, inputs):
        return of_image(paddle.concat([value.image for value in inputs], axis=1))

    def _average_pool(self, layer, inputs):
        x = inputs[0].image
        kernel = [layer["kernel"][0] or x.shape[2], layer["kernel"][1] or x.shape[3]]
        return of_image(F.avg_pool2d(x, kernel, kernel))

    def _max_pool(self, layer, inputs):
        x = inputs[0].image
        kernel = [layer["kernel"][0] or x.shape[2], layer["kernel"][1] or x.shape[3]]
        return of_image(F.max_pool2d(x, kernel, kernel))

    def _scale(self, layer, inputs):
        return of_image(inputs[0].image * inputs[1].image)
