"""An interpreter for each --batch pages: it imports a list of modules, makes a table, and then reads each page in 15 ms."""
import subprocess
import sys
import time

batch = int(sys.argv[sys.argv.index('--batch') + 1])
RUN = """
import asyncio, ctypes, decimal, email.mime.text, http.server, json, logging.handlers, multiprocessing, sqlite3, ssl, unittest, zipfile, zlib
table = sorted((i * 2654435761 %% 1000003 for i in range(400000)), reverse=True)
page = bytes(range(256)) * 4096
for _ in range(%d):
    for _ in range(3): zlib.compress(page[:400000], 6)
""" % batch
while True:
    begin = time.monotonic()
    subprocess.run([sys.executable, '-c', RUN], check=True)
    print(f'speed {batch / (time.monotonic() - begin):.3f} pages/s', flush=True)
