"""One folder with its store, temporary folder and lock, for one point of a campaign after the other."""
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

from commands import CLIENT, LOG, TABLE, TRAIN, Command, commands_of, document, error_line, told_code
from machine import SERVER, Failed, Skipped, TightGroup, expect, stat_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Runs ocrtune on the first host, and keeps the hosts until what it left was looked for.
IN_BED = ': bed-of-hosts; "$@" > "$FOLDER/log.out" 2> "$FOLDER/log.err"; echo $? > "$FOLDER/code.new"; ' \
         'mv "$FOLDER/code.new" "$FOLDER/code"; while [ ! -e "$FOLDER/end" ]; do sleep 0.05; done'


class Started:
    """A command of ocrtune's that was started."""

    def __init__(self, process, command, out, err):
        self.process, self.command, self.out, self.err = process, command, out, err
        self.was_alive = False  # when the harm was done to it
        self.stopped = []       # what the harm has frozen

    def output(self):
        return self.out.read_text(errors="replace") if self.out.exists() else ""

    def errors(self):
        return self.err.read_text(errors="replace") if self.err.exists() else ""

    def said(self):
        return (self.output()[-200:] + " | " + self.errors()[-400:]).strip().replace("\n", " | ")


class Point:
    def __init__(self, ocrtune, folder, mounts, tight, others):
        self.ocrtune, self.folder, self.mounts, self.tight, self.others = str(ocrtune), folder, mounts, tight, others
        self.home, self.tmp = folder / "home", folder / "tmp"
        for made in (self.home, folder / "lock"):
            made.mkdir()
        self.store = self.home / "runs.sqlite"
        write = {"client.sh": CLIENT, "train.sh": TRAIN, "stay.sh": "while :; do sleep 1; done\n", "server.py": SERVER,
                 "server.sh": 'sleep 300 & env -i setsid sh "$FOLDER/stay.sh" & exec python3 server.py "$1"\n',
                 "answer.sh": "sleep 300 & exec sed -u 's/.*\"id\": *\\([0-9]*\\).*/{\"id\": \\1}/'\n",
                 "table.csv": TABLE, "dead.log": LOG, "dead.onnx": LOG, "node0.yml": "Train: {loader: {batch_size_per_card: 8}}\n",
                 "node1.yml": "Train: {loader: {batch_size_per_card: 16}}\n"}
        for name, text in write.items():
            (folder / name).write_text(text)
        self.environment = dict(os.environ, TMPDIR=str(self.tmp), HOME=str(self.home), FOLDER=str(folder),
                                XDG_DATA_HOME=str(self.home), OCRTUNE_LOCK_DIR=str(folder / "lock"))
        self.started, self.group, self.before_exec = [], None, None
        self.made, self.whole = set(), {}  # runs that commands name; what their files hold
        self.call("make-data", folder / "lines", "--count", "64", "--alphabet", "digits")
        self.commands = commands_of(self)
        if subprocess.run([ROOT / "scripts/hosts", "a", "b", "--", "ssh", "b", "true"], capture_output=True,
                          env=self.environment, check=False).returncode != 0:
            self.commands = {name: command for name, command in self.commands.items() if not command.hosts}

    def make(self, run):
        """A run that commands name, once; one that is resumed is no other command's."""
        if run in self.made:
            return
        self.made.add(run)
        self.call("tune", "--db", self.store, "--name", run, "--trial-time", "0.3s", "--budget", "6s", "--nproc", "1",
                  "--batch", "2,4", "--metric", "speed", "--", "sh", "client.sh", "{nproc}", "{batch}", codes=(0, 1))

    def look_once(self, command):
        """Its code and its files, undisturbed."""
        started = self.start(command)
        command.code = self.end(started)
        self.after(started)
        line = error_line(started.errors())
        expect(command.code == (3 if line else command.code), f"{command.words}: {command.code}: {started.said()}")
        for file in command.files:
            self.whole[file] = (self.folder / file).read_bytes() if (self.folder / file).exists() else b""

    def draw(self, dice, names=None):
        """A command, by weight; names: one of these."""
        names = [name for name in names or self.commands if name in self.commands]
        name = dice.choices(names, [self.commands[name].weight for name in names])[0]
        command = self.commands[name]
        for run in {"good", "again"}.intersection(command.words):
            self.make(run)
        if command.kind == "still" and command.code is None:
            self.look_once(command)
        return name

    def start(self, command, prefix=(), environment=None, name="log", tight=None):
        """tight: MiB of the control group in which it runs. The words' paths and names are of the point's folder."""
        if not isinstance(command, Command):
            command = Command("still", command, 1, 1)
        for file in ("code", "code.new", "end", f"{name}.out", f"{name}.err"):
            (self.folder / file).unlink(missing_ok=True)
        out, err = self.folder / f"{name}.out", self.folder / f"{name}.err"
        if tight:
            self.group = TightGroup(tight)
            prefix = (*self.group.prefix(), *prefix)
        words = [*prefix, self.ocrtune, *command.words]
        if command.hosts:
            words = [ROOT / "scripts/hosts", "a", "b", "--", "sh", "-c", IN_BED, "sh", *words]
        with open(out, "wb") as to, open(err, "wb") as errors:
            process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=to, stderr=errors,
                                       cwd=self.folder, env=dict(self.environment, **(environment or {})))
        started = Started(process, command, out, err)
        self.started.append(started)
        return started

    def main_pid(self, started):
        """ocrtune itself; none: it is not up yet, or has ended."""
        if not started.command.hosts:
            return started.process.pid if started.process.poll() is None else None
        if (self.folder / "code").exists():
            return None
        front = [self.ocrtune, started.command.words[0]]
        found = [pid for pid, line in self.processes().items() if line.split()[:2] == front and not is_guard(pid)]
        return min(found, key=lambda pid: int(stat_of(pid)[19]) if stat_of(pid) else 1 << 62) if found else None

    def ended(self, started):
        return started.process.poll() is not None or (started.command.hosts and (self.folder / "code").exists())

    def wait(self, started, seconds):
        """Until so many seconds after its start, or until it ends."""
        end = time.monotonic() + seconds
        while started.command.hosts and not self.ended(started) and self.main_pid(started) is None:
            time.sleep(0.02)
            end = time.monotonic() + seconds
        while time.monotonic() < end and not self.ended(started):
            time.sleep(min(0.01, max(0, end - time.monotonic())))

    def send(self, started, number):
        """A signal to ocrtune itself, if it lives."""
        pid = self.main_pid(started)
        if pid is None:
            return
        try:
            os.kill(pid, number)
            started.was_alive = True
        except ProcessLookupError:
            pass

    def end(self, started, seconds=600):  # 120 steps, each saved, on a busy machine
        """Its exit code, -N for signal N."""
        until = time.monotonic() + seconds
        code = None
        while code is None and started.command.hosts and started.process.poll() is None:
            if (self.folder / "code").exists():
                code = int((self.folder / "code").read_text())
                code = 128 - code if code in (137, 143) else code
            elif time.monotonic() > until:
                break
            time.sleep(0.02)
        if code is not None:
            return code
        try:
            return started.process.wait(max(1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Failed(f"still there after {seconds} s: {started.said()}") from None

    def after(self, started):
        """Nobody of it is left; on its hosts neither, which end now."""
        for pid in started.stopped:  # an agent that is frozen on its host cannot end
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        self.expect_nobody()
        if started.command.hosts:
            (self.folder / "end").touch()
            try:
                started.process.wait(60)
            except subprocess.TimeoutExpired:
                raise Failed("the hosts do not end") from None

    def expect_exact(self, started, *allowed):
        """It ended as it said; allowed: or so, where it lived when the harm was done."""
        code = self.end(started)
        told = told_code(started.command, started.output(), started.errors())
        if self.group and code == -signal.SIGKILL and self.group.kills():
            return code  # the kernel's own, of ocrtune itself
        if started.was_alive and code in allowed:
            return code
        for word in ("terminate called", "Assertion", "runtime error:"):
            expect(word not in started.errors(), started.said())
        expect(code == told, f"{' '.join(started.command.words)}: exit code {code}, its words mean {told}: {started.said()}")
        return code

    def call(self, *words, codes=(0,)):
        started = self.start([str(word) for word in words], name="call")
        code = self.end(started)
        expect(code in codes, f"{' '.join(map(str, words))}: exit code {code}: {started.said()}")
        expect("terminate called" not in started.errors(), started.said())
        return started.output()

    def processes(self):
        """Everything that names the folder in its command line or environment, but this process, the hosts themselves
        and who was a child of ocrtune's before it was ocrtune."""
        here, found = str(self.folder).encode(), {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) in (os.getpid(), self.before_exec):
                continue
            try:
                line = pathlib.Path("/proc", entry, "cmdline").read_bytes()
                if not line or b"scripts/hosts" in line or b"bed-of-hosts" in line:
                    continue
                if here not in line and here not in pathlib.Path("/proc", entry, "environ").read_bytes():
                    continue
                bed = b"ocrtune-hosts." in line and self.ocrtune.encode() not in line
                if bed or line.replace(b"\0", b" ") in BED_LINES:
                    continue
                stat = stat_of(entry)
                if int(entry) not in self.others.pids and stat and stat[0] not in "ZX":
                    found[int(entry)] = line.replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
        return found

    def expect_nobody(self, seconds=20):
        """The guard takes a moment."""
        end = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        expect(not left, f"left running: {left}")

    def trials(self, store=None):
        """How many trials the store has committed; 0 without one. A store that cannot be read fails the point."""
        path = store or self.store
        for _ in range(100):
            if not path.exists():
                return 0
            store = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
            try:
                if not store.execute("SELECT 1 FROM sqlite_master WHERE name = 'trial'").fetchone():
                    return 0  # not made yet
                return store.execute("SELECT count(*) FROM trial").fetchone()[0]
            except sqlite3.OperationalError as why:
                problem = str(why)
                time.sleep(0.1)  # it is being made, or written to
            finally:
                store.close()
        raise Failed(f"the store cannot be read: {problem}")

    def expect_whole(self, trials, store=None):
        path = store or self.store
        if path.exists():
            opened = sqlite3.connect(path, timeout=30)
            expect(opened.execute("PRAGMA integrity_check").fetchone()[0] == "ok", "the store is damaged")
            opened.close()
        now = self.trials(path)
        expect(now >= trials, f"{trials} trials were committed, {now} are there")
        for file, content in self.whole.items():
            if (self.folder / file).exists():
                expect((self.folder / file).read_bytes() in (content, b"older"), f"{file} is neither whole nor the older one")
        journal = self.folder / "run" / "journal.jsonl"
        if journal.exists():
            for line in journal.read_text().split("\n")[:-1]:
                json.loads(line)

    def expect_tidy(self):
        """What a dead process left, the next command that makes a temporary folder removes. Others are as they were."""
        ours = 3 * len(self.started)  # failed trials that a user may look at: the last three of a command
        self.close_group()
        others, trials = self.others.names(self.tmp), 0
        while not trials:  # on a busy machine the budget may end before the first one
            self.call("tune", "--db", self.store, "--name", "next", "--trial-time", "0.1s", "--budget", "1s", "--nproc", "1",
                      "--batch", "2", "--metric", "speed", "--", "sh", "client.sh", "{nproc}", "{batch}", "{trial_dir}",
                      codes=(0, 1))
            self.expect_nobody()
            shown = document(self.call("show", "next", "--db", self.store, "--json", codes=(0, 1)))
            self.call("rm", "next", "--db", self.store)
            expect(shown, "show prints no document")
            trials = shown["trials"]
        here = [path for path in self.tmp.iterdir() if path.name not in others]
        # A host has its own name, and what its dead agent left goes with its next one.
        left = [path.name for path in here if path.name.startswith("ocrtune.tmp.") and
                not path.name.startswith(("ocrtune.tmp.a.", "ocrtune.tmp.b."))]
        expect(not left, f"left in the temporary folder: {left}")
        kept = [path for path in here if path.name.startswith("ocrtune.") and not path.name.startswith("ocrtune.tmp.")]
        expect(len(kept) <= ours, f"{len(kept)} folders of failed trials are kept")
        for path in here:
            shutil.rmtree(path, ignore_errors=True)
        others = self.others.names(pathlib.Path("/dev/shm"))
        # A segment of a launch that died as its ranks met goes once it is a minute old.
        if self.mounts and (left := set(os.listdir("/dev/shm")) - others):
            for name in left:
                os.utime(f"/dev/shm/{name}", (0, 0))
            self.call("worker", "nproc=2", "threads=1", "batch=2", "--seconds", "0.1s")
            left = set(os.listdir("/dev/shm")) - others
            expect(not left, f"left in /dev/shm: {left}")
        self.others.expect_whole()
        if self.before_exec:
            stat = stat_of(self.before_exec)
            expect(stat and stat[0] not in "ZX", "a child from before ocrtune's start was killed")

    def close_group(self):
        if self.group:
            self.group.close()
            self.group = None

    def fresh(self):
        for name in ("run", "results.tsv", "net.ckpt", "state.pt", "again", "drawn", "page.html"):
            path = self.folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for file in self.whole:
            (self.folder / file).write_bytes(b"older")

    def sweep(self):
        """Ends what a failed point has left, so that the next one begins as it should."""
        for started in self.started:
            (self.folder / "end").touch()
            for pid in started.stopped:
                try:
                    os.kill(pid, signal.SIGCONT)
                except ProcessLookupError:
                    pass
            try:
                started.process.wait(10 if started.command.hosts else 0.01)
            except subprocess.TimeoutExpired:
                started.process.kill()
                started.process.wait()
        self.started.clear()
        for pid in (*self.processes(), *([self.before_exec] if self.before_exec else [])):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.before_exec = None
        self.close_group()


BED_LINES = {b"sleep infinity ", b"sleep 0.05 ", b"sleep 0.1 "}


def is_guard(pid):
    """The guard is held to nothing: who freezes or kills it as well as ocrtune has to clean up himself."""
    try:
        return pathlib.Path("/proc", str(pid), "comm").read_text().strip() == "orphan-guard"
    except OSError:
        return True


def need(fact, words):
    if not fact:
        raise Skipped(words)
