#!/usr/bin/env python3
"""This machine's real space, measured once, and searches of it against that truth.

  bench/search/real_space.py OCRTUNE [--quick] [--table FILE] [--trials 25] [--live 10 --budget 3m]

Every setting of a grid runs in each of several interleaved rounds (`ocrtune worker`); medians and
the spread between rounds become a table, which `ocrtune replay` then searches with ten seeds. With
--quick about 8 minutes: 36 settings, 3 rounds of 0.5 s; else 4 hours. --table keeps the table; a
file that is there already is searched without measuring. Regret is against the best median, which
is itself only as sure as its rounds: the printed spread says how sure. --live N also lets `ocrtune
tune` search the same settings for real, N times.
"""
import argparse
import csv
import itertools
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

QUICK = {"nproc": (1, 2, 4), "threads": (1, 2), "batch": (4, 16, 64), "workers": (0, 1)}
WHOLE = {"nproc": (1, 2, 3, 4), "threads": (1, 2, 4), "batch": (2, 4, 8, 16, 32, 64),
         "workers": (0, 1, 2), "binding": ("none", "compact")}


def measure(program, knobs, seconds):
    words = [f"{name}={value}" for name, value in knobs.items()]
    run = subprocess.run([program, "worker", *words, "--json", "--seconds", f"{seconds}s"],
                         capture_output=True, text=True)
    try:
        return json.loads(run.stdout)
    except json.JSONDecodeError:
        sys.exit(f"{' '.join(words)}: {run.stderr.strip() or 'no answer'}")


def memory_limit(program):
    probe = subprocess.run([program, "probe", "--quick", "--json"], capture_output=True, text=True,
                           check=True)
    return json.loads(probe.stdout)["memory_limit_bytes"]["value"]


def measure_all(program, grid, rounds, seconds, path):
    points = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    trials = [[] for _ in points]
    begin = time.monotonic()
    for turn in range(rounds):
        order = list(range(len(points)))
        random.Random(turn).shuffle(order)
        for at in order:
            trials[at].append(measure(program, points[at], seconds))
        print(f"round {turn + 1} of {rounds}: {time.monotonic() - begin:.0f} s", flush=True)
    with open(path, "w", encoding="utf-8") as table:
        cores = len(os.sched_getaffinity(0))
        table.write(f"# cores={cores} memory_bytes={memory_limit(program)}\n")
        table.write(",".join([*grid, "samples_per_second,peak_bytes,outcome,noise_sigma\n"]))
        for point, runs in zip(points, trials):
            good = [run for run in runs if run["outcome"] == "ok"]
            rates = [run["samples_per_second"] for run in good]
            failed = next((run["outcome"] for run in runs if run["outcome"] != "ok"), "ok")
            outcome = "ok" if 2 * len(good) > len(runs) else failed
            rate = statistics.median(rates) if outcome == "ok" else 0
            logs = [math.log(rate) for rate in rates]
            sigma = statistics.stdev(logs) if len(logs) > 1 else 0
            peak = max(run["peak_bytes"] for run in runs)
            table.write(",".join(map(str, [*point.values(), rate, peak, outcome, sigma])) + "\n")
    discarded = sum(run["spoilt_samples"] for runs in trials for run in runs)
    samples = sum(run["samples"] for runs in trials for run in runs)
    print(f"{len(points)} settings, {discarded} of {samples} windows discarded for other load")
    return time.monotonic() - begin


def read_table(path):
    """Median rate of each setting, by its knobs in the table's order; and the knobs' names."""
    with open(path, encoding="utf-8") as lines:
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    names = list(rows[0])[:-4]
    return names, {tuple(row[name] for name in names): float(row["samples_per_second"])
                   for row in rows}


def replay(program, path, trials):
    run = subprocess.run([program, "replay", "--table", path, "--trials", str(trials),
                          "--repeat", "10", "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr.strip())
    searches = json.loads(run.stdout)
    for search in searches:
        print(f"seed {search['seed']}: regret {100 * search['regret']:.1f} %, "
              f"{search['trials_run']} trials, {search['certificate']}: {search['knobs']}")
    regrets = [100 * search["regret"] for search in searches]
    print(f"regret of {len(regrets)} searches: median {statistics.median(regrets):.1f} %, "
          f"worst {max(regrets):.1f} %; trials {max(s['trials_run'] for s in searches)} at most")


def tune_live(program, path, runs, budget):
    names, rates = read_table(path)
    space = []
    for at, name in enumerate(names):
        space += [f"--{name}", ",".join(dict.fromkeys(point[at] for point in rates))]
    regrets = []
    for seed in range(1, runs + 1):
        with tempfile.TemporaryDirectory(prefix="ocrtune-live-") as folder:
            run = subprocess.run([program, "tune", *space, "--budget", budget, "--seed", str(seed),
                                  "--db", f"{folder}/runs.sqlite", "--json"],
                                 capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"tune: {run.stderr.strip()}")
        answer = json.loads(run.stdout)
        knobs = answer["recommendation"]["knobs"]
        regrets.append(100 * (1 - rates[tuple(str(knobs[name]) for name in names)]
                              / max(rates.values())))
        print(f"live {seed}: regret {regrets[-1]:.1f} %, {answer['trials']} trials, "
              f"{answer['seconds']:.0f} s: { {name: knobs[name] for name in names} }", flush=True)
    print(f"regret of {runs} live searches of {budget}: median {statistics.median(regrets):.1f} %, "
          f"worst {max(regrets):.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--table")
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--live", type=int, default=0)
    parser.add_argument("--budget", default="3m")
    flags = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="ocrtune-real-")
    path = flags.table or str(pathlib.Path(folder) / "real_space.csv")
    if not os.path.exists(path):
        seconds = measure_all(flags.program, QUICK if flags.quick else WHOLE,
                              flags.rounds or (3 if flags.quick else 7),
                              flags.seconds or (0.5 if flags.quick else 2), path)
        print(f"exhaustive: {seconds / 60:.1f} minutes; the table is {path}")
    replay(flags.program, path, flags.trials)
    if flags.live > 0:
        tune_live(flags.program, path, flags.live, flags.budget)


if __name__ == "__main__":
    main()
