"""8 connections at a time ask a service outside of the trial (--port) for each page, by asyncio, and read little of it."""
import asyncio
import sys
import time

port = int(sys.argv[sys.argv.index('--port') + 1])
count = 0


async def read_pages():
    global count
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    while True:
        writer.write(b'page\n')
        await reader.readline()
        count += 1


async def main():
    tasks = [asyncio.create_task(read_pages()) for _ in range(8)]
    seen, last = 0, time.time()
    while not tasks[0].done():
        await asyncio.sleep(0.25)
        now = time.time()
        print(f'speed {(count - seen) / (now - last):.2f} pages/s', flush=True)
        seen, last = count, now


asyncio.run(main())
