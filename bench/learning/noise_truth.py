"""Samples to a loss by batch size, beside what the gradient noise of one batch size predicts.

    python3 bench/learning/noise_truth.py LABELS --program build/noise_truth --model crnn --width 96

Trains each batch size from each seed until the mean loss of 512 samples is below --until, with the learning rate times the
square root of the batch's growth, and prints the samples that each took to a few losses and the efficiencies relative to the
batch of 16: measured (geometric mean over the seeds, with least and most), by one noise scale for the runs of that batch (the
harmonic mean of eight stretches, as the program takes it), and by the noise scale along them, for gradients as they are, divided
by Adam's root, and by its square. Logs are kept in --out, finished ones are not run again.
"""

import argparse
import collections
import math
import pathlib
import subprocess
from concurrent.futures import ThreadPoolExecutor

PRESENT = 16  # samples a batch, whose gradients are watched
WINDOW = 512  # samples that a loss is smoothed over
STRETCHES = 8  # of a run, each with a noise scale of its own
STRETCH = 16  # looks at the noise, before and behind, that one estimate of it is made of


def train(given, batch, seed):
    path = given.out / f"b{batch}_s{seed}.log"
    if path.exists():
        return
    rate = given.rate * math.sqrt(batch / PRESENT)
    every = given.every if batch == PRESENT else 0
    command = [given.program, given.labels, given.model, batch, rate, seed, given.most, given.width, every]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    losses = collections.deque(maxlen=max(1, WINDOW // batch))
    part = path.with_suffix(".part")
    with part.open("w") as log:
        for line in process.stdout:
            log.write(line)
            name, _, value, *_ = line.split()
            if name != "loss":
                continue
            losses.append(float(value))
            if len(losses) == losses.maxlen and sum(losses) / len(losses) < given.until:
                process.kill()
                break
    process.wait()
    part.rename(path)


def read(path):
    """Losses [(samples, loss)] and estimates [(samples, [(|G|^2, tr(Sigma)) by power])]."""
    losses, noise = [], []
    for line in path.read_text().splitlines():
        name, samples, *values = line.split()
        numbers = [float(value) for value in values]
        if name == "loss" and len(numbers) == 1:
            losses.append((int(samples), numbers[0]))
        elif name == "noise" and len(numbers) == 6:
            noise.append((int(samples), list(zip(numbers[0::2], numbers[1::2]))))
    return losses, noise


def samples_to(losses, batch, target):
    count = max(1, WINDOW // batch)
    for end in range(count, len(losses) + 1):
        if sum(loss for _, loss in losses[end - count:end]) / count < target:
            return losses[end - 1][0]
    return None


def predicted(noise, until, batch, power):
    looks = [powers[power] for samples, powers in noise if samples < until]
    samples = 0
    for at in range(len(looks)):
        near = looks[max(0, at - STRETCH):at + STRETCH + 1]
        square, trace = (max(0, sum(look[i] for look in near)) for i in (0, 1))
        samples += (batch * square + trace) / (PRESENT * square + trace) if square + trace > 0 else 1
    return len(looks) / samples if looks else math.nan


def by_one_scale(noise, until, batch):
    looks = [powers[0] for samples, powers in noise if samples < until]
    inverse = 0
    for at in range(STRETCHES):
        part = looks[at * len(looks) // STRETCHES:(at + 1) * len(looks) // STRETCHES]
        square, trace = (max(0, sum(look[i] for look in part)) for i in (0, 1))
        inverse += square / trace / STRETCHES if trace > 0 else math.inf
    return (1 + PRESENT * inverse) / (1 + batch * inverse)


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels")
    parser.add_argument("--program", default="build/noise_truth")
    parser.add_argument("--model", default="crnn")
    parser.add_argument("--rate", type=float, default=0.001, help="learning rate of a batch of 16")
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--batches", type=int, nargs="+", default=[8, 16, 32, 64, 128])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--targets", type=float, nargs="+", default=[8, 6, 4, 2, 1])
    parser.add_argument("--until", type=float, default=0.8)
    parser.add_argument("--most", type=int, default=18000, help="samples of one run")
    parser.add_argument("--every", type=int, default=4, help="steps between two looks at the noise")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("noise_truth"))
    given = parser.parse_args()
    given.out.mkdir(exist_ok=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        runs = [pool.submit(train, given, batch, seed) for seed in given.seeds for batch in given.batches]
        for run in runs:
            run.result()
    logs = {(batch, seed): read(given.out / f"b{batch}_s{seed}.log") for batch in given.batches for seed in given.seeds}
    print("loss batch   samples by seed        measured (least..most)   by noise: one scale; along the run: plain, root, square")
    for target in given.targets:
        taken = {key: samples_to(losses, key[0], target) for key, (losses, _) in logs.items()}
        for batch in given.batches:
            pairs = [(taken[PRESENT, seed], taken[batch, seed]) for seed in given.seeds]
            known = [before / after for before, after in pairs if before and after]
            samples = " ".join(f"{after or '-':>6}" for _, after in pairs)
            row = f"{target:4g} {batch:5}   {samples:22}"
            if known:
                row += f" {geometric_mean(known):.2f} ({min(known):.2f}..{max(known):.2f})      "
                by_noise = [[predicted(logs[PRESENT, seed][1], before, batch, power)
                             for seed, (before, after) in zip(given.seeds, pairs) if before and after]
                            for power in range(3)]
                by_noise.insert(0, [by_one_scale(logs[PRESENT, seed][1], before, batch)
                                    for seed, (before, after) in zip(given.seeds, pairs) if before and after])
                row += "  ".join(f"{geometric_mean(values):.2f}" for values in by_noise)
            print(row)


if __name__ == "__main__":
    main()
