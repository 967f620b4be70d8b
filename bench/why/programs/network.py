"""Each page waits for an answer of a service on another host (--port: one that the bench runs, outside the trial)."""
import socket
import sys
import time

port = int(sys.argv[sys.argv.index('--port') + 1])
line = socket.create_connection(('127.0.0.1', port))
count, last = 0, time.time()
while True:
    line.sendall(b'page\n')
    line.recv(64)
    count += 1
    now = time.time()
    if now - last >= 0.25:
        print(f'speed {count / (now - last):.2f} pages/s', flush=True)
        count, last = 0, now
