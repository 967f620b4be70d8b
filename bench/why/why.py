#!/usr/bin/env python3
"""Whether `ocrtune tune` names the stage that holds a program back, over programs whose stage is known.

  bench/why/why.py build/ocrtune [--only NAME,...] [--budget 16s] [--real]

The first half of the programs was written before the rules of tuner/verdict/held_back.cpp. A program is right where its
stage is the first or the second cause; one without a known stage, where no cause is named.
"""
import argparse
import json
import os
import pathlib
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).parent / 'programs'
THREADS, WORKERS = '--threads 1,2', '--workers 1,2'
# name: how it is tuned, its words after the program, the causes that are right (none: no cause may be named).
FIRST = {
    'serial.c': (THREADS, '--threads {threads}', {'held_by_one_thread'}),
    'gil.py': (THREADS, '--threads {threads}', {'held_by_interpreter'}),
    'spin.c': (THREADS, '--threads {threads}', {'held_by_spin'}),
    'lock.c': (THREADS, '--threads {threads}', {'held_by_lock'}),
    'data_time.py': (WORKERS, '--workers {workers}', {'held_by_data'}),
    'disk.c': (THREADS, '', {'held_by_disk'}),
    'faults.c': (THREADS, '--threads {threads}', {'held_by_faults'}),
    'crowd.c': (THREADS, '--threads {threads}', {'oversubscribed'}),
    'network.py': (THREADS, '--port {service}', {'held_by_network'}),
    'limiter.py': (THREADS, '', {'held_by_sleep'}),
    'amdahl.py': (THREADS, '--threads {threads}', {'held_by_one_thread', 'held_by_serial_share'}),
    'compute.c': (THREADS, '--threads {threads}', {'held_by_cpus'}),
}
SECOND = {
    'start_up.py': ('--batch 4,8', '--batch {batch}', {'held_by_start'}),
    'gpu_side.py': (THREADS, '', {'held_by_one_thread'}),
    'pipeline.c': (THREADS, '', {'held_by_one_thread'}),
    'yield.c': (THREADS, '--threads {threads}', {'held_by_spin', 'held_by_asking'}),
    'masked': (THREADS, '--threads {threads}', {'held_by_mask', 'oversubscribed'}),
    'loader_process.py': (THREADS, '', {'held_by_one_thread'}),
    'cpu_lock.c': (THREADS, '', {'held_by_lock'}),
    'fsync.c': (THREADS, '', {'held_by_disk'}),
    'falling.c': (THREADS, '', {'rate_falls'}),
    'cached.c': (THREADS, '', {'reads_from_memory'}),
    'pingpong.c': (THREADS, '', {'held_by_turns'}),
    'mixed.py': (THREADS, '', set()),
}
# Written by somebody who had not read the rules.
THIRD = {
    'queue.c': (THREADS, '', {'held_by_one_thread'}),
    'device.c': (THREADS, '', {'held_by_lock'}),
    'buffers.c': (THREADS, '--threads {threads}', {'held_by_faults'}),
    'license.py': (THREADS, '', {'held_by_sleep'}),
    'per_page.sh': (THREADS, '', {'held_by_start', 'held_by_one_thread', 'held_by_one_process'}),
    'http_pages.py': (THREADS, '--port {service}', {'held_by_network'}),
    'direct.c': (THREADS, '', {'held_by_disk'}),
    'team.c': (THREADS, '', {'held_by_one_thread'}),
    'blas.py': (THREADS, '', {'oversubscribed'}),
    'active_wait.c': (THREADS, '--threads {threads}', {'held_by_spin', 'held_by_serial_share'}),
    'pack.sh': (THREADS, '', {'held_by_one_thread'}),
    'steps.py': (THREADS, '', set()),
}
# Written after the rules, run for the first time when they were done.
FOURTH = {
    'mutex.cpp': (THREADS, '', {'held_by_lock', 'held_by_turns'}),
    'ask_queue.cpp': (THREADS, '--threads {threads}', {'held_by_spin', 'held_by_asking'}),
    'fresh_interpreter.py': ('--batch 4,8', '--batch {batch}', {'held_by_start'}),
    'executor.py': (THREADS, '--threads {threads}', {'held_by_interpreter'}),
    'one_decoder.py': (THREADS, '', {'held_by_one_thread'}),
    'bucket.cpp': (THREADS, '', {'held_by_sleep'}),
    'fresh_images.cpp': (THREADS, '', {'held_by_faults'}),
    'ask_and_compute.cpp': (THREADS, '--port {service}', set()),
}
# Written before the rules for files that are open briefly, for askers and for NUMA nodes.
FIFTH = {
    'picture_folder.py': (THREADS, '', {'reads_from_memory'}),
    'convoy.cpp': (THREADS, '', {'held_by_lock', 'held_by_turns'}),
    'few_workers.py': (THREADS, '', {'held_by_one_thread'}),
    'given_back.cpp': (THREADS, '', {'held_by_faults'}),
    'spaced_requests.py': (THREADS, '', {'held_by_sleep'}),
    'model_each_time.sh': ('--batch 4,8', '--batch {batch}', {'held_by_start'}),
}
# Programs of the field, each with what pidstat, strace and its own times say of it. They need a Python with paddle, rapidocr and cv2.
REAL = {
    'tesseract': ('--threads 1,2,4', 'work tesseract {pages} --procs 1 --threads {threads}', {'held_by_one_process', 'held_by_one_thread'}),
    'rapidocr': ('--batch 1', 'work rapidocr {pages} --procs 1 --threads 10', {'oversubscribed', 'oversubscribed_at_times'}),
    'reader': ('--batch 16', '--workers 0 --read-ms 60', {'held_by_data'}),
    'loader': ('--batch 16', '--style doctr --workers 1 --decode 40', {'held_by_one_thread'}),
}


class Service(socketserver.BaseRequestHandler):
    """The other host: 25 ms for each line."""

    def handle(self):
        while self.request.recv(64):
            time.sleep(0.025)
            self.request.sendall(b'text\n')


def start_service():
    server = socketserver.ThreadingTCPServer(('127.0.0.1', 0), Service)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def command_of(name, folder):
    if name in ('tesseract', 'rapidocr'):
        return [sys.executable, str(HERE.parent.parent / 'clients' / 'ocr_pages.py')]
    if name in ('reader', 'loader'):
        return [sys.executable, str(HERE / 'train_reader.py')]
    if name == 'masked':
        return ['taskset', '-c', '0', str(folder / 'compute')]
    if name.endswith('.py'):
        return [sys.executable, str(HERE / name)]
    if name.endswith('.sh'):
        return [str(HERE / name)]
    return [str(folder / pathlib.Path(name).stem)]


def tune(ocrtune, name, row, folder, port, budget, extra):
    flags, words, _ = row
    metric = [] if name in REAL else ['--log-reader', 'torch'] if name == 'data_time.py' else ['--metric', 'speed']
    words = words.replace('{service}', str(port)).replace('{pages}', str(folder / 'pages')).split()
    home = folder / 'home'
    done = subprocess.run([ocrtune, 'tune', '--json', '--budget', budget, *flags.split(), *metric, *extra, '--',
                           *command_of(name, folder), *words],
                          capture_output=True, text=True, env={**os.environ, 'XDG_DATA_HOME': str(home)})
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return {'held_back': [], 'error': done.stderr[-500:] + done.stdout[-200:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('ocrtune')
    parser.add_argument('--only', default='')
    parser.add_argument('--real', action='store_true', help='the programs of the field in place of the small ones')
    parser.add_argument('--budget', default='16s')
    options, extra = parser.parse_known_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix='ocrtune-why-'))
    for source in [*HERE.glob('*.c'), *HERE.glob('*.cpp')]:
        compiler = ['gcc'] if source.suffix == '.c' else ['g++', '-std=c++20']
        subprocess.run([*compiler, '-O1', '-pthread', '-fopenmp', '-o', str(folder / source.stem), str(source)], check=True)
    port = start_service()
    right = asked = 0
    halves = [('first', FIRST), ('second', SECOND), ('third', THIRD), ('fourth', FOURTH), ('fifth', FIFTH)]
    if options.real:
        halves = [('real', REAL)]
        subprocess.run([*command_of('tesseract', folder), 'make', str(folder / 'pages'), '--lines', '1'], check=True)
    for half, rows in halves:
        for name, row in rows.items():
            if options.only and name not in options.only.split(','):
                continue
            found = tune(options.ocrtune, name, row, folder, port, options.budget, extra)
            codes = [held['cause_code'] for held in found['held_back']]
            good = bool(row[2] & set(codes)) if row[2] else not codes
            right, asked = right + good, asked + 1
            print(f'{"right" if good else "WRONG":5} {half:6} {name:18} {" ".join(codes) or "-"}', flush=True)
            for held in found['held_back']:
                print(f'        {held["cause"]}. {held["next"]}')
            if 'error' in found:
                print('       ', found['error'].replace('\n', ' '))
    print(f'{right} of {asked}')
    shutil.rmtree(folder)
    for path in ('/tmp/ocrtune-why-disk', '/tmp/ocrtune-why-cached', '/tmp/ocrtune-why-fsync', '/tmp/ocrtune-why-direct',
                 '/tmp/ocrtune-why-pack'):
        pathlib.Path(path).unlink(missing_ok=True)
    shutil.rmtree('/tmp/ocrtune-why-pictures', ignore_errors=True)


if __name__ == '__main__':
    main()
