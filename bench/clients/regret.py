#!/usr/bin/env python3
"""Does an answer of `ocrtune tune` hold? Tunes the Paddle client, then measures its claim by hand.

    bench/clients/regret.py [--budget 3m] [--runs 4] [--load] [--best 2,1,32,0] [--rounds 2]
                            [--favour] [--keep DIR] [--python PYTHON] [--ocrtune build/ocrtune]

Each run tunes the client as its user would; with --load beside a neighbour that takes 0 to 1.5 CPUs, on
and off. Then, without that neighbour and without ocrtune, baseline, answer and --best (the best setting
of bench/clients/hand_sweep.py) are visited by hand in rounds. One row for each run: the stated gain with its
interval, the gain by hand, whether the interval holds it, and what the answer loses to --best. --keep
keeps each run's report, answer.json in it: every trial can be read there.
"""

import argparse
import contextlib
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from hand_sweep import CLIENTS, ROOT, visit


@contextlib.contextmanager
def neighbour(on, seed):
    """Busy loops for 2 to 8 s, then rest as long: one of them always, a second one half of the time."""
    stop = threading.Event()

    def turn():
        draw = random.Random(seed)
        while not stop.is_set():
            loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                     for _ in range(draw.choice([1, 1, 2]))]
            stop.wait(draw.uniform(2, 8))
            for loop in loops:
                loop.kill()
                loop.wait()
            stop.wait(draw.uniform(2, 8))

    thread = threading.Thread(target=turn)
    if on:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if on:
            thread.join()


def tune(given, python, folder, report):
    shutil.copy(CLIENTS / "crnn.yml", folder)
    (folder / "labels.txt").write_text("".join(f"img_{i}.png\tabc\n" for i in range(4000)))
    command = [given.ocrtune, "tune", "--budget", given.budget, "--json", "--batch", "2,4,8,16,32,64", "--preset", "paddleocr",
               "--db", str(folder / "runs.sqlite"), "--cwd", str(folder), "--", python, "-m",
               "paddle.distributed.launch", "--nproc_per_node={nproc}",
               "--log_dir={trial_dir}/log", str(CLIENTS / "paddle_train.py"), "-c", "crnn.yml", "-o",
               "Global.use_gpu=False"]
    if report:
        report.mkdir(parents=True, exist_ok=True)
        command[2:2] = ["--out", str(report)]
    begin = time.monotonic()
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode not in (0, 1):
        sys.exit(f"tune ended with {ran.returncode}")
    if report:
        (report / "answer.json").write_text(ran.stdout)
    return json.loads(ran.stdout), time.monotonic() - begin


def setting_of(knobs):
    return tuple(int(knobs.get(name, default)) for name, default in
                 (("nproc", 1), ("threads", 0), ("batch", 8), ("workers", 0)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", default="3m")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--best", help="nproc,threads,batch,workers by bench/clients/hand_sweep.py")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--favour", action="store_true",
                        help="by hand, most of the CPUs (bench/clients/hand_sweep.py)")
    parser.add_argument("--keep", help="folder for the reports of all runs")
    parser.add_argument("--python", required=True, help="with paddle and yaml")
    parser.add_argument("--ocrtune", default=str(ROOT / "build" / "ocrtune"))
    given = parser.parse_args()
    held, regrets = 0, []
    print("load | s | trials | answer | verdict | stated gain | gain by hand | holds | regret")
    for run in range(given.runs):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            report = pathlib.Path(given.keep).resolve() / f"run{run}" if given.keep else None
            with neighbour(given.load, run):
                answer, seconds = tune(given, given.python, folder, report)
            recommended = answer.get("recommendation") or {}
            base = setting_of(answer["baseline"]["knobs"])
            best = setting_of(recommended["knobs"]) if recommended.get("knobs") else base
            wanted = [base, best]
            if given.best:
                wanted.append(tuple(int(x) for x in given.best.split(",")))
            rates = {setting: [] for setting in wanted}
            for turn in range(given.rounds):
                order = list(rates) if turn % 2 == 0 else list(rates)[::-1]
                for setting in order:
                    seen = visit(given.python, folder, setting, given.seconds, given.favour)
                    rates[setting].append(seen["rate"] if seen else 0)
        middle = {setting: statistics.median(seen) for setting, seen in rates.items()}
        stated = answer.get("gain") or {"median": 1, "low": 1, "high": 1}
        truth = middle[best] / middle[base]
        verdict = answer.get("verdict") or ""
        holds = "INCONCLUSIVE" in verdict.upper() or stated["low"] <= truth <= stated["high"]
        held += holds
        regret = 1 - middle[best] / max(middle.values())
        regrets.append(regret)
        print("yes" if given.load else "no", f"{seconds:.0f}", answer["trials"],
              ",".join(map(str, best)), verdict or "-",
              f"{stated['median']:.2f} ({stated['low']:.2f}..{stated['high']:.2f})",
              f"{truth:.2f}", "yes" if holds else "NO", f"{100 * regret:.1f} %", sep=" | ",
              flush=True)
        for setting, seen in rates.items():
            print("  by hand", ",".join(map(str, setting)), *[f"{rate:.1f}" for rate in seen], flush=True)
    print(f"interval held in {held} of {given.runs}; regret {100 * statistics.median(regrets):.1f} % "
          f"in the median, {100 * max(regrets):.1f} % at worst")


if __name__ == "__main__":
    main()
