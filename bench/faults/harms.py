"""The kinds of harm: each starts a command, harms it, and checks how it ends. It gives what it did, in words."""
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

from machine import BAD_DISK, MS_BIND, MS_RDONLY, MS_REMOUNT, STEPPED_CLOCK, expect, mount, preloaded, unmount
from point import is_guard, need

LONG = ("tune", "tune-command", "tune-infer", "tune-service", "tune-slo", "resume", "verify", "doctor", "slo-command",
        "slo-url", "worker", "run", "run-from", "infer", "train", "hosts-tune", "hosts-run")
WRITERS = ("tune-command", "tune-service", "run", "train", "infer")


def start(point, dice, name, **how):
    """With a child that is older than it, now and then; in a tight machine within a limit."""
    command = point.commands[name]
    if not command.hosts and not how.get("prefix") and dice.random() < 0.25:
        how["prefix"] = ("bash", "-c", '(exec -a "$0 worker" sleep 300 >/dev/null 2>&1) & echo $! > before; exec "$@"',
                         point.ocrtune)
    if point.tight:
        how["tight"] = dice.choice([24, 48, 96, 192, 384])
    (point.folder / "before").unlink(missing_ok=True)
    started = point.start(command, **how)
    if "before" in str(how.get("prefix")):
        end = time.monotonic() + 10
        while time.monotonic() < end and not (text := read(point.folder / "before")).endswith("\n"):
            time.sleep(0.001)
        point.before_exec = int(text) if text.strip() else None
    return started


def read(path):
    try:
        return path.read_text()
    except OSError:
        return ""


def some_time(point, dice, name):
    """A time within the command's usual one; one in three within its first tenth of a second."""
    seconds = 0.1 if dice.random() < 0.33 else 1.1 * point.commands[name].seconds
    return seconds * dice.random()


def finish(point, started, trials, *allowed):
    code = point.expect_exact(started, *allowed)
    point.after(started)
    point.expect_whole(trials)
    return code


def kill(point, dice):
    """SIGKILL of ocrtune itself."""
    name = point.draw(dice)
    point.fresh()
    started = start(point, dice, name)
    wait = some_time(point, dice, name)
    point.wait(started, wait)
    trials = point.trials()
    saved = (point.folder / "net.ckpt").exists()
    point.send(started, signal.SIGKILL)
    code = finish(point, started, trials, -signal.SIGKILL)
    if saved:  # the last whole checkpoint is there
        point.call("infer", point.folder / "lines", "--nproc", "1", "--checkpoint", point.folder / "net.ckpt", "--output",
                   point.folder / "results.tsv")
    if name == "make-data":  # what is half drawn can be drawn again
        point.call("make-data", point.folder / "drawn", "--count", "2", "--force")
    return f"{name} after {wait:.2f} s: exit code {code}"


def child(point, dice, number=signal.SIGKILL):
    """A signal to one of the processes that ocrtune has started: a rank, a server, an agent, the way to a host."""
    name = point.draw(dice, [n for n in LONG if n not in ("slo-url", "run-from")])
    point.fresh()
    started = start(point, dice, name)
    point.wait(started, some_time(point, dice, name) + 0.2)
    hit = ""
    while not hit and not point.ended(started):
        front = point.main_pid(started)
        children = {pid: line for pid, line in point.processes().items() if pid != front and not is_guard(pid)}
        if not front or not children:
            time.sleep(0.01)
            continue
        pid = dice.choice(sorted(children))
        try:
            os.kill(pid, number)
            hit, started.was_alive = children[pid], True
            if number == signal.SIGSTOP and started.command.hosts:
                started.stopped.append(pid)
        except ProcessLookupError:
            pass
    trials = point.trials()
    code = finish(point, started, trials)
    need(hit, f"{name} ended before a child of it was hit")
    return f"{signal.Signals(number).name} to a child of {name} ({hit[:60].strip()}): exit code {code}"


def freeze(point, dice):
    """SIGSTOP of one of the processes that ocrtune has started."""
    return child(point, dice, signal.SIGSTOP)


def interrupt(point, dice):
    """SIGINT or SIGTERM: 130, or the signal itself where ocrtune did not stand yet."""
    name = point.draw(dice)
    number = dice.choice([signal.SIGINT, signal.SIGTERM])
    point.fresh()
    started = start(point, dice, name)
    wait = some_time(point, dice, name)
    point.wait(started, wait)
    trials = point.trials()
    allowed = (130,)
    pid = point.main_pid(started)
    if pid:  # frozen, so that what is read still holds when the signal comes
        try:
            os.kill(pid, signal.SIGSTOP)
            status = dict(line.split(":\t", 1) for line in read(pathlib.Path("/proc", str(pid), "status")).splitlines()
                          if ":\t" in line)
            held = int(status.get("SigCgt", "0"), 16) | int(status.get("SigBlk", "0"), 16)  # a thread waits for it
            if status.get("Name") != "ocrtune" or not held >> (number - 1) & 1:
                allowed = (-number, 128 + number)
            os.kill(pid, number)
            os.kill(pid, signal.SIGCONT)
            started.was_alive = True
        except ProcessLookupError:
            pass
    code = finish(point, started, trials, *allowed)
    late = "" if started.was_alive else ", which had ended"
    return f"{number.name} to {name} after {wait:.2f} s{late}: exit code {code}"


def nothing(point, dice):
    """No harm but the machine's state."""
    name = point.draw(dice)
    point.fresh()
    trials = point.trials()
    return f"{name}: exit code {finish(point, start(point, dice, name), trials)}"


def full_disk(point, dice):
    """The store, the temporary folder or the run's folder on a file system that runs full."""
    need(point.mounts, "needs root and mounts of its own")
    small = point.folder / "small"
    small.mkdir(exist_ok=True)
    size = dice.choice([64, 128, 256, 512, 1024, 4096])
    mount("tmpfs", small, "tmpfs", 0, f"size={size}k")
    try:
        name = point.draw(dice, WRITERS)
        point.fresh()
        command = point.commands[name]
        words = command.words
        try:
            command.words = [word.replace(str(place), str(small / place.name))
                             for word in words
                             for place in [next((p for p in (point.store, point.folder / "run", point.folder / "net.ckpt",
                                                             point.folder / "results.tsv") if str(p) in word), point.store)]]
            (small / "filler").write_bytes(b"x" * int(size * 1024 * dice.uniform(0, 0.7)))
            started = start(point, dice, name, environment={"TMPDIR": str(small)})
        finally:
            command.words = words
        time.sleep(dice.random())
        try:
            with open(small / "filler", "ab") as filler:
                while True:
                    filler.write(b"x" * 4096)
                    filler.flush()
        except OSError:
            pass
        code = point.expect_exact(started)
        point.after(started)
        (small / "filler").unlink()
        point.expect_whole(0, small / "runs.sqlite")
    finally:
        unmount(small)
    return f"{name} on {size} KiB: exit code {code}"


def file_size(point, dice):
    """RLIMIT_FSIZE: every file may take so much and no more."""
    name = point.draw(dice, WRITERS)
    blocks = dice.choice([0, 1, 8, 64, 256])
    point.fresh()
    trials = point.trials()
    # What it says goes through pipes, which have no such limit.
    started = start(point, dice, name, prefix=(
        "bash", "-c", f'out=$(readlink /proc/$$/fd/1); err=$(readlink /proc/$$/fd/2); exec > >(exec cat > "$out") '
                      f'2> >(exec cat > "$err"); ulimit -f {blocks}; exec "$@"', "bash"))
    point.end(started)
    point.expect_nobody()  # the pipes' ends too
    code = finish(point, started, trials)
    return f"{name} with files of {blocks} KiB: exit code {code}"


def bad_disk(point, dice):
    """EIO by writes and syncs of the store, the run's folder and the checkpoint."""
    library = preloaded(point.folder, "bad_disk.so", BAD_DISK)
    name = point.draw(dice, (*WRITERS, "tune", "verify", "export"))
    after, every = dice.choice([0, 1, 3, 10, 30, 100, 300]), dice.choice([1, 1, 2, 7])
    point.fresh()
    trials = point.trials()
    code = finish(point, start(point, dice, name, environment={
        "LD_PRELOAD": library, "FAULT_FOLDER": str(point.folder), "FAULT_AFTER": str(after), "FAULT_EVERY": str(every)}),
        trials)
    if name == "infer" and code == 0:
        lines = (point.folder / "results.tsv").read_text().count("\n")
        expect(lines >= 64, f"exit code 0 with {lines} lines of 64")
    return f"{name}, each {every} after {after}: exit code {code}"


def read_only(point, dice):
    """The store's folder cannot be written to."""
    need(point.mounts, "needs root and mounts of its own")
    point.make("good")
    trials = point.trials()
    mount(str(point.home), point.home, "", MS_BIND)
    mount("", point.home, "", MS_BIND | MS_REMOUNT | MS_RDONLY)
    try:
        name = point.draw(dice, ("tune", "tune-command", "tune-service"))
        started = start(point, dice, name)
        code = point.expect_exact(started)
        if not point.group:
            expect(code == 3, f"{name}: exit code {code}: {started.said()}")
            expect("runs.sqlite" in started.errors().strip().splitlines()[-1], started.said())
        point.call("show", "good", "--db", point.store, codes=(0, 1))
        point.after(started)
    finally:
        unmount(point.home)
    point.expect_whole(trials)
    return name


def locked(point, dice):
    """Another program holds the database."""
    name = point.draw(dice, ("tune-command", "tune-service", "verify", "resume"))
    trials = point.trials()
    other = sqlite3.connect(point.store, isolation_level=None)
    before = dice.random() < 0.5
    started = None if before else start(point, dice, name)
    if not before:
        time.sleep(2 * dice.random())
    for _ in range(200):
        try:
            other.execute("BEGIN EXCLUSIVE")
            break
        except sqlite3.OperationalError:
            time.sleep(0.01)
    started = started or start(point, dice, name)
    held = dice.choice([0.5, 3, 20])
    time.sleep(held)
    if other.in_transaction:
        other.execute("ROLLBACK")
    other.close()
    code = finish(point, started, trials)
    return f"{name} for {held} s, {'from before' if before else 'during it'}: exit code {code}"


def two_tunes(point, dice):
    """Two at once: the second waits, or fails at once with --no-wait; sometimes the first is killed."""
    command = point.commands["tune-command"]
    first = point.start(command)
    time.sleep(0.5 + dice.random())
    second = point.start(command, name="second")
    hasty = None
    if not point.ended(first):
        words = command.words
        command.words = [words[0], "--no-wait", *words[1:]]
        hasty = point.start(command, name="third")
        command.words = words
    killed = dice.random() < 0.5
    if killed:
        time.sleep(dice.random())
        point.send(first, signal.SIGKILL)
    point.expect_exact(first, -signal.SIGKILL)
    point.expect_exact(second)
    if hasty:
        code = point.expect_exact(hasty)
        expect(killed or code == 3, f"--no-wait beside another: exit code {code}")
    point.expect_nobody()
    point.expect_whole(0)
    return "the first killed" if killed else "both to their end"


def other_clock(point, dice):
    """Clocks that run from elsewhere than the machine's start, as in a restored container."""
    offset = dice.choice([100, 10**6, 10**8])
    prefix = ("unshare", "-T", "--fork", "--kill-child", "--monotonic", str(offset), "--boottime", str(offset))
    need(subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0, "no time namespaces here")
    name = point.draw(dice, ("tune-command", "worker", "run", "tune-service", "slo-command"))
    point.fresh()
    trials = point.trials()
    code = finish(point, start(point, dice, name, prefix=prefix), trials)
    return f"{name}, {offset} s ahead: exit code {code}"


def stepped_clock(point, dice):
    """The calendar's clock jumps during the command: once, or to and fro."""
    library = preloaded(point.folder, "stepped_clock.so", STEPPED_CLOCK)
    name = point.draw(dice, [n for n in LONG if n not in ("hosts-tune", "hosts-run")])
    step = dice.choice([-1, 1]) * dice.choice([1, 3600, 86400, 400 * 86400, 12 * 365 * 86400])
    every = dice.choice([0.3, 2, 1e9])
    point.fresh()
    trials = point.trials()
    started = start(point, dice, name, environment={
        "LD_PRELOAD": library, "FAULT_STEP": str(step), "FAULT_STEP_EVERY": str(every),
        "FAULT_STEP_AT": f"{time.monotonic() + 4 * dice.random():.3f}"})
    point.end(started, 180 if name.startswith("tune") else 600)  # a budget of 12 s at most
    code = finish(point, started, trials)
    return f"{name}, {step} s each {every} s: exit code {code}"


def guard(point, dice):
    """SIGSTOP or SIGKILL of a guard; or of all that has ocrtune's name in its command line, as pkill -9 -f."""
    name = point.draw(dice, LONG)
    harm = dice.choice(["stop", "stop", "kill", "stop, then SIGKILL of ocrtune", "pkill -9 -f ocrtune"])
    point.fresh()
    started = start(point, dice, name)
    point.wait(started, 0.2 + some_time(point, dice, name))
    processes = point.processes()
    guards = [pid for pid in processes if is_guard(pid)]
    named = [pid for pid, line in processes.items() if point.ocrtune in line]
    for pid in named if harm.startswith("pkill") else guards:
        try:
            os.kill(pid, signal.SIGSTOP if harm.startswith("stop") else signal.SIGKILL)
            if harm.startswith("stop") and started.command.hosts:
                started.stopped.append(pid)
        except ProcessLookupError:
            pass
    trials = point.trials()
    started.was_alive = harm.startswith("pkill") and bool(named)
    if harm.endswith("of ocrtune"):
        point.send(started, signal.SIGKILL)
    code = finish(point, started, trials, -signal.SIGKILL)
    return f"{harm}: {name}, {len(guards)} guards: exit code {code}"


# How often each is drawn.
KINDS = {kill: 60, child: 12, freeze: 5, interrupt: 14, nothing: 4, full_disk: 6, file_size: 4, read_only: 2, locked: 3,
         two_tunes: 3, other_clock: 2, bad_disk: 6, stepped_clock: 6, guard: 7}
