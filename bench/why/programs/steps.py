"""A step of three equal parts: computing, waiting for a service's leave (sleep), writing a result to disk (fsync): none prevails."""
import hashlib
import os
import tempfile
import time

block = os.urandom(1 << 20)
count, last = 0, time.time()
with tempfile.TemporaryFile() as file:
    while True:
        begin = time.time()
        while time.time() - begin < 0.01:
            hashlib.sha256(block).digest()
        time.sleep(0.01)
        begin = time.time()
        while time.time() - begin < 0.01:
            file.seek(0)
            file.write(b'x' * 4096)
            file.flush()
            os.fsync(file.fileno())
        count += 1
        now = time.time()
        if now - last >= 0.25:
            print(f'speed {count / (now - last):.2f} pages/s', flush=True)
            count, last = 0, now
