"""The program's commands as functions, on the built program: program_test.py PROGRAM."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "python"))
sys.path.insert(0, SOURCE)
import ocrtune
import ocrtune._program

PROGRAM = os.path.abspath(sys.argv.pop(1))
ocrtune._program.program = lambda: PROGRAM
PLANS = subprocess.run([PROGRAM, "plan", "--help"], capture_output=True).returncode == 0

# Says nothing. Two processes, as a launcher starts ranks: with all other descriptors closed.
SILENT = """
import subprocess, sys, time
import ocrtune
if sys.argv[1] != "1":
    subprocess.Popen([sys.executable, __file__, "1"], close_fds=True)
while True:
    time.sleep(0.02)
    ocrtune.step(8)
"""


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = scratch.name
        for name, folder in (("XDG_DATA_HOME", "data"), ("OCRTUNE_LOCK_DIR", "")):
            os.environ[name] = os.path.join(cls.folder, folder)
        os.environ["PYTHONPATH"] = SOURCE

    def path(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_a_silent_loop_is_tuned_without_a_flag(self):
        script = self.path("train.py", SILENT)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            run = ocrtune.tune(sys.executable, script, "{nproc}", nproc=[2], threads=1, trial_time="1s", budget="40s")
        self.assertIn("--log-reader steps", said.getvalue())
        self.assertIn(run.code, (0, 1))
        self.assertEqual(set(run["outcomes"]), {"ok"})
        [setting] = run["settings"]
        rate = setting["samples_per_second"]["median"]
        self.assertGreater(rate, 0)
        self.assertLess(rate, 1.2 * 800)  # 8 samples in 20 ms or more, by each process
        self.assertEqual(ocrtune.show()["run_id"], run["run_id"])
        self.assertEqual(ocrtune.show(run["run_id"])["settings"], run["settings"])

    def test_a_loop_that_calls_nothing_is_named(self):
        with contextlib.redirect_stderr(io.StringIO()):
            run = ocrtune.tune(sys.executable, "-c", "print('hello')", log_reader="steps", budget="4m", threads=1)
        self.assertEqual((run.code, set(run["outcomes"])), (1, {"crashed"}))
        self.assertIn("ocrtune.step(samples)", run["settings"][0]["reason"])

    @unittest.skipUnless(PLANS, "a build without the extra capacity")
    def test_a_plan_is_a_document(self):
        table = self.path("t.csv", "# cores=16 memory_bytes=68719476736\n"
                          "nproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n"
                          "1,1,1,100,1,ok,0.02\n2,1,1,192,1,ok,0.02\n4,1,1,360,1,ok,0.02\n16,1,1,1010,1,ok,0.02\n")
        plan = ocrtune.plan(table=table, daily=60000000, peak_factor=3)
        self.assertEqual(plan.code, 0)
        self.assertEqual(plan["machines"]["median"], 3)
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.assertRaises(ImportError, plan.frame)
        else:
            self.assertIn("samples_per_second.median", plan.frame().columns)

    def test_an_error_is_the_programs_line(self):
        for call, words, code in [
            (lambda: ocrtune.show("nobody"), "nobody", 3), (lambda: ocrtune.tune(rates=5), "--rates", 2),
            (lambda: ocrtune.tune(budget="soon", data="lines"), "soon", 2),
        ]:
            with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(ocrtune.Error) as raised:
                call()
            self.assertIn(words, str(raised.exception))
            self.assertNotIn("\n", str(raised.exception))
            self.assertEqual(raised.exception.code, code)


class Flags(unittest.TestCase):
    def test_a_command_is_a_line_or_words(self):
        words = ["python3", "train.py", "--lr", "1 2"]
        for command in (words, [words], [tuple(words)], ["python3 train.py \\\n  --lr '1 2'"],
                        ["python3 train.py \\\r\n--lr 1\\ 2"]):
            self.assertEqual(ocrtune._program._words(command), words)
        self.assertEqual(ocrtune._program._words([r"a \\ b"]), ["a", "\\", "b"])
        self.assertEqual(ocrtune._program._words(()), [])

    def test_options_are_flags(self):
        options = {"nproc": [1, 2], "wait_quiet": "10m", "input": ["a.png", "b.png"], "no_wait": True,
                   "resume": False, "name": None, "batch": 8}
        self.assertEqual(
            list(ocrtune._program._flags(options)),
            ["--nproc", "1,2", "--wait-quiet", "10m", "--input", "a.png", "--input", "b.png", "--no-wait", "--batch", "8"])


if __name__ == "__main__":
    unittest.main()
