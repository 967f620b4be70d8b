"""Does ocrtune find the capacity of servers whose capacity is known (bed.py)?

  python3 bench/service/measure.py closed [--rounds 2] [--budget 25s] [--only KIND,KIND]
  python3 bench/service/measure.py slo --slo p95=400ms [--rounds 2] [--budget 60s] [--only KIND,KIND]

`closed`: the most requests/s, against slots / seconds. `slo`: the highest rate that keeps the target, against a
simulation of as many slots with Poisson arrivals. The servers are visited in turn, round after round, so that other
programs' load meets all of them. A row is a measurement; the last lines give the worst and how many were within 10 %.
"""
import argparse
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
    """The share of requests over `limit` seconds at this rate, first come first served."""
    draw = random.Random(seed)
    free = [0.0] * min(kind.slots, 200)
    at, late = 0.0, 0
    for i in range(count):
        at += draw.expovariate(rate)
        end = max(at, heapq.heappop(free)) + kind.seconds
        heapq.heappush(free, end)
        late += i > count // 10 and max(end - at, kind.special.get("wait", 0)) > limit
    return late / (0.9 * count)


def true_rate(kind, percentile, limit):
    low, high = 0.0, kind.most
    for _ in range(12):
        middle = (low + high) / 2
        over = sum(late_share(kind, middle, limit, seed=seed) for seed in (1, 2, 3)) / 3
        low, high = (middle, high) if over <= 1 - percentile else (low, middle)
    return low


def measure(options, name, folder):
    page = folder / "page.png"
    page.write_bytes(b"\x89PNG" + os.urandom(200))
    form = folder / "job.request.toml"
    form.write_text(JOB_FORM)
    jobs = bed.KINDS[name].special.get("jobs")
    line = [options.ocrtune, "tune", "--mode", "infer", "--budget", options.budget, "--nproc", "1", "--json",
            "--db", str(folder / "runs.sqlite"), "--input", str(form if jobs else page),
            "--url", "http://127.0.0.1:{port}/" + ("submit" if jobs else "")]
    if options.slo:
        line += ["--slo", options.slo]
    line += ["--", sys.executable, str(HERE / "bed.py"), name, "{port}"]
    environment = dict(os.environ, OCRTUNE_LOCK_DIR=str(folder))
    ran = subprocess.run(line, env=environment, capture_output=True, text=True)
    try:
        answer = json.loads(ran.stdout)
    except ValueError:
        return None, ran.stderr.strip().splitlines()[-1:]
    best = answer.get("recommendation") or {}
    return (best.get("samples_per_second") or {}).get("median"), answer.get("answer", "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["closed", "slo"])
    parser.add_argument("--ocrtune", default="build/ocrtune")
    parser.add_argument("--slo", default="")
    parser.add_argument("--budget", default="25s")
    parser.add_argument("--rounds", type=int, default=2)
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
    ratios = []
    print("| server | truth | measured | ratio | |\n|--|--|--|--|--|")
    for _ in range(options.rounds):
        for name in names:
            with tempfile.TemporaryDirectory(prefix="ocrtune-bed-") as folder:
                rate, words = measure(options, name, pathlib.Path(folder))
            ratio = rate / truths[name] if rate and truths[name] else 0
            ratios.append((ratio, name))
            print(f"| {name} | {truths[name]:.4g} | {rate or 0:.4g} | {ratio:.3f} | {words} |", flush=True)
    near = sum(0.9 <= ratio <= (1.0 if options.slo else 1.1) for ratio, _ in ratios)
    print(f"within 10 %: {near} of {len(ratios)}; least {min(ratios)}, most {max(ratios)}")


if __name__ == "__main__":
    main()
