"""A server that reads pictures, for tests of what becomes of its texts.

usage: reading_server.py PORT [--mode exact|fast] [--wrong-from N | --swap-from N] [--vary SHARE] [--cache] [--fail-each N]
An answer has an id and a time beside the text, which is that of the picture's name within the body. `fast` takes
half of the time and reads an o for an O. With N and more requests at once half of the texts are wrong, or those
of another picture. SHARE of all answers have a letter more, by chance. With a cache the same bytes are answered at once.
Each Nth request fails, whatever the load.
"""
import json
import random
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

inside, lock, rng = 0, threading.Lock(), random.Random(7)


def option(name, otherwise):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


WRONG_FROM, SWAP_FROM = int(option('--wrong-from', 10 ** 9)), int(option('--swap-from', 10 ** 9))
FAIL_EACH, count = int(option('--fail-each', 0)), 0
VARY, SECONDS = float(option('--vary', 0)), 0.01
CACHE, known = '--cache' in sys.argv, set()
FAST = option('--mode', 'exact') == 'fast'


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize = 65536
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def do_POST(self):
        global inside, count
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        with lock:
            inside += 1
            crowd = inside
            count += 1
            fails = FAIL_EACH > 0 and count % FAIL_EACH == 0
        if not CACHE or body not in known:
            time.sleep(SECONDS / 2 if FAST else SECONDS)
        known.add(body)
        with lock:
            crowd = max(crowd, inside)
            inside -= 1
            draw = rng.random()
            name = re.search(rb'picture (\d+)', body)
            number = int(name.group(1)) if name else 0
            if crowd >= SWAP_FROM and draw < 0.5:
                number += 1
            text = f'Order {number} Of {1000 + number}'
            if FAST:
                text = text.replace('O', 'o')
            if crowd >= WRONG_FROM and draw < 0.5:
                text = ''.join(rng.choice('abcdef') for _ in range(12))
            if rng.random() < VARY:
                text += rng.choice('xyz')
            answer = {'logId': '%032x' % rng.getrandbits(128), 'took': rng.random(), 'result': {'rec_texts': [text]}}
        reply = json.dumps(answer).encode()
        self.send_response(500 if fails else 200)
        self.send_header('Content-Length', str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


Server(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
