#!/usr/bin/env python3
"""Draws lines of text as pictures: what bench/engines/hand_sweep.py and `ocrtune tune` read.

    bench/engines/draw_lines.py FOLDER [--count 400] [--words FILE]   # needs Pillow

Words of the file and numbers in the fonts of this machine, 3 to 60 characters, on paper that is not quite white, some
blurred. FOLDER gets the pictures and labels.txt with what they spell.
"""

import argparse
import pathlib
import random
import re

from PIL import Image, ImageDraw, ImageFilter, ImageFont

FONTS = pathlib.Path("/usr/share/fonts")
WORDS = pathlib.Path("/usr/share/common-licenses/GPL-3")


def text_of(words, rng):
    length = rng.choice((4, 8, 12, 20, 30, 45, 60))
    text = ""
    while len(text) < length:
        number = f"{rng.randrange(100000) / 100:,.2f}" if rng.random() < 0.5 else str(rng.randrange(10**6))
        text += ("" if not text else " ") + (number if rng.random() < 0.25 else rng.choice(words))
    return text[:length].strip()


def picture_of(text, fonts, rng):
    font = ImageFont.truetype(str(rng.choice(fonts)), rng.randrange(18, 44))
    left, top, right, bottom = font.getbbox(text)
    paper, ink = rng.randrange(215, 256), rng.randrange(0, 90)
    image = Image.new("RGB", (right - left + 12, bottom - top + 10), (paper, paper, rng.randrange(paper - 15, paper)))
    ImageDraw.Draw(image).text((6 - left, 5 - top), text, font=font, fill=(ink, ink, ink))
    if rng.random() < 0.5:
        image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.3, 1.1)))
    return image


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--words", type=pathlib.Path, default=WORDS)
    given = parser.parse_args()
    rng = random.Random(1)
    words = sorted(set(re.findall(r"[A-Za-z]{2,12}[,.;]?", given.words.read_text())))
    fonts = sorted(FONTS.rglob("Liberation*.ttf"))
    given.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(given.count):
        text = text_of(words, rng)
        picture_of(text, fonts, rng).save(given.folder / f"{number:04}.png")
        rows.append(f"{number:04}.png\t{text}\n")
    (given.folder / "labels.txt").write_text("".join(rows))


if __name__ == "__main__":
    main()
