#!/usr/bin/env python3
"""Does the line that `ocrtune tune` prints do what it says? Tunes a client, then launches its line by hand.

    bench/clients/paste.py [--budget 3m] [--rounds 3] [--seconds 120] [--python PYTHON] [--paddle PYTHON]
                           [--ocrtune build/ocrtune] [--keep FOLDER] CLIENT...

A client is tuned as its user would tune it. Then, without ocrtune, the recommended line is launched --rounds times for
--seconds, in turns with the user's own start for a third of them. Samples are counted apart from the lines that ocrtune
read: by a file that the job writes (jobs.py), by its counter, or by its whole runs. The first 3 s of a job's steps do not count, of
`warm`, which is slow for its first 20, 25 s; whole runs count with their start. A row each: the answer, the rate with its interval, the pasted rates and how many of them the
interval holds, the gain with its interval and by hand.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parents[1]
TESTS = ROOT / "tests" / "clients"
WARM_UP_SECONDS = {"warm": 25.0}
WARM_UP = 3.0  # of the others


def paddle(given, folder):
    shutil.copy(TESTS / "crnn.yml", folder)
    (folder / "labels.txt").write_text("".join(f"img_{i}.png\tabc\n" for i in range(600)))
    return ["--preset", "paddleocr", "--nproc", "1,2", "--batch", "8,16,32", "--", given.paddle, "-m",
            "paddle.distributed.launch", "--nproc_per_node={nproc}", "--log_dir={trial_dir}/log",
            str(TESTS / "paddle_train.py"), "-c", "crnn.yml", "-o", "Global.use_gpu=False"]


def torchrun(given, _folder):
    return ["--nproc", "1,2", "--batch", "8,16,32", "--", given.python, "-m", "torch.distributed.run",
            "--nproc_per_node={nproc}", "--master_port={port}", str(TESTS / "torch_train.py"), "--batch={batch}"]


def job(name, *knobs):
    """Each knob is NAME=VALUE,VALUE: a flag of tune's, or a dimension of the job's own, and a flag of the job's."""
    def arguments(given, _folder):
        flags, words = [], []
        for knob in knobs:
            named, values = knob.split("=")
            flags += ["--dim", knob] if named == "copies" else [f"--{named}", values]
            words += [f"--{named}", f"{{{named}}}"]
        return [*flags, "--", given.python, str(BENCH / "jobs.py"), name, *words]
    return arguments


def pages(name, *flags):
    def arguments(given, folder):
        subprocess.run([given.python, BENCH / "ocr_pages.py", "make", folder / "pages"], check=True,
                       stdout=subprocess.DEVNULL)
        return [*flags, "--", given.python, str(BENCH / "ocr_pages.py"), "work", name, "pages",
                "--procs", "{nproc}", "--threads", "{threads}"]
    return arguments


def scan(given, folder):
    subprocess.run([given.python, BENCH / "ocr_pages.py", "make", folder / "pages", "--pages", "4"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([given.python, "-c",
                    "import glob; from PIL import Image; pages = [Image.open(p).convert('RGB') for p in sorted(glob.glob("
                    "'pages/*.png'))]; pages[0].save('scan.pdf', save_all=True, append_images=pages[1:], resolution=200)"],
                   cwd=folder, check=True)
    return ["--", "ocrmypdf", "--jobs", "{nproc}", "--force-ocr", "scan.pdf", "{trial_dir}/out.pdf"]


# How to tune it; how to count its samples: of the tally, of a counter in its lines (times what a count is worth), or runs.
CLIENTS = {
    "paddle": (paddle, (r"global_step: (\d+)", lambda knobs: knobs["batch"] * (knobs["nproc"] or 1))),
    "torchrun": (torchrun, (r"^step (\d+) ", lambda knobs: knobs["batch"] * (knobs["nproc"] or 1))),
    "hf": (job("hf", "batch=8,16,32", "workers=0,1,2"), None),
    "doctr": (job("doctr", "batch=4,8,16", "threads=1,2"), None),
    "openvino": (job("openvino", "copies=1,2", "threads=1,2", "batch=1,4,8"), None),
    "onnxruntime": (job("onnxruntime", "threads=1,2", "batch=1,4,8"), None),
    "loader": (job("loader", "batch=8", "workers=0,1,2"), None),
    "stalls": (job("stalls", "batch=8", "workers=0,1"), None),
    "warm": (job("warm", "batch=1,2,4"), None),
    "tesseract": (pages("tesseract", "--nproc", "1,2", "--threads", "1,2"), (r"pages (\d+),", lambda _: 1)),
    "rapidocr": (pages("rapidocr", "--nproc", "1,2", "--threads", "1,2"), (r"pages (\d+),", lambda _: 1)),
    "ocrmypdf": (scan, "runs"),
}


def end(process):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=10)
            return
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def launch(line, folder, environment):
    return subprocess.Popen(["bash", "-c", line], cwd=folder, env={**os.environ, **environment}, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            errors="replace", start_new_session=True)


def rate_between(points, warm_up):
    """Of (seconds, samples so far) behind the warm-up: between the first and the last of them."""
    points = [point for point in points if point[0] >= points[0][0] + warm_up] if points else []
    if len(points) < 2:
        return float("nan")
    return (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])


def paste(line, knobs, count, folder, seconds, warm_up):
    if count == "runs":
        begin, runs = time.monotonic(), 0
        while time.monotonic() - begin < seconds:
            process = launch(line, folder, {})
            process.stdout.read()
            if process.wait() != 0:
                return float("nan")
            runs += 1
        return runs / (time.monotonic() - begin)
    tally, points = folder / "tally", []
    tally.unlink(missing_ok=True)
    process = launch(line, folder, {"OCRTUNE_JOB_TALLY": str(tally)})

    def count_lines():
        for text in process.stdout:
            if count and (found := re.search(count[0], text)):
                points.append((time.monotonic(), int(found[1]) * count[1](knobs)))

    reader = threading.Thread(target=count_lines)
    reader.start()
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        pass
    end(process)
    reader.join()
    if not count and tally.exists():
        samples = 0
        for text in tally.read_text().splitlines():
            when, number = text.split()
            samples += int(number)
            points.append((float(when), samples))
    return rate_between(points, warm_up)


def start_line(report):
    """The user's own start, as its first trial ran it: once, where the trial started it again and again."""
    with open(report / "trials.csv", encoding="utf-8", newline="") as file:
        line = next(row["reproduce"] for row in csv.DictReader(file) if row["phase"] == "baseline")
    line = re.sub(r"sh -c 'while :;.*; done' sh ", "", line)
    return re.sub(r"/[^ ']*/ocrtune\.tmp\.[^ '/]*", "{trial_dir}", line)


def interval(of):
    return f"{of['median']:.4g} ({of['low']:.4g}..{of['high']:.4g})"


def visit(name, given, folder):
    arguments, count = CLIENTS[name]
    report = (pathlib.Path(given.keep).resolve() if given.keep else folder) / name
    report.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    tuned = subprocess.run([given.ocrtune, "tune", "--budget", given.budget, "--json", "--out", str(report), "--db",
                            str(folder / "runs.sqlite"), "--cwd", str(folder)] + arguments(given, folder),
                           stdout=subprocess.PIPE, text=True, check=False)
    spent = time.monotonic() - begin
    if tuned.returncode not in (0, 1) or not tuned.stdout:
        sys.exit(f"{name}: tune ended with {tuned.returncode}")
    (report / "answer.json").write_text(tuned.stdout)
    answer = json.loads(tuned.stdout)
    best, base, gain = answer["recommendation"], answer["baseline"], answer["gain"]
    environment = "".join(f"export {variable}={shlex.quote(value)}; " for variable, value in best["env"].items())
    lines = {"best": (environment + best["command"], best["knobs"], given.seconds),
             "start": (start_line(report), base["knobs"], given.seconds / 3)}
    rates = {which: [] for which in lines}
    for turn in range(given.rounds):
        for which in list(lines) if turn % 2 == 0 else list(lines)[::-1]:
            line, knobs, seconds = lines[which]
            with tempfile.TemporaryDirectory() as pasted:
                rates[which].append(paste(re.sub(r"\{trial_dir\}", pasted, line), knobs, count, folder, seconds,
                                          WARM_UP_SECONDS.get(name, WARM_UP)))
    by_hand = statistics.median(rates["best"]) / statistics.median(rates["start"])
    held = sum(best["samples_per_second"]["low"] <= rate <= best["samples_per_second"]["high"] for rate in rates["best"])
    print(name, answer["answer"], answer["verdict"], f"{answer['trials']} in {spent:.0f} s", interval(best["samples_per_second"]),
          " ".join(f"{rate:.4g}" for rate in rates["best"]), f"{held} of {given.rounds}",
          interval(gain) if gain else "-", f"{by_hand:.3f}", " ".join(f"{rate:.4g}" for rate in rates["start"]),
          sep=" | ", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clients", nargs="+", choices=CLIENTS, metavar="CLIENT")
    parser.add_argument("--budget", default="3m")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--python", default=sys.executable, help="with the client's packages")
    parser.add_argument("--paddle", default=sys.executable, help="with paddle and yaml")
    parser.add_argument("--ocrtune", default=str(ROOT / "build" / "ocrtune"))
    parser.add_argument("--keep", help="folder for the reports and answers")
    given = parser.parse_args()
    print("client | answer | verdict | trials | stated rate | pasted | held | stated gain | by hand | the start pasted")
    for name in given.clients:
        with tempfile.TemporaryDirectory() as folder:
            visit(name, given, pathlib.Path(folder))


if __name__ == "__main__":
    main()
