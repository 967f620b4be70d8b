#!/bin/bash
# A Python program for each page: it needs 0.2 s to start and 20 ms to read the page.
while :; do
  begin=$EPOCHREALTIME
  python3 -c '
import argparse, asyncio, email, http.client, json, logging, sqlite3, ssl, unittest, xml.dom.minidom
import hashlib
for _ in range(20): hashlib.sha256(bytes(1 << 20)).digest()' || exit 1
  awk "BEGIN { printf \"speed %.3f pages/s\\n\", 1 / ($EPOCHREALTIME - $begin) }"
done
