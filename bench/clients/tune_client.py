#!/usr/bin/env python3
"""Tunes a real training client as its user would, and checks what is left behind.

    bench/clients/tune_client.py paddle|torch|burn [--budget 5m] [--out DIR] [--ocrtune build/ocrtune]

Prints one row: baseline, recommendation, gain with its interval, trials, seconds, and what survived
(processes that carry the run's mark, segments in /dev/shm, files in the temporary folder). Exit code
0: all found and nothing left; 1: not so; 77: the client cannot be installed here, with the reason.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "tests" / "clients"


def install(client, folder):
    made = subprocess.run([CLIENTS / "install", client, folder], capture_output=True, text=True)
    if made.returncode != 0:
        print("skipped:", " ".join(made.stderr.strip().splitlines()[-3:]))
        sys.exit(77)
    return made.stdout.strip().splitlines()[-1]


def paddle_arguments(python, folder):
    shutil.copy(CLIENTS / "crnn.yml", folder)
    lines = "".join(f"img_{i}.png\tabc\n" for i in range(600))
    (folder / "labels.txt").write_text(lines)
    return ["--preset", "paddleocr", "--nproc", "1,2", "--batch", "8,16,32", "--workers", "0,1",
            "--cwd", str(folder), "--", python, "-m", "paddle.distributed.launch",
            str(CLIENTS / "paddle_train.py"), "-c", "crnn.yml", "-o", "Global.use_gpu=False"]


def torch_arguments(python, _folder):
    return ["--log-reader", "torch", "--nproc", "1,2", "--threads", "1,2", "--batch", "8,16,32",
            "--binding", "none,compact", "--", python, "-m", "torch.distributed.run",
            "--redirects=1", "--tee=1", "--log_dir={trial_dir}", "--nproc_per_node={nproc}",
            "--master_port={port}", str(CLIENTS / "torch_train.py"), "--batch={batch}"]


def burn_arguments(program, _folder):
    return ["--log-reader", "burn", "--dim", "backend=ndarray,candle", "--batch", "8,16,32",
            "--threads", "1,2", "--env", "RAYON_NUM_THREADS={threads}", "--nproc", "1", "--",
            program, "--backend", "{backend}", "--batch", "{batch}", "--folder", "{trial_dir}"]


ARGUMENTS = {"paddle": paddle_arguments, "torch": torch_arguments, "burn": burn_arguments}


def survivors(mark):
    """Processes with the mark in their environment: the children of this run, even if adopted by another."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "comm").read_text().strip())
        except OSError:
            pass
    return found


def of_clients(names):
    return {name for name in names if name.startswith(("paddle", "torch", "sem.", "psm_"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("client", choices=sorted(ARGUMENTS))
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--out", help="folder for the report")
    parser.add_argument("--ocrtune", default=str(ROOT / "build" / "ocrtune"))
    parser.add_argument("--folder", default=str(ROOT / "build" / "clients"), help="of the clients")
    given = parser.parse_args()
    program = install(given.client, given.folder)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tmp").mkdir()
        mark = f"OCRTUNE_CLIENT_RUN={os.getpid()}"
        environment = dict(os.environ, OCRTUNE_CLIENT_RUN=str(os.getpid()),
                           TMPDIR=str(folder / "tmp"))
        shm = set(os.listdir("/dev/shm"))
        command = [given.ocrtune, "tune", "--budget", given.budget, "--json", "--db",
                   str(folder / "runs.sqlite")]
        command += ["--out", given.out] if given.out else []
        ran = subprocess.run(command + ARGUMENTS[given.client](program, folder), env=environment,
                             stdout=subprocess.PIPE, text=True)
        left = survivors(mark)
        deadline = time.monotonic() + 5  # the guard of our own that ends what we leave ends last
        while left and time.monotonic() < deadline:
            time.sleep(0.1)
            left = survivors(mark)
        leaked = of_clients(set(os.listdir("/dev/shm")) - shm)
        folders = sorted(os.listdir(folder / "tmp"))
    if ran.returncode not in (0, 1):
        print(ran.stdout, "exit code", ran.returncode)
        sys.exit(1)
    run = json.loads(ran.stdout)
    if not run.get("found"):
        print(run.get("answer"))
        sys.exit(1)
    best, gain = run["recommendation"], run["gain"]
    rate = best["samples_per_second"]
    row = [given.client, json.dumps(run["baseline"]["knobs"]), json.dumps(best["knobs"]),
           f"{rate['median']:.1f} ({rate['low']:.1f}..{rate['high']:.1f})",
           f"{gain['median']:.2f} ({gain['low']:.2f}..{gain['high']:.2f})",
           f"{run['trials']} trials, {run['seconds']:.0f} s", json.dumps(run["outcomes"])]
    print("| " + " | ".join(row) + " |")
    print(best["command"])
    problems = [f"survivors: {left}"] if left else []
    problems += [f"left in /dev/shm: {sorted(leaked)}"] if leaked else []
    kept = run["trials"] - run["outcomes"].get("ok", 0)
    problems += [f"trial folders left: {folders}"] if len(folders) > kept else []
    print("; ".join(problems) or "nothing left behind")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
