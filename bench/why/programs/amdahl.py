"""80 % of each page is serial, 20 % is shared out to --threads threads that live for one page."""
import hashlib
import os
import sys
import threading
import time

threads = int(sys.argv[sys.argv.index('--threads') + 1])
block = os.urandom(1 << 20)


def burn(times):
    for _ in range(times):
        hashlib.sha256(block).digest()


while True:
    begin = time.time()
    burn(80)
    team = [threading.Thread(target=burn, args=(20 // threads,)) for _ in range(threads)]
    for one in team:
        one.start()
    for one in team:
        one.join()
    print(f'speed {1 / (time.time() - begin):.3f} pages/s', flush=True)
