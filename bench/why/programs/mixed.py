"""Half of each page is computed in one thread, half is a fixed wait: no one stage holds it."""
import hashlib
import os
import time

block = os.urandom(1 << 20)
count, last = 0, time.time()
while True:
    begin = time.process_time()
    for _ in range(12):
        hashlib.sha256(block).digest()
    time.sleep(time.process_time() - begin)
    count += 1
    now = time.time()
    if now - last >= 0.25:
        print(f'speed {count / (now - last):.2f} pages/s', flush=True)
        count, last = 0, now
