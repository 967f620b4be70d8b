#!/usr/bin/env python3
"""Measures settings of any command by hand: the truth that `ocrtune tune` is held against.

    bench/clients/command_sweep.py --rate 'REGEX' [--times nproc] [--env NAME={threads}]
        [--rounds 3] [--seconds 6] NAME=VALUE,VALUE ... -- COMMAND with {NAME}

ocrtune takes no part. All combinations of the values are visited in rounds, there and back. A visit
leaves out the lines of the first 1.5 seconds after the first one; group 1 of REGEX is a rate for as much
work as any other line's, so the visit's rate is the harmonic mean over its lines, times the
value named by --times where a line speaks of one process. Where REGEX has no group a line is one step:
the rate is lines a second, times the value named by --times.
"""

import argparse
import itertools
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

WARM_UP_SECONDS = 1.5


def visit(command, environment, pattern, seconds):
    with tempfile.TemporaryDirectory() as folder:
        command = [word.replace("{trial_dir}", folder) for word in command]
        job = subprocess.Popen(command, env={**os.environ, **environment}, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                               start_new_session=True)
        first, rates, times = None, [], []
        try:
            for line in job.stdout:
                found = pattern.search(line)
                if not found:
                    continue
                now = time.monotonic()
                first = first or now
                if now - first >= WARM_UP_SECONDS:
                    times.append(now)
                    if pattern.groups:
                        rates.append(float(found[1]))
                if now - first >= WARM_UP_SECONDS + seconds:
                    break
        finally:
            os.killpg(job.pid, signal.SIGTERM)
            try:
                job.wait(10)
            except subprocess.TimeoutExpired:
                pass
            try:
                os.killpg(job.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            job.wait()
    if rates:
        return statistics.harmonic_mean(rates)
    return (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else None


def main():
    if "--" not in sys.argv:
        sys.exit(__doc__)
    at = sys.argv.index("--")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", required=True, type=re.compile)
    parser.add_argument("--times")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("axes", nargs="+", metavar="NAME=VALUE,...")
    given = parser.parse_args(sys.argv[1:at])
    names, values = zip(*[(axis.split("=")[0], axis.split("=")[1].split(",")) for axis in given.axes])
    settings = list(itertools.product(*values))
    found = {setting: [] for setting in settings}
    for turn in range(given.rounds):
        for setting in settings if turn % 2 == 0 else reversed(settings):
            chosen = dict(zip(names, setting))

            def fill(word):
                for name, value in chosen.items():
                    word = word.replace("{" + name + "}", value)
                return word

            rate = visit([fill(word) for word in sys.argv[at + 1:]],
                         dict(fill(pair).split("=", 1) for pair in given.env), given.rate,
                         given.seconds)
            if rate:
                found[setting].append(rate * float(chosen.get(given.times, 1)))
    print(",".join(names), "| rate of each visit | median")
    for setting, rates in sorted(found.items(), key=lambda x: -statistics.median(x[1] or [0])):
        print(f"{','.join(setting)} | {' '.join(f'{rate:.4g}' for rate in rates)} | "
              f"{statistics.median(rates or [0]):.4g}", flush=True)


if __name__ == "__main__":
    main()
