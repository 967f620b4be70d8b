#!/usr/bin/env python3
"""Runs Optuna's TPE and GP samplers on recorded tables, under the rules of `ocrtune replay`.

  search_bench --kinds formula,queue --machines 10 --write-tables DIR
  compare_optuna.py --sampler tpe,gp --trials 15,25,40,60 --seeds 2 DIR/*.csv

Needs optuna (and torch for GP) from PyPI. A trial returns the recorded rate times
exp(normal(0, noise_sigma)); a setting that fails costs a trial and returns nothing; a combination
that is not in the table costs none. TPE is told that it failed; GP, which learns nothing from that
and would propose it for ever, gets it as a rate of 0. The setting with the best single
measurement is chosen, as Optuna's `best_trial` does. Prints one Markdown row per sampler and number of trials.
"""
import argparse
import csv
import random
import statistics
import time

import optuna

RESULTS = ("samples_per_second", "peak_bytes", "outcome", "noise_sigma")


def read_table(path):
    with open(path, encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def ordered(values):
    try:
        return sorted(values, key=float), True
    except ValueError:
        return sorted(values), False


def search(rows, sampler_name, trials, seed):
    names = [name for name in rows[0] if name not in RESULTS]
    axes = {name: ordered({row[name] for row in rows}) for name in names}
    by_point = {tuple(row[name] for name in names): row for row in rows}
    best_rate = max(float(r["samples_per_second"]) for r in rows if r["outcome"] == "ok")
    noise = random.Random(seed)
    sampler = (optuna.samplers.TPESampler(seed=seed, multivariate=True) if sampler_name == "tpe"
               else optuna.samplers.GPSampler(seed=seed, deterministic_objective=False))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    chosen, chosen_rate, spent, out_of_memory, trail = None, 0.0, 0, 0, []
    for _ in range(50 * trials):
        if spent == trials:
            break
        trial = study.ask()
        point = []
        for name in names:
            values, is_number = axes[name]
            if is_number and len(values) > 1:
                point.append(values[trial.suggest_int(name, 0, len(values) - 1)])
            else:
                point.append(trial.suggest_categorical(name, values))
        row = by_point.get(tuple(point))
        if row is None:
            if sampler_name == "gp":
                study.tell(trial, 0.0)
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            continue
        spent += 1
        if row["outcome"] != "ok":
            out_of_memory += row["outcome"] == "out_of_memory"
            study.tell(trial, 0.0)
        else:
            true = float(row["samples_per_second"])
            rate = true * 2.718281828 ** noise.gauss(0, float(row["noise_sigma"] or 0))
            study.tell(trial, rate)
            if rate > chosen_rate:
                chosen, chosen_rate = true, rate
        trail.append((1 - chosen / best_rate if chosen else 1.0, out_of_memory))
    return trail + [trail[-1]] * (trials - len(trail)) if trail else [(1.0, 0)] * trials


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--sampler", default="tpe")
    parser.add_argument("--trials", default="15,25,40,60")
    parser.add_argument("--seeds", type=int, default=1)
    flags = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    budgets = [int(text) for text in flags.trials.split(",")]
    print("| sampler | trials | regret med % | p90 % | OOM mean | seconds a search |")
    print("|--|--|--|--|--|--|")
    for sampler in flags.sampler.split(","):
        start = time.time()
        trails = [search(read_table(path), sampler, max(budgets), seed + 1)
                  for path in flags.tables for seed in range(flags.seeds)]
        seconds = (time.time() - start) / len(trails)
        for budget in budgets:
            regrets = sorted(100 * trail[budget - 1][0] for trail in trails)
            p90 = regrets[min(len(regrets) - 1, int(0.9 * len(regrets)))]
            failures = statistics.mean(trail[budget - 1][1] for trail in trails)
            print(f"| optuna {sampler} | {budget} | {statistics.median(regrets):.1f} | {p90:.1f} | "
                  f"{failures:.2f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
