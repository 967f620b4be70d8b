"""Products of matrices by a pool of 8 threads of a BLAS on 2 CPUs, and a second such pool in another process."""
import ctypes
import multiprocessing
import os
import time

os.environ['OPENBLAS_NUM_THREADS'] = '8'
import numpy  # noqa: E402  reads the number of threads when it is loaded


def multiply(count):
    a = numpy.random.rand(300, 300)
    while True:
        a = a @ a
        a /= a.max()
        with count.get_lock():
            count.value += 1


if __name__ == '__main__':
    count = multiprocessing.Value(ctypes.c_long, 0)
    for _ in range(2):
        multiprocessing.Process(target=multiply, args=(count,), daemon=True).start()
    seen, last = 0, time.time()
    while True:
        time.sleep(0.25)
        now = time.time()
        print(f'speed {(count.value - seen) / (now - last):.2f} pages/s', flush=True)
        seen, last = count.value, now
