"""A training of 5 ms a step takes its batches from one loader process, which needs 30 ms for each."""
import hashlib
import multiprocessing
import os
import time

block = os.urandom(1 << 20)


def load(queue):
    while True:
        for _ in range(30):
            hashlib.sha256(block).digest()
        queue.put(b'batch')


if __name__ == '__main__':
    batches = multiprocessing.Queue(4)
    multiprocessing.Process(target=load, args=(batches,), daemon=True).start()
    count, last = 0, time.time()
    while True:
        batches.get()
        for _ in range(5):
            hashlib.sha256(block).digest()
        count += 1
        now = time.time()
        if now - last >= 0.25:
            print(f'speed {count / (now - last):.2f} pages/s', flush=True)
            count, last = 0, now
