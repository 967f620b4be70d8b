"""A data-parallel training as tune --hosts starts it, in small: one process a host, a fixed compute
time a step, and gradients that all send to the first one and get back from it.

--note DIR: each rank leaves DIR/<node rank> with its host's name and what it was told.
--fail RANK: that rank exits with 7 after its first steps.
"""
import argparse, os, socket, time

p = argparse.ArgumentParser()
for name, kind, default in [("nodes", int, 1), ("rank", int, 0), ("master", str, "127.0.0.1"),
                            ("port", int, 0), ("batch", int, 1), ("bytes", int, 1000),
                            ("compute", float, 0.05), ("hosts", str, ""), ("note", str, ""),
                            ("fail", int, -1)]:
    p.add_argument("--" + name, type=kind, default=default)
a = p.parse_args()
if a.note and a.nodes > 1:
    with open(os.path.join(a.note, str(a.rank)), "w") as f:
        f.write(f"{socket.gethostname()} {a.rank}/{a.nodes} {a.master} {a.hosts}\n")


def take(peer):
    left = a.bytes
    while left > 0:
        got = len(peer.recv(min(left, 1 << 20)))
        if got == 0:
            raise ConnectionError("a peer has gone")
        left -= got


peers = []
if a.nodes > 1 and a.rank == 0:
    listener = socket.create_server(("", a.port))
    peers = [listener.accept()[0] for _ in range(a.nodes - 1)]
while a.rank > 0 and not peers:
    try:
        peers = [socket.create_connection((a.master, a.port), timeout=60)]
        peers[0].settimeout(None)
    except OSError:
        time.sleep(0.05)
gradients = bytes(a.bytes)
step = 0
while True:
    begin = time.monotonic()
    time.sleep(a.compute)
    for peer in peers:
        if a.rank > 0:
            peer.sendall(gradients)
        take(peer)
    for peer in peers:
        if a.rank == 0:
            peer.sendall(gradients)
    step += 1
    if a.fail == a.rank and step == 3:
        raise SystemExit(7)
    if a.rank == 0:
        seconds = time.monotonic() - begin
        print(f"step {step} ips: {a.nodes * a.batch / seconds:.2f} lines/s", flush=True)
