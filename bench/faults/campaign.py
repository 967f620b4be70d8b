#!/usr/bin/env python3
"""Breaks ocrtune at random points and looks at what is left: bench/faults/campaign.py [--points N] [--seed N] [--state S]

Each point starts a command, does it harm (SIGKILL, a full disk, a frozen rank, ...) and then checks: the exit code
is the one that goes with what the command has said, or the signal that was sent; no process of the point lives, on
its hosts neither; what the store, the journal or the checkpoint held before is there still and can be read; the next
command works, and after it no temporary folder and no file in /dev/shm is left; processes, files and a port of others
are as they were. The list of points is drawn from the seed; --only N repeats one of them.

As root it runs in a mount namespace of its own, with its own /dev/shm. Kinds and commands that need what is not here
are left out, with the reason. Ends with 1 where a check failed, 0 where all held.
"""
import argparse
import collections
import contextlib
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harms import KINDS  # noqa: E402
from machine import Busy, Bystanders, Failed, Skipped, TightGroup, own_mounts  # noqa: E402
from point import ROOT, Point  # noqa: E402


def run_point(point, kind, seed):
    """A verdict, and what was done."""
    words = ""
    try:
        words = kind(point, random.Random(seed))
        point.expect_tidy()
        return "held", words
    except Skipped as why:
        return "skipped", str(why)
    except Failed as why:
        return "FAILED", f"{words} {why}"
    finally:
        point.sweep()


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--ocrtune", default=ROOT / "build" / "ocrtune", type=pathlib.Path)
    words.add_argument("--points", default=1000, type=int)
    words.add_argument("--minutes", default=1e9, type=float, help="start no point after so long")
    words.add_argument("--seed", default=1, type=int)
    words.add_argument("--state", default="quiet", choices=("quiet", "busy", "tight"),
                       help="of the machine: busy by endless loops, tight by a control group of 24 to 384 MiB a point")
    words.add_argument("--only", type=int, help="repeat this point of the list alone")
    words.add_argument("--kinds", default=",".join(k.__name__ for k in KINDS), help="draw from these alone")
    words.add_argument("--commands", default="", help="draw from these alone")
    options = words.parse_args()
    kinds = [k for k in KINDS if k.__name__ in options.kinds.split(",")]
    if not kinds:
        words.error(f"no such kind; there are {', '.join(k.__name__ for k in KINDS)}")
    dice = random.Random(options.seed)
    points = [(i, dice.choices(kinds, [KINDS[k] for k in kinds])[0], dice.getrandbits(32)) for i in range(options.points)]
    if options.only is not None:
        points = [points[options.only]]
    if options.state == "tight":
        try:
            TightGroup(100).close()
        except Skipped as why:
            print(f"skipped: {why}")
            return 77
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # nothing stays
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ocrtune-faults."))
    mounts = own_mounts()
    counts, failed = collections.Counter(), []
    end = time.monotonic() + 60 * options.minutes
    (folder / "tmp").mkdir()
    others = Bystanders(str(options.ocrtune.resolve()), folder / "tmp", mounts)
    point = None
    try:
        with Busy() if options.state == "busy" else contextlib.nullcontext():
            point = Point(options.ocrtune.resolve(), folder, mounts, options.state == "tight", others)
            if options.commands:
                point.commands = {name: point.commands[name] for name in options.commands.split(",")}
            for number, kind, seed in points:
                if time.monotonic() > end:
                    break
                verdict, done = run_point(point, kind, seed)
                if verdict == "FAILED":
                    failed.append(number)
                counts[kind.__name__, verdict] += 1
                print(f"{number:4} {kind.__name__:13} {verdict:7} {done}", flush=True)
    finally:
        if point:
            point.sweep()
        others.end()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\nseed {options.seed}, {options.state}, {sum(counts.values())} points, {len(point.commands)} commands" +
          ("" if mounts else ", no mounts of its own"))
    for (kind, verdict), count in sorted(counts.items()):
        print(f"  {kind:13} {verdict:7} {count}")
    if failed:
        print(f"failed: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
