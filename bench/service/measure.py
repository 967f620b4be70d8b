"""Does ocrtune find the capacity of servers whose capacity is known (bed.py)?

  python3 bench/service/measure.py closed [--rounds 2] [--budget 25s] [--only KIND,KIND]
  python3 bench/service/measure.py slo --slo p95=400ms [--rounds 2] [--budget 110s] [--trial-time 80s] [--at-once 3]

`closed`: the most requests/s, against slots / seconds. `slo`: the highest rate that keeps the target, against a
simulation of as many slots with Poisson arrivals; of a server that cannot keep the target, or mixes up texts that come
together, that no rate is right. The servers are visited in turn, round after round, so that other programs' load meets
all of them. A row is a measurement; the last line gives the worst, how many were within 10 % (of a rate: not above),
and the requests and processes that were left.
"""
import argparse
import concurrent.futures
import heapq
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import bed  # noqa: E402

JOB_FORM = """file = "page.png"
form = { image = "{file}" }
submit = "task_id"
poll = "/status/{job}"
started = ["status=started"]
done = ["status=success"]
result = "/result/{job}"
answer = ["text"]
poll_every = "50ms"
"""


def late_share(kind, rate, limit, count=40000, seed=1):
    """The share of requests over `limit` seconds or turned away at this rate, first come first served."""
    draw = random.Random(seed)
    free = [0.0] * kind.slots
    at, late = 0.0, 0
    for i in range(count):
        at += draw.expovariate(rate)
        if kind.special.get("refuse") and free[0] > at:
            late += i > count // 10
            continue
        end = max(at, heapq.heappop(free)) + kind.seconds
        heapq.heappush(free, end)
        late += i > count // 10 and max(end - at, kind.special.get("wait", 0)) > limit
    return late / (0.9 * count)


def true_rate(kind, percentile, limit):
    """0: no rate is right, for it waits longer or mixes up texts that come together."""
    if kind.special.get("wait", 0) > limit or "corrupt_from" in kind.special:
        return 0
    low, high = 0.0, kind.most
    for _ in range(12):
        middle = (low + high) / 2
        over = sum(late_share(kind, middle, limit, seed=seed) for seed in (1, 2, 3)) / 3
        low, high = (middle, high) if over <= 1 - percentile else (low, middle)
    return low


def line_of(options, name, folder):
    page = folder / "page.png"
    page.write_bytes(b"\x89PNG" + os.urandom(bed.PICTURE - 4))
    form = folder / "job.request.toml"
    form.write_text(JOB_FORM)
    jobs = bed.KINDS[name].special.get("jobs")
    line = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"] if options.at_once > 1 else []
    line += [options.ocrtune, "tune", "--mode", "infer", "--budget", options.budget, "--nproc", "1", "--json",
             "--db", str(folder / "runs.sqlite"), "--input", str(form if jobs else page),
             "--url", "http://127.0.0.1:{port}/" + ("submit" if jobs else "")]
    if options.slo:
        line += ["--slo", options.slo]
    if options.trial_time:
        line += ["--trial-time", options.trial_time]
    return line + ["--", sys.executable, str(HERE / "bed.py"), name, "{port}"]


def left_behind(folder):
    """Requests that a server still had when it was ended, and processes that have the folder in their environment."""
    found = sum(int(note.read_text() or 0) for note in folder.glob("rest-*"))
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            found += str(folder).encode() in (process / "environ").read_bytes()
        except OSError:
            pass
    return found


def measure(options, name):
    with tempfile.TemporaryDirectory(prefix="ocrtune-bed-") as place:
        folder = pathlib.Path(place)
        environment = dict(os.environ, OCRTUNE_LOCK_DIR=place, BED_NOTES=place)
        ran = subprocess.run(line_of(options, name, folder), env=environment, capture_output=True, text=True)
        left = left_behind(folder)
    try:
        answer = json.loads(ran.stdout)
    except ValueError:
        return None, " ".join(ran.stderr.strip().splitlines()[-1:]), left
    best = answer.get("recommendation") or {}
    return (best.get("samples_per_second") or {}).get("median"), answer.get("answer", ""), left


def score(options, name, truth, found):
    rate, words, left = found
    if truth > 0:
        ratio = (rate or 0) / truth
    else:
        ratio = 0 if rate else 1  # that no rate is right is the answer
    fine = 0.9 <= ratio <= (1.0 if options.slo else 1.1)
    print(f"| {name} | {truth:.4g} | {rate or 0:.4g} | {ratio:.3f} | {left} | {words} |", flush=True)
    return ratio, name, fine, left


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["closed", "slo"])
    parser.add_argument("--ocrtune", default="build/ocrtune")
    parser.add_argument("--slo", default="")
    parser.add_argument("--budget", default="25s")
    parser.add_argument("--trial-time", default="")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=1, help="runs beside each other, each in a network of its own (root)")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if (options.what == "slo") != bool(options.slo):
        parser.error("slo needs --slo, closed has none")
    names = options.only.split(",") if options.only else list(bed.KINDS)
    truths = {}
    for name in names:
        kind = bed.KINDS[name]
        truths[name] = kind.most
        if options.slo:
            percentile, seconds = options.slo[1:].split("=")
            limit = float(seconds[:-2]) / 1e3 if seconds.endswith("ms") else float(seconds[:-1])
            truths[name] = true_rate(kind, float(percentile) / 100, limit)
    print("| server | truth | measured | ratio | left behind | |\n|--|--|--|--|--|--|")
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        runs = [(name, pool.submit(measure, options, name)) for _ in range(options.rounds) for name in names]
        rows = [score(options, name, truths[name], run.result()) for name, run in runs]
    print(f"within 10 %: {sum(fine for _, _, fine, _ in rows)} of {len(rows)}; above: "
          f"{sum(ratio > 1 for ratio, _, _, _ in rows)}; least {min(rows)[:2]}, most {max(rows)[:2]}; "
          f"left behind: {sum(left for _, _, _, left in rows)}")


if __name__ == "__main__":
    main()
