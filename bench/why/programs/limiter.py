"""A client that keeps below 40 pages a second by sleeping."""
import hashlib
import os
import time

block = os.urandom(1 << 20)
count, last = 0, time.time()
while True:
    hashlib.sha256(block).digest()
    time.sleep(0.024)
    count += 1
    now = time.time()
    if now - last >= 0.25:
        print(f'speed {count / (now - last):.2f} pages/s', flush=True)
        count, last = 0, now
