"""One framework on one network of ocrtune: answers each line of standard input (seconds) with one
JSON line, as train_step does. Started by compare_frameworks.py with that framework's Python."""

import argparse
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../trial/workloads/engine_paddle"))


def paddle_training(options, graph):
    import numpy as np
    import paddle
    import paddle.nn.functional as F
    from paddle_network import Network

    paddle.seed(1)
    net = Network(graph)
    net.train()
    random = np.random.default_rng(1)
    shape = [options.batch, 3, graph["height"], graph["width"]]
    images = paddle.to_tensor(random.uniform(-1, 1, shape).astype("float32"))
    labels = paddle.to_tensor(random.integers(
        1, options.classes, [options.batch, options.label_length]).astype("int32"))
    lengths = paddle.full([options.batch], options.label_length, dtype="int64")
    optimizer = paddle.optimizer.AdamW(1e-3, parameters=net.parameters(), weight_decay=0.01)

    def step():
        logits = net(images).transpose([1, 0, 2])
        steps = paddle.full([options.batch], logits.shape[0], dtype="int64")
        loss = F.ctc_loss(logits, labels, steps, lengths, blank=0, reduction="none").mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return float(loss)

    return step, sum(p.size for p in net.parameters() if not p.stop_gradient)


def paddle_inference(options, graph):
    import numpy as np
    import paddle
    from paddle import inference
    from paddle_network import Network

    net = Network(graph)
    net.eval()
    shape = [options.batch, 3, graph["height"], graph["width"]]
    folder = tempfile.mkdtemp(prefix="ocrtune-paddle-")
    path = os.path.join(folder, "net")
    static = paddle.jit.to_static(
        net, input_spec=[paddle.static.InputSpec(shape, "float32")], full_graph=True)
    paddle.jit.save(static, path)
    program = path + (".json" if os.path.exists(path + ".json") else ".pdmodel")
    config = inference.Config(program, path + ".pdiparams")
    config.disable_gpu()
    config.enable_mkldnn()
    config.set_cpu_math_library_num_threads(options.threads)
    config.disable_glog_info()
    predictor = inference.create_predictor(config)
    entry = predictor.get_input_handle(predictor.get_input_names()[0])
    result = predictor.get_output_handle(predictor.get_output_names()[0])
    images = np.random.default_rng(1).uniform(-1, 1, shape).astype("float32")

    def step():
        entry.copy_from_cpu(images)
        predictor.run()
        return float(result.copy_to_cpu().ravel()[0])

    return step, sum(p.size for p in net.parameters() if not p.stop_gradient)


def onnxruntime(options, graph):
    import numpy as np
    import onnxruntime
    from onnx_network import Exporter

    exporter = Exporter(graph, options.batch)
    model = exporter.model()
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), session_options, providers=["CPUExecutionProvider"])
    images = np.random.default_rng(1).uniform(-1, 1, exporter.shapes[0]).astype("float32")

    def step():
        return float(session.run(None, {"image": images})[0].ravel()[0])

    parameters = sum(int(np.prod(p["extent"])) for layer in graph["layers"]
                     for p in layer["parameters"])
    return step, parameters


ROWS = {"paddle": paddle_training, "paddle-inference": paddle_inference,
        "onnxruntime": onnxruntime}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("framework", choices=ROWS)
    parser.add_argument("graph")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--classes", type=int, default=97)
    parser.add_argument("--label-length", type=int, default=10)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    os.environ.setdefault("FLAGS_use_mkldnn", "1")
    with open(options.graph, encoding="utf-8") as file:
        graph = json.load(file)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the framework prints is not an answer
    step, parameters = ROWS[options.framework](options, graph)
    for line in sys.stdin:
        start, steps, first = time.perf_counter(), 0, None
        while steps == 0 or time.perf_counter() - start < float(line):
            value = step()
            first = value if first is None else first
            steps += 1
        elapsed = time.perf_counter() - start
        print(json.dumps({"steps": steps, "seconds": elapsed, "first_loss": first,
                          "parameters": parameters,
                          "samples_per_second": steps * options.batch / elapsed}),
              file=answers, flush=True)


if __name__ == "__main__":
    main()
