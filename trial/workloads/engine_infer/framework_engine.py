"""Computes a recogniser's network in a framework: what `ocrtune infer --backend onnxruntime` reads with.

Batches come on standard input as ocrtune makes them for its own engine: three numbers (lines, height, width), then
pixels [lines, 3, height, width], red first. The answers go to --answers as frames (trial/ipc/frames.h): 'H' once, with
the framework's version; for each line 'L', its likeliest classes and their probabilities; 'E', why it cannot. With
--check a batch of zeros is read and one line is printed instead.
"""

import argparse
import json
import os
import pathlib
import struct
import sys


class OnnxRuntime:
    def __init__(self, model, threads, precision):
        import onnxruntime
        self.version = onnxruntime.__version__
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0].name

    def infer(self, images):
        return self.session.run(None, {self.input: images})[0]


class OpenVino:
    def __init__(self, model, threads, precision):
        import openvino
        self.version = openvino.get_version().split("-")[0]
        # Said, because it takes bf16 by itself where the CPU has it.
        settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False,
                    "INFERENCE_PRECISION_HINT": {"fp32": "f32", "bf16": "bf16"}[precision]}
        self.request = openvino.Core().compile_model(model, "CPU", settings).create_infer_request()

    def infer(self, images):
        self.request.infer([images], share_inputs=True)
        return self.request.get_output_tensor(0).data


class Paddle:
    """Paddle reads no ONNX file: its own form of the model lies beside that."""
    onednn = False

    def __init__(self, model, threads, precision):
        import paddle
        from paddle import inference
        self.version = paddle.__version__
        program, weights = self.files(pathlib.Path(model))
        config = inference.Config(str(program), str(weights))
        config.disable_gpu()
        config.disable_glog_info()
        config.set_cpu_math_library_num_threads(threads)
        if self.onednn:
            config.enable_mkldnn()
            config.set_mkldnn_cache_capacity(64)
        elif hasattr(config, "disable_mkldnn"):
            config.disable_mkldnn()
        self.predictor = inference.create_predictor(config)
        self.input = self.predictor.get_input_handle(self.predictor.get_input_names()[0])
        self.output = self.predictor.get_output_handle(self.predictor.get_output_names()[0])

    @staticmethod
    def files(model):
        for stem in (model.stem, "inference"):
            weights = model.with_name(stem + ".pdiparams")
            for ending in (".json", ".pdmodel"):
                program = model.with_name(stem + ending)
                if weights.exists() and program.exists():
                    return program, weights
        raise FileNotFoundError(f"it reads no ONNX file, and no inference.pdiparams with inference.json or "
                                f"inference.pdmodel lies in {model.parent}")

    def infer(self, images):
        self.input.reshape(images.shape)
        self.input.copy_from_cpu(images)
        self.predictor.run()
        return self.output.copy_to_cpu()


class PaddleOneDnn(Paddle):
    onednn = True


ENGINES = {"onnxruntime": OnnxRuntime, "openvino": OpenVino, "paddle": Paddle, "paddle-onednn": PaddleOneDnn}


def one_line(error):
    """What went wrong, without the places in the framework's sources where it did."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith(("Exception from", "Check '", "---", "C++ Traceback"))]
    text = " ".join(said) or type(error).__name__
    return text if len(text) <= 240 else text[:80] + " ... " + text[-155:]


def rows_of(engine, images):
    rows = engine.infer(images)
    if rows.ndim != 3 or rows.shape[0] != images.shape[0]:
        raise ValueError(f"its output has the shape {list(rows.shape)}, where a recogniser's is [lines, steps, classes]")
    return rows


def path_of(rows):
    """The likeliest class of each step and its probability, whether or not the network ends with a softmax."""
    import numpy
    classes = rows.argmax(axis=2).astype("int32")
    top = numpy.take_along_axis(rows, classes[..., None].astype("int64"), axis=2)[..., 0]
    if abs(float(rows[0, 0].sum()) - 1) > 1e-2:
        top = 1 / numpy.exp(rows - top[..., None]).sum(axis=2)
    return classes, top.astype("float32")


def read_exactly(file, count):
    parts = []
    while count > 0:
        part = file.read(min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def frame(kind, body):
    return struct.pack("=I", len(body)) + kind + body


def serve(engine, requests, answers):
    import numpy
    answers.write(frame(b"H", engine.version.encode()))
    while True:
        head = read_exactly(requests, 12)
        if head is None:
            return
        lines, height, width = struct.unpack("=III", head)
        pixels = read_exactly(requests, lines * 3 * height * width * 4)
        if pixels is None:
            return
        red_first = numpy.frombuffer(pixels, "float32").reshape(lines, 3, height, width)
        # Exported recognisers take blue first.
        classes, probabilities = path_of(rows_of(engine, numpy.ascontiguousarray(red_first[:, ::-1])))
        answers.write(b"".join(frame(b"L", one.tobytes() + chance.tobytes())
                               for one, chance in zip(classes, probabilities)))


def check(engine, height, width):
    import numpy
    rows = rows_of(engine, numpy.zeros((1, 3, height, width), "float32"))
    return {"version": engine.version, "classes": rows.shape[2]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--answers", type=int, help="descriptor")
    parser.add_argument("--check", metavar="HEIGHTxWIDTH")
    given = parser.parse_args()
    # What lies in the current folder is not imported, and what a framework prints is no answer.
    sys.path[:] = [folder for folder in sys.path if folder not in ("", ".")]
    try:
        engine = ENGINES[given.engine](given.model, given.threads, given.precision)
        if given.check:
            print("\nocrtune: " + json.dumps(check(engine, *map(int, given.check.split("x")))), flush=True)
        else:
            with os.fdopen(given.answers, "wb", buffering=0) as answers:
                try:
                    serve(engine, sys.stdin.buffer, answers)
                except Exception as error:  # whatever a framework raises ends this engine alone
                    answers.write(frame(b"E", one_line(error).encode()))
        return 0
    except ModuleNotFoundError as error:
        problem = {"missing": error.name or "", "error": one_line(error)}
    except Exception as error:
        problem = {"error": one_line(error)}
    if given.check:
        print("\nocrtune: " + json.dumps(problem), flush=True)
    else:
        os.write(given.answers, frame(b"E", problem["error"].encode()))
    return 1


if __name__ == "__main__":
    sys.exit(main())
