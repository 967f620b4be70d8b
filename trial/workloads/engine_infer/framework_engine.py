"""Computes a recogniser's network in a framework: what `ocrtune infer --backend onnxruntime` reads with.

Batches come on standard input as ocrtune makes them for its own engine: three numbers (lines, height, width), then
pixels [lines, 3, height, width], red first. The answers go to --answers as frames (trial/ipc/frames.h): 'H' once, with
the framework's version; for each line 'L', its likeliest classes and their probabilities; 'E', why it cannot. With
--check a batch of zeros is read and one line is printed instead; with --quantize the batches are read once in fp32,
and FILE gets the model with weights and activations of 8 bits, by the ranges that were seen.

An engine's name may carry options: onnxruntime+no-arena+parallel.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import struct
import sys
import tempfile


def int8_file(model):
    """Made by `tune`, by the user or by the framework's own tools; rec.int8.onnx of rec.onnx."""
    path = pathlib.Path(model).with_suffix(".int8.onnx")
    if not path.exists():
        raise FileNotFoundError(f"it computes in int8 from {path.name} beside the model, and there is none: "
                                f"ocrtune tune --precision fp32,int8 makes it from the lines that it reads")
    return str(path)


def quantize(model, file, batches):
    """By the ranges that the lines were seen in: QDQ nodes at convolutions and products, a scale for each channel."""
    import onnx
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process
    network = onnx.load(model)
    name = network.graph.input[0].name
    if max(one.version for one in network.opset_import if one.domain in ("", "ai.onnx")) < 13:
        network = onnx.version_converter.convert_version(network, 13)  # the first with scales for each channel

    class Seen(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = iter(batches)

        def get_next(self):
            batch = next(self.left, None)
            return None if batch is None else {name: batch}

    with tempfile.TemporaryDirectory() as folder:
        newer, folded, made = (os.path.join(folder, part + ".onnx") for part in ("newer", "folded", "made"))
        onnx.save(network, newer)
        quant_pre_process(newer, folded, skip_symbolic_shape=True)
        quantization.quantize_static(folded, made, Seen(), quant_format=quantization.QuantFormat.QDQ,
                                     per_channel=True, op_types_to_quantize=["Conv", "MatMul"])
        try:
            shutil.copyfile(made, file + ".part")
            os.replace(file + ".part", file)
        except OSError:  # a full disk
            with contextlib.suppress(OSError):
                os.unlink(file + ".part")
            raise


class OnnxRuntime:
    def __init__(self, model, threads, precision, chosen):
        import onnxruntime
        self.version = onnxruntime.__version__
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        if "parallel" in chosen:
            options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
            options.inter_op_num_threads = threads
        for level in ("basic", "extended"):
            if "graph-" + level in chosen:
                name = "ORT_ENABLE_" + level.upper()
                options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, name)
        options.enable_cpu_mem_arena = "no-arena" not in chosen
        options.enable_mem_pattern = "no-pattern" not in chosen
        if "no-spin" in chosen:
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        file = int8_file(model) if precision == "int8" else model
        self.session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0].name

    def infer(self, images):
        return self.session.run(None, {self.input: images})[0]


class OpenVino:
    def __init__(self, model, threads, precision, chosen):
        import openvino
        self.version = openvino.get_version().split("-")[0]
        streams = max([int(name.partition("-")[2]) for name in chosen if name.startswith("streams-")], default=1)
        # Said, because it takes bf16 by itself where the CPU has it.
        settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": streams, "ENABLE_CPU_PINNING": "pinned" in chosen,
                    "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32"}
        file = int8_file(model) if precision == "int8" else model
        compiled = openvino.Core().compile_model(file, "CPU", settings)
        self.requests = [compiled.create_infer_request() for _ in range(streams)]

    def infer(self, images):
        if len(self.requests) == 1:
            self.requests[0].infer([images], share_inputs=True)
            return self.requests[0].get_output_tensor(0).data
        import numpy
        # A stream reads its share of the lines.
        shares = [share for share in numpy.array_split(images, len(self.requests)) if len(share) > 0]
        for request, share in zip(self.requests, shares):
            request.start_async([share], share_inputs=True)
        for request, _ in zip(self.requests, shares):
            request.wait()
        return numpy.concatenate([request.get_output_tensor(0).data for request, _ in zip(self.requests, shares)])


class Paddle:
    """Paddle reads no ONNX file: its own form of the model lies beside that."""
    onednn = False

    def __init__(self, model, threads, precision, chosen):
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


def serve(engine, requests, answers, keep):
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
        blue_first = numpy.ascontiguousarray(red_first[:, ::-1])
        classes, probabilities = path_of(rows_of(engine, blue_first))
        answers.write(b"".join(frame(b"L", one.tobytes() + chance.tobytes())
                               for one, chance in zip(classes, probabilities)))
        if keep is not None:
            keep.append(blue_first)


def check(engine, height, width):
    import numpy
    rows = rows_of(engine, numpy.zeros((1, 3, height, width), "float32"))
    return {"version": engine.version, "classes": rows.shape[2]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", help=" | ".join(ENGINES) + ", and +OPTION for each of its options")
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--answers", type=int, help="descriptor")
    parser.add_argument("--check", metavar="HEIGHTxWIDTH")
    parser.add_argument("--quantize", metavar="FILE")
    given = parser.parse_args()
    # What lies in the current folder is not imported, and what a framework prints is no answer.
    sys.path[:] = [folder for folder in sys.path if folder not in ("", ".")]
    try:
        name, *chosen = given.engine.split("+")
        engine = ENGINES[name](given.model, given.threads, given.precision, chosen)
        if given.check:
            print("\nocrtune: " + json.dumps(check(engine, *map(int, given.check.split("x")))), flush=True)
        else:
            with os.fdopen(given.answers, "wb", buffering=0) as answers:
                try:
                    keep = [] if given.quantize else None
                    serve(engine, sys.stdin.buffer, answers, keep)
                    if keep:
                        quantize(given.model, given.quantize, keep)
                        answers.write(frame(b"Q", b""))
                except ModuleNotFoundError as error:
                    answers.write(frame(b"E", f"{one_line(error)}; pip install {error.name}".encode()))
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
        way_out = "; install it, or activate the environment that has it" if "missing" in problem else ""
        os.write(given.answers, frame(b"E", (problem["error"] + way_out).encode()))
    return 1


if __name__ == "__main__":
    sys.exit(main())
