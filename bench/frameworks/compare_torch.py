"""Training steps of ocrtune's core beside PyTorch eager: same network, weights and batch.

Each cell runs both programs warm and asks them for windows in turns, so that both see the same
machine. Prints one line a cell: medians and their ratio. Run with /usr/bin/python3 (python3-torch).

    /usr/bin/python3 bench/frameworks/compare_torch.py --train-step build/train_step

With --memory each cell is two fresh processes one after the other, three steps each, and the answer is
their peak: as it is (VmHWM), and without what was resident before model and batch were made (libraries;
for PyTorch also the interpreter). Other work on the machine does not disturb it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))


def serve(options):
    """The PyTorch side: answers each line of standard input with one window."""
    import torch
    import torch_models

    torch.set_num_threads(options.threads)
    torch.ones(64, 64).mm(torch.ones(64, 64))  # loads the libraries of the products
    start_bytes = own_memory("VmRSS:")
    build, height, width, _ = torch_models.MODELS[options.model]
    height, width = options.height or height, options.width or width
    model = build(options.classes)
    torch_models.set_initial_parameters(model.entries(), seed=1)
    if options.channels_last:
        model = model.to(memory_format=torch.channels_last)
    model.train()
    images, labels = torch_models.draw_batch(
        options.batch, height, width, options.classes, options.label_length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    for line in sys.stdin:
        start, steps, first_loss = time.perf_counter(), 0, None
        while steps == 0 or time.perf_counter() - start < float(line):
            optimizer.zero_grad(set_to_none=True)
            loss = torch_models.ctc_loss(model(images), labels)
            loss.backward()
            optimizer.step()
            first_loss = loss.item() if first_loss is None else first_loss
            steps += 1
        elapsed = time.perf_counter() - start
        print(json.dumps({"steps": steps, "seconds": elapsed, "first_loss": first_loss,
                          "start_bytes": start_bytes, "peak_bytes": own_memory("VmHWM:"),
                          "samples_per_second": steps * options.batch / elapsed}), flush=True)


def own_memory(row):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(row))


def torch_blas():
    """PyTorch's version and the library that does its matrix products: with Debian's plain reference
    BLAS its LSTM and linear layers crawl, and a ratio against it says nothing."""
    code = "import torch; print(torch.__version__, torch.__config__.show(), open('/proc/self/maps').read(), sep='\\n')"
    told = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
    version, rest = told.split("\n", 1)
    if "Math Kernel Library" in rest:  # inside libtorch; what numpy brings does not count
        return version, "mkl"
    loaded = "\n".join(line for line in rest.split("\n") if "numpy" not in line and "scipy" not in line)
    known = [name for name in ("openblas", "mkl_rt", "blis") if "lib" + name in loaded]
    return version, known[0] if known else "reference"


class Server:
    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def window(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def commands(options, batch, threads):
    shared = ["--batch", str(batch), "--threads", str(threads), "--classes", str(options.classes),
              "--label-length", str(options.label_length), "--model", options.model]
    if options.height:
        shared += ["--height", str(options.height)]
    if options.width:
        shared += ["--width", str(options.width)]
    torch_command = [sys.executable, os.path.abspath(__file__), "--serve", *shared]
    return ([options.train_step, *shared],
            torch_command + (["--channels-last"] if options.channels_last else []))


def compare_memory(options, batch, threads):
    """Peaks after three steps, of two processes that do not run at once."""
    row = {"model": options.model, "batch": batch, "threads": threads, "torch": options.torch}
    for side, command in zip(("ocrtune", "torch"), commands(options, batch, threads)):
        server = Server(command)
        for _ in range(3):
            answer = server.window(0)
        server.close()
        row[f"{side}_peak_mib"] = round(answer["peak_bytes"] / 2**20, 1)
        row[f"{side}_growth_mib"] = round((answer["peak_bytes"] - answer["start_bytes"]) / 2**20, 1)
    row["growth_ratio"] = round(row["ocrtune_growth_mib"] / row["torch_growth_mib"], 3)
    return row


def compare(options, batch, threads):
    ours, theirs = (Server(command) for command in commands(options, batch, threads))
    first = [server.window(0.01) for server in (ours, theirs)]
    for server in (ours, theirs):
        server.window(options.warm_up)
    rates = ([], [])
    for _ in range(options.windows):
        for server, kept in zip((ours, theirs), rates):
            kept.append(server.window(options.seconds)["samples_per_second"])
    ours.close()
    theirs.close()
    medians = [statistics.median(kept) for kept in rates]
    ratios = sorted(a / b for a, b in zip(*rates))
    return {
        "model": options.model, "batch": batch, "threads": threads, "windows": options.windows,
        "ocrtune_samples_per_second": round(medians[0], 2),
        "torch_samples_per_second": round(medians[1], 2),
        "ratio_of_medians": round(medians[0] / medians[1], 3),
        "torch": options.torch, "torch_blas": options.blas,
        "ratio_low": round(ratios[0], 3), "ratio_high": round(ratios[-1], 3),
        "first_loss_difference": abs(first[0]["first_loss"] / first[1]["first_loss"] - 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--train-step", default=os.path.join(ROOT, "build", "train_step"))
    parser.add_argument("--model", default="crnn")
    parser.add_argument("--batches", default="4,16,64")
    parser.add_argument("--thread-counts", default="1,2")
    parser.add_argument("--batch", type=int, default=16, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--height", type=int, default=0)
    parser.add_argument("--width", type=int, default=0)
    parser.add_argument("--classes", type=int, default=97)
    parser.add_argument("--label-length", type=int, default=10)
    parser.add_argument("--windows", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--warm-up", type=float, default=1.0)
    parser.add_argument("--memory", action="store_true", help="peak memory in place of rates")
    parser.add_argument("--channels-last", action="store_true", help="PyTorch in NHWC")
    options = parser.parse_args()
    if options.serve:
        serve(options)
        return
    options.torch, options.blas = torch_blas()
    if options.blas == "reference":
        print("PyTorch runs on the reference BLAS: install libopenblas0-pthread first, or give its "
              "folder in LD_LIBRARY_PATH", file=sys.stderr)
    for threads in map(int, options.thread_counts.split(",")):
        for batch in map(int, options.batches.split(",")):
            cell = (compare_memory if options.memory else compare)(options, batch, threads)
            print(json.dumps(cell), flush=True)


if __name__ == "__main__":
    main()
