"""What a campaign of faults changes about the machine, and who else lives on it."""
import ctypes
import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

CLONE_NEWNS, MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 1, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
LIBC = ctypes.CDLL(None, use_errno=True)
NOBODY = 65534


class Skipped(Exception):
    """What a point needs is not here."""


class Failed(Exception):
    """A check of a point did not hold."""


def expect(fact, words):
    if not fact:
        raise Failed(words)


def mount(source, target, kind, flags, options=""):
    done = LIBC.mount(source.encode(), str(target).encode(), kind.encode(), flags, options.encode())
    if done != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def unmount(target):
    LIBC.umount2(str(target).encode(), MNT_DETACH)


def own_mounts():
    """True: this process has mounts of its own, and an empty /dev/shm."""
    if os.geteuid() != 0 or LIBC.unshare(CLONE_NEWNS) != 0:
        return False
    try:
        mount("", "/", "", MS_REC | MS_PRIVATE)
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=2g")
    except OSError:
        return False
    return True


class Busy:
    """Twice as many endless loops as CPUs."""

    def __enter__(self):
        self.loops = [subprocess.Popen([sys.executable, "-c", "while True: sum(range(100000))"])
                      for _ in range(2 * len(os.sched_getaffinity(0)))]
        return self

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()


class TightGroup:
    """A control group whose memory is limited; one for each point."""

    number = 0

    def __init__(self, mebibytes):
        root = pathlib.Path("/sys/fs/cgroup")
        self.old = (root / "memory").is_dir()
        if self.old:
            root /= "memory"
        TightGroup.number += 1
        self.path = root / f"ocrtune-faults-{os.getpid()}-{TightGroup.number}"
        limit = "memory.limit_in_bytes" if self.old else "memory.max"
        try:
            self.path.mkdir()
            (self.path / limit).write_text(str(mebibytes << 20))
        except OSError as why:
            self.close()
            raise Skipped(f"no control group of memory here: {why}") from None

    def prefix(self):
        return ("bash", "-c", f"echo $$ > {self.path}/cgroup.procs; exec \"$@\"", "bash")

    def kills(self):
        """How often the kernel killed for memory in it."""
        text = (self.path / ("memory.oom_control" if self.old else "memory.events")).read_text()
        return sum(int(line.split()[1]) for line in text.splitlines() if line.split()[0] == "oom_kill")

    def close(self):
        for _ in range(50):
            try:
                return self.path.rmdir()
            except FileNotFoundError:
                return None
            except OSError:
                time.sleep(0.1)
        return None


SERVER = """import http.server, socketserver, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()
    def log_message(self, *words):
        pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, request_queue_size = True, 128
    def handle_error(self, *who):
        pass
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def stat_of(pid):
    """The fields of /proc/PID/stat from the state on; none: there is no such process."""
    try:
        return pathlib.Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None


class Bystanders:
    """Processes, files and a port of others, which every point must leave as they are.

    A process with ocrtune's name and session; one whose parent is the first process; one of another user; a server
    that answers; files in the temporary folder and in /dev/shm, and a temporary folder with ocrtune's kind of name
    that belongs to another host. None of them names the campaign's folder in its words or variables.
    """

    def __init__(self, ocrtune, tmp, mounts):
        bare = {"PATH": os.environ["PATH"]}
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": bare,
                 "cwd": "/"}
        self.children = [subprocess.Popen(["bash", "-c", 'exec -a "$0 tune" sleep 1000000', ocrtune], **quiet)]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.children.append(subprocess.Popen([sys.executable, "-c", SERVER, str(self.port)], **quiet))
        if os.geteuid() == 0 and shutil.which("setpriv"):
            self.children.append(subprocess.Popen(["setpriv", "--reuid", str(NOBODY), "--clear-groups", "sleep", "1000000"],
                                                  **quiet))
        daemon = subprocess.run(["sh", "-c", "setsid sleep 1000000 >/dev/null 2>&1 & echo $!"], env=bare, cwd="/",
                                stdout=subprocess.PIPE, check=True)
        self.pids = [child.pid for child in self.children] + [int(daemon.stdout)]
        time.sleep(0.3)  # until each has its own name
        self.births = {pid: stat_of(pid)[19] for pid in self.pids}
        self.files = {tmp / "others": b"of others", tmp / "ocrtune.tmp.elsewhere-0000.a1b2c3" / "kept": b"of others"}
        if mounts:
            self.files[pathlib.Path("/dev/shm/others")] = b"of others"
        for path, content in self.files.items():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)

    def names(self, folder):
        """What of them lies in this folder."""
        return {path.relative_to(folder).parts[0] for path in self.files if folder in path.parents}

    def expect_whole(self):
        for pid in self.pids:
            stat = stat_of(pid)
            expect(stat and stat[0] not in "ZXT" and stat[19] == self.births[pid], f"a bystander was killed: {pid}, {stat}")
        for path, content in self.files.items():
            expect(path.exists() and path.read_bytes() == content, f"a file of others was changed: {path}")
        try:
            server = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            server.request("GET", "/")
            expect(server.getresponse().read() == b"ok", "the server of others answers otherwise")
            server.close()
        except OSError as why:
            raise Failed(f"the server of others does not answer: {why}") from None

    def end(self):
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for child in self.children:
            child.wait()


def preloaded(folder, name, source):
    """The path of the library made of this C text."""
    library = folder / name
    if not library.exists():
        build = subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(library)], input=source.encode(),
                               capture_output=True, check=False) if shutil.which("cc") else None
        if not build or build.returncode != 0:
            raise Skipped("no C compiler here")
    return str(library)


# Writes to files below $FAULT_FOLDER fail, one in $FAULT_EVERY after the first $FAULT_AFTER.
BAD_DISK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static int fails(int file) {
  static int calls;
  char link[64], path[4096];
  const char *folder = getenv("FAULT_FOLDER"), *after = getenv("FAULT_AFTER"), *every = getenv("FAULT_EVERY");
  if (!folder || !after || !every) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0 || strncmp(path, folder, strlen(folder)) != 0) return 0;
  if (strcmp(path + size - 4, ".out") == 0 || strcmp(path + size - 4, ".err") == 0) return 0;  // what is read afterwards
  int call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) - atoi(after);
  if (call <= 0 || call % atoi(every) != 0) return 0;
  errno = EIO;
  return 1;
}
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
ssize_t write(int f, const void *b, size_t n) { return fails(f) ? -1 : REAL(write)(f, b, n); }
ssize_t pwrite(int f, const void *b, size_t n, off_t o) { return fails(f) ? -1 : REAL(pwrite)(f, b, n, o); }
ssize_t pwrite64(int f, const void *b, size_t n, off64_t o) { return fails(f) ? -1 : REAL(pwrite64)(f, b, n, o); }
int fsync(int f) { return fails(f) ? -1 : REAL(fsync)(f); }
int fdatasync(int f) { return fails(f) ? -1 : REAL(fdatasync)(f); }
"""

# The calendar's clock jumps by $FAULT_STEP seconds at $FAULT_STEP_AT, and back or further at every $FAULT_STEP_EVERY
# after it; the other clocks go on.
STEPPED_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
typedef int (*Clock)(clockid_t, struct timespec *);
static int stepped(clockid_t id, struct timespec *time) {
  static Clock real;
  if (!real) real = (Clock)dlsym(RTLD_NEXT, "clock_gettime");
  int done = real(id, time);
  const char *step = getenv("FAULT_STEP"), *at = getenv("FAULT_STEP_AT"), *every = getenv("FAULT_STEP_EVERY");
  struct timespec up;
  if (done != 0 || !step || !at || !every || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return done;
  real(CLOCK_MONOTONIC, &up);
  double since = up.tv_sec + 1e-9 * up.tv_nsec - atof(at);
  if (since > 0 && (long)(since / atof(every)) % 2 == 0) time->tv_sec += atol(step);
  return 0;
}
int clock_gettime(clockid_t id, struct timespec *time) { return stepped(id, time); }
int gettimeofday(struct timeval *time, void *zone) {
  struct timespec now;
  if (time && stepped(CLOCK_REALTIME, &now) == 0) time->tv_sec = now.tv_sec, time->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *into) {
  struct timespec now;
  stepped(CLOCK_REALTIME, &now);
  if (into) *into = now.tv_sec;
  return now.tv_sec;
}
"""
