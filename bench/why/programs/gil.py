"""--threads Python threads that compute in Python: the interpreter runs one at a time."""
import sys
import threading
import time

threads = int(sys.argv[sys.argv.index('--threads') + 1]) + 3
pages = [0] * threads


def read_pages(i):
    while True:
        for k in range(20000):
            k * k
        pages[i] += 1


for i in range(threads):
    threading.Thread(target=read_pages, args=(i,), daemon=True).start()
seen, last = 0, time.time()
while True:
    time.sleep(0.25)
    now, count = time.time(), sum(pages)
    print(f'speed {(count - seen) / (now - last):.2f} pages/s', flush=True)
    seen, last = count, now
