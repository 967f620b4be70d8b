#!/usr/bin/env python3
"""What a trial costs beyond its worker, and what watching costs the worker: medians, interleaved.

  bench/clients/harness_cost.py OCRTUNE [ROUNDS]

Each round runs one worker alone (events to nobody who watches) and the same worker as a trial.
Fixed cost = (trial's wall time - measured seconds) - (worker's wall time - its measured seconds).
"""

import json
import statistics
import subprocess
import sys
import time

KNOBS = {"nproc": 1, "threads": 1, "batch": 8}
SECONDS = 2.0


def alone(program):
    spec = {"threads": KNOBS["threads"], "batch": KNOBS["batch"], "run_seconds": SECONDS}
    begin = time.monotonic()
    run = subprocess.run([program, "worker", "--spec", json.dumps(spec)], check=True,
                         capture_output=True, text=True)
    wall = time.monotonic() - begin
    steps = [event for event in map(json.loads, run.stdout.splitlines())
             if event["event"] == "step"]
    seconds = sum(step["seconds"] for step in steps)
    return wall - seconds, sum(step["samples"] for step in steps) / seconds


def as_trial(program):
    knobs = [f"{name}={value}" for name, value in KNOBS.items()]
    run = subprocess.run([program, "worker", *knobs, "--json", "--seconds", f"{SECONDS}s"],
                         check=True, capture_output=True, text=True)
    trial = json.loads(run.stdout)
    return trial["seconds"] - trial["measured_seconds"], trial["samples_per_second"]


def main():
    program = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    pairs = [(alone(program), as_trial(program)) for _ in range(rounds)]
    fixed = [watched[0] - bare[0] for bare, watched in pairs]
    loss = [1 - watched[1] / bare[1] for bare, watched in pairs]
    print(f"fixed cost of a trial: {1000 * statistics.median(fixed):.0f} ms "
          f"({1000 * min(fixed):.0f}..{1000 * max(fixed):.0f}), {rounds} rounds")
    print(f"cost of watching: {100 * statistics.median(loss):.2f} % of the throughput "
          f"({100 * min(loss):.2f}..{100 * max(loss):.2f})")


if __name__ == "__main__":
    main()
