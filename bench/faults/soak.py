#!/usr/bin/env python3
"""Hours of `ocrtune run` by a clock that goes faster: bench/faults/soak.py [--hours H] [--speed X] [--seed N]

A training fails every few minutes of that clock by one cause after the other (signals, exceptions, memory, silence, a
torn save, a flood of output, processes left behind, ...), and gets further in between; then it fails for ever at one
step. Checked: every failure is followed by one restart, from a whole state; the memory, threads, files and children of
ocrtune do not grow, nor does its folder; the failure without progress ends the run after --tries attempts with exit
code 1; nobody is left. Clocks and waits of all its processes run --speed times faster; processor time does not.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from machine import Failed, expect, preloaded, stat_of  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TRIES = 5
KEPT_ATTEMPTS = 50  # with their files, and a few that are of all attempts

# Monotonic clocks go $SOAK_SPEED times faster since $SOAK_BEGIN, and waits end so much earlier. The calendar's clock
# stays: files have their times by the kernel.
FAST_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
static double speed(void) { static double s; if (!s) s = atof(getenv("SOAK_SPEED") ? getenv("SOAK_SPEED") : "1"); return s; }
static double begin(void) { static double b; if (!b) b = atof(getenv("SOAK_BEGIN") ? getenv("SOAK_BEGIN") : "0"); return b; }
static int goes_faster(clockid_t id) {
  return id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_MONOTONIC_RAW || id == CLOCK_BOOTTIME;
}
static double seconds(const struct timespec *t) { return t->tv_sec + 1e-9 * t->tv_nsec; }
static struct timespec spec(double s) {
  if (s < 0) s = 0;
  struct timespec t = {(time_t)s, (long)((s - (time_t)s) * 1e9)};
  return t;
}
static struct timespec real_time(const struct timespec *fast) { return spec(begin() + (seconds(fast) - begin()) / speed()); }
int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = REAL(clock_gettime);
  int done = real(id, t);
  if (done == 0 && goes_faster(id)) *t = spec(begin() + (seconds(t) - begin()) * speed());
  return done;
}
int clock_nanosleep(clockid_t id, int flags, const struct timespec *t, struct timespec *left) {
  struct timespec wait = flags & TIMER_ABSTIME ? (goes_faster(id) ? real_time(t) : *t) : spec(seconds(t) / speed());
  int done = REAL(clock_nanosleep)(id, flags, &wait, left);
  if (done == EINTR && left && !(flags & TIMER_ABSTIME)) *left = spec(seconds(left) * speed());
  return done;
}
int nanosleep(const struct timespec *t, struct timespec *left) {
  int done = clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);
  if (done) errno = done;
  return done ? -1 : 0;
}
int usleep(useconds_t u) { struct timespec t = spec(1e-6 * u); return nanosleep(&t, 0); }
unsigned sleep(unsigned s) { struct timespec t = spec(s); nanosleep(&t, 0); return 0; }
int ppoll(struct pollfd *f, nfds_t n, const struct timespec *t, const sigset_t *mask) {
  struct timespec wait;
  if (t) wait = spec(seconds(t) / speed());
  return REAL(ppoll)(f, n, t ? &wait : 0, mask);
}
int poll(struct pollfd *f, nfds_t n, int ms) {
  struct timespec t = spec(1e-3 * ms);
  return ppoll(f, n, ms < 0 ? 0 : &t, 0);
}
int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t) {
  return REAL(pthread_cond_timedwait)(c, m, t);
}
int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t id, const struct timespec *t) {
  struct timespec wait = goes_faster(id) ? real_time(t) : *t;
  return REAL(pthread_cond_clockwait)(c, m, id, &wait);
}
"""

# Steps of 10 s; each sixth is saved as FOLDER/state-N.pt, of which three stay. The causes come in turn.
TRAIN = r"""import os, random, signal, subprocess, sys, time
folder, hours, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
resume = sys.argv[sys.argv.index("--resume") + 1] if "--resume" in sys.argv else None
def number(name):
    try:
        return int(open(os.path.join(folder, name)).read())
    except (OSError, ValueError):
        return 0
def note(name, value):
    with open(os.path.join(folder, name + ".new"), "w") as file:
        file.write(str(value))
    os.rename(os.path.join(folder, name + ".new"), os.path.join(folder, name))
started = number("started")
note("started", started + 1)
step = 0
if resume:
    text = open(resume).read()
    if not text.endswith("end"):
        sys.exit(f"RuntimeError: {resume}: unexpected end of file, the checkpoint is corrupt")
    step = int(text.split()[0])
say = lambda words: print(words, flush=True)
over = time.monotonic() - float(os.environ["SOAK_BEGIN"]) > 3600 * hours
if over:
    note("over", number("over") + 1)
def save(whole=True):
    path = os.path.join(folder, "saved", f"state-{step:06}.pt")
    text = f"{step} " + "x" * 4000 + " end"
    with open(path, "w") as file:
        file.write(text if whole else text[:1000])
    for old in sorted(os.listdir(os.path.join(folder, "saved")))[:-3]:
        os.remove(os.path.join(folder, "saved", old))
    if whole:
        note("whole", step)
def die(number):
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
def leak():
    kept = []
    while True:
        kept.append(bytearray(os.urandom(1 << 20)) * 4)
        time.sleep(1)
def torn():
    global step
    step += 1
    save(False)
    die(signal.SIGKILL)
def silence(deaf=False):
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(60)
def left():
    for _ in range(5):
        subprocess.Popen(["setsid", "sleep", "100000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    die(signal.SIGSEGV)
def flood():
    for _ in range(40):
        say("x" * 100000)
    sys.exit("RuntimeError: after a flood")
def child_dies():
    code = subprocess.call(["sh", "-c", "kill -9 $$"])
    sys.exit(128 - code)
def memory_of_others():
    with open(f"/dev/shm/soak-{os.getpid()}", "wb") as file:
        file.write(bytes(1 << 20))
        say("a segment stays")
        die(signal.SIGABRT)
def says(*lines, code=1):
    for line in lines:
        print(line, file=sys.stderr, flush=True)
    sys.exit(code)
causes = [
    lambda: die(signal.SIGSEGV), lambda: die(signal.SIGKILL), lambda: die(signal.SIGBUS), lambda: die(signal.SIGTERM),
    lambda: says("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"),
    lambda: says("RuntimeError: DataLoader worker (pid 77) is killed by signal: Killed."),
    lambda: says("[rank0]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE)", code=134),
    lambda: says("RuntimeError: DataLoader worker (pid 9) is killed by signal: Bus error. It is possible that dataloader's "
                 "workers are out of shared memory."),
    lambda: says("torch.distributed.DistNetworkError: Connection reset by peer"),
    lambda: says("ZeroDivisionError: division by zero"), lambda: sys.exit(3), leak, torn, torn, silence,
    lambda: silence(True), left, flood, child_dies, memory_of_others]
dice = random.Random(seed * 1000003 + started)
if over:
    say(f"step {step} loss 1")
    die(signal.SIGSEGV)
steps = dice.randint(12, 60)
for _ in range(steps):
    time.sleep(10)
    for _ in range(3):
        subprocess.call(["true"])
    step += 1
    say(f"step {step} loss {1 / step:.5f}")
    if step % 6 == 0:
        save()
causes[started % len(causes)]()
"""


def memory_of(pid):
    """Resident bytes of its own, threads, open files and children of a process."""
    here = pathlib.Path("/proc", str(pid))
    fields = dict(line.split(":", 1) for line in (here / "status").read_text().splitlines())
    return {"anonymous_bytes": 1024 * int(fields["RssAnon"].split()[0]), "threads": int(fields["Threads"]),
            "open_files": len(os.listdir(here / "fd")),
            "children": len((here / "task" / str(pid) / "children").read_text().split())}


def folder_of(path):
    files = [p for p in path.rglob("*") if p.is_file()]
    return {"files": len(files), "folder_bytes": sum(p.stat().st_size for p in files)}


def look(process, run, begin, speed):
    """One reading a minute of the fast clock, until the process ends."""
    looks = []
    while process.poll() is None:
        try:
            looks.append({"hours": (time.monotonic() - begin) * speed / 3600, **memory_of(process.pid), **folder_of(run)})
        except (OSError, KeyError):
            pass  # it has just ended, or a file went as it was counted
        time.sleep(60 / speed)
    return looks


def most(looks, name, first, last):
    """The largest reading within a share of the time."""
    return max(one[name] for one in looks[int(first * len(looks)):max(1, int(last * len(looks)))])


def number_in(path):
    return int(path.read_text()) if path.exists() else 0


def check(looks, folder, code, log):
    journal = [json.loads(line) for line in (folder / "run" / "journal.jsonl").read_text().splitlines()]
    starts = [row for row in journal if row["event"] == "start"]
    failures = [row for row in journal if row["event"] == "failure"]
    started, over = number_in(folder / "started"), number_in(folder / "over")
    print(f"{started} attempts, {len(failures)} failures, {over} of them without progress; "
          f"the last whole state is of step {number_in(folder / 'whole')}")
    for cause in sorted({row["cause"] or "unknown" for row in failures}):
        print(f"  {cause:28} {sum((row['cause'] or 'unknown') == cause for row in failures)}")
    for name in ("anonymous_bytes", "threads", "open_files", "children", "files", "folder_bytes"):
        print(f"  {name:16} {most(looks, name, 0, .25):>10} {most(looks, name, .25, .5):>10} "
              f"{most(looks, name, .5, .75):>10} {most(looks, name, .75, 1):>10}   by quarters")
    expect(code == 1, f"exit code {code}: {log[-500:]}")
    expect(len(starts) == started and len(failures) == started, f"{len(starts)} starts in the journal, {started} attempts")
    expect(2 <= over <= TRIES, f"{over} attempts without progress")
    expect(all(row["next"] for row in failures), "a failure without what comes next")
    resumed = [row["command"].rsplit("--resume ", 1)[-1] for row in starts if "--resume" in row["command"]]
    expect(len(resumed) >= started - 3, f"{len(resumed)} of {started} attempts went on from a state")
    expect(resumed == sorted(resumed), "an attempt began behind the one before it")
    expect("corrupt" not in log, "an attempt was given a torn state")
    files = most(looks, "files", 0, 1)
    expect(files <= 2 * min(started, KEPT_ATTEMPTS) + 8, f"{files} files of {started} attempts")
    compared = [("anonymous_bytes", 2 << 20), ("threads", 0), ("open_files", 2), ("children", 1)]
    if started > 1.5 * KEPT_ATTEMPTS:
        compared.append(("folder_bytes", 8 << 20))
    for name, more in compared:
        before, after = most(looks, name, .5, .75), most(looks, name, .75, 1)
        expect(after <= before + more, f"{name} grew from {before} to {after}")


def left_behind(folder):
    here, found = str(folder).encode(), []
    for entry in os.listdir("/proc"):
        try:
            stat = stat_of(entry) if entry.isdigit() and int(entry) != os.getpid() else None
            if stat and stat[0] not in "ZX" and here in pathlib.Path("/proc", entry, "environ").read_bytes():
                found.append(int(entry))
        except OSError:
            continue
    return found


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("--ocrtune", default=ROOT / "build" / "ocrtune", type=pathlib.Path)
    words.add_argument("--hours", default=12, type=float)
    words.add_argument("--speed", default=24, type=float)
    words.add_argument("--seed", default=1, type=int)
    options = words.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ocrtune-soak."))
    try:
        (folder / "saved").mkdir()
        (folder / "train.py").write_text(TRAIN)
        begin = time.clock_gettime(time.CLOCK_MONOTONIC)
        environment = dict(os.environ, LD_PRELOAD=preloaded(folder, "fast_clock.so", FAST_CLOCK), SOAK_SPEED=str(options.speed),
                           SOAK_BEGIN=f"{begin:.6f}", SOAK_FOLDER=str(folder), XDG_DATA_HOME=str(folder), TMPDIR=str(folder))
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(
                [options.ocrtune.resolve(), "run", "--json", "--run-dir", folder / "run", "--checkpoint", folder / "saved",
                 "--resume-arg", "--resume {checkpoint}", "--tries", str(TRIES), "--silence", "20m", "--memory-limit", "300M",
                 "--planned", "48h", "--prometheus", folder / "run.prom", "--", sys.executable, folder / "train.py", folder,
                 str(options.hours), str(options.seed), "--batch-size", "64"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment)
        looks = look(process, folder / "run", begin, options.speed)
        time.sleep(2)
        left = left_behind(folder)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        check(looks, folder, process.returncode, (folder / "log").read_text(errors="replace"))
        expect(not left, f"left running: {left}")
        print(f"{looks[-1]['hours']:.1f} h by the fast clock: held")
        return 0
    except Failed as why:
        print(f"FAILED: {why}")
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
