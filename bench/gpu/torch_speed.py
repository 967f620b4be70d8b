"""Training and inference speed of PyTorch on a GPU with the core's networks: eager and compiled, in
fp32, tf32 and bf16 (autocast). One JSON object a line. The core's own: ocrtune-cuda-core step core.

    python3 bench/gpu/torch_speed.py --model ppocr-mobile --batch 64
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import torch_models  # noqa: E402


def ctc_loss(logits, labels):
    steps, count, _ = logits.shape
    lengths = torch.full((count,), labels.shape[1], dtype=torch.long)
    losses = F.ctc_loss(F.log_softmax(logits.float(), 2), labels,
                        torch.full((count,), steps, dtype=torch.long), lengths,
                        blank=0, reduction="none", zero_infinity=True)
    return losses.mean()


def median_seconds(work, runs):
    seconds = []
    for run in range(-5, runs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        if run >= 0:
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def measure(options, precision, compiled):
    torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"
    torch.backends.cudnn.allow_tf32 = precision != "fp32"
    torch.backends.cudnn.benchmark = True
    build, height, width, _ = torch_models.MODELS[options.model]
    model = build(options.classes)
    torch_models.set_initial_parameters(model.entries(), seed=1)
    model = model.cuda().train()
    images, labels = torch_models.draw_batch(
        options.batch, height, width, options.classes, options.label_length)
    images, labels = images.cuda(), labels.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
    forward = torch.compile(model) if compiled else model

    def autocast():
        if precision == "bf16":
            return torch.autocast("cuda", dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def step():
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            logits = forward(images)
        ctc_loss(logits, labels).backward()
        optimizer.step()

    def read():
        with torch.no_grad(), autocast():
            forward(images).float().cpu()

    said = {"what": "torch", "outcome": "passed",
            "words": {"model": options.model, "precision": precision,
                      "mode": "compile" if compiled else "eager", "torch": torch.__version__}}
    figures = {"step_seconds": median_seconds(step, options.steps)}
    figures["samples_per_second"] = options.batch / figures["step_seconds"]
    model.eval()
    figures["read_seconds"] = median_seconds(read, options.steps)
    figures["read_samples_per_second"] = options.batch / figures["read_seconds"]
    figures["peak_bytes"] = torch.cuda.max_memory_allocated()
    print(json.dumps({**said, "figures": figures}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="ppocr-mobile", choices=sorted(torch_models.MODELS))
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--classes", type=int, default=97)
    parser.add_argument("--label-length", type=int, default=10)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch_speed: no GPU")
    for compiled in (False, True):  # what may fail comes last
        for precision in ("fp32", "tf32", "bf16"):
            torch.cuda.reset_peak_memory_stats()
            measure(options, precision, compiled)


if __name__ == "__main__":
    main()
