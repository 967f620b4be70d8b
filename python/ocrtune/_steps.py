"""How a loop reports its steps to the trial that measures it: JSON lines on OCRTUNE_EVENT_PATH."""
import os
import sys
import threading
import time

_SECONDS = 0.1  # between two reports: short steps are reported together


class _Reporter:
    """The first step of a process begins its clock; each later one ends a step."""

    def __init__(self, path):
        self._path = path
        self._begin_anew()
        os.register_at_fork(after_in_child=self._begin_anew)  # it is another process

    def _begin_anew(self):
        self._lock = threading.Lock()
        self._end = None  # of the pipe
        self._closed = False
        self._since = 0.0
        self._steps = self._samples = 0

    def step(self, samples=1):
        with self._lock:
            now = time.perf_counter()
            if self._end is None:
                self._open(now)
                return
            if self._closed:
                return
            self._steps += 1
            self._samples += int(samples)
            seconds = now - self._since
            if seconds >= _SECONDS and self._write(
                '{"event": "step", "rank": %d, "steps": %d, "samples": %d, "seconds": %.9f}\n'
                % (os.getpid(), self._steps, self._samples, seconds)
            ):
                self._since = now
                self._steps = self._samples = 0

    def _open(self, now):
        self._since = now
        self._end = -1
        try:
            self._end = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:  # another user, or another view of /proc: the loop goes on unmeasured
            self._closed = True
            return
        self._write('{"event": "hello", "rank": %d, "pid": %d}\n' % (os.getpid(), os.getpid()))

    def _write(self, line):
        try:
            os.write(self._end, line.encode())  # shorter than PIPE_BUF: whole or not at all
        except BlockingIOError:
            return False  # the pipe is full: these steps belong to the next report
        except OSError:
            self._closed = True  # the trial has ended
        return True


_path = os.environ.get("OCRTUNE_EVENT_PATH")

if _path is None:

    def step(samples=1):
        pass

else:
    _reporter = _Reporter(_path)

    def step(samples=1):
        _reporter.step(samples)


step.__doc__ = """A step of this process has ended, in which it took so many samples.

Each process of a job calls it for itself, once a step, from any thread. Outside a trial it does
nothing.
"""


def _dimensions(part):
    return len(getattr(part, "shape", ()))


def _first_size(part):
    shape = getattr(part, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    return len(part) if hasattr(part, "__len__") else 1


def _are_views(parts, others):
    """Of one batch: tensors that each have as many entries as what stands beside them."""
    sizes = {_first_size(part) for part in parts if _dimensions(part)}
    return len(sizes) == 1 and any(_first_size(one) in sizes for one in others) and not any(
        _first_size(one) == len(parts) for one in others
    )


def batch_size(batch):
    """Samples of a batch as loaders make them: a tensor, a list of tensors or of anything else with
    one sample an entry, or a dict, tuple or list that begins with one of these."""
    if hasattr(batch, "keys"):
        batch = next(iter(batch.values()), ())
    elif isinstance(batch, (list, tuple)) and batch and (
        isinstance(batch[0], (list, tuple)) or _dimensions(batch[0])
    ):
        batch, others = batch[0], batch[1:]
        if isinstance(batch, (list, tuple)) and batch and _are_views(batch, others):
            batch = batch[0]
    if isinstance(batch, (list, tuple)) and len({_dimensions(part) for part in batch}) > 1:
        batch = batch[0]  # images with their lengths, not a list of images
    return _first_size(batch)


class _Counted:
    def __init__(self, batches, samples):
        self._batches = batches
        self._samples = samples

    def __iter__(self):
        for batch in self._batches:
            yield batch
            step(batch_size(batch) if self._samples is None else self._samples)

    def __len__(self):
        return len(self._batches)

    def __getattr__(self, name):
        return getattr(self.__dict__["_batches"], name)


def loader(batches, samples=None):
    """The same batches, each of them a step that ends when the next one is asked for.

    `samples`: of a batch, where its first tensor's first dimension does not say it. Outside a
    trial these are the batches themselves.
    """
    return batches if _path is None else _Counted(batches, samples)


def paddleocr():
    """In PaddleOCR's tools/train.py, before main(): its training batches are counted as steps."""
    if _path is None:
        return
    import ppocr.data

    original = ppocr.data.build_dataloader

    def build_dataloader(config, mode, *arguments, **options):
        made = original(config, mode, *arguments, **options)
        return loader(made) if mode.lower() == "train" else made

    for module in list(sys.modules.values()):  # each of them has a name of its own for it
        if getattr(module, "build_dataloader", None) is original:
            module.build_dataloader = build_dataloader
