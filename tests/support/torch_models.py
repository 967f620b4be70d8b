"""The models of core/models/model.h in PyTorch, with the seeded weights and batches of the C++ side.

Used by golden_models.py (expected numbers for the tests) and bench/frameworks/compare_torch.py (speed).
Needs Debian's python3-torch: run with /usr/bin/python3.
"""

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

MASK = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15


def mix_bits(value):
    """SplitMix64's finaliser, as base/random.h."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def mix_array(values):
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


class Random:
    """base/random.h: SplitMix64 is a hash of a counter, so whole arrays are drawn at once."""

    def __init__(self, seed):
        self.state = seed & MASK

    def _next(self, count):
        with np.errstate(over="ignore"):
            steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN_GAMMA)
            values = mix_array(np.uint64(self.state) + steps)
        self.state = (self.state + count * GOLDEN_GAMMA) & MASK
        return values

    def uniform(self, count, low, high):
        unit = (self._next(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return (low + (high - low) * unit).astype(np.float32)

    def integer(self, first, last):
        span = last - first + 1
        return first + ((int(self._next(1)[0]) * span) >> 64)


def draw_batch(count, height, width, classes, label_length, seed=99):
    random = Random(seed)
    images = random.uniform(count * 3 * height * width, -1, 1).reshape(count, 3, height, width)
    labels = [
        [random.integer(1, classes - 1) for _ in range(label_length)] for _ in range(count)
    ]
    return torch.from_numpy(images), torch.tensor(labels, dtype=torch.long)


class Uniform:
    """How core/graph/graph.cpp fills a parameter."""

    def __init__(self, low, high):
        self.low, self.high = low, high


def he(fan_in):
    bound = (6.0 / fan_in) ** 0.5
    return Uniform(-bound, bound)


def inverse_root(fan_in):
    return Uniform(-(fan_in**-0.5), fan_in**-0.5)


def constant(value):
    return Uniform(value, value)


class Entry:
    """One parameter of the C++ graph: a name, its initial range, the torch tensors it is made of
    (stacked in front when there is more than one)."""

    def __init__(self, name, tensors, initial):
        self.name, self.tensors, self.initial = name, tensors, initial

    def extent(self):
        first = list(self.tensors[0].shape)
        return first if len(self.tensors) == 1 else [len(self.tensors)] + first

    def gradient(self):
        parts = [tensor.grad.detach().reshape(-1) for tensor in self.tensors]
        return torch.cat(parts).double().numpy()


def conv_entries(name, conv):
    fan_in = conv.weight[0].numel()
    entries = [Entry(name + ".weight", [conv.weight], he(fan_in))]
    if conv.bias is not None:
        entries.append(Entry(name + ".bias", [conv.bias], inverse_root(fan_in)))
    return entries


def norm_entries(name, norm):
    return [
        Entry(name + ".weight", [norm.weight], constant(1.0)),
        Entry(name + ".bias", [norm.bias], constant(0.0)),
    ]


def linear_entries(name, linear):
    fan_in = linear.weight.shape[1]
    entries = [Entry(name + ".weight", [linear.weight], inverse_root(fan_in))]
    if linear.bias is not None:
        entries.append(Entry(name + ".bias", [linear.bias], inverse_root(fan_in)))
    return entries


def lstm_entries(name, lstm, layer=0):
    def pair(kind):
        return [
            getattr(lstm, f"{kind}_l{layer}"),
            getattr(lstm, f"{kind}_l{layer}_reverse"),
        ]

    kinds = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    return [Entry(f"{name}.{kind}", pair(kind), inverse_root(lstm.hidden_size)) for kind in kinds]


def set_initial_parameters(entries, seed, vary_constants=False):
    """fill_initial_parameters() of core/graph/graph.h. With vary_constants, norms start away from the
    identity, so that a test sees a mistake there."""
    with torch.no_grad():
        for i, entry in enumerate(entries):
            count = sum(tensor.numel() for tensor in entry.tensors)
            low, high = entry.initial.low, entry.initial.high
            stream = seed
            if vary_constants and low == high:
                low, high, stream = low - 0.3, high + 0.3, seed + 1
            values = Random(mix_bits((mix_bits(stream) + i) & MASK)).uniform(count, low, high)
            offset = 0
            for tensor in entry.tensors:
                part = values[offset : offset + tensor.numel()]
                tensor.copy_(torch.from_numpy(part.copy()).reshape(tensor.shape))
                offset += tensor.numel()


class Crnn(nn.Module):
    """build_crnn() of core/models/model.h."""

    def __init__(self, classes=97, channels=(32, 64, 128, 256), hidden=96):
        super().__init__()
        sizes = [3, *channels]
        self.convs = nn.ModuleList(
            nn.Conv2d(sizes[i], sizes[i + 1], 3, padding=1, bias=False) for i in range(4)
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(size) for size in channels)
        self.lstm = nn.LSTM(channels[-1], hidden, bidirectional=True)
        self.classes = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        pools = [(2, 2), (2, 2), (2, 1), None]
        for conv, norm, pool in zip(self.convs, self.norms, pools):
            x = F.relu(norm(conv(x)))
            x = F.max_pool2d(x, pool if pool else (x.shape[2], 1))
        x = x.squeeze(2).permute(2, 0, 1)  # [T, N, C]
        x, _ = self.lstm(x)
        return self.classes(x)  # [T, N, classes]

    def entries(self):
        entries = []
        for i in range(4):
            entries += conv_entries(f"conv{i + 1}", self.convs[i])
            entries += norm_entries(f"norm{i + 1}", self.norms[i])
        return entries + lstm_entries("lstm", self.lstm) + linear_entries("classes", self.classes)


class ConvNorm(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride=1, bias=False, activation=None, groups=1):
        super().__init__()
        pad = tuple(side // 2 for side in kernel)
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, pad, groups=groups, bias=bias)
        self.norm = nn.BatchNorm2d(outputs)
        self.activation = activation

    def forward(self, x):
        return self.activation(self.norm(self.conv(x)))

    def entries(self, name):
        return conv_entries(name + ".conv", self.conv) + norm_entries(name + ".norm", self.norm)


class Mlp(nn.Module):
    def __init__(self, dim, hidden, activation):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        self.activation = activation

    def forward(self, x):
        return self.fc2(self.activation(self.fc1(x)))

    def entries(self, name):
        return linear_entries(name + ".fc1", self.fc1) + linear_entries(name + ".fc2", self.fc2)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):  # [N, T, C]
        n, t, c = x.shape
        qkv = self.qkv(x).reshape(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        weights = (q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(n, t, c))

    def entries(self, name):
        return linear_entries(name + ".qkv", self.qkv) + linear_entries(name + ".proj", self.proj)


def to_tokens(x):
    return x.flatten(2).transpose(1, 2)


def to_image(x, h):
    n, t, c = x.shape
    return x.transpose(1, 2).reshape(n, c, h, t // h)


class SvtrBlock(nn.Module):
    """x = LN(x + mix(x)); x = LN(x + MLP(x)), on images [N, C, H, W]."""

    def __init__(self, dim, heads, local):
        super().__init__()
        self.local = local
        self.mixer = (nn.Conv2d(dim, dim, 5, padding=2, groups=heads) if local
                      else Attention(dim, heads))
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.mlp = Mlp(dim, 4 * dim, F.gelu)

    def forward(self, x):
        h = x.shape[2]
        if self.local:
            tokens = to_tokens(x + self.mixer(x))
        else:
            tokens = to_tokens(x)
            tokens = tokens + self.mixer(tokens)
        tokens = self.norm1(tokens)
        return to_image(self.norm2(tokens + self.mlp(tokens)), h)

    def entries(self, name):
        mixer = (conv_entries(name + ".mixer", self.mixer) if self.local
                 else self.mixer.entries(name + ".mixer"))
        return (mixer + norm_entries(name + ".norm1", self.norm1)
                + self.mlp.entries(name + ".mlp") + norm_entries(name + ".norm2", self.norm2))


class NeckBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-5), nn.LayerNorm(dim, eps=1e-5)
        self.mixer = Attention(dim, heads)
        self.mlp = Mlp(dim, 2 * dim, F.silu)

    def forward(self, x):
        x = x + self.mixer(self.norm1(x))
        return x + self.mlp(self.norm2(x))

    def entries(self, name):
        return (norm_entries(name + ".norm1", self.norm1) + self.mixer.entries(name + ".mixer")
                + norm_entries(name + ".norm2", self.norm2) + self.mlp.entries(name + ".mlp"))


class SvtrNeck(nn.Module):
    def __init__(self, channels, hidden, out, heads):
        super().__init__()
        narrow = channels // 8
        self.conv1 = ConvNorm(channels, narrow, (1, 3), activation=F.silu)
        self.conv2 = ConvNorm(narrow, hidden, (1, 1), activation=F.silu)
        self.blocks = nn.ModuleList(NeckBlock(hidden, heads) for _ in range(2))
        self.norm = nn.LayerNorm(hidden, eps=1e-6)
        self.conv3 = ConvNorm(hidden, channels, (1, 1), activation=F.silu)
        self.conv4 = ConvNorm(2 * channels, narrow, (1, 3), activation=F.silu)
        self.conv5 = ConvNorm(narrow, out, (1, 1), activation=F.silu)

    def forward(self, x):  # [N, C, 1, T]
        z = to_tokens(self.conv2(self.conv1(x)))
        for block in self.blocks:
            z = block(z)
        z = self.conv3(to_image(self.norm(z), 1))
        return self.conv5(self.conv4(torch.cat([x, z], 1)))

    def entries(self):
        entries = self.conv1.entries("neck.conv1") + self.conv2.entries("neck.conv2")
        for i, block in enumerate(self.blocks):
            entries += block.entries(f"neck.block{i}")
        entries += norm_entries("neck.norm", self.norm)
        for i in (3, 4, 5):
            entries += getattr(self, f"conv{i}").entries(f"neck.conv{i}")
        return entries


SVTRV2 = (((128, 4, 6, 0), (256, 8, 2, 4), (384, 12, 0, 6)), 256, 256, 8)
SVTRV2_SMALL = (((64, 2, 3, 0), (128, 4, 3, 3), (256, 8, 0, 3)), 120, 120, 8)


class Svtr(nn.Module):
    """build_svtr() of core/models/svtr_model.h; stages are (dim, heads, local, global)."""

    def __init__(self, classes, sizes):
        super().__init__()
        stages, hidden, out, heads = sizes
        dim = stages[0][0]
        self.pope1 = ConvNorm(3, dim // 2, (3, 3), 2, bias=True, activation=F.gelu)
        self.pope2 = ConvNorm(dim // 2, dim, (3, 3), 2, bias=True, activation=F.gelu)
        self.downs, self.norms = nn.ModuleList(), nn.ModuleList()
        self.stages = nn.ModuleList()
        for s, (width, groups, local, total) in enumerate(stages):
            if s > 0:
                self.downs.append(nn.Conv2d(stages[s - 1][0], width, 3, (2, 1), 1))
                self.norms.append(nn.LayerNorm(width, eps=1e-5))
            self.stages.append(nn.ModuleList(
                SvtrBlock(width, groups, i < local) for i in range(local + total)))
        self.neck = SvtrNeck(stages[-1][0], hidden, out, heads)
        self.classes = nn.Linear(out, classes)

    def forward(self, x):
        x = self.pope2(self.pope1(x))
        for s, blocks in enumerate(self.stages):
            if s > 0:
                x = self.downs[s - 1](x)
                x = to_image(self.norms[s - 1](to_tokens(x)), x.shape[2])
            for block in blocks:
                x = block(x)
        x = self.neck(F.avg_pool2d(x, (x.shape[2], 2)))
        return self.classes(x.squeeze(2).permute(2, 0, 1))

    def entries(self):
        entries = self.pope1.entries("pope1") + self.pope2.entries("pope2")
        for s, blocks in enumerate(self.stages):
            if s > 0:
                entries += conv_entries(f"down{s - 1}.conv", self.downs[s - 1])
                entries += norm_entries(f"down{s - 1}.norm", self.norms[s - 1])
            for b, block in enumerate(blocks):
                entries += block.entries(f"stage{s}.block{b}")
        return entries + self.neck.entries() + linear_entries("classes", self.classes)


class SqueezeExcite(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, dim // 4), nn.Linear(dim // 4, dim)

    def forward(self, x):
        factors = F.hardsigmoid(self.fc2(F.relu(self.fc1(x.mean((2, 3))))))
        return x * factors[:, :, None, None]

    def entries(self, name):
        return linear_entries(name + ".fc1", self.fc1) + linear_entries(name + ".fc2", self.fc2)


def identity(x):
    return x


class InvertedResidual(nn.Module):
    """One row of crnn_mv3_sizes(): kernel, expanded, out, squeeze, activation, stride."""

    def __init__(self, inputs, kernel, expanded, out, squeeze, activation, stride):
        super().__init__()
        self.expand = ConvNorm(inputs, expanded, (1, 1), activation=activation)
        self.depthwise = ConvNorm(
            expanded, expanded, (kernel, kernel), stride, activation=activation, groups=expanded)
        self.se = SqueezeExcite(expanded) if squeeze else None
        self.linear = ConvNorm(expanded, out, (1, 1), activation=identity)
        self.shortcut = stride == (1, 1) and inputs == out

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        y = self.linear(self.se(y) if self.se else y)
        return x + y if self.shortcut else y

    def entries(self, name):
        entries = self.expand.entries(name + ".expand") + self.depthwise.entries(name + ".depthwise")
        if self.se:
            entries += self.se.entries(name + ".se")
        return entries + self.linear.entries(name + ".linear")


RELU, SWISH = F.relu, F.hardswish
MV3 = (8, (
    (3, 8, 8, False, RELU, (1, 1)), (3, 32, 16, False, RELU, (2, 1)),
    (3, 40, 16, False, RELU, (1, 1)), (5, 40, 24, True, RELU, (2, 1)),
    (5, 64, 24, True, RELU, (1, 1)), (5, 64, 24, True, RELU, (1, 1)),
    (3, 120, 40, False, SWISH, (1, 1)), (3, 104, 40, False, SWISH, (1, 1)),
    (3, 96, 40, False, SWISH, (1, 1)), (3, 96, 40, False, SWISH, (1, 1)),
    (3, 240, 56, True, SWISH, (1, 1)), (3, 336, 56, True, SWISH, (1, 1)),
    (5, 336, 80, True, SWISH, (2, 1)), (5, 480, 80, True, SWISH, (1, 1)),
    (5, 480, 80, True, SWISH, (1, 1))), 480, 96)


class CrnnMv3(nn.Module):
    """build_crnn_mv3() of core/models/mobile_model.h."""

    def __init__(self, classes, sizes=MV3):
        super().__init__()
        stem, units, last, hidden = sizes
        self.stem = ConvNorm(3, stem, (3, 3), 2, activation=F.hardswish)
        inputs = [stem] + [unit[2] for unit in units]
        self.units = nn.ModuleList(InvertedResidual(c, *unit) for c, unit in zip(inputs, units))
        self.last = ConvNorm(inputs[-1], last, (1, 1), activation=F.hardswish)
        self.lstm = nn.LSTM(last, hidden, num_layers=2, bidirectional=True)
        self.classes = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        x = self.stem(x)
        for unit in self.units:
            x = unit(x)
        x = F.max_pool2d(self.last(x), 2)
        x, _ = self.lstm(x.squeeze(2).permute(2, 0, 1))
        return self.classes(x)

    def entries(self):
        entries = self.stem.entries("stem")
        for i, unit in enumerate(self.units):
            entries += unit.entries(f"unit{i}")
        entries += self.last.entries("last")
        entries += lstm_entries("lstm1", self.lstm, 0) + lstm_entries("lstm2", self.lstm, 1)
        return entries + linear_entries("classes", self.classes)


class Affine(nn.Module):
    """s1 act(s0 x + t0) + t1"""

    def __init__(self, activation):
        super().__init__()
        self.activation = activation
        self.scales = nn.ParameterList(nn.Parameter(torch.ones(1)) for _ in range(2))
        self.shifts = nn.ParameterList(nn.Parameter(torch.zeros(1)) for _ in range(2))

    def forward(self, x):
        x = self.activation(self.scales[0] * x + self.shifts[0])
        return self.scales[1] * x + self.shifts[1]

    def entries(self, name):
        entries = []
        for i in range(2):
            entries += [Entry(f"{name}.scale{i}", [self.scales[i]], constant(1.0)),
                        Entry(f"{name}.shift{i}", [self.shifts[i]], constant(0.0))]
        return entries


class RepLayer(nn.Module):
    """add_rep_layer() of core/models/lcnet_model.cpp; the branches' tensors are stacked there."""

    def __init__(self, inputs, outputs, kernel, stride, depthwise, branches, activation):
        super().__init__()
        def conv(k):
            return nn.Conv2d(inputs, outputs, k, stride, k // 2, bias=False,
                             groups=outputs if depthwise else 1)

        self.convs = nn.ModuleList(conv(kernel) for _ in range(branches))
        self.norms = nn.ModuleList(nn.BatchNorm2d(outputs) for _ in range(branches))
        self.point = conv(1) if kernel > 1 else None
        self.point_norm = nn.BatchNorm2d(outputs) if kernel > 1 else None
        keeps = inputs == outputs and stride == (1, 1)
        self.input_norm = nn.BatchNorm2d(outputs) if keeps else None
        self.act = Affine(activation)

    def forward(self, x):
        total = sum(norm(conv(x)) for conv, norm in zip(self.convs, self.norms))
        if self.point:
            total = total + self.point_norm(self.point(x))
        if self.input_norm:
            total = total + self.input_norm(x)
        return self.act(total)

    def entries(self, name):
        fan_in = self.convs[0].weight[0].numel()
        entries = [Entry(name + ".branches.weight", [c.weight for c in self.convs], he(fan_in))]
        if self.point:
            entries += conv_entries(name + ".point", self.point)
        lists = [list(self.norms)]
        lists += [[norm] for norm in (self.point_norm, self.input_norm) if norm]
        for i, norms in enumerate(lists):
            entries += [
                Entry(f"{name}.sum.norm{i}.weight", [n.weight for n in norms], constant(1.0)),
                Entry(f"{name}.sum.norm{i}.bias", [n.bias for n in norms], constant(0.0))]
        return entries + self.act.entries(name + ".act")


PPOCR_MOBILE = (16, (
    (3, 32, (1, 1), False), (3, 64, (1, 1), False), (3, 64, (1, 1), False),
    (3, 128, (2, 1), False), (3, 128, (1, 1), False), (3, 240, (1, 2), False),
    (5, 240, (1, 1), False), (5, 240, (1, 1), False), (5, 240, (1, 1), False),
    (5, 240, (1, 1), False), (5, 480, (2, 1), True), (5, 480, (1, 1), True),
    (5, 480, (2, 1), False), (5, 480, (1, 1), False)), 120, 8, 4)


class Lcnet(nn.Module):
    """build_lcnet() of core/models/lcnet_model.h; blocks are (kernel, out, stride, squeeze)."""

    def __init__(self, classes, sizes=PPOCR_MOBILE, activation=F.hardswish):
        super().__init__()
        stem, blocks, neck, heads, branches = sizes
        self.stem = ConvNorm(3, stem, (3, 3), 2, activation=identity)
        self.blocks = nn.ModuleList()
        inputs = stem
        for kernel, out, stride, squeeze in blocks:
            self.blocks.append(nn.ModuleDict({
                "dw": RepLayer(inputs, inputs, kernel, stride, True, branches, activation),
                **({"se": SqueezeExcite(inputs)} if squeeze else {}),
                "pw": RepLayer(inputs, out, 1, (1, 1), False, branches, activation)}))
            inputs = out
        self.neck = SvtrNeck(inputs, neck, neck, heads)
        self.classes = nn.Linear(neck, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            for layer in block.values():
                x = layer(x)
        x = self.neck(F.avg_pool2d(x, (x.shape[2], 2)))
        return self.classes(x.squeeze(2).permute(2, 0, 1))

    def entries(self):
        entries = self.stem.entries("stem")
        for i, block in enumerate(self.blocks):
            for name, layer in block.items():
                entries += layer.entries(f"block{i}.{name}")
        return entries + self.neck.entries() + linear_entries("classes", self.classes)


def ctc_loss(logits, labels):
    """Mean over the batch of -log p(label), no division by lengths."""
    steps, count, _ = logits.shape
    return F.ctc_loss(
        F.log_softmax(logits, 2),
        labels,
        torch.full((count,), steps, dtype=torch.long),
        torch.full((count,), labels.shape[1], dtype=torch.long),
        blank=0,
        reduction="none",
        zero_infinity=True,
    ).mean()


# name: (module, height, width, width of one time step), as model_table() of core/models/model.cpp.
MODELS = {
    "crnn": (Crnn, 32, 320, 4),
    "crnn-mv3": (CrnnMv3, 32, 100, 4),
    "ppocr-mobile": (Lcnet, 48, 320, 8),
    "svtrv2-small": (lambda classes: Svtr(classes, SVTRV2_SMALL), 48, 320, 8),
    "svtrv2": (lambda classes: Svtr(classes, SVTRV2), 48, 320, 8),
}
