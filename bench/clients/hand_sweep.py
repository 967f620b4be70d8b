#!/usr/bin/env python3
"""Measures settings of the Paddle client by hand: the truth that `ocrtune tune` is held against.

    bench/clients/hand_sweep.py [--python PYTHON] [--rounds 2] [--seconds 12] [--out sweep.csv]
                                [--favour] [SETTING ...]   # nproc,threads,batch,workers such as 2,1,32,0

ocrtune takes no part. The settings (all of a small grid unless named) are visited in rounds, there
and back. A visit starts the launcher, leaves out all lines of the first two seconds after the first
one, and prints images/s of the whole job, CPU seconds an image and seconds until the first line. threads
0 leaves OMP_NUM_THREADS alone. The busy CPUs of everybody else stand beside each visit. --favour gives
the visit's sessions most of the CPUs where others compute too: Linux shares CPUs out among sessions
(sched_autogroup), so that the niceness of the others does not count. Needs root.
"""

import argparse
import csv
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "tests" / "clients"
LINE = re.compile(r"ips: ([0-9.]+) samples/s")
WARM_UP_SECONDS = 2.0


def grid():
    cpus = len(os.sched_getaffinity(0))
    return [(n, t, b, 0) for n in sorted({1, cpus}) for t in (1, 2) for b in (8, 16, 32)]


def machine_busy():
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def members(mark):
    """The processes of a visit: launchers put each rank into a session of its own, so by environment."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes():
                found.append(entry)
        except OSError:
            pass
    return found


def cpu_of(mark):
    """CPU seconds of these processes and of the children that they have waited for."""
    total = 0
    for entry in members(mark):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(int(x) for x in fields[11:15])
    return total / os.sysconf("SC_CLK_TCK")


def end_all(mark):
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for entry in members(mark):
            try:
                os.kill(int(entry.name), sign)
            except ProcessLookupError:
                pass
        time.sleep(0.5)


def favour_sessions(mark):
    for entry in members(mark):
        try:
            (entry / "autogroup").write_text("-15")
        except OSError:
            pass


def visit(python, folder, setting, seconds, favour=False):
    nproc, threads, batch, workers = setting
    logs = folder / "log"
    shutil.rmtree(logs, ignore_errors=True)
    mark = f"HAND_SWEEP_VISIT={os.getpid()}-{time.monotonic_ns()}"
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    environment.update([mark.split("=")])
    mark = mark.encode()
    if threads:
        environment["OMP_NUM_THREADS"] = str(threads)
    command = [python, "-u", "-m", "paddle.distributed.launch", f"--nproc_per_node={nproc}",
               f"--log_dir={logs}", str(CLIENTS / "paddle_train.py"), "-c", "crnn.yml", "-o",
               "Global.use_gpu=False", "Global.epoch_num=1000", "Global.print_batch_step=2",
               f"Train.loader.batch_size_per_card={batch}", f"Train.loader.num_workers={workers}"]
    begin = time.monotonic()
    job = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, start_new_session=True)
    first = None
    lines_before, cpu_before, busy_before, since = 0, 0, 0, 0.0
    rates = []
    try:
        while True:
            time.sleep(0.25)
            now = time.monotonic()
            if favour and not since:
                favour_sessions(mark)
            text = ""
            log = logs / "workerlog.0"
            if log.exists():
                text = log.read_text(errors="replace")
            seen = LINE.findall(text)
            if first is None:
                if seen:
                    first = now
                elif job.poll() is not None or now - begin > 120:
                    return None
                continue
            if not since:
                if now - first >= WARM_UP_SECONDS:
                    since, lines_before = now, len(seen)
                    cpu_before, busy_before = cpu_of(mark), machine_busy()
                continue
            if now - since >= seconds:
                # An average over two steps each; the epoch's last line may cover less.
                rates = [float(x) for x in seen[lines_before:]]
                cpu = cpu_of(mark) - cpu_before
                others = (machine_busy() - busy_before - cpu) / (now - since)
                break
    finally:
        end_all(mark)
        job.wait()
    if not rates:
        return None
    # All samples over all the time: a median over lines is 1 % too high where some steps are slow.
    rate = statistics.harmonic_mean(rates) * nproc
    return {"rate": rate, "cpu_seconds_each": cpu / (rate * seconds), "others": others,
            "start_seconds": first - begin}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("settings", nargs="*", metavar="SETTING")
    parser.add_argument("--python", help="with paddle and yaml; default: tests/clients/install")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--favour", action="store_true", help="most of the CPUs for each visit")
    parser.add_argument("--out", help="CSV of all visits")
    given = parser.parse_args()
    python = given.python
    if not python:
        made = subprocess.run([CLIENTS / "install", "paddle", ROOT / "build" / "clients"],
                              stdout=subprocess.PIPE, text=True, check=True)
        python = made.stdout.strip().splitlines()[-1]
    settings = [tuple(int(x) for x in s.split(",")) for s in given.settings] or grid()
    found = {setting: [] for setting in settings}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(CLIENTS / "crnn.yml", folder)
        (folder / "labels.txt").write_text("".join(f"img_{i}.png\tabc\n" for i in range(4000)))
        for turn in range(given.rounds):
            for setting in settings if turn % 2 == 0 else reversed(settings):
                seen = visit(python, folder, setting, given.seconds, given.favour)
                if seen:
                    found[setting].append(seen)
    print("nproc,threads,batch,workers | images/s | CPU s an image | others' CPUs | start s")
    rows = []
    for setting, visits in sorted(found.items(),
                                  key=lambda x: -max([v["rate"] for v in x[1]], default=0)):
        if not visits:
            print(",".join(map(str, setting)), "| failed")
            continue
        name = ",".join(map(str, setting))
        print(name, "|", " ".join(f"{v['rate']:.1f}" for v in visits), "|",
              " ".join(f"{v['cpu_seconds_each']:.4f}" for v in visits), "|",
              " ".join(f"{v['others']:.2f}" for v in visits), "|",
              " ".join(f"{v['start_seconds']:.0f}" for v in visits))
        rows += [[*setting, v["rate"], v["cpu_seconds_each"], v["others"], v["start_seconds"]]
                 for v in visits]
    if given.out:
        with open(given.out, "w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerow(["nproc", "threads", "batch", "workers", "images_per_second",
                             "cpu_seconds_per_image", "other_cpus", "start_seconds"])
            writer.writerows(rows)
    sys.exit(0 if rows else 1)


if __name__ == "__main__":
    main()
