#!/usr/bin/python3
"""Reads drawn lines with `ocrtune infer`: all workers together against each alone, and with kills.

  bench/capacity/infer_throughput.py [--lines 20000] [--rounds 3] [--ocrtune build/ocrtune]

Together / alone is the rate of n workers over the sum of n rates of one worker bound to one CPU; the
rounds are interleaved. Then ten workers are killed with SIGKILL at random times of one run, and every
line must be answered once and as without kills.
"""
import argparse
import csv
import json
import os
import random
import signal
import statistics
import subprocess
import tempfile
import threading
import time


def infer(program, lines, output, extra, cpus=None):
    command = [program, "infer", lines, "--json", "--output", output, "--alphabet", "digits", *extra]
    if cpus is not None:
        command = ["taskset", "-c", str(cpus)] + command
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def killed_run(program, lines, output, extra, kills, seconds):
    """One run whose workers are killed at random; gives its JSON and the kills that were sent."""
    command = [program, "infer", lines, "--json", "--output", output, "--alphabet", "digits", *extra]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    sent = []

    def kill():
        for _ in range(kills):
            time.sleep(random.uniform(0.3, 1.0) * seconds / kills)
            workers = []
            try:
                workers = children(process.pid)
            except OSError:
                return
            if workers:
                victim = random.choice(workers)
                try:
                    os.kill(victim, signal.SIGKILL)
                    sent.append(victim)
                except ProcessLookupError:
                    pass

    thread = threading.Thread(target=kill)
    thread.start()
    text, _ = process.communicate()
    thread.join()
    return process.returncode, json.loads(text), sent


def answers(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [(row["name"], row["text"], row["error"]) for row in
                csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--ocrtune", default="build/ocrtune")
    flags = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        lines = os.path.join(folder, "lines")
        subprocess.run([flags.ocrtune, "make-data", lines, "--count", str(flags.lines), "--alphabet",
                        "digits"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        output = os.path.join(folder, "out.tsv")
        for queue in ("shared", "static"):
            extra = ["--threads", "1", "--queue", queue]
            ratios, rates = [], []
            for _ in range(flags.rounds):
                alone = sum(infer(flags.ocrtune, lines, output, extra + ["--nproc", "1"], cpu)
                            ["lines_per_second"] for cpu in cpus)
                together = infer(flags.ocrtune, lines, output, extra + ["--nproc", str(len(cpus))])
                rates.append(together["lines_per_second"])
                ratios.append(together["lines_per_second"] / alone)
            print(f"{queue}: {len(cpus)} workers {statistics.median(rates):.0f} lines/s, "
                  f"{statistics.median(ratios):.3f} of the sum alone "
                  f"({min(ratios):.3f}..{max(ratios):.3f})", flush=True)
        expected = answers(output)
        extra = ["--threads", "1", "--nproc", str(len(cpus))]
        seconds = flags.lines / statistics.median(rates)
        code, result, sent = killed_run(flags.ocrtune, lines, output, extra, flags.kills, seconds)
        found = answers(output)
        restarts = sum(worker["restarts"] for worker in result["workers"])
        same = found == expected
        print(f"{len(sent)} workers killed, {restarts} restarts, exit code {code}: {len(found)} answers "
              f"for {flags.lines} lines, {'each as without kills' if same else 'NOT as without kills'}")
        return 0 if same and code == 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
