#!/usr/bin/env python3
"""Measures engines x processes x threads x batch by hand: the truth that `ocrtune tune --engine` is held against.

    bench/engines/hand_sweep.py --model rec.onnx --lines FOLDER [--engines onnxruntime,openvino,paddle-onednn]
                                [--rounds 2] [--seconds 4] [--out sweep.csv] [--texts texts.tsv]
    bench/engines/hand_sweep.py --summary sweep.csv [--choice ENGINE,PROCESSES,THREADS,BATCH] [--texts texts.tsv]

The tuner takes no part. A visit starts the processes, each with its share of the lines; each decodes, scales, batches
by width, computes and decodes again and again, as a program of the field does, with OpenCV and NumPy. A round
visits every setting once, the next one in the opposite order. Rates are lines a second of wall time and of CPU time:
the latter holds where others compute beside it. An engine's name takes a precision, such as openvino:bf16; `ocrtune`
is `ocrtune infer` of the built-in engine, by the program of --ocrtune. --texts writes what each engine reads of every line at batch 1; --summary counts where they differ and
says by how much --choice is slower than the best of the sweep.
"""

import argparse
import csv
import importlib.util
import itertools
import json
import multiprocessing
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ENGINE = HERE.parents[1] / "trial" / "workloads" / "engine_infer" / "framework_engine.py"
STEP = 64  # pixels: lines of a width share a batch


def load_engine(name, model, threads):
    """The classes that open a model in a framework; everything around them is this script's own."""
    spec = importlib.util.spec_from_file_location("framework_engine", ENGINE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    name, _, precision = name.partition(":")
    return module.ENGINES[name](str(model), threads, precision or "fp32")


def dictionary_of(model):
    import onnx
    text = {one.key: one.value for one in onnx.load(model, load_external_data=False).metadata_props}["character"]
    return [""] + text.split("\n") + [" "]


def picture(path, height):
    import cv2
    import numpy
    image = cv2.imread(str(path))
    width = max(1, -(-image.shape[1] * height // image.shape[0]))
    scaled = cv2.resize(image, (width, height)).astype("float32") / 127.5 - 1
    padded = numpy.zeros((3, height, -(-width // STEP) * STEP), "float32")
    padded[:, :, :width] = scaled.transpose(2, 0, 1)
    return padded


def read(engine, characters, pictures):
    """Texts of pictures of one width."""
    import numpy
    best = engine.infer(numpy.stack(pictures)).argmax(axis=2)
    texts = []
    for row in best:
        kept = [c for c, before in zip(row, numpy.r_[-1, row[:-1]]) if c != 0 and c != before]
        texts.append("".join(characters[c] for c in kept))
    return texts


def work(engine_name, model, threads, batch, paths, seconds, barrier, results):
    import cv2
    cv2.setNumThreads(threads)
    os.environ["OMP_NUM_THREADS"] = str(threads)
    engine, characters = load_engine(engine_name, model, threads), dictionary_of(model)
    waiting, done, lines, begin, used = {}, False, 0, None, 0.0
    turn = itertools.cycle(paths)
    started = time.perf_counter()
    while not done:
        image = picture(next(turn), 48)
        bucket = waiting.setdefault(image.shape[2], [])
        bucket.append(image)
        if len(bucket) < batch:
            continue
        read(engine, characters, bucket)
        now = time.perf_counter()
        if begin is None:
            if now - started < 0.4 * seconds:  # shapes and pools of each width
                bucket.clear()
                continue
            barrier.wait()
            begin, used, lines = time.perf_counter(), time.process_time(), -len(bucket)
        lines += len(bucket)
        bucket.clear()
        done = time.perf_counter() - begin > seconds
    results.put((lines, time.perf_counter() - begin, time.process_time() - used))


def visit(given, engine, processes, threads, batch, paths):
    name, _, precision = engine.partition(":")
    if name == "ocrtune":
        return visit_ocrtune(given, precision or "fp32", processes, threads, batch)
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes), context.Queue()
    started = [context.Process(target=work, args=(engine, given.model, threads, batch, paths[k::processes],
                                                  given.seconds, barrier, results)) for k in range(processes)]
    for one in started:
        one.start()
    rows = [results.get(timeout=300) for _ in started]
    for one in started:
        one.join()
    return sum(n / wall for n, wall, _ in rows), sum(n for n, *_ in rows) / max(1e-9, sum(cpu for *_, cpu in rows))


def visit_ocrtune(given, precision, processes, threads, batch):
    """Two lists, one longer: the difference of their times is of reading alone."""
    def run(repeats):
        list_file = pathlib.Path(given.out).with_suffix(".list")
        paths = sorted(pathlib.Path(given.lines).resolve().glob("*.png"))
        list_file.write_text("".join(f"{path}\n" for path in paths) * repeats)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        subprocess.run([given.ocrtune, "infer", list_file, "--model", given.model, "--width", "1600", "--nproc",
                        str(processes), "--threads", str(threads), "--batch", str(batch), "--binding", "none",
                        "--precision", precision, "--output", os.devnull], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return len(paths) * repeats, time.perf_counter() - begin, cpu
    few, many = run(1), run(4)
    lines = many[0] - few[0]
    return lines / max(1e-9, many[1] - few[1]), lines / max(1e-9, many[2] - few[2])


def sweep(given):
    paths = sorted(pathlib.Path(given.lines).glob("*.png"))
    cpus = len(os.sched_getaffinity(0))
    engines = given.engines.split(",")
    shapes = [(n, t) for n in (1, cpus) for t in (1, cpus) if n * t <= cpus]
    grid = [(e, n, t, b) for e in engines for n, t in sorted(set(shapes)) for b in map(int, given.batches.split(","))]
    with open(given.out, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["round", "engine", "processes", "threads", "batch", "lines_per_second",
                         "lines_per_cpu_second"])
        for number in range(given.rounds):
            for setting in grid if number % 2 == 0 else reversed(grid):
                rate, per_cpu = visit(given, *setting, paths)
                writer.writerow([number, *setting, f"{rate:.2f}", f"{per_cpu:.2f}"])
                file.flush()
                print(f"round {number}: {setting}: {rate:.1f} lines/s, {per_cpu:.1f} a CPU second", flush=True)


def texts_of_ocrtune(given, precision):
    table = pathlib.Path(given.texts).with_suffix(".ocrtune")
    subprocess.run([given.ocrtune, "infer", given.lines, "--model", given.model, "--width", "1600", "--batch", "1",
                    "--precision", precision, "--output", table], check=True, capture_output=True)
    rows = list(csv.DictReader(open(table), delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row["text"] for row in sorted(rows, key=lambda row: row["name"])]


def write_texts(given):
    paths = sorted(pathlib.Path(given.lines).glob("*.png"))
    columns = {}
    for name in given.engines.split(","):
        if name.partition(":")[0] == "ocrtune":
            columns[name] = texts_of_ocrtune(given, name.partition(":")[2] or "fp32")
            continue
        engine, characters = load_engine(name, given.model, 1), dictionary_of(given.model)
        columns[name] = [read(engine, characters, [picture(path, 48)])[0] for path in paths]
    with open(given.texts, "w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["line", *columns])
        writer.writerows(zip((path.name for path in paths), *columns.values()))


def summary(given):
    if given.texts:
        rows = list(csv.reader(open(given.texts), delimiter="\t"))
        names, rows = rows[0][1:], rows[1:]
        for column, name in enumerate(names[1:], 2):
            differing = [row for row in rows if row[column] != row[1]]
            print(f"{name}: {len(differing)} of {len(rows)} lines otherwise than {names[0]}",
                  *(f"; {row[0]}: {row[column]!r} for {row[1]!r}" for row in differing[:3]))
    rates = {}
    for row in csv.DictReader(open(given.summary)):
        setting = (row["engine"], int(row["processes"]), int(row["threads"]), int(row["batch"]))
        cpus = setting[1] * setting[2]
        rates.setdefault(setting, []).append(float(row["lines_per_cpu_second"]) * cpus
                                             if given.by_cpu else float(row["lines_per_second"]))
    medians = {setting: statistics.median(values) for setting, values in rates.items()}
    for engine in dict.fromkeys(setting[0] for setting in medians):
        best = max((s for s in medians if s[0] == engine), key=medians.get)
        print(f"{engine}: {medians[best]:.1f} lines/s at best, {best[1:]}")
    best = max(medians, key=medians.get)
    if given.choice:
        engine, *numbers = given.choice.split(",")
        mine = (engine, *map(int, numbers))
        print(f"choice {mine}: {medians[mine]:.1f} lines/s, best {best}: {medians[best]:.1f}; regret "
              f"{1 - medians[mine] / medians[best]:.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--lines")
    parser.add_argument("--engines", default="onnxruntime,openvino,paddle,paddle-onednn")
    parser.add_argument("--batches", default="4,8,16,32,64")
    parser.add_argument("--ocrtune", default="ocrtune", help="the program, for its built-in engine")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--out", default="sweep.csv")
    parser.add_argument("--texts")
    parser.add_argument("--summary", metavar="CSV")
    parser.add_argument("--choice")
    parser.add_argument("--by-cpu", action="store_true", help="rates from CPU time, one busy CPU a thread")
    given = parser.parse_args()
    if given.summary:
        summary(given)
        return
    if given.texts:
        write_texts(given)
    if given.rounds > 0:
        sweep(given)


if __name__ == "__main__":
    sys.exit(main())
