"""What a loop reports to its trial, and that it reports nothing outside of one."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "python"))
sys.path.insert(0, SOURCE)
import ocrtune
from ocrtune._steps import batch_size


class Batch:
    def __init__(self, *shape):
        self.shape = shape


def heard(script, read=True, folder=SOURCE):
    """The events of a script that runs in a trial."""
    out, end = os.pipe()
    if not read:
        os.close(out)
    environment = dict(os.environ, PYTHONPATH=SOURCE, OCRTUNE_EVENT_PATH=f"/proc/{os.getpid()}/fd/{end}")
    try:
        subprocess.run([sys.executable, "-c", "import ocrtune, os, sys, time\n" + script], env=environment,
                       check=True, cwd=folder, timeout=60)
    finally:
        os.close(end)
    if not read:
        return []
    with os.fdopen(out) as lines:
        return [json.loads(line) for line in lines]


LOOP = "for _ in range(30):\n    time.sleep(0.01)\n    ocrtune.step(8)\n"


class Steps(unittest.TestCase):
    def test_short_steps_are_reported_together(self):
        hello, *steps = heard(LOOP)
        self.assertEqual(hello["event"], "hello")
        self.assertGreater(len(steps), 0)
        self.assertLess(len(steps), 15)
        for step in steps:
            self.assertEqual((step["event"], step["rank"]), ("step", hello["rank"]))
            self.assertEqual(step["samples"], 8 * step["steps"])
            self.assertGreaterEqual(step["seconds"], 0.1)
        self.assertLessEqual(sum(step["steps"] for step in steps), 29)  # the first begins the clock

    def test_a_forked_process_speaks_for_itself(self):
        events = heard("ocrtune.step()\nchild = os.fork()\n" + LOOP + "if child: os.wait()\n")
        speakers = {event["rank"] for event in events if event["event"] == "hello"}
        self.assertEqual(len(speakers), 2)
        self.assertEqual({event["rank"] for event in events if event["event"] == "step"}, speakers)

    def test_the_loop_goes_on_without_its_trial(self):
        self.assertEqual(heard(LOOP, read=False), [])

    def test_what_a_full_pipe_refuses_is_reported_later(self):
        events = heard(
            "end = os.open(os.environ['OCRTUNE_EVENT_PATH'], os.O_WRONLY | os.O_NONBLOCK)\n"
            "inside = os.open(os.environ['OCRTUNE_EVENT_PATH'], os.O_RDONLY | os.O_NONBLOCK)\n"
            "ocrtune.step()\nos.read(inside, 1 << 16)\n"
            "try:\n    while True: os.write(end, b' ' * 4096)\n"
            "except BlockingIOError: pass\n"
            "time.sleep(0.11); ocrtune.step(3)\n"
            "while True:\n"
            "    try: os.read(inside, 1 << 16)\n"
            "    except BlockingIOError: break\n"
            "ocrtune.step(4)\n"
        )
        self.assertEqual([(event["steps"], event["samples"]) for event in events], [(2, 7)])

    def test_nothing_is_said_outside_a_trial(self):
        self.assertNotIn("OCRTUNE_EVENT_PATH", os.environ)
        self.assertIsNone(ocrtune.step(8))
        batches = [1, 2]
        self.assertIs(ocrtune.loader(batches), batches)
        self.assertIsNone(ocrtune.paddleocr())  # nor is PaddleOCR imported

    def test_the_import_is_light(self):
        loaded = subprocess.run(
            [sys.executable, "-c", "import sys; old = set(sys.modules); import ocrtune; print(*(set(sys.modules) - old))"],
            env=dict(os.environ, PYTHONPATH=SOURCE), check=True, stdout=subprocess.PIPE, text=True,
        ).stdout.split()
        self.assertIn("ocrtune._steps", loaded)
        for module in ("subprocess", "json", "ocrtune._program", "transformers", "paddle"):
            self.assertNotIn(module, loaded)
        self.assertIn("tune", dir(ocrtune))
        with self.assertRaises(AttributeError):
            ocrtune.tunes


class Loaders(unittest.TestCase):
    def test_samples_of_batches_as_loaders_make_them(self):
        for batch, samples in [
            (Batch(32, 3, 48, 320), 32), ([Batch(16, 3), Batch(16)], 16), ((Batch(8, 3), ["a"] * 8), 8),
            ({"pixel_values": Batch(4, 3), "labels": Batch(4)}, 4), (([1] * 5, [2] * 5), 5), (["a.png", "b.png"], 2),
            ([(Batch(6, 3), 1), Batch(6)], 6), (Batch(), 1), (7, 1), ([], 0), ({}, 0),
            # Images of their own sizes, as detection has them.
            (tuple(zip(*[(Batch(3, 640, 480 + i), {"boxes": Batch(i, 4)}) for i in range(16)])), 16),
            ([[Batch(3, 48, 320)] * 5, Batch(5, 25)], 5), ({"images": [Batch(3, 48, 320)] * 7, "labels": []}, 7),
            # Two views of each image, two tensors of each line.
            (([Batch(64, 3, 32, 32), Batch(64, 3, 32, 32)], Batch(64)), 64),
            (((Batch(16, 128), Batch(16, 128)), Batch(16)), 16),
            ([[[1, 2, 3], [4]], Batch(2)], 2), ([(Batch(6, 3, 48, 320), Batch(6)), Batch(6, 25)], 6),
        ]:
            self.assertEqual(batch_size(batch), samples)

    def test_each_batch_is_a_step_that_ends_with_the_next(self):
        script = (
            "class Loader:\n"
            "    name = 'lines'\n"
            "    def __len__(self): return 20\n"
            "    def __iter__(self): return iter([['line'] * 4] * 20)\n"
            "batches = ocrtune.loader(Loader(){})\n"
            "assert len(batches) == 20 and batches.name == 'lines'\n"
            "for batch in batches: time.sleep(0.02)\n"
        )
        for samples, each in (("", 4), (", samples=9", 9)):
            _, *steps = heard(script.format(samples))
            self.assertGreater(len(steps), 0)
            self.assertEqual({step["samples"] / step["steps"] for step in steps}, {each})

    def test_paddleocr_counts_the_training_batches_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "ppocr/data"))
            for name, text in {
                "ppocr/__init__.py": "",
                "ppocr/data/__init__.py": "def build_dataloader(config, mode, device, logger, seed=None):\n"
                                          "    return [[[0] * config, [1] * config]] * 12\n",
                "program.py": "from ppocr.data import build_dataloader\n"
                              "def train(batches):\n"
                              "    for epoch in range(2):\n"
                              "        if epoch: batches = build_dataloader(6, 'Train', None, None, seed=epoch)\n"
                              "        for batch in batches: time.sleep(0.02)\n"
                              "import time\n",
            }.items():
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            _, *steps = heard(
                "sys.path.insert(0, '.')\n"
                "import program\nfrom ppocr.data import build_dataloader\n"
                "ocrtune.paddleocr()\n"
                "evaluation = build_dataloader(1000, 'Eval', None, None)\n"
                "for batch in evaluation: pass\n"
                "program.train(build_dataloader(6, 'Train', None, None))\n", folder=folder)
        self.assertGreater(sum(step["steps"] for step in steps), 12)  # of both epochs
        self.assertEqual({step["samples"] / step["steps"] for step in steps}, {6})


if __name__ == "__main__":
    unittest.main()
