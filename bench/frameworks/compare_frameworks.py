"""ocrtune's core beside PaddlePaddle (training, inference) and ONNX Runtime (inference) on the same
network, whose layers graph_dump prints. Windows of the programs in turns, warm, as compare_torch.py.

    python3 bench/frameworks/compare_frameworks.py --against paddle --python VENV/bin/python --model crnn-mv3
    python3 bench/frameworks/compare_frameworks.py --against paddle-inference,onnxruntime --python V1/bin/python,V2/bin/python

The venvs hold paddlepaddle, and onnxruntime with onnx.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

from compare_torch import ROOT, Server

HERE = os.path.dirname(os.path.abspath(__file__))


def dump_graph(options, inference):
    command = [os.path.join(options.build, "graph_dump"), "--model", options.model,
               "--classes", str(options.classes)]
    text = subprocess.run(command + (["--inference"] if inference else []),
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    graph = json.loads(text)
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(graph, file)
    return file.name


def compare(options, framework, python, batch, threads):
    inference = framework != "paddle"
    shared = ["--batch", str(batch), "--threads", str(threads), "--classes", str(options.classes),
              "--label-length", str(options.label_length)]
    ours = Server([os.path.join(options.build, "train_step"), "--model", options.model, *shared]
                  + (["--infer"] if inference else []))
    graph = dump_graph(options, inference)
    theirs = Server([python, os.path.join(HERE, "framework_server.py"), framework, graph, *shared])
    try:
        for server in (ours, theirs):
            server.window(options.warm_up)
        rates, parameters = ([], []), None
        for _ in range(options.windows):
            for server, kept in zip((ours, theirs), rates):
                answer = server.window(options.seconds)
                kept.append(answer["samples_per_second"])
                parameters = answer.get("parameters", parameters)
    finally:
        ours.close()
        theirs.close()
        os.unlink(graph)
    medians = [statistics.median(kept) for kept in rates]
    ratios = sorted(a / b for a, b in zip(*rates))
    return {
        "model": options.model, "against": framework, "batch": batch, "threads": threads,
        "windows": options.windows, "parameters_there": parameters,
        "ocrtune_samples_per_second": round(medians[0], 2),
        "their_samples_per_second": round(medians[1], 2),
        "ratio_of_medians": round(medians[0] / medians[1], 3),
        "ratio_low": round(ratios[0], 3), "ratio_high": round(ratios[-1], 3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", default="paddle",
                        help="paddle, paddle-inference, onnxruntime, with commas")
    parser.add_argument("--python", required=True,
                        help="The Python that has the framework, one for each of --against")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--model", default="crnn-mv3")
    parser.add_argument("--batches", default="1,8,32")
    parser.add_argument("--thread-counts", default="1,2")
    parser.add_argument("--classes", type=int, default=97)
    parser.add_argument("--label-length", type=int, default=10)
    parser.add_argument("--windows", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--warm-up", type=float, default=1.0)
    options = parser.parse_args()
    frameworks, pythons = options.against.split(","), options.python.split(",")
    pythons = pythons * len(frameworks) if len(pythons) == 1 else pythons
    for framework, python in zip(frameworks, pythons):
        for threads in map(int, options.thread_counts.split(",")):
            for batch in map(int, options.batches.split(",")):
                print(json.dumps(compare(options, framework, python, batch, threads)), flush=True)


if __name__ == "__main__":
    main()
