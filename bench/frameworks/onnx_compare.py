"""An exported recogniser: the built-in engine beside ONNX Runtime and OpenVINO.

The engine reads the ONNX file as `ocrtune infer --model` does. Both get the same image tensors (the
engine's scaling and padding), so that only the networks are compared.

    python3 bench/frameworks/onnx_compare.py --onnx-logits build/onnx_logits --model rec.onnx --lines lines/
    python3 bench/frameworks/onnx_compare.py --onnx-logits build/onnx_logits --model rec.onnx --times

Needs onnxruntime, onnx and numpy; openvino where it is to be timed. With --lines: over all images of the
folder, the lines that each program reads as ONNX Runtime in fp32 does, its label error rate where labels.txt
lies beside the folder, and the largest difference of the engine's logits, probabilities and confidences. With
--times: seconds of one batch, all programs warm, asked in turns with a pause between them, so that no team of
threads still spins when the next one runs; medians and their ratios, and the load average beside each cell.
--precision is the engine's; the others compute in fp32, and with --calibrate in 8-bit integers too, made by
their own tools from the images of that folder and kept beside the model (onnx_int8.py).
"""

import argparse
import os
import statistics
import struct
import subprocess
import time

import numpy
import onnx
import onnxruntime

try:
    import openvino
except ImportError:
    openvino = None

PAUSE_SECONDS = 0.05


def session_of(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def with_logits(path):
    """The model with its logits as a second output, so that more than probabilities is compared."""
    model = onnx.load(path)
    last = next(node for node in model.graph.node if model.graph.output[0].name in node.output)
    if last.op_type == "Softmax":
        model.graph.output.append(onnx.helper.make_tensor_value_info(last.input[0], onnx.TensorProto.FLOAT, None))
    return model.SerializeToString()


def softmax(logits):
    powers = numpy.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def decode(probabilities):
    """Classes without blanks and repeats, and their mean probability."""
    best = probabilities.argmax(axis=1)
    keep = [t for t in range(len(best)) if best[t] != 0 and (t == 0 or best[t] != best[t - 1])]
    return [int(best[t]) for t in keep], float(numpy.mean([probabilities[t, best[t]] for t in keep] or [0]))


def read_exactly(stream, count):
    data = stream.read(count)
    assert len(data) == count, "onnx_logits ended early"
    return data


def edits(found, wanted):
    """The least number of characters to add, drop or change."""
    row = list(range(len(wanted) + 1))
    for i, a in enumerate(found, 1):
        before, row = row, [i]
        for j, b in enumerate(wanted, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
    return row[-1]


def labels_of(folder):
    """Labels by the name of the image: labels.txt lies beside the folder of images, or is not there."""
    path = os.path.join(folder, "..", "labels.txt")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as lines:
        return {os.path.basename(name): label for name, label in (line.rstrip("\n").split("\t") for line in lines)}


def alphabet_of(path):
    """Characters of the classes behind the blank; the last is the space."""
    written = {each.key: each.value for each in onnx.load(path).metadata_props}
    return written.get("character", "").split("\n") + [" "]


def engine_lines(options, folder):
    """For each image of the folder its name, the tensor as the model takes it, and the engine's logits."""
    engine = subprocess.Popen([options.onnx_logits, options.model, options.precision, "logits"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})
    for name in sorted(name for name in os.listdir(folder) if name.lower().endswith((".png", ".jpg", ".jpeg"))):
        engine.stdin.write(os.path.join(folder, name).encode() + b"\n")
        engine.stdin.flush()
        width, steps, classes = struct.unpack("3i", read_exactly(engine.stdout, 12))
        height = options.height
        image = numpy.frombuffer(read_exactly(engine.stdout, 4 * 3 * height * width), numpy.float32)
        ours = numpy.frombuffer(read_exactly(engine.stdout, 4 * steps * classes), numpy.float32).reshape(steps, classes)
        # The model takes blue first.
        yield name, numpy.ascontiguousarray(image.reshape(1, 3, height, width)[:, ::-1]), ours
    engine.stdin.close()
    engine.wait()


class Reading:
    """What one program made of the lines, against labels and against another program."""

    def __init__(self):
        self.errors = self.same_lines = self.lines = self.characters = 0

    def add(self, found, reference, label):
        self.errors += edits(found, label) if label is not None else 0
        self.characters += len(label) if label is not None else 0
        self.same_lines += found == reference
        self.lines += 1

    def __str__(self):
        errors = f", label error rate {self.errors / self.characters:.4f}" if self.characters else ""
        return f"{self.same_lines} of {self.lines} lines read as ONNX Runtime in fp32{errors}"


def session_runner(path, threads):
    session = session_of(path, threads)
    feed, output = session.get_inputs()[0].name, [session.get_outputs()[0].name]
    return lambda image: session.run(output, {feed: image})[0]


def openvino_runner(path, threads, shape):
    """With its hint for one request at a time; what is not quantised in fp32: its default may be bf16."""
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape(shape)
    compiled = core.compile_model(model, "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads,
                                                 "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    return lambda image: next(iter(request.infer([image], share_inputs=True, share_outputs=True).values()))


def programs(options, threads, shape):
    """The other programs by name: a function from an image tensor to probabilities."""
    by_name = {"ONNX Runtime": session_runner(options.model, threads)}
    if openvino:
        by_name["OpenVINO"] = openvino_runner(options.model, threads, shape)
    if options.calibrate:
        onnx_file, openvino_file = int8_files(options)
        by_name["ONNX Runtime int8"] = session_runner(onnx_file, threads)
        by_name["OpenVINO int8"] = openvino_runner(openvino_file, threads, shape)
    return by_name


def int8_files(options):
    files = options.model + ".int8.onnx", options.model + ".int8.xml"
    if not all(os.path.exists(each) for each in files):
        import onnx_int8  # needs more packages

        images = [image for _, image, _ in engine_lines(options, options.calibrate)]
        onnx_int8.onnxruntime_int8(options.model, images, files[0])
        onnx_int8.openvino_int8(options.model, images, files[1])
    return files


def compare(options):
    session = session_of(with_logits(options.model), 1)
    feed = session.get_inputs()[0].name
    others = programs(options, 1, [1, 3, options.height, -1])
    labels, alphabet = labels_of(options.lines), alphabet_of(options.model)
    readings = {name: Reading() for name in [f"ocrtune {options.precision}", *others]}
    logit = relative = probability = confidence = 0.0
    lines = close_lines = 0

    def text(probabilities):
        return "".join(alphabet[k - 1] for k in decode(probabilities)[0])

    for name, image, ours in engine_lines(options, options.lines):
        theirs = session.run(None, {feed: image})
        probabilities, reference = theirs[0][0], theirs[-1][0]
        off = float(numpy.abs(ours - reference).max())
        lines += 1
        close_lines += off <= 1e-3
        logit = max(logit, off)
        relative = max(relative, float(numpy.linalg.norm(ours - reference) / numpy.linalg.norm(reference)))
        probability = max(probability, float(numpy.abs(softmax(ours) - probabilities).max()))
        confidence = max(confidence, abs(decode(softmax(ours))[1] - decode(probabilities)[1]))
        found = [ours] + [run(image)[0] for run in others.values()]
        for reading, each in zip(readings.values(), found):
            reading.add(text(each), text(probabilities), labels.get(name))
    print(f"{lines} lines: largest difference of a logit {logit:.2g} ({close_lines} lines within 1e-3), of a line's "
          f"logits {relative:.2g} (Euclidean norm, relative), of a probability {probability:.2g}, of a confidence "
          f"{confidence:.2g}")
    for name, reading in readings.items():
        print(f"{name}: {reading}")


def time_cell(options, batch, threads):
    image = numpy.random.default_rng(1).uniform(-1, 1, (batch, 3, options.height, options.width)).astype(numpy.float32)
    engine = subprocess.Popen([options.onnx_logits, options.model, options.precision, "time", str(batch), str(options.width)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "OMP_NUM_THREADS": str(threads)})

    def ours():
        engine.stdin.write("\n")
        engine.stdin.flush()
        return float(engine.stdout.readline())

    def timed(run):
        def measure():
            start = time.perf_counter()
            run(image)
            return time.perf_counter() - start
        return measure

    sides = [ours] + [timed(run) for run in programs(options, threads, list(image.shape)).values()]
    for _ in range(2):
        [side() for side in sides]
    rounds = []
    for _ in range(options.samples):
        rounds.append([])
        for side in sides:
            time.sleep(PAUSE_SECONDS)
            rounds[-1].append(side())
    engine.stdin.close()
    engine.wait()
    cells = [f"{1e3 * statistics.median(each[0] for each in rounds):.1f}"]
    for i in range(1, len(sides)):
        ratios = sorted(each[i] / each[0] for each in rounds)
        cells.append(f"{1e3 * statistics.median(each[i] for each in rounds):.1f}")
        cells.append(f"{statistics.median(ratios):.2f} ({ratios[len(ratios) // 4]:.2f}..{ratios[3 * len(ratios) // 4]:.2f})")
    print(f"| {batch} | {threads} | {' | '.join(cells)} | {os.getloadavg()[0]:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onnx-logits", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--lines")
    parser.add_argument("--calibrate", metavar="FOLDER")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--height", type=int, default=48)
    parser.add_argument("--width", type=int, default=320)
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--batches", default="1,8,32")
    parser.add_argument("--thread-counts", default="1,2")
    options = parser.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}" + (f", openvino {openvino.__version__}" if openvino else ""))
    if options.lines:
        compare(options)
    if options.times:
        others = [*programs(options, 1, [1, 3, options.height, options.width])]
        print("| lines | threads | ocrtune ms | " + " | ".join(f"{other} ms | ratio" for other in others) + " | load |")
        print("|" + "--|" * (4 + 2 * len(others)))
        for batch in options.batches.split(","):
            for threads in options.thread_counts.split(","):
                time_cell(options, int(batch), int(threads))


main()
