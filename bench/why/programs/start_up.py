"""Each run of --batch pages starts an interpreter anew, which needs about 0.3 s before its first page (20 ms each)."""
import subprocess
import sys
import time

batch = int(sys.argv[sys.argv.index('--batch') + 1])
RUN = """
import hashlib, os
block = os.urandom(1 << 20)
for _ in range(300 + 20 * %d):
    hashlib.sha256(block).digest()
""" % batch
while True:
    begin = time.time()
    subprocess.run([sys.executable, '-c', RUN], check=True)
    print(f'speed {batch / (time.time() - begin):.3f} pages/s', flush=True)
