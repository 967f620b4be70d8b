#!/usr/bin/env python3
"""Does a plan hold? A server is measured, planned with, then asked for what the plan gives one machine.

    page_server.py serve --port 8080 [--procs 2] [--threads 1] [--side 320]   # POST a page, get its lines as JSON
    page_server.py check FOLDER [--ocrtune build/ocrtune] [--slo p95=8s] [--budget 10m] [--seconds 240]
    page_server.py lines FOLDER [--ocrtune build/ocrtune] [--slo p99=80ms] [--rate 200] [--budget 3m]

`check` is of RapidOCR behind HTTP: it renders pages, lets `ocrtune tune --mode infer --url` find setting and rate
within the target, plans with them, and sends Poisson arrivals (drawn here, not by ocrtune) to one
server: at the rate that the plan gives a machine, and at 1.15 times that. The first should meet the
target, the second should not. A FOLDER that holds a measurement already is only asked. Run it with
RapidOCR's python. `lines` does the same with the built-in engine, which ocrtune's own load generator
asks. Prints the load average beside each figure: other load makes all of them worthless.
"""

import argparse
import http.client
import http.server
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

from ocr_pages import make


class Pages(http.server.BaseHTTPRequestHandler):
    engine = None

    def do_POST(self):
        page = self.rfile.read(int(self.headers["Content-Length"]))
        found, _ = Pages.engine(page)
        answer = json.dumps([text for _, text, _ in found or []]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def serve(port, procs, threads, side):
    """Processes that accept from one socket, each reading one page at a time."""
    listening = socket.create_server(("127.0.0.1", port), backlog=1024)
    children = []
    for _ in range(procs):
        child = os.fork()
        if child == 0:
            from rapidocr_onnxruntime import RapidOCR
            limits = {"det_limit_side_len": side, "det_limit_type": "max"} if side else {}
            Pages.engine = RapidOCR(intra_op_num_threads=threads, **limits)
            server = http.server.HTTPServer(("", 0), Pages, bind_and_activate=False)
            server.socket = listening
            server.serve_forever()
        children.append(child)

    def end(*_):
        for child in children:
            os.kill(child, signal.SIGKILL)
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    for child in children:
        os.waitpid(child, 0)


def ask(url, body):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=300)
    try:
        connection.request("POST", parts.path, body)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def latencies(url, bodies, rate, seconds, seed):
    """Open loop: each request in its own thread at its own time; unanswered ones are infinite."""
    draw = random.Random(seed)
    found, threads = [], []
    began = time.monotonic()

    def one(due, body):
        fine = ask(url, body)
        found.append(time.monotonic() - due if fine else float("inf"))

    due = began
    while due - began < seconds:
        due += draw.expovariate(rate)
        time.sleep(max(0, due - time.monotonic()))
        thread = threading.Thread(target=one, args=(due, draw.choice(bodies)), daemon=True)
        thread.start()
        threads.append(thread)
    for thread in threads:
        thread.join(600)
    return sorted(found + [float("inf")] * (len(threads) - len(found)))


def ocrtune_json(command, fine=(0,)):
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if ran.returncode not in fine:
        sys.exit(f"{' '.join(command)}: exit code {ran.returncode}\n{ran.stdout}")
    return json.loads(ran.stdout)


def check(given):
    pages = given.folder / "pages"
    if not pages.exists():
        for count in given.page_lines.split(","):
            make(pages / count, 1, int(count))
    files = sorted(pages.glob("*/*.png"))
    bodies = [file.read_bytes() for file in files]
    database = str(given.folder / "runs.sqlite")
    server = [sys.executable, __file__, "serve", "--port", "{port}", "--procs", "{nproc}",
              "--threads", "{threads}"]
    command = [given.ocrtune, "tune", "--mode", "infer", "--slo", given.slo, "--db", database,
               "--budget", given.budget, "--nproc", given.nproc, "--threads", given.threads,
               "--url", "http://127.0.0.1:{port}/", "--json"]
    for file in files:
        command += ["--input", str(file)]
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs", flush=True)
    if not os.path.exists(database):
        tuned = ocrtune_json(command + ["--"] + server)
        print(tuned.get("headline", ""), flush=True)
    if not given.seconds:
        return
    plan = ocrtune_json([given.ocrtune, "plan", "--db", database, "--rate", given.rate, "--slo",
                         given.slo, "--json"])
    print(plan["answer"], "\none machine:", plan["served_requests_per_second"], flush=True)
    each = plan["served_requests_per_second"]["low"]
    share, limit = given.slo.split("=")
    share = float(share[1:]) / 100
    port = socket.create_server(("127.0.0.1", 0)).getsockname()[1]
    fill = {"{port}": port, "{nproc}": plan["knobs"]["nproc"], "{threads}": plan["knobs"]["threads"]}
    running = subprocess.Popen([str(fill.get(word, word)) for word in server])
    try:
        url = f"http://127.0.0.1:{port}/"
        while not ask(url, bodies[0]):
            time.sleep(0.5)
        latencies(url, bodies, each, 20, 7)  # every process has read a page
        for factor in (1, 1.15):
            found = latencies(url, bodies, factor * each, given.seconds, 11)
            at = found[min(len(found) - 1, int(share * len(found)))]
            print(f"{factor:g} x {each:.3g}/s: {len(found)} requests, p{100 * share:g} {at:.2f} s "
                  f"(target {limit}), load average {os.getloadavg()[0]:.1f}", flush=True)
    finally:
        running.terminate()
        running.wait()


def lines(given):
    given.folder.mkdir(parents=True, exist_ok=True)
    folder, database = str(given.folder / "lines"), str(given.folder / "lines.sqlite")
    if not os.path.exists(folder):
        subprocess.run([given.ocrtune, "make-data", folder, "--count", "2000"], check=True)
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs", flush=True)
    if not os.path.exists(database):
        tuned = ocrtune_json([given.ocrtune, "tune", "--mode", "infer", "--data", folder, "--slo",
                              given.slo, "--db", database, "--budget", given.budget, "--json"], (0, 1))
        print(tuned.get("headline", ""), flush=True)
    plan = ocrtune_json([given.ocrtune, "plan", "--db", database, "--rate", given.rate, "--slo",
                         given.slo, "--json"])
    print(plan["answer"], "\none machine:", plan["served_requests_per_second"], flush=True)
    knobs = {"backend": "onednn", "precision": "fp32", "binding": "none", **plan["knobs"]}
    nproc, threads = int(knobs["nproc"]), int(knobs["threads"])
    cpus = [str(cpu) for cpu in sorted(os.sched_getaffinity(0))]
    bound = knobs["binding"] != "none"
    masks = [",".join(cpus[i * threads:(i + 1) * threads]) if bound else "" for i in range(nproc)]
    alphabet = (given.folder / "lines" / "alphabet.txt").read_text().replace("\n", "")
    reader = {"model": "crnn", "backend": knobs["backend"], "precision": knobs["precision"],
              "threads": threads, "batch": int(knobs["batch"]), "height": 32, "width": 320, "seed": 1,
              "checkpoint": "", "alphabet": alphabet, "gpu": "", "check": False, "request_descriptor": -1,
              "result_descriptor": -1}
    for factor in (1, 1.15):
        rate = factor * plan["served_requests_per_second"]["low"]
        spec = {"infer": json.dumps(reader), "place": folder, "masks": masks, "exclusive": bound,
                "gpus": [], "start_seconds": 0, "silence_seconds": 120, "queue": knobs.get("queue", "shared"), "chunk": 32,
                "max_chunk": 0, "copies": 1, "command": [], "url": "", "inputs": [], "promise": given.slo,
                "trace": "", "seconds": 60, "max_seconds": 0, "prove_per_second": rate, "prove_slots": 0,
                "prove_service_seconds": 0, "prove_spread": 0, "prove_sheds": False, "metrics": "", "request_seconds": 0,
                "first_answer_seconds": 0, "max_in_flight": 1024, "reference": "", "learns": False, "truth": "",
                "max_change": 0, "ask_only": False, "seed": 11}
        print(f"{factor:g} x {rate / factor:.4g}/s, load average {os.getloadavg()[0]:.1f}:", flush=True)
        trial = subprocess.Popen([given.ocrtune, "infer-trial", "--spec", json.dumps(spec)],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in trial.stdout:  # it waits for its end once it has told the result
            event = json.loads(line) if line.startswith("{") else {"text": line.strip()}
            if event.get("text") or event.get("reason"):
                print(" ", event.get("text") or event["reason"], flush=True)
            if event.get("event") in ("result", "error"):
                break
        trial.kill()
        trial.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("serve")
    one.add_argument("--port", type=int, required=True)
    one.add_argument("--procs", type=int, default=1)
    one.add_argument("--threads", type=int, default=1)
    one.add_argument("--side", type=int, default=0, help="pixels that detection sees at most; 0: RapidOCR's own")
    two = verbs.add_parser("check")
    two.add_argument("folder", type=pathlib.Path)
    two.add_argument("--ocrtune", default="build/ocrtune")
    two.add_argument("--page-lines", default="5,10,20,40,80", help="lines of each page")
    two.add_argument("--slo", default="p95=8s")
    two.add_argument("--rate", default="600/min")
    two.add_argument("--budget", default="10m")
    two.add_argument("--nproc", default="1,2")
    two.add_argument("--threads", default="1")
    two.add_argument("--seconds", type=float, default=240, help="of each rate; 0: measure alone")
    three = verbs.add_parser("lines")
    three.add_argument("folder", type=pathlib.Path)
    three.add_argument("--ocrtune", default="build/ocrtune")
    three.add_argument("--slo", default="p99=80ms")
    three.add_argument("--rate", default="200")
    three.add_argument("--budget", default="3m")
    given = parser.parse_args()
    if given.verb == "serve":
        serve(given.port, given.procs, given.threads, given.side)
    elif given.verb == "lines":
        lines(given)
    else:
        check(given)


if __name__ == "__main__":
    main()
