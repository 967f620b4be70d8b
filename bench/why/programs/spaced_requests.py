"""Two threads send a page each 0.1 s, as a service of 20 pages a second asks for; a page takes 4 ms."""
import hashlib
import threading
import time

page = bytes(range(256)) * 1000
count = 0


def read():
    global count
    while True:
        begin = time.monotonic()
        while time.monotonic() < begin + 0.004:
            hashlib.sha256(page).digest()
        count += 1
        time.sleep(max(0, begin + 0.1 - time.monotonic()))


for _ in range(2):
    threading.Thread(target=read, daemon=True).start()
seen, last = 0, time.time()
while True:
    time.sleep(0.5)
    now, all_pages = time.time(), count
    print(f'speed {(all_pages - seen) / (now - last):.2f} pages/s', flush=True)
    seen, last = all_pages, now
