#!/usr/bin/env python3
"""Small programs whose speed does or does not depend on OMP_NUM_THREADS, and what ocrtune says of each.

    inert_pools.py work KIND                     # until it is ended: "step 7, 812.5 samples/s"
    inert_pools.py run OCRTUNE [--kinds A,B] [--budget 90s]   # tune --threads 1,2 of each kind

A kind is POOL-STEP. Pools that follow the variable: follow100, follow80 ... of whose work so many percent
are parallel. Pools that do not: one (one thread), own2 and own4 (so many, whatever is set), nproc (all
CPUs), idle (threads as set, of which one works). STEP is the work of a step: short (about 20 ms) or long
(about 200 ms). `run` prints a line a kind: whether `threads` was called inert, against the truth; a kind
that matters and is called inert is an error (exit code 1), one not found inert in the budget is a miss.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
import time

PARALLEL = {"follow100": 1.0, "follow80": 0.8, "follow60": 0.6, "follow40": 0.4, "follow25": 0.25}
INERT = ["one", "own2", "own4", "nproc", "idle"]
STEPS = {"short": 48, "long": 480}  # blocks of a step
BLOCK = bytes(1 << 18)


def read(blocks):
    for _ in range(blocks):
        hashlib.sha256(BLOCK).digest()


def work(kind):
    pool, step = kind.split("-")
    asked = int(os.environ.get("OMP_NUM_THREADS", "1"))
    size = {"one": 1, "own2": 2, "own4": 4, "nproc": os.cpu_count()}.get(pool, asked)
    share = PARALLEL.get(pool, 0.0 if pool in ("one", "idle") else 1.0)
    parallel = int(STEPS[step] * share)
    team = concurrent.futures.ThreadPoolExecutor(size)
    list(team.map(lambda _: time.sleep(0.01), range(size)))  # all threads are there
    number = 0
    while True:
        began = time.monotonic()
        list(team.map(read, [parallel // size] * size))
        read(STEPS[step] - parallel)
        number += 1
        print(f"step {number}, {STEPS[step] / (time.monotonic() - began):.1f} samples/s", flush=True)


def run(ocrtune, kinds, budget):
    wrong = 0
    for kind in kinds:
        began = time.monotonic()
        out = subprocess.run(
            [ocrtune, "tune", "--json", "--threads", "1,2", "--batch", "1", "--budget", budget,
             "--log-reader", r"regex:(?<samples_per_second>[0-9.]+) samples/s", "--",
             sys.executable, os.path.abspath(__file__), "work", kind],
            capture_output=True, text=True, check=False)
        result = json.loads(out.stdout) if out.stdout else {}
        found = {knob["knob"]: knob["seconds"] for knob in result.get("inert", [])}
        inert, truth = "threads" in found, kind.split("-")[0] in INERT
        verdict = "ok" if inert == truth else "ERROR" if inert else "miss"
        wrong += verdict == "ERROR"
        print(f"{kind:16s} {'inert' if truth else 'matters':8s} said {'inert' if inert else 'matters':8s}"
              f" {result.get('trials', 0):3} trials {found.get('threads', time.monotonic() - began):5.0f} s  {verdict}",
              flush=True)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("work").add_argument("kind")
    judged = commands.add_parser("run")
    judged.add_argument("ocrtune")
    judged.add_argument("--budget", default="90s")
    judged.add_argument("--kinds", default=",".join(f"{pool}-{step}" for pool in [*PARALLEL, *INERT]
                                                    for step in STEPS))
    options = parser.parse_args()
    if options.command == "work":
        work(options.kind)
    sys.exit(run(options.ocrtune, options.kinds.split(","), options.budget))


main()
