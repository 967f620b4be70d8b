"""A folded network of ocrtune (JSON of graph_dump --inference) as an ONNX model, seeded weights."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Exporter:
    def __init__(self, graph, count):
        self.graph, self.random = graph, np.random.default_rng(1)
        self.nodes, self.tensors, self.number = [], [], 0
        h, w = graph["height"], graph["width"]
        self.shapes = {0: (count, 3, h, w)}
        self.images, self.tokens = {0: "image"}, {}

    def node(self, op, inputs, **attributes):
        self.number += 1
        name = f"v{self.number}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def tensor(self, values):
        self.number += 1
        name = f"c{self.number}"
        self.tensors.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def weight(self, parameter, extent=None):
        low, high = parameter["low"], parameter["high"]
        extent = extent or parameter["extent"]
        return self.tensor(self.random.uniform(low, high, extent).astype(np.float32))

    def ints(self, values):
        return self.tensor(np.asarray(values, dtype=np.int64))

    def image(self, value):
        if value not in self.images:
            n, c, h, w = self.shapes[value]
            turned = self.node("Transpose", [self.tokens[value]], perm=[0, 2, 1])
            self.images[value] = self.node("Reshape", [turned, self.ints([n, c, h, w])])
        return self.images[value]

    def token(self, value):
        if value not in self.tokens:
            n, c, h, w = self.shapes[value]
            flat = self.node("Reshape", [self.images[value], self.ints([n, c, h * w])])
            self.tokens[value] = self.node("Transpose", [flat], perm=[0, 2, 1])
        return self.tokens[value]

    def activated(self, x, kind):
        if kind == "relu":
            return self.node("Relu", [x])
        if kind == "hard_swish":
            return self.node("HardSwish", [x])
        if kind == "hard_sigmoid":
            return self.node("HardSigmoid", [x], alpha=1 / 6, beta=0.5)
        if kind == "swish":
            return self.node("Mul", [x, self.node("Sigmoid", [x])])
        if kind == "gelu":
            return self.node("Gelu", [x])
        return x

    def either(self, layer, function):
        """Runs on whichever form the first input has."""
        value, out = layer["inputs"][0], layer["output"]
        if value in self.tokens and value not in self.images:
            self.tokens[out] = function([self.token(i) for i in layer["inputs"]])
        else:
            self.images[out] = function([self.image(i) for i in layer["inputs"]])
        self.shapes[out] = self.shapes[value]

    def conv(self, layer):
        n, _, h, w = self.shapes[layer["inputs"][0]]
        inputs = [self.image(layer["inputs"][0])] + [self.weight(p) for p in layer["parameters"]]
        (ph, pw), out = layer["pad"], layer["output"]
        y = self.node("Conv", inputs, kernel_shape=layer["kernel"], strides=layer["stride"],
                      pads=[ph, pw, ph, pw], group=layer["groups"])
        self.images[out] = self.activated(y, layer["activation"])
        side = lambda size, i: (size + 2 * layer["pad"][i] - layer["kernel"][i]) // layer[
            "stride"][i] + 1
        self.shapes[out] = (n, layer["out"], side(h, 0), side(w, 1))

    def affine(self, layer):
        numbers = [self.weight(p) for p in layer["parameters"]]

        def apply(inputs):
            x = self.node("Add", [self.node("Mul", [inputs[0], numbers[0]]), numbers[1]])
            x = self.activated(x, layer["activation"])
            return self.node("Add", [self.node("Mul", [x, numbers[2]]), numbers[3]])

        self.either(layer, apply)

    def activate(self, layer):
        self.either(layer, lambda inputs: self.activated(inputs[0], layer["activation"]))

    def sum(self, layer):
        tokens = [i for i in layer["inputs"] if i in self.tokens]
        if tokens:
            for i in layer["inputs"]:
                self.token(i)
            self.tokens[layer["output"]] = self.node(
                "Add", [self.tokens[i] for i in layer["inputs"]])
            self.shapes[layer["output"]] = self.shapes[layer["inputs"][0]]
        else:
            self.either(layer, lambda inputs: self.node("Add", inputs))

    def linear(self, layer):
        value, out = layer["inputs"][0], layer["output"]
        n, c, h, w = self.shapes[value]
        y = self.node("MatMul", [self.token(value),
                                 self.weight(layer["parameters"][0], [c, layer["out"]])])
        if layer["bias"]:
            y = self.node("Add", [y, self.weight(layer["parameters"][1])])
        self.tokens[out], self.shapes[out] = y, (n, layer["out"], h, w)

    def layer_norm(self, layer):
        value, out = layer["inputs"][0], layer["output"]
        inputs = [self.token(value)] + [self.weight(p) for p in layer["parameters"]]
        self.tokens[out] = self.node("LayerNormalization", inputs, axis=-1,
                                     epsilon=layer["epsilon"])
        self.shapes[out] = self.shapes[value]

    def attention(self, layer):
        value, out, heads = layer["inputs"][0], layer["output"], layer["heads"]
        n, c, h, w = self.shapes[value]
        width = c // 3 // heads
        shaped = self.node("Reshape", [self.token(value), self.ints([n, h * w, 3, heads, width])])
        turned = self.node("Transpose", [shaped], perm=[2, 0, 3, 1, 4])
        q, k, v = (self.node("Gather", [turned, self.tensor(np.int64(i))], axis=0)
                   for i in range(3))
        k = self.node("Transpose", [k], perm=[0, 1, 3, 2])
        scores = self.node("Mul", [self.node("MatMul", [q, k]),
                                   self.tensor(np.float32(width ** -0.5))])
        y = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), v])
        y = self.node("Transpose", [y], perm=[0, 2, 1, 3])
        self.tokens[out] = self.node("Reshape", [y, self.ints([n, h * w, c // 3])])
        self.shapes[out] = (n, c // 3, h, w)

    def bi_lstm(self, layer):
        value, out, hidden = layer["inputs"][0], layer["output"], layer["hidden"]
        n, _, h, w = self.shapes[value]
        x = self.node("Transpose", [self.token(value)], perm=[1, 0, 2])
        weights = [self.weight(p) for p in layer["parameters"][:2]]
        weights.append(self.weight(layer["parameters"][2], [2, 8 * hidden]))
        y = self.node("LSTM", [x, *weights], hidden_size=hidden, direction="bidirectional")
        y = self.node("Transpose", [y], perm=[2, 0, 1, 3])  # [T, 2, N, h] -> [N, T, 2, h]
        self.tokens[out] = self.node("Reshape", [y, self.ints([n, w, 2 * hidden])])
        self.shapes[out] = (n, 2 * hidden, 1, w)

    def pool(self, layer, op):
        value, out = layer["inputs"][0], layer["output"]
        n, c, h, w = self.shapes[value]
        kernel = [layer["kernel"][0] or h, layer["kernel"][1] or w]
        self.images[out] = self.node(op, [self.image(value)], kernel_shape=kernel, strides=kernel)
        self.shapes[out] = (n, c, h // kernel[0], w // kernel[1])

    def max_pool(self, layer):
        self.pool(layer, "MaxPool")

    def average_pool(self, layer):
        self.pool(layer, "AveragePool")

    def scale(self, layer):
        a, b = layer["inputs"]
        self.images[layer["output"]] = self.node("Mul", [self.image(a), self.image(b)])
        self.shapes[layer["output"]] = self.shapes[a]

    def concat(self, layer):
        n, _, h, w = self.shapes[layer["inputs"][0]]
        c = sum(self.shapes[i][1] for i in layer["inputs"])
        self.images[layer["output"]] = self.node(
            "Concat", [self.image(i) for i in layer["inputs"]], axis=1)
        self.shapes[layer["output"]] = (n, c, h, w)

    def model(self):
        for layer in self.graph["layers"]:
            getattr(self, layer["op"])(layer)
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, self.shapes[0])
        name = self.token(self.graph["output"])
        logits = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "ocrtune", [image], [logits], self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
