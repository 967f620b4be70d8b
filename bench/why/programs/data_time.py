"""A training that waits for its loader, in mmcv's log: a step computes 20 ms and waits 60 ms for data that --workers
workers load (simulated by sleeping)."""
import hashlib
import os
import sys
import time

workers = int(sys.argv[sys.argv.index('--workers') + 1])
block = os.urandom(1 << 20)
iteration = 0
while True:
    total = data = 0
    for _ in range(3):
        begin = time.time()
        time.sleep(max(0.001, 0.12 / workers - 0.02))
        loaded = time.time()
        for _ in range(20):
            hashlib.sha256(block).digest()
        data += loaded - begin
        total += time.time() - begin
        iteration += 1
    stamp = time.strftime('%Y-%m-%d %H:%M:%S')
    print(f'{stamp},417 - mmocr - INFO - Epoch [1][{iteration}/56720]\tlr: 1.000e-04, eta: 2 days, 3:11:20, '
          f'time: {total / 3:.3f}, data_time: {data / 3:.3f}, memory: 8231, loss: 2.1131', flush=True)
