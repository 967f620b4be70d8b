#!/usr/bin/env python3
"""Runs optimizers from PyPI on recorded tables, under the rules of `ocrtune replay`.

  search_bench --kinds mechanism,formula --machines 10 --write-tables DIR
  compare_optimizers.py --optimizer optuna-tpe,smac,nevergrad-ngopt --trials 15,25,40,60 DIR/*.csv

Needs optuna (and torch for its GP), smac, nevergrad or openbox, whichever is named. A trial
returns the recorded rate times exp(normal(0, noise_sigma)); a setting that fails costs a trial and
is told as a rate of 0; a combination that is not in the table costs none and is told likewise, for
otherwise most optimizers propose it until their asks run out; TPE alone is told that it failed.
SMAC, nevergrad and OpenBox model the logarithm of a sample's time: a rate of 0 is to them one of a
hundredth of the first.
The setting with the best single measurement is chosen, as Optuna's `best_trial` does. Prints one
Markdown row per optimizer and number of trials.
"""
import argparse
import csv
import math
import random
import statistics
import tempfile
import time

RESULTS = ("samples_per_second", "peak_bytes", "outcome", "noise_sigma", "cause")
MAX_ASKS = 50  # for each trial of the budget


def read_table(path):
    with open(path, encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def ordered(values):
    """The values of one knob in order, and whether they are numbers."""
    try:
        return sorted(values, key=float), len(values) > 1
    except ValueError:
        return sorted(values), False


# Each optimizer: ask() returns a value's index for every axis, tell() takes the rate that the
# setting had; 0: it failed. `missing`: it is not in the table.
class Optuna:
    def __init__(self, axes, trials, seed, sampler):
        import optuna
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.failed = optuna.trial.TrialState.FAIL if sampler == "tpe" else None
        samplers = optuna.samplers
        self.study = optuna.create_study(
            direction="maximize",
            sampler=samplers.TPESampler(seed=seed, multivariate=True) if sampler == "tpe"
            else samplers.GPSampler(seed=seed, deterministic_objective=False))
        self.axes = axes

    def ask(self):
        self.trial = self.study.ask()
        return [self.trial.suggest_int(name, 0, len(values) - 1) if is_number
                else self.trial.suggest_categorical(name, range(len(values)))
                for name, (values, is_number) in self.axes.items()]

    def tell(self, rate, missing):
        if missing and self.failed:
            self.study.tell(self.trial, state=self.failed)
        else:
            self.study.tell(self.trial, rate)


class Smac:
    def __init__(self, axes, trials, seed):
        import ConfigSpace
        import smac
        from smac.runhistory.dataclasses import TrialValue
        space = ConfigSpace.ConfigurationSpace(seed=seed)
        for name, (values, is_number) in axes.items():
            space.add(ConfigSpace.Integer(name, (0, len(values) - 1)) if is_number
                      else ConfigSpace.Categorical(name, list(range(len(values)))))
        self.folder = tempfile.TemporaryDirectory()
        scenario = smac.Scenario(space, n_trials=MAX_ASKS * trials, seed=seed,
                                 output_directory=self.folder.name)
        facade = smac.HyperparameterOptimizationFacade
        design = facade.get_initial_design(scenario, n_configs=max(4, trials // 4))
        maximizer = facade.get_acquisition_maximizer(scenario, challengers=1000)
        self.smac = facade(scenario, lambda config, seed: 0, initial_design=design,
                           acquisition_maximizer=maximizer, logging_level=False, overwrite=True)
        self.value, self.names, self.first = TrialValue, list(axes), 0

    def ask(self):
        self.asked = self.smac.ask()
        return [self.asked.config[name] for name in self.names]

    def tell(self, rate, missing):
        self.first = self.first or rate
        self.smac.tell(self.asked, self.value(cost=1 / (rate or 0.01 * (self.first or 1))),
                       save=False)


class Nevergrad:
    """Numbers are ordered: scalars, rounded to the index of a value."""
    def __init__(self, axes, trials, seed, name):
        import nevergrad
        param = nevergrad.p
        space = param.Dict(**{
            axis: param.Scalar(lower=0, upper=len(values) - 1).set_integer_casting() if is_number
            else param.Choice(len(values)) if len(values) > 1 else param.Constant(0)
            for axis, (values, is_number) in axes.items()})
        space.random_state.seed(seed)
        # It plans by its budget; what is not in the table is asked beyond it.
        self.optimizer = nevergrad.optimizers.registry[name](space, budget=trials)
        self.names, self.first = list(axes), 0

    def ask(self):
        self.asked = self.optimizer.ask()
        return [self.asked.value[name] for name in self.names]

    def tell(self, rate, missing):
        self.first = self.first or rate
        self.optimizer.tell(self.asked, -math.log(rate or 0.01 * (self.first or 1)))


class OpenBox:
    def __init__(self, axes, trials, seed):
        import openbox
        from openbox import space as sp
        space = sp.Space()
        space.add_variables([
            sp.Int(name, 0, len(values) - 1) if is_number
            else sp.Categorical(name, [str(i) for i in range(len(values))])
            for name, (values, is_number) in axes.items() if len(values) > 1])
        self.box = openbox
        self.folder = tempfile.TemporaryDirectory()
        self.advisor = openbox.Advisor(space, num_objectives=1, random_state=seed,
                                       initial_trials=max(4, trials // 6), output_dir=self.folder.name,
                                       logger_kwargs={"stream": False})
        self.names, self.first = list(axes), 0

    def ask(self):
        self.asked = self.advisor.get_suggestion()
        given = self.asked.get_dictionary()
        return [given.get(name, 0) for name in self.names]

    def tell(self, rate, missing):
        self.first = self.first or rate
        loss = -math.log(rate or 0.01 * (self.first or 1))
        self.advisor.update_observation(self.box.Observation(config=self.asked, objectives=[loss]))


OPTIMIZERS = {
    "openbox": OpenBox,
    "nevergrad-ngopt": lambda *given: Nevergrad(*given, "NGOpt"),
    "nevergrad-oneplusone": lambda *given: Nevergrad(*given, "DiscreteOnePlusOne"),
    "optuna-tpe": lambda *given: Optuna(*given, "tpe"),
    "optuna-gp": lambda *given: Optuna(*given, "gp"),
    "smac": Smac,
}


def search(rows, optimizer, trials, seed):
    """Regret and out-of-memory trials after each trial."""
    names = [name for name in rows[0] if name not in RESULTS]
    axes = {name: ordered({row[name] for row in rows}) for name in names}
    by_point = {tuple(row[name] for name in names): row for row in rows}
    best_rate = max(float(r["samples_per_second"]) for r in rows if r["outcome"] == "ok")
    noise = random.Random(seed)
    asked = OPTIMIZERS[optimizer](axes, trials, seed)
    chosen, chosen_rate, out_of_memory, trail = None, 0.0, 0, []
    for _ in range(MAX_ASKS * trials):
        if len(trail) == trials:
            break
        point = tuple(axes[name][0][int(at)] for name, at in zip(names, asked.ask()))
        row = by_point.get(point)
        if row is None:
            asked.tell(0.0, True)
            continue
        rate = 0.0
        if row["outcome"] == "ok":
            true = float(row["samples_per_second"])
            rate = true * 2.718281828 ** noise.gauss(0, float(row["noise_sigma"] or 0))
        out_of_memory += row["outcome"] == "out_of_memory"
        asked.tell(rate, False)
        if rate > chosen_rate:
            chosen, chosen_rate = true, rate
        trail.append((1 - chosen / best_rate if chosen else 1.0, out_of_memory))
    return trail + [trail[-1]] * (trials - len(trail)) if trail else [(1.0, 0)] * trials


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--optimizer", default="optuna-tpe", help=",".join(OPTIMIZERS))
    parser.add_argument("--trials", default="15,25,40,60")
    parser.add_argument("--seeds", type=int, default=1)
    flags = parser.parse_args()
    budgets = [int(text) for text in flags.trials.split(",")]
    tables = [table for table in map(read_table, flags.tables)
              if any(row["outcome"] == "ok" for row in table)]
    print("| optimizer | trials | searches | regret mean % | median % | p90 % | over 10 % | "
          "OOM mean | seconds a search |")
    print("|--|--|--|--|--|--|--|--|--|")
    for optimizer in flags.optimizer.split(","):
        start = time.time()
        trails = [search(table, optimizer, max(budgets), seed + 1)
                  for table in tables for seed in range(flags.seeds)]
        seconds = (time.time() - start) / len(trails)
        for budget in budgets:
            regrets = sorted(100 * trail[budget - 1][0] for trail in trails)
            p90 = regrets[min(len(regrets) - 1, int(0.9 * len(regrets)))]
            over = 100 * sum(regret > 10 for regret in regrets) / len(regrets)
            failures = statistics.mean(trail[budget - 1][1] for trail in trails)
            print(f"| {optimizer} | {budget} | {len(regrets)} | {statistics.mean(regrets):.1f} | "
                  f"{statistics.median(regrets):.1f} | {p90:.1f} | {over:.0f} % | "
                  f"{failures:.2f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
