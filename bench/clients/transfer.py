#!/usr/bin/env python3
"""Does the built-in core's sweep hold for a Paddle job? The same settings of both, compared.

    bench/clients/transfer.py [--budget 5m] [--model crnn-mv3] [--ocrtune build/ocrtune]

Both are `ocrtune tune --model`, the second with `--engine paddle`: the same network, size of line,
optimizer and drawn input. Prints both rates of each setting, Spearman's rank correlation,
and what the Paddle job loses by the core's best setting. The budget is of each sweep. Exit code 77:
Paddle cannot be installed here.
"""

import argparse
import csv
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tune_client import ROOT, install

WIDTH = {"crnn": 128, "crnn-mv3": 100}
KNOBS = ("nproc", "threads", "batch")


def sweep(given, folder, name, python=None):
    command = [given.ocrtune, "tune", "--budget", given.budget,
               "--trial-time", given.trial_time, "--db", str(folder / f"{name}.sqlite"), "--out",
               str(folder / name), "--nproc", given.nproc, "--threads", given.threads, "--batch",
               given.batch, "--binding", "none", "--workers", "0", "--model", given.model,
               "--width", str(WIDTH[given.model])]
    environment = dict(os.environ)
    if python:
        command += ["--engine", "paddle"]
        environment["VIRTUAL_ENV"] = str(pathlib.Path(python).parent.parent)
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    summary = folder / name / "summary.csv"
    if not summary.exists():
        print(ran.stdout, f"{name}: exit code {ran.returncode}, no table")
        sys.exit(1)
    with summary.open(encoding="utf-8") as table:
        return {tuple(int(row[k]) for k in KNOBS): float(row["samples_per_second"])
                for row in csv.DictReader(table) if row["outcome"] == "ok"}


def ranks(values):
    """Of each value, the mean where values are equal."""
    return [sum(1 for other in values if other < value) +
            (sum(1 for other in values if other == value) + 1) / 2 for value in values]


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    mean = (len(a) + 1) / 2
    over = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    under = (sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)) ** 0.5
    return over / under if under else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--trial-time", default="4s")
    parser.add_argument("--model", default="crnn-mv3", choices=sorted(WIDTH))
    parser.add_argument("--nproc", default="1,2")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--batch", default="4,8,16,32")
    parser.add_argument("--ocrtune", default=str(ROOT / "build" / "ocrtune"))
    parser.add_argument("--folder", default=str(ROOT / "build" / "clients"), help="of the client")
    given = parser.parse_args()
    python = install("paddle", given.folder)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="transfer"))
    try:
        core = sweep(given, folder, "core")
        client = sweep(given, folder, "paddle", python)
    finally:
        shutil.rmtree(folder)
    both = sorted(set(core) & set(client))
    if len(both) < 3:
        print(f"only {len(both)} settings ran in both: give a longer --budget")
        sys.exit(1)
    print("| nproc | threads | batch | core, samples/s | Paddle, samples/s |\n|--|--|--|--|--|")
    for setting in both:
        print(f"| {' | '.join(map(str, setting))} | {core[setting]:.1f} | {client[setting]:.1f} |")
    chosen = max(both, key=core.get)
    best = max(both, key=client.get)
    loss = 1 - client[chosen] / client[best]
    print(f"\nSpearman {spearman([core[s] for s in both], [client[s] for s in both]):.2f} over "
          f"{len(both)} settings; the core's best {dict(zip(KNOBS, chosen))} costs the Paddle job "
          f"{100 * loss:.1f} % of its best {dict(zip(KNOBS, best))}")


if __name__ == "__main__":
    main()
