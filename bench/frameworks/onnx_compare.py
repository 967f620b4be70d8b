"""An exported recogniser: the built-in engine beside ONNX Runtime and OpenVINO.

The engine reads the ONNX file as `ocrtune infer --model` does. Both get the same image tensors (the
engine's scaling and padding), so that only the networks are compared.

    python3 bench/frameworks/onnx_compare.py --onnx-logits build/onnx_logits --model rec.onnx --lines lines/
    python3 bench/frameworks/onnx_compare.py --onnx-logits build/onnx_logits --model rec.onnx --times

Needs onnxruntime, onnx and numpy; openvino where it is to be timed. With --lines: over all images of the
folder, the share of lines with the same characters, the largest difference of a logit, of a probability and
of a line's confidence. With --times: seconds of one batch, all programs warm, asked in turns with a pause
between them, so that no team of threads still spins when the next one runs; medians and their ratios, and
the load average beside each cell. --precision is the engine's; the others compute in fp32.
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


def session_of(path, threads):
    """The model with its logits as a second output, so that more than probabilities is compared."""
    model = onnx.load(path)
    last = next(node for node in model.graph.node if model.graph.output[0].name in node.output)
    if last.op_type == "Softmax":
        model.graph.output.append(onnx.helper.make_tensor_value_info(last.input[0], onnx.TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


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


def compare(options):
    names = sorted(name for name in os.listdir(options.lines) if name.lower().endswith((".png", ".jpg", ".jpeg")))
    paths = [os.path.join(options.lines, name) for name in names]
    session = session_of(options.model, 1)
    feed = session.get_inputs()[0].name
    engine = subprocess.Popen([options.onnx_logits, options.model, options.precision, "logits"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})
    same_lines = characters = same_characters = 0
    logit = relative = probability = confidence = 0.0
    close_lines = 0
    for path in paths:
        engine.stdin.write(path.encode() + b"\n")
        engine.stdin.flush()
        width, steps, classes = struct.unpack("3i", read_exactly(engine.stdout, 12))
        height = options.height
        image = numpy.frombuffer(read_exactly(engine.stdout, 4 * 3 * height * width), numpy.float32)
        ours = numpy.frombuffer(read_exactly(engine.stdout, 4 * steps * classes), numpy.float32).reshape(steps, classes)
        image = image.reshape(1, 3, height, width)[:, ::-1]  # the model takes blue first
        theirs = session.run(None, {feed: numpy.ascontiguousarray(image)})
        reference = theirs[-1][0]
        off = float(numpy.abs(ours - reference).max())
        close_lines += off <= 1e-3
        logit = max(logit, off)
        relative = max(relative, float(numpy.linalg.norm(ours - reference) / numpy.linalg.norm(reference)))
        probability = max(probability, float(numpy.abs(softmax(ours) - theirs[0][0]).max()))
        (text, sure), (their_text, their_sure) = decode(softmax(ours)), decode(theirs[0][0])
        confidence = max(confidence, abs(sure - their_sure))
        same_lines += text == their_text
        characters += len(their_text)
        same_characters += sum(a == b for a, b in zip(text, their_text)) if len(text) == len(their_text) else 0
    engine.stdin.close()
    engine.wait()
    print(f"{len(paths)} lines: {same_lines} read the same, {same_characters} of {characters} characters; largest "
          f"difference of a logit {logit:.2g} ({close_lines} lines within 1e-3), of a line's logits {relative:.2g} "
          f"(Euclidean norm, relative), of a probability {probability:.2g}, of a confidence {confidence:.2g}")


def openvino_runner(path, threads, image):
    """Compiled for this one shape, with its hint for one request at a time, in fp32: its default may be bf16."""
    core = openvino.Core()
    model = core.read_model(path)
    model.reshape(list(image.shape))
    compiled = core.compile_model(model, "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads,
                                                 "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    return lambda: request.infer([image], share_inputs=True, share_outputs=True)


def time_cell(options, batch, threads):
    session = session_of(options.model, threads)
    name = session.get_inputs()[0].name
    image = numpy.random.default_rng(1).uniform(-1, 1, (batch, 3, options.height, options.width)).astype(numpy.float32)
    output = [session.get_outputs()[0].name]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    engine = subprocess.Popen([options.onnx_logits, options.model, options.precision, "time", str(batch), str(options.width)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ours():
        engine.stdin.write("\n")
        engine.stdin.flush()
        return float(engine.stdout.readline())

    def timed(run):
        def measure():
            start = time.perf_counter()
            run()
            return time.perf_counter() - start
        return measure

    sides = [ours, timed(lambda: session.run(output, {name: image}))]
    if openvino:
        sides.append(timed(openvino_runner(options.model, threads, image)))
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
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--height", type=int, default=48)
    parser.add_argument("--width", type=int, default=320)
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--batches", default="1,8,32")
    parser.add_argument("--thread-counts", default="1,2")
    options = parser.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}")
    if options.lines:
        compare(options)
    if options.times:
        others = ["ONNX Runtime"] + ([f"OpenVINO {openvino.__version__}"] if openvino else [])
        print("| lines | threads | ocrtune ms | " + " | ".join(f"{other} ms | ratio" for other in others) + " | load |")
        print("|" + "--|" * (4 + 2 * len(others)))
        for batch in options.batches.split(","):
            for threads in options.thread_counts.split(","):
                time_cell(options, int(batch), int(threads))


main()
