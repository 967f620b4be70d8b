"""Twelve small servers whose capacity is known, because they sleep instead of computing.

  python3 bench/service/bed.py KIND PORT      serves until it is ended
  python3 bench/service/bed.py --list         kind, true closed maximum (requests/s), what is special

Each answers POST / with a text that depends on the picture in the body, up to its PICTURE bytes. `slots` requests are worked on at once, the others wait; a
request is worked on for `seconds`, and its slot is free when these are over: that Python wakes up later costs the answer a little, and the capacity nothing. The jobs server takes POST /submit, GET /status/ID and GET /result/ID. Where
BED_NOTES names a folder, a server that is ended writes there how many requests it still had.
"""
import hashlib
import heapq
import http.server
import itertools
import json
import os
import signal
import sys
import threading
import time


PICTURE = 204  # bytes; what stands behind them is no part of what is read


class Kind:
    def __init__(self, slots, seconds, note, most=None, **special):
        self.slots, self.seconds, self.note = slots, seconds, note
        self.most = most if most else slots / seconds  # requests/s with enough in flight
        self.special = special


KINDS = {
    "backlog": Kind(16, 0.1, "a listen backlog of 5: a connection that does not fit costs a second", backlog=5),
    "corrupt": Kind(4, 0.04, "texts are mixed up from 3 requests at once", most=50, corrupt_from=3),
    "fixed_wait": Kind(2, 0.02, "every answer waits until its second second", wait=2.0),
    "single": Kind(1, 0.05, "one request at a time"),
    "jobs": Kind(2, 0.08, "submit, poll, result", jobs=True),
    "cache": Kind(4, 0.1, "a body that was seen before takes a quarter; none is sent twice", cached_seconds=0.025),
    "wall": Kind(6, 0.06, "a seventh request at once is answered 429", refuse=True),
    "leak": Kind(4, 0.05, "keeps 64 KiB of each request", leak=65536),
    "slow_start": Kind(4, 0.05, "listens after 6 s", start=6.0),
    "dies": Kind(49, 0.2, "ends with 50 requests at once", dies_at=50),
    "no_keep_alive": Kind(8, 0.05, "closes each connection", keep_alive=False),
    "http10": Kind(8, 0.05, "speaks HTTP/1.0", protocol="HTTP/1.0"),
}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


class Work:
    """What a request costs."""

    def __init__(self, kind):
        self.kind = kind
        self.free_at = [0.0] * kind.slots
        self.lock = threading.Lock()
        self.inside = 0
        self.seen, self.kept = set(), []
        self.jobs, self.numbers = {}, itertools.count()

    def text(self, body):
        at = max(0, body.find(b"\x89PNG"))
        return hashlib.sha1(body[at:at + PICTURE]).hexdigest()[:16]

    def work(self, seconds, begins=lambda: None):
        """False: it is turned away, for all slots are taken."""
        with self.lock:
            now = time.monotonic()
            if self.kind.special.get("refuse") and self.free_at[0] > now:
                return False
            end = max(now, heapq.heappop(self.free_at)) + seconds
            heapq.heappush(self.free_at, end)
        time.sleep(max(0.0, end - seconds - time.monotonic()))
        begins()
        time.sleep(max(0.0, end - time.monotonic()))
        return True

    def answer(self, body):
        """Status and JSON."""
        special = self.kind.special
        with self.lock:
            self.inside += 1
            crowd = self.inside
        try:
            if crowd >= special.get("dies_at", 1 << 30):
                os._exit(3)
            seconds = self.kind.seconds
            if "cached_seconds" in special and hash(body) in self.seen:
                seconds = special["cached_seconds"]
            if not self.work(seconds):
                return 429, {"error": "no slot is free"}
            self.seen.add(hash(body))
            if "leak" in special:
                self.kept.append(os.urandom(special["leak"]))
            with self.lock:
                mixed = max(crowd, self.inside) >= special.get("corrupt_from", 1 << 30)
            if mixed and next(self.numbers) % 2:
                return 200, {"text": self.text(os.urandom(8))}
            return 200, {"text": self.text(body)}
        finally:
            with self.lock:
                self.inside -= 1

    def submit(self, body):
        number = str(next(self.numbers))
        self.jobs[number] = {"status": "pending"}

        def run():
            self.work(self.kind.seconds, lambda: self.jobs[number].update(status="started"))
            self.jobs[number] = {"status": "success", "text": self.text(body)}

        threading.Thread(target=run, daemon=True).start()
        return 202, {"task_id": number}


def note_rest(work):
    """What it still works at when it is ended."""
    rest = work.inside + sum("text" not in job for job in list(work.jobs.values()))
    if "BED_NOTES" in os.environ:
        with open(os.path.join(os.environ["BED_NOTES"], f"rest-{os.getpid()}"), "w") as out:
            out.write(str(rest))
    os._exit(0)


def serve(kind, port):
    work = Work(kind)
    signal.signal(signal.SIGTERM, lambda *unused: note_rest(work))

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = kind.special.get("protocol", "HTTP/1.1")
        wbufsize = 65536
        disable_nagle_algorithm = True

        def log_message(self, *unused):
            pass

        def reply(self, status, document):
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if status == 429:
                self.send_header("Retry-After", "1")
            if not kind.special.get("keep_alive", True):
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            what, _, number = self.path[1:].partition("/")
            job = work.jobs.get(number)
            if job is None:
                return self.reply(404, {"error": "no such job"})
            if what == "status":
                return self.reply(200, {"status": job["status"]})
            return self.reply(200 if "text" in job else 404, job)

        def do_POST(self):
            came = time.monotonic()
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if kind.special.get("jobs"):
                return self.reply(*work.submit(body))
            status, document = work.answer(body)
            time.sleep(max(0.0, came + kind.special.get("wait", 0) - time.monotonic()))
            return self.reply(status, document)

    time.sleep(kind.special.get("start", 0))
    Server.request_queue_size = kind.special.get("backlog", 256)
    Server(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        for name, one in KINDS.items():
            print(f"{name:14} {one.most:7.1f}  {one.note}")
    else:
        serve(KINDS[sys.argv[1]], int(sys.argv[2]))
