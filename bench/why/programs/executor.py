"""A ThreadPoolExecutor of --threads + 5 threads that post-process boxes in plain Python."""
import concurrent.futures
import itertools
import sys
import time

threads = int(sys.argv[sys.argv.index('--threads') + 1]) + 5


def merge(page):
    boxes = [((k * 7919 + page) % 640, (k * 104729) % 480) for k in range(900)]
    return sum(1 for (x, y), (u, v) in itertools.islice(itertools.combinations(boxes, 2), 30000) if abs(x - u) + abs(y - v) < 9)


with concurrent.futures.ThreadPoolExecutor(threads) as pool:
    count, last = 0, time.time()
    waiting = {pool.submit(merge, page) for page in range(3 * threads)}
    for page in itertools.count():
        done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
        count += len(done)
        waiting |= {pool.submit(merge, page + k) for k in range(len(done))}
        now = time.time()
        if now - last >= 0.3:
            print(f'speed {count / (now - last):.2f} pages/s', flush=True)
            count, last = 0, now
