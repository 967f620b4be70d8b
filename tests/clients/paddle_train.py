"""A small CRNN trainer on Paddle that takes PaddleOCR's command line and prints its log lines.

The network is core/models/model.h's "crnn". Only what a launch setting can see is like PaddleOCR: -c
and -o, Global and Train keys, the launcher's ranks, the loader's workers, and the printed numbers
with all their traps (averages over print_batch_step also where a line covers less).
"""

import argparse
import logging
import pathlib
import sys
import time

import numpy as np
import paddle
import paddle.distributed as dist
import yaml
from paddle import nn
from paddle.io import DataLoader, Dataset, DistributedBatchSampler


class Crnn(nn.Layer):
    def __init__(self, classes, hidden=96):
        super().__init__()
        layers, before = [], 3
        for channels, pool in ((32, (2, 2)), (64, (2, 2)), (128, (2, 1)), (256, (4, 1))):
            layers += [nn.Conv2D(before, channels, 3, padding=1, bias_attr=False),
                       nn.BatchNorm2D(channels), nn.ReLU(), nn.MaxPool2D(pool, pool)]
            before = channels
        self.blocks = nn.Sequential(*layers)
        self.lstm = nn.LSTM(before, hidden, direction="bidirect")
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, images):
        features = self.blocks(images).squeeze(2).transpose([0, 2, 1])
        return self.head(self.lstm(features)[0])


class Lines(Dataset):
    """Drawn noise: as many lines as the label file has, whatever it says."""

    def __init__(self, config):
        with open(config["dataset"]["label_file_list"][0], encoding="utf-8") as labels:
            self.count = sum(1 for _ in labels)
        self.shape = config["dataset"]["image_shape"]

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        random = np.random.default_rng(index)
        image = random.uniform(-1, 1, self.shape).astype("float32")
        return image, random.integers(1, 11, 6).astype("int32")


def read_config():
    parser = argparse.ArgumentParser()
    parser.add_argument("-c", "--config", required=True)
    parser.add_argument("-o", "--opt", nargs="+", default=[])
    arguments = parser.parse_args()
    with open(arguments.config, encoding="utf-8") as text:
        config = yaml.safe_load(text)
    for item in arguments.opt:
        key, value = item.split("=")
        *path, last = key.split(".")
        at = config
        for name in path:
            at = at[name]
        at[last] = yaml.safe_load(value)
    return config


def evaluate(model, common, batch, lines, log):
    """On rank 0 alone, as PaddleOCR does, and then saves what it calls the best model."""
    model.eval()
    with paddle.no_grad():
        for _ in range(0, len(lines), batch):
            model(paddle.rand([batch, *lines.shape]))
    model.train()
    folder = pathlib.Path(common["save_model_dir"])
    folder.mkdir(parents=True, exist_ok=True)
    paddle.save(model.state_dict(), str(folder / "best_accuracy.pdparams"))
    log.info("cur metric, acc: 0.0, norm_edit_dis: 0.0, fps: 0.0")


def main():
    config = read_config()
    common, loader = config["Global"], config["Train"]["loader"]
    paddle.set_device("gpu" if common["use_gpu"] else "cpu")
    if dist.get_world_size() > 1:
        dist.init_parallel_env()
    log = logging.getLogger("ppocr")
    log.setLevel(logging.INFO if dist.get_rank() == 0 else logging.ERROR)
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("[%(asctime)s] %(name)s %(levelname)s: %(message)s",
                                           "%Y/%m/%d %H:%M:%S"))
    log.addHandler(handler)
    log.propagate = False
    paddle.seed(1024)
    model = Crnn(common["classes"])
    if dist.get_world_size() > 1:
        model = paddle.DataParallel(model)
    optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
    lines = Lines(config["Train"])
    sampler = DistributedBatchSampler(lines, loader["batch_size_per_card"], shuffle=True,
                                      drop_last=True)
    batches = DataLoader(lines, batch_sampler=sampler, num_workers=loader["num_workers"])
    log.info("train dataloader has %d iters", len(batches))
    if len(batches) == 0:
        log.error("No Images in train dataset, please ensure\n\t1. The images num in the train "
                  "label_file_list should be larger than or equal with batch size.")
        return
    step, every = 0, common["print_batch_step"]
    for epoch in range(1, common["epoch_num"] + 1):
        reader_cost = batch_cost = samples = 0.0
        begin = time.time()
        for index, (images, labels) in enumerate(batches):
            reader_cost += time.time() - begin
            logits = model(images).transpose([1, 0, 2])
            lengths = paddle.full([images.shape[0]], logits.shape[0], "int64")
            loss = nn.functional.ctc_loss(logits, labels, lengths,
                                          paddle.full([images.shape[0]], labels.shape[1], "int64"))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            value = float(loss)
            batch_cost += time.time() - begin
            samples += images.shape[0]
            step += 1
            if step % every == 0 or index >= len(batches) - 1:
                log.info("epoch: [%d/%d], global_step: %d, lr: 0.001000, loss: %f, "
                         "avg_reader_cost: %.5f s, avg_batch_cost: %.5f s, avg_samples: %s, "
                         "ips: %.5f samples/s, eta: 0:00:00", epoch, common["epoch_num"], step,
                         value, reader_cost / every, batch_cost / every, samples / every,
                         samples / batch_cost)
                reader_cost = batch_cost = samples = 0.0
            start, interval = common["eval_batch_step"]
            if "Eval" in config and dist.get_rank() == 0 and step > start and \
                    (step - start) % interval == 0:
                evaluate(model, common, config["Eval"]["loader"]["batch_size_per_card"], lines, log)
            begin = time.time()


if __name__ == "__main__":
    main()
