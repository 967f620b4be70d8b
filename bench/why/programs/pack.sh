#!/bin/bash
# A pipe of three programs: one packs, the others take little time.
file=/tmp/ocrtune-why-pack
[ -s $file ] || head -c 50000000 /dev/urandom > $file
while :; do cat $file; done | xz -T1 -0 -c |
  python3 -uc '
import sys, time
count, last = 0, time.time()
while sys.stdin.buffer.read(1 << 14):
    count += 1
    now = time.time()
    if now - last >= 0.25:
        print(f"speed {count / (now - last):.2f} pages/s", flush=True)
        count, last = 0, now'
