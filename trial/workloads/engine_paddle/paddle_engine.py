"""Trains a recogniser of ocrtune's table in PaddlePaddle: what `ocrtune tune --engine paddle` measures.

    python3 -m paddle.distributed.launch --nproc_per_node=2 paddle_engine.py crnn-mv3.json --batch 16

The network's layers come from the JSON file (graph_dump). Lines are read as PaddleOCR reads them: a
DataLoader with worker processes, pictures scaled to the height and padded to the width. One line is
printed for each step of rank 0, in PaddleOCR's form; it speaks of one rank.
"""

import argparse
import json
import pathlib
import sys
import time

import numpy as np
import paddle
import paddle.distributed as dist
from paddle import nn
from paddle_network import Network
from PIL import Image

LEARNING_RATE = 1e-3
EPOCHS = 100_000  # more than one training has
NOISE_LABEL = [1, 2, 3, 4, 5, 6]  # of a line that is drawn at random


class Lines(paddle.io.Dataset):
    """Lines "picture<TAB>text" of a label file, beside which the pictures lie."""

    def __init__(self, path, height, width):
        self.folder = pathlib.Path(path).parent
        rows = [row.split("\t") for row in pathlib.Path(path).read_text("utf-8").splitlines()]
        self.rows = [row for row in rows if len(row) == 2 and row[1]]
        alphabet = sorted({letter for _, text in self.rows for letter in text})
        self.numbers = {letter: number for number, letter in enumerate(alphabet, 1)}
        self.classes = len(alphabet) + 1
        self.longest = max(len(text) for _, text in self.rows)
        self.height, self.width = height, width

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        path, text = self.rows[index]
        with Image.open(self.folder / path) as file:
            picture = file.convert("RGB")
        width = min(self.width, max(1, round(picture.width * self.height / picture.height)))
        pixels = np.asarray(picture.resize((width, self.height), Image.BILINEAR), "float32")
        image = np.zeros((3, self.height, self.width), "float32")
        image[:, :, :width] = pixels.transpose(2, 0, 1) / 127.5 - 1
        label = np.zeros(self.longest, "int32")
        label[:len(text)] = [self.numbers[letter] for letter in text]
        return image, label, np.int64(len(text))


def read_batches(lines, batch, workers, seed):
    sampler = paddle.io.DistributedBatchSampler(lines, batch, shuffle=True, drop_last=True)
    sampler.set_epoch(seed * EPOCHS)  # its order is that of its epoch, whatever paddle.seed says
    loader = paddle.io.DataLoader(lines, batch_sampler=sampler, num_workers=workers)
    if len(loader) == 0:
        sys.exit(f"{len(lines)} lines hold no batch of {batch} for each process")
    while True:
        yield from loader


def drawn_batches(batch, height, width):
    """One batch of noise, again and again."""
    image = paddle.uniform([batch, 3, height, width], min=-1, max=1)
    label = paddle.to_tensor([NOISE_LABEL] * batch, "int32")
    length = paddle.full([batch], len(NOISE_LABEL), "int64")
    while True:
        yield image, label, length


def train(model, batches, batch, learning_rate):
    optimizer = paddle.optimizer.AdamW(learning_rate, parameters=model.parameters())
    step, begin = 0, time.perf_counter()
    for images, labels, lengths in batches:
        reader = time.perf_counter() - begin
        logits = model(images).transpose([1, 0, 2])
        steps = paddle.full([batch], logits.shape[0], "int64")
        loss = nn.functional.ctc_loss(logits, labels, steps, lengths)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        value, step = float(loss), step + 1
        seconds = time.perf_counter() - begin
        if dist.get_rank() == 0:
            print(f"ppocr INFO: epoch: [1/1], global_step: {step}, lr: {learning_rate:g}, loss: {value:.6f}, "
                  f"avg_reader_cost: {reader:.5f} s, avg_batch_cost: {seconds:.5f} s, "
                  f"avg_samples: {batch}, ips: {batch / seconds:.5f} samples/s, eta: 0:00:00",
                  flush=True)
        begin = time.perf_counter()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network")
    parser.add_argument("--height", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1, help="of the weights and of the order")
    parser.add_argument("--rate-factor", type=float, default=1, help="of the learning rate")
    parser.add_argument("--lines", help="a label file; without it a batch of noise is trained on")
    given = parser.parse_args()
    paddle.set_device("cpu")
    if dist.get_world_size() > 1:
        dist.init_parallel_env()
    paddle.seed(given.seed)
    graph = json.loads(pathlib.Path(given.network).read_text("utf-8"))
    if given.lines:
        lines = Lines(given.lines, given.height, given.width)
        graph["layers"][-1]["out"] = lines.classes
        batches = read_batches(lines, given.batch, given.workers, given.seed)
    else:
        batches = drawn_batches(given.batch, given.height, given.width)
    model = Network(graph)
    if dist.get_world_size() > 1:
        model = paddle.DataParallel(model)
    train(model, batches, given.batch, LEARNING_RATE * given.rate_factor)


if __name__ == "__main__":
    main()
