"""Launch settings for OCR training and inference, measured before you deploy.

In a training or inference loop, one line; outside a trial of `ocrtune tune` it does nothing:

    for images, labels in batches:
        train(images, labels)
        ocrtune.step(len(images))

And the program itself, its JSON documents as dicts:

    run = ocrtune.tune("python3 train.py --batch-size {batch}", batch=[16, 32, 64], budget="10m")
    run["recommendation"]["command"], run.frame()
"""
import importlib as _importlib

from ocrtune._steps import loader, paddleocr, step

# Imported when they are asked for: a loop needs none of them, and frameworks load slowly.
_LATER = {
    "Document": "_program",
    "Error": "_program",
    "plan": "_program",
    "program": "_program",
    "show": "_program",
    "tune": "_program",
    "LightningCallback": "_lightning",
    "PaddleCallback": "_paddle",
    "TrainerCallback": "_transformers",
}

__all__ = ["loader", "paddleocr", "step", *_LATER]


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'ocrtune' has no attribute '{name}'")
    return getattr(_importlib.import_module("ocrtune." + _LATER[name]), name)


def __dir__():
    return sorted(__all__)
