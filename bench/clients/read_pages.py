#!/usr/bin/env python3
"""Pages read by RapidOCR, and their detected lines by `ocrtune infer` with the same weights.

    read_pages.py [--pages 12] [--ocrtune build/ocrtune] [--keep FOLDER]

Pages of 5 to 80 lines are rendered, RapidOCR detects the lines and reads them, and the same cut-out
lines are read by the built-in engine with RapidOCR's recogniser (`ocrtune import`). Prints a row for each page:
lines drawn, lines detected, read alike by both (with spaces, which RapidOCR's common padding of six lines
moves, and without), and each one's character errors against what was drawn, spaces left out.
Run it with a Python that has rapidocr_onnxruntime.
"""

import argparse
import pathlib
import subprocess
import tempfile

import cv2
import rapidocr_onnxruntime

from ocr_pages import make

MODEL = pathlib.Path(rapidocr_onnxruntime.__file__).parent / "models" / "ch_PP-OCRv4_rec_infer.onnx"


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def rapid_reading(rapid, page, cuts):
    """The texts of the page's lines; the cut-out lines themselves go into the folder `cuts`."""
    recogniser, texts = rapid.text_rec, []

    def keep(images, *rest):
        for i, image in enumerate(images):
            cv2.imwrite(str(cuts / f"{page.stem}-{i:03}.png"), image)
        result = recogniser(images, *rest)
        texts.extend(row[0] for row in result[0])
        return result

    rapid.text_rec = keep
    rapid(str(page))
    rapid.text_rec = recogniser
    return texts


def engine_reading(given, folder, cuts):
    model, table = folder / "rec.ocrtune.onnx", folder / "lines.tsv"
    subprocess.run([given.ocrtune, "import", str(MODEL), "--output", str(model)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([given.ocrtune, "infer", str(cuts), "--model", str(model), "--width", "2560",
                    "--output", str(table)], check=True, stdout=subprocess.DEVNULL)
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    return {pathlib.Path(row[0]).stem: row[1] for row in rows}


def compare(given, folder):
    pages, cuts = folder / "pages", folder / "cuts"
    cuts.mkdir()
    sizes = [5 + 75 * i // max(1, given.pages - 1) for i in range(given.pages)]
    for i, lines in enumerate(sizes):
        make(pages / f"{i:02}", 1, lines)
        (pages / f"{i:02}" / "page0.png").rename(pages / f"p{i:02}.png")
        (pages / f"{i:02}" / "page0.txt").rename(pages / f"p{i:02}.txt")
    rapid = rapidocr_onnxruntime.RapidOCR()
    theirs = {page: rapid_reading(rapid, page, cuts) for page in sorted(pages.glob("*.png"))}
    ours = engine_reading(given, folder, cuts)
    print("page | lines drawn | detected | read alike | without spaces | errors: RapidOCR | the engine")
    for page, texts in theirs.items():
        truth = page.with_suffix(".txt").read_text()
        mine = [ours[f"{page.stem}-{i:03}"] for i in range(len(texts))]
        alike = sum(a == b for a, b in zip(texts, mine))
        texts, mine = ([text.replace(" ", "") for text in reading] for reading in (texts, mine))
        letters = sum(a == b for a, b in zip(texts, mine))
        errors = [distance("".join(text), "".join(truth.split())) for text in (texts, mine)]
        print(f"{page.stem} | {len(truth.splitlines())} | {len(texts)} | {alike} | {letters} | {errors[0]} | {errors[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=12)
    parser.add_argument("--ocrtune", default="build/ocrtune")
    parser.add_argument("--keep", type=pathlib.Path, help="leave pages, lines and table in this folder")
    given = parser.parse_args()
    if given.keep:
        given.keep.mkdir(parents=True)
        compare(given, given.keep)
    else:
        with tempfile.TemporaryDirectory() as folder:
            compare(given, pathlib.Path(folder))


main()
