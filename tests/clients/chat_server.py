"""Stands in for vLLM and SGLang: their flags, the OpenAI chat protocol and Prometheus metrics, no model.

    chat_server.py serve MODEL --port 8000 --max-num-seqs 16     as `vllm serve`
    chat_server.py --model-path MODEL --port 8000 --max-running-requests 16   as sglang.launch_server

A request takes 4 ms, so many at once as the flag says (4 without it).
"""
import argparse
import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("words", nargs="*")
parser.add_argument("--model-path")
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--max-num-seqs", "--max-running-requests", dest="seqs", type=int, default=4)
parser.add_argument("--max-num-batched-tokens", "--chunked-prefill-size", dest="tokens", type=int)
parser.add_argument("--gpu-memory-utilization", "--mem-fraction-static", dest="share", type=float)
parser.add_argument("--enable-metrics", action="store_true")
parser.add_argument("--no-enable-prefix-caching", "--disable-radix-cache", action="store_true")
given = parser.parse_args()
sglang = given.model_path is not None
model = given.model_path if sglang else given.words[1]
names = ("sglang:num_running_reqs", "sglang:num_queue_reqs") if sglang else (
    "vllm:num_requests_running", "vllm:num_requests_waiting")
slots = threading.Semaphore(given.seqs)
lock = threading.Lock()
count = {"running": 0, "waiting": 0}


def add(name, number):
    with lock:
        count[name] += number


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, kind, text):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        if self.path != "/metrics" or (sglang and not given.enable_metrics):
            return self.answer(404, "text/plain", "no such page")
        text = ""
        for name, key in zip(names, ("running", "waiting")):
            text += '# TYPE %s gauge\n%s{model_name="%s"} %d\n' % (name, name, model, count[key])
        self.answer(200, "text/plain", text)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["model"] != model:
            return self.answer(404, "application/json", json.dumps({"error": "no such model"}))
        parts = body["messages"][0]["content"]
        uri = next(part["image_url"]["url"] for part in parts if part["type"] == "image_url")
        size = len(base64.b64decode(uri.split(",", 1)[1], validate=True))
        add("waiting", 1)
        with slots:
            add("waiting", -1)
            add("running", 1)
            time.sleep(0.004)
            add("running", -1)
        message = {"role": "assistant", "content": "%d bytes" % size}
        self.answer(200, "application/json", json.dumps({"choices": [{"index": 0, "message": message}]}))


class Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True


Server(("127.0.0.1", given.port), Handler).serve_forever()
