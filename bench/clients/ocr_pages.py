#!/usr/bin/env python3
"""OCR programs that people run, as a job to tune; command_sweep.py measures it by hand.

    ocr_pages.py make FOLDER [--pages 8] [--lines 4]          # pages of rendered text (Pillow)
    ocr_pages.py work tesseract|rapidocr FOLDER [--procs N] [--threads N]   # until it is ended

`work` prints "pages 12, 3.41 pages/s" for every half second or more. Tesseract is one process a page,
its threads are OMP_THREAD_LIMIT's; RapidOCR lives in each process, --threads are its
intra_op_num_threads and 0 leaves its default.
"""

import argparse
import itertools
import multiprocessing
import pathlib
import random
import subprocess
import sys
import time

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("make")
    one.add_argument("folder", type=pathlib.Path)
    one.add_argument("--pages", type=int, default=8)
    one.add_argument("--lines", type=int, default=4)
    one = verbs.add_parser("work")
    one.add_argument("engine", choices=("tesseract", "rapidocr"))
    one.add_argument("folder", type=pathlib.Path)
    one.add_argument("--procs", type=int, default=1)
    one.add_argument("--threads", type=int, default=0)
    given = parser.parse_args()
    if given.verb == "make":
        make(given.folder, given.pages, given.lines)
    else:
        work(given.engine, given.folder, given.procs, given.threads)


if __name__ == "__main__":
    main()
