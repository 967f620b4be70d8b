#!/usr/bin/python3
"""Recognises rendered lines with `ocrtune infer`: all workers together against each alone, and with kills.

  bench/capacity/infer_throughput.py [--lines 20000] [--rounds 3] [--ocrtune build/ocrtune]

Together / alone is the rate of n workers over the sum of n rates of one worker bound to one CPU; the
rounds are interleaved. What the CPUs lose to each other without ocrtune in between (caches, memory,
clock, other load) is shown by n unconnected runs at once, and what its own parts cost by the CPU time
of a line: of all processes together over one worker alone. Then ten workers are killed with SIGKILL at random times of one run, and every
line must be answered once and as without kills.
"""
import argparse
import csv
import json
import os
import random
import resource
import signal
import statistics
import subprocess
import tempfile
import threading
import time


def start(program, lines, output, extra, cpus=None):
    command = [program, "infer", lines, "--json", "--output", output, "--alphabet", "digits", *extra]
    if cpus is not None:
        command = ["taskset", "-c", str(cpus)] + command
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def finish(process):
    text, _ = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"ocrtune infer ended with exit code {process.returncode}")
    return json.loads(text)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def infer(*arguments):
    """The JSON of one run, and the CPU seconds that its processes used, start included."""
    before = cpu_seconds()
    result = finish(start(*arguments))
    return result["lines_per_second"], cpu_seconds() - before


def infer_apart(program, lines, output, extra, cpus):
    """One run of one worker on each CPU, at the same time and knowing nothing of each other."""
    runs = [start(program, lines, f"{output}.{cpu}", extra, cpu) for cpu in cpus]
    return sum(finish(run)["lines_per_second"] for run in runs)


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


def told(ratios):
    return f"{statistics.median(ratios):.3f} ({min(ratios):.3f}..{max(ratios):.3f})"


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
            one, all_of_them = extra + ["--nproc", "1"], extra + ["--nproc", str(len(cpus))]
            ratios, rates, apart, costs = [], [], [], []
            for _ in range(flags.rounds):
                alone = [infer(flags.ocrtune, lines, output, one, cpu) for cpu in cpus]
                total = sum(rate for rate, _ in alone)
                unconnected = infer_apart(flags.ocrtune, lines, output, one, cpus)
                rate, seconds = infer(flags.ocrtune, lines, output, all_of_them)
                rates.append(rate)
                ratios.append(rate / total)
                apart.append(rate / unconnected)
                costs.append(seconds / statistics.mean(used for _, used in alone))
            print(f"{queue}: {len(cpus)} workers {statistics.median(rates):.0f} lines/s, "
                  f"{told(ratios)} of the sum alone, {told(apart)} of unconnected runs at once; "
                  f"CPU time of a line {told(costs)} of one worker's alone", flush=True)
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
