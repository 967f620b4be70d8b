"""Writes tests/fixtures/golden/*.txt: loss and gradients of each model in float64 PyTorch.

Run by hand: /usr/bin/python3 tests/support/golden_models.py [case...]
A narrow variant has every gradient value; the full-size one has each tensor's norm and 16 values.
"""

import os
import sys

import numpy as np
import torch

import torch_models as models

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "golden")
SAMPLES = 16

# name: (model, batch, height, width, classes, label length, every value?)
CASES = {
    "crnn_narrow": (
        lambda classes: models.Crnn(classes, (4, 8, 8, 16), 8), 3, 32, 64, 7, 4, True),
    "crnn_full": (models.Crnn, 2, 32, 96, 97, 6, False),
    "mv3_narrow": (lambda classes: models.CrnnMv3(classes, (
        4, ((3, 4, 4, False, models.RELU, (1, 1)), (3, 12, 8, True, models.RELU, (2, 1)),
            (5, 20, 12, True, models.SWISH, (2, 1)), (5, 24, 12, True, models.SWISH, (2, 1))),
        24, 6)), 3, 32, 64, 7, 4, True),
    "crnn-mv3_full": (models.CrnnMv3, 2, 32, 100, 37, 6, False),
    "lcnet_narrow": (lambda classes: models.Lcnet(classes, (
        8, ((3, 16, (1, 2), False), (5, 16, (2, 1), True), (5, 16, (1, 1), False)), 12, 4, 3)),
        2, 48, 64, 9, 3, False),
    # A smooth activation: at the kinks of hard swish the rounding of float alone moves gradients by
    # percents (PyTorch's own float32 against float64 too).
    "ppocr-mobile_smooth": (lambda classes: models.Lcnet(
        classes, activation=models.F.silu), 2, 48, 48, 97, 2, False),
    "svtr_narrow": (lambda classes: models.Svtr(
        classes, (((16, 2, 1, 0), (32, 4, 1, 1), (48, 3, 0, 1)), 24, 20, 4)),
        2, 48, 64, 9, 3, False),
    "svtrv2-small_full": (models.MODELS["svtrv2-small"][0], 2, 48, 48, 97, 2, False),
    "svtrv2_full": (models.MODELS["svtrv2"][0], 2, 48, 48, 97, 2, False),
}


def write_case(name):
    build, count, height, width, classes, label_length, every = CASES[name]
    model = build(classes)
    entries = model.entries()
    models.set_initial_parameters(entries, seed=1, vary_constants=True)
    model = model.double().train()
    images, labels = models.draw_batch(count, height, width, classes, label_length)
    loss = models.ctc_loss(model(images.double()), labels)
    loss.backward()
    # double() gave the modules new tensors: ask for them again.
    entries = model.entries()
    lines = [
        f"# {name}: torch {torch.__version__.split('a')[0]}, float64; tests/support/golden_models.py",
        f"batch {count} {height} {width} {classes} {label_length}",
        f"loss {loss.item():.12g}",
    ]
    for entry in entries:
        gradient = entry.gradient()
        size = gradient.size if every else min(SAMPLES, gradient.size)
        places = np.arange(size) * (gradient.size // size)
        values = " ".join(f"{value:.8g}" for value in gradient[places])
        norm = np.linalg.norm(gradient)
        lines.append(f"tensor {entry.name} {gradient.size} {norm:.10g} {size} {values}")
    with open(os.path.join(FOLDER, name + ".txt"), "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    print(f"{name}: loss {loss.item():.9g}, "
          f"{sum(sum(t.numel() for t in e.tensors) for e in entries)} parameters")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for case in sys.argv[1:] or CASES:
        write_case(case)
