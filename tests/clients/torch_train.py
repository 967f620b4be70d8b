"""core/models/model.h's "crnn" on PyTorch, started by torchrun; every rank 0 line says samples/s.

Takes the batch as --batch; ranks, ports and threads come from the launcher's environment.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn


class Crnn(nn.Module):
    def __init__(self, classes=11, hidden=96):
        super().__init__()
        layers, before = [], 3
        for channels, pool in ((32, (2, 2)), (64, (2, 2)), (128, (2, 1)), (256, (4, 1))):
            layers += [nn.Conv2d(before, channels, 3, padding=1, bias=False),
                       nn.BatchNorm2d(channels), nn.ReLU(), nn.MaxPool2d(pool, pool)]
            before = channels
        self.blocks = nn.Sequential(*layers)
        self.lstm = nn.LSTM(before, hidden, bidirectional=True)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, images):
        features = self.blocks(images).squeeze(2).permute(2, 0, 1)
        return self.head(self.lstm(features)[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--width", type=int, default=128)
    arguments = parser.parse_args()
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    torch.manual_seed(1024)
    model = Crnn()
    if ranks > 1:
        dist.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    images = torch.rand(arguments.batch, 3, 32, arguments.width)
    labels = torch.randint(1, 11, (arguments.batch, 6))
    lengths = torch.full((arguments.batch,), 6)
    step = 0
    while True:
        begin = time.time()
        logits = model(images).log_softmax(2)
        times = torch.full((arguments.batch,), logits.shape[0])
        loss = nn.functional.ctc_loss(logits, labels, times, lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if rank == 0:
            print(f"step {step} loss {loss.item():.4f} "
                  f"{arguments.batch / (time.time() - begin):.3f} samples/s")


if __name__ == "__main__":
    main()
