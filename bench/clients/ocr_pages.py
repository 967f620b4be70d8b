#!/usr/bin/env python3
"""OCR programs that people run, as a job to tune and as the hand sweep that it is held against.

    ocr_pages.py make FOLDER [--pages 8] [--lines 4]          # pages of rendered text (Pillow)
    ocr_pages.py work tesseract|rapidocr FOLDER [--procs N] [--threads N]   # until it is ended
    ocr_pages.py sweep tesseract|rapidocr FOLDER [--procs 1,2] [--threads 1,2,4] [--rounds 3]

`work` prints "pages 12, 3.41 pages/s" for every half second or more. Tesseract is one process a page,
its threads are OMP_THREAD_LIMIT's; RapidOCR lives in each process, --threads are its
intra_op_num_threads and 0 leaves its default. `sweep` visits all settings in rounds, there and back,
and prints pages/s of each visit, best first; ocrtune takes no part.
"""

import argparse
import itertools
import multiprocessing
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import time

LINE = re.compile(r"pages \d+, ([0-9.]+) pages/s")
WORDS = ("the quick brown fox jumps over lazy dog while seven wizards quietly mix jugs of cold paper "
         "invoice total amount due number date street city order").split()
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"


def make(folder, pages, lines):
    from PIL import Image, ImageDraw, ImageFont
    random.seed(1)
    folder.mkdir(parents=True, exist_ok=True)
    font = ImageFont.truetype(FONT, 22)
    for page in range(pages):
        image = Image.new("RGB", (640, 30 + 42 * lines), "white")
        draw = ImageDraw.Draw(image)
        texts = [" ".join(random.choice(WORDS) for _ in range(6)) for _ in range(lines)]
        for line, text in enumerate(texts):
            draw.text((20, 20 + 42 * line), text, fill="black", font=font)
        image.save(folder / f"page{page}.png")
        (folder / f"page{page}.txt").write_text("\n".join(texts) + "\n")


def read_pages(engine, pages, threads, done, first):
    if engine == "rapidocr":
        from rapidocr_onnxruntime import RapidOCR
        options = {"intra_op_num_threads": threads} if threads else {}
        rapid = RapidOCR(**options)
        read = lambda page: rapid(str(page))
    else:
        read = lambda page: subprocess.run(["tesseract", page, "-"], check=True,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for page in itertools.islice(itertools.cycle(pages), first, None):
        read(page)
        done.put(1)


def work(engine, folder, procs, threads):
    pages = sorted(folder.glob("*.png"))
    done = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=read_pages, daemon=True,
                                       args=(engine, pages, threads, done, i))
               for i in range(procs)]
    for worker in workers:
        worker.start()
    total, counted, since = 0, 0, None
    while all(worker.is_alive() for worker in workers):
        try:
            done.get(timeout=1)
        except Exception:
            continue
        now = time.monotonic()
        total += 1
        if since is None:
            since = now
            continue
        counted += 1
        if now - since >= 0.5 and counted >= procs:
            print(f"pages {total}, {counted / (now - since):.4f} pages/s", flush=True)
            counted, since = 0, now
    sys.exit("a worker ended")


def visit(engine, folder, procs, threads, seconds):
    environment = dict(os.environ, OMP_THREAD_LIMIT=str(threads))
    if engine == "rapidocr":
        del environment["OMP_THREAD_LIMIT"]
    job = subprocess.Popen([sys.executable, __file__, "work", engine, str(folder), "--procs",
                            str(procs), "--threads", str(threads)], env=environment, text=True,
                           stdout=subprocess.PIPE, start_new_session=True)
    first, pages, began = None, 0, None
    last_total = None
    try:
        for line in job.stdout:
            if not LINE.search(line):
                continue
            now, total = time.monotonic(), int(line.split()[1].rstrip(","))
            if first is None:
                first = now
            if began is None:
                if now - first >= 1.5:
                    began, pages = now, total
                continue
            last_total = total
            if now - began >= seconds:
                return (last_total - pages) / (now - began)
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    return None


def sweep(engine, folder, procs, threads, rounds, seconds):
    settings = list(itertools.product(procs, threads))
    found = {setting: [] for setting in settings}
    for turn in range(rounds):
        for setting in settings if turn % 2 == 0 else reversed(settings):
            rate = visit(engine, folder, *setting, seconds)
            if rate:
                found[setting].append(rate)
    print("procs,threads | pages/s of each visit | median")
    for setting, rates in sorted(found.items(), key=lambda x: -statistics.median(x[1] or [0])):
        print("{},{} | {} | {:.3f}".format(*setting, " ".join(f"{r:.3f}" for r in rates),
                                          statistics.median(rates or [0])), flush=True)


def numbers(text):
    return [int(x) for x in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("make")
    one.add_argument("folder", type=pathlib.Path)
    one.add_argument("--pages", type=int, default=8)
    one.add_argument("--lines", type=int, default=4)
    for name, kind in (("work", int), ("sweep", numbers)):
        one = verbs.add_parser(name)
        one.add_argument("engine", choices=("tesseract", "rapidocr"))
        one.add_argument("folder", type=pathlib.Path)
        one.add_argument("--procs", type=kind, default=kind("1"))
        one.add_argument("--threads", type=kind, default=kind("0"))
    one.add_argument("--rounds", type=int, default=3)
    one.add_argument("--seconds", type=float, default=6)
    given = parser.parse_args()
    if given.verb == "make":
        make(given.folder, given.pages, given.lines)
    elif given.verb == "work":
        work(given.engine, given.folder, given.procs, given.threads)
    else:
        sweep(given.engine, given.folder, given.procs, given.threads, given.rounds, given.seconds)


if __name__ == "__main__":
    main()
