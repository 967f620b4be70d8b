#!/usr/bin/env python3
"""Jobs of users, small: bench/clients/paste.py tunes them and pastes what `ocrtune tune` prints.

    jobs.py hf|doctr|openvino|onnxruntime|loader|stalls|warm|diverges|two_speeds|timer|ahead|pauses|own_workers|capped|
            jumps|first_slow [--mode MODE] [--batch N] [--threads N] [--workers N] [--copies N]

Each runs until it is ended and prints its speed as such programs do; OCRTUNE_JOB_TALLY names a file that gets "seconds samples"
of each step, which no reader of logs knows of. hf: transformers' Trainer; doctr: its CRNN in a loop of one's own;
openvino, onnxruntime: the recogniser in RapidOCR's wheel; loader: torch's DataLoader whose samples take 4 ms of waiting; stalls:
a loader that starts its workers anew at each epoch of 2.5 s, for 1 s; warm: a program at 60 % of its speed for its first 20 s;
diverges, two_speeds, timer, ahead, pauses, own_workers, capped, jumps, first_slow: what they print misleads, each in its own way. They
sleep, so they run beside other load.
"""

import argparse
import itertools
import os
import random
import sys
import time

TALLY = os.environ.get("OCRTUNE_JOB_TALLY")


def tally(samples):
    if TALLY:
        with open(TALLY, "a", encoding="ascii") as file:
            file.write(f"{time.monotonic():.6f} {samples}\n")


class Speed:
    """Prints "step 40 loss 2.31 117.3 samples/s" for each half second."""

    def __init__(self):
        self.begin, self.samples, self.step = time.monotonic(), 0, 0

    def add(self, samples, loss=2.31):
        tally(samples)
        self.samples += samples
        self.step += 1
        now = time.monotonic()
        if now - self.begin >= 0.5:
            print(f"step {self.step} loss {loss:.4f} {self.samples / (now - self.begin):.2f} samples/s", flush=True)
            self.begin, self.samples = now, 0


def hf(given):
    import torch
    import transformers

    class Lines(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 20

        def __getitem__(self, index):
            return {"pixels": torch.full((3, 32, 128), index % 7 / 7), "labels": torch.tensor(index % 10)}

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(
                torch.nn.Conv2d(3, 24, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                torch.nn.Conv2d(24, 48, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
                torch.nn.Flatten(), torch.nn.Linear(48, 10))

        def forward(self, pixels, labels):
            logits = self.body(pixels)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    class Tally(transformers.TrainerCallback):
        def on_step_end(self, *_, **__):
            tally(given.batch)

    torch.set_num_threads(given.threads or torch.get_num_threads())
    arguments = transformers.TrainingArguments(
        output_dir=os.environ.get("TMPDIR", "/tmp") + "/hf", per_device_train_batch_size=given.batch,
        dataloader_num_workers=given.workers, max_steps=1 << 20, logging_steps=20, save_strategy="no",
        report_to=[], use_cpu=True, include_num_input_tokens_seen="no")
    transformers.Trainer(model=Net(), args=arguments, train_dataset=Lines(), callbacks=[Tally()]).train()


def doctr(given):
    import doctr.models
    import torch
    torch.set_num_threads(given.threads or torch.get_num_threads())
    model = doctr.models.crnn_mobilenet_v3_small(pretrained=False, pretrained_backbone=False, vocab="abcdefghij").train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    images, words = torch.rand(given.batch, 3, 32, 128), ["abcde"] * given.batch
    speed = Speed()
    while True:
        loss = model(images, words)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        speed.add(given.batch, loss.item())


def recogniser():
    import importlib.util
    import pathlib
    folder = pathlib.Path(importlib.util.find_spec("rapidocr_onnxruntime").origin).parent
    return str(folder / "models" / "ch_PP-OCRv4_rec_infer.onnx")


def openvino(given):
    import numpy
    import openvino as ov
    model = ov.Core().compile_model(recogniser(), "CPU", {
        "INFERENCE_NUM_THREADS": given.threads, "NUM_STREAMS": given.copies, "PERFORMANCE_HINT": "THROUGHPUT"})
    queue = ov.AsyncInferQueue(model, given.copies)
    speed = Speed()
    queue.set_callback(lambda _request, _data: speed.add(given.batch))
    images = numpy.random.default_rng(1).random((given.batch, 3, 48, 320), dtype=numpy.float32)
    while True:
        queue.start_async({0: images})


def onnxruntime(given):
    import numpy
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = given.threads
    session = ort.InferenceSession(recogniser(), options, providers=["CPUExecutionProvider"])
    images = numpy.random.default_rng(1).random((given.batch, 3, 48, 320), dtype=numpy.float32)
    name = session.get_inputs()[0].name
    speed = Speed()
    while True:
        session.run(None, {name: images})
        speed.add(given.batch)


def loader(given):
    import torch

    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 1 << 20

        def __getitem__(self, index):
            time.sleep(0.004)  # a disk or a store on the network
            return torch.full((3, 32, 128), index % 7 / 7)

    torch.set_num_threads(1)
    net = torch.nn.Conv2d(3, 16, 3, padding=1)
    speed = Speed()
    for images in torch.utils.data.DataLoader(Slow(), batch_size=given.batch, num_workers=given.workers):
        net(images).mean().backward()
        speed.add(given.batch)


def stalls(given):
    speed, epoch = Speed(), time.monotonic()
    while True:
        time.sleep(given.batch / (130 if given.workers else 100))
        speed.add(given.batch)
        if given.workers and time.monotonic() - epoch >= 2.5:
            time.sleep(1)
            epoch = time.monotonic()


def warm(given):
    speed, begin = Speed(), time.monotonic()
    while True:
        slow = 1 / 0.6 if time.monotonic() - begin < 20 else 1
        time.sleep(slow * (0.01 + 0.005 * given.batch))
        speed.add(given.batch)


def say(step, samples_per_second, loss=2.31):
    print(f"step {step} loss {loss:.4f} {samples_per_second:.1f} samples/s", flush=True)


def diverges(given):
    """fp16 makes 1.67 times the rate, and a loss of nan from step 6 on."""
    seconds = 0.066 * (0.6 if given.mode == "fp16" else 1)
    for step in itertools.count(1):
        time.sleep(seconds)
        say(step, 8 / seconds, float("nan") if given.mode == "fp16" and step > 5 else 5 * 0.99**step)


def two_speeds(_given):
    """Each launch is slow or fast by chance; no knob matters."""
    seconds = random.choice([0.05, 0.07])
    for step in itertools.count(1):
        time.sleep(seconds)
        if step % 5 == 0:
            say(step, 8 / seconds)


def timer(given):
    """Its timer leaves the loader out, whose time grows with the batch: 80 samples/s in truth, whatever it prints."""
    for step in itertools.count(1):
        time.sleep(given.batch / 80)
        if step % 3 == 0:
            say(step, given.batch / 0.05)


def ahead(given):
    """Data read ahead makes it twice as fast at first, for longer with more workers; 80 samples/s in the end."""
    begin = time.monotonic()
    for step in itertools.count(1):
        seconds = 0.05 if time.monotonic() - begin < 1.2 * given.workers else 0.1
        time.sleep(seconds)
        if step % 5 == 0:
            say(step, 8 / seconds)


def pauses(given):
    """Two workers: faster steps, and a checkpoint of 4 s in place of 1 s after each hundred; 100 and 133 samples/s in truth."""
    fast = given.workers == 2
    for step in itertools.count(1):
        time.sleep(0.04 if fast else 0.05)
        if step % 10 == 0:
            say(step, 200 if fast else 160)
        if step % 100 == 0:
            time.sleep(4 if fast else 1)


def own_workers(given):
    """Processes of its own, each of which prints its rate: 12.5 images/s with one, 20 with two."""
    rate = 12.5 if given.copies == 1 else 10
    worker = next((i for i in range(1, given.copies) if os.fork() == 0), 0)
    while True:
        time.sleep(8 / rate)
        print(f"[worker {worker}] {rate:.1f} img/s", flush=True)


def capped(given):
    """Takes 16 of a larger batch, and prints the rate of all of it: 100, 110, 110 samples/s of 8, 16, 32."""
    seconds = 0.08 if given.batch == 8 else min(given.batch, 16) / 110
    for step in itertools.count(1):
        time.sleep(seconds)
        if step % 3 == 0:
            say(step, given.batch / seconds)


def jumps(given):
    """Its clock jumps in each seventh line with two workers: 100 samples/s in truth, whatever the knobs."""
    for line in itertools.count(1):
        time.sleep(0.4)
        say(5 * line, 100 * random.choice([40, 300, 3000]) if given.workers == 2 and line % 7 == 0 else 100)


def first_slow(_given):
    """Its first two launches on a machine are half as fast, until a cache in TMPDIR is full."""
    marks = os.path.join(os.environ.get("TMPDIR", "/tmp"), "first_slow")
    os.makedirs(marks, exist_ok=True)
    launches = len(os.listdir(marks))
    open(os.path.join(marks, str(os.getpid())), "w", encoding="ascii").close()
    seconds = 0.16 if launches < 2 else 0.08
    for step in itertools.count(1):
        time.sleep(seconds)
        if step % 5 == 0:
            say(step, 8 / seconds)


JOBS = {job.__name__: job for job in (hf, doctr, openvino, onnxruntime, loader, stalls, warm, diverges, two_speeds,
                                      timer, ahead, pauses, own_workers, capped, jumps, first_slow)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--mode", default="fp32")
    given = parser.parse_args()
    sys.exit(JOBS[given.job](given))


if __name__ == "__main__":
    main()
