#!/usr/bin/env python3
"""OCR programs under `ocrtune run --memory-limit`: limits above and below what they hold.

    bench/clients/memory_limits.py [--ocrtune build/ocrtune] [--runs 5] [--paddle PYTHON] [--rapidocr PYTHON]
                                   [tesseract|rapidocr|paddle ...]

Each run has a control group of its own, whose high-water mark is one account of what it held. It lacks mapped files
that were in the page cache before; PSS, read up to a hundred times a second, has them and may miss a peak. So a run
held at least the larger of the two, and at most the mark and the mapped files together. Two runs without a limit
give the need (the mean of the former); then come limits of 1.3, 1.1, 1.05 and 0.9 of it. A run that was stopped and
held less than its limit by the latter is WRONG, and so is one that was not and was seen above it for 0.3 s. Ends with
1 where one is. Needs root and a control group that may be made.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "bench" / "clients"
LATE_SECONDS = 0.3
READ = """import glob, multiprocessing, sys
sys.path.insert(0, sys.argv[1])
from ocr_pages import read_pages
class Done:
    left = 5
    def put(self, _):
        self.left -= 1
        if self.left == 0: raise SystemExit(0)
work = lambda i: read_pages("rapidocr", sorted(glob.glob(sys.argv[2] + "/*.png")), 1, Done(), i)
readers = [multiprocessing.Process(target=work, args=(i,)) for i in range(2)]
for reader in readers: reader.start()
for reader in readers: reader.join()
"""


class Group:
    """What the processes of a control group hold together, in bytes."""

    def __init__(self):
        v1 = pathlib.Path("/sys/fs/cgroup/memory")
        self.path = (v1 if v1.is_dir() else pathlib.Path("/sys/fs/cgroup")) / f"ocrtune.limits.{os.getpid()}"
        self.path.mkdir()
        self.mark_file = self.path / ("memory.max_usage_in_bytes" if v1.is_dir() else "memory.peak")
        self.readings, self.files, self.ended = [], 0, False
        self.reader = threading.Thread(target=self.read)

    def read(self):
        while not self.ended:
            now, total, files = time.monotonic(), 0, 0
            for pid in (self.path / "cgroup.procs").read_text().split():
                try:
                    text = pathlib.Path("/proc", pid, "smaps_rollup").read_text()
                    total += int(text.split("Pss:")[1].split()[0]) << 10
                    files += int(text.split("Pss_File:")[1].split()[0]) << 10
                except (OSError, IndexError):
                    continue
            self.readings.append((now, total))
            self.files = max(self.files, files)
            time.sleep(max(0, now + 0.01 - time.monotonic()))

    def __enter__(self):
        self.reader.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.reader.join()
        self.path.rmdir()

    def held(self):
        """(at least, at most)"""
        mark = int(self.mark_file.read_text())
        least = max(mark, *(total for _, total in self.readings))
        return least, max(least, mark + self.files)

    def seconds_above(self, limit):
        longest, since = 0, None
        for now, total in self.readings:
            since = (since or now) if total >= limit else None
            longest = max(longest, now - since if since else 0)
        return longest


def programs(given, folder):
    pages, lines = folder / "pages", folder / "lines"
    read_all = f'for p in {pages}/*.png; do OMP_THREAD_LIMIT=1 tesseract "$p" - >/dev/null 2>&1; done'
    found = {"tesseract": ["sh", "-c", f"({read_all}) & ({read_all}) & wait"]}
    draw = [given.rapidocr or sys.executable, CLIENTS / "ocr_pages.py", "make", pages, "--pages", "6", "--lines", "12"]
    subprocess.run(draw, check=True)
    if given.rapidocr:
        found["rapidocr"] = [given.rapidocr, "-c", READ, str(CLIENTS), str(pages)]
    if given.paddle:
        lines.write_text("a.png\tb\n" * 480)
        client = ROOT / "tests" / "clients"
        found["paddle"] = [
            given.paddle, "-m", "paddle.distributed.launch", "--nproc_per_node=2", f"--log_dir={folder}/log",
            str(client / "paddle_train.py"), "-c", str(client / "crnn.yml"), "-o", "Global.use_gpu=False",
            "Global.epoch_num=1", f"Global.save_model_dir={folder}/out",
            f"Train.dataset.label_file_list=[{lines}]", "Train.loader.num_workers=2"]
    return {name: command for name, command in found.items() if not given.program or name in given.program}


def run(given, folder, command, limit=0):
    """(why it was stopped or "", reported peak, at least held, at most held, seconds above the limit), in bytes."""
    with Group() as group:
        words = [given.ocrtune, "run", "--json", "--tries", "1", "--run-dir", folder / "run"]
        words += ["--memory-limit", int(limit)] if limit else []
        enter = f'echo $$ > {group.path}/cgroup.procs; exec "$@"'
        done = subprocess.run([*map(str, words), "--", "sh", "-c", enter, "sh", *command], cwd=folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        attempt = json.loads(done.stdout)["attempts"][-1]
        stopped = attempt["ending"] if "reached the limit" in attempt["ending"] else ""
        if not stopped and done.returncode != 0:
            raise SystemExit(f"{command[0]} failed: {attempt}")
        return stopped, attempt["peak_bytes"], *group.held(), group.seconds_above(limit) if limit else 0


def try_limit(given, folder, command, limit, share):
    runs = [run(given, folder, command, limit) for _ in range(given.runs)]
    wrong = sum(limit > most if stopped else late > LATE_SECONDS for stopped, _, _, most, late in runs)
    stops = [one for one in runs if one[0]]
    held = ", ".join(f"{least / limit:.2f} to {most / limit:.2f}" for _, _, least, most, _ in runs)
    print(f"  limit {share:4}: {len(stops)} of {len(runs)} stopped, {wrong} WRONG; they held {held} of it", flush=True)
    if stops:
        late = max(late for *_, late in stops)
        print(f"    at most {late:.2f} s after it was seen there: {stops[-1][0]}", flush=True)
    return wrong


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--ocrtune", default=ROOT / "build" / "ocrtune", type=pathlib.Path)
    words.add_argument("--runs", default=5, type=int)
    words.add_argument("--paddle", help="a Python with PaddlePaddle")
    words.add_argument("--rapidocr", help="a Python with rapidocr_onnxruntime and Pillow")
    words.add_argument("program", nargs="*", help="tesseract, rapidocr, paddle; all unless named")
    given = words.parse_args()
    given.ocrtune = given.ocrtune.resolve()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="ocrtune-limits.") as made:
        folder = pathlib.Path(made)
        for name, command in programs(given, folder).items():
            run(given, folder, command)  # files come into the page cache, on nobody's account
            free = [run(given, folder, command) for _ in range(2)]
            need = statistics.mean(least for _, _, least, _, _ in free)
            print(f"{name}: " + ", ".join(f"{least >> 20} to {most >> 20} MiB held, {said >> 20} reported"
                                           for _, said, least, most, _ in free), flush=True)
            for share in (1.3, 1.1, 1.05, 0.9):
                wrong += try_limit(given, folder, command, share * need, share)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
