"""The program's commands as functions: what they print with --json, as a dict."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile


class Error(Exception):
    """The program's own line. `code`: how it exited."""

    def __init__(self, line, code):
        super().__init__(line)
        self.code = code


class Document(dict):
    """A JSON document of the program (docs/schema.md). `code`: how it exited; 1 is "no answer"."""

    def __init__(self, fields, code):
        super().__init__(fields)
        self.code = code

    def frame(self):
        """A pandas.DataFrame: of a run one row a setting, of a plan one row a number of machines."""
        import pandas

        for name in ("settings", "rows"):
            if name in self:
                return pandas.json_normalize(self[name])
        raise KeyError("this document has no list of settings")


def program():
    """The path of the ocrtune program: this environment's, else the one that PATH has."""
    own = os.path.join(sysconfig.get_path("scripts"), "ocrtune")
    path = own if os.access(own, os.X_OK) else shutil.which("ocrtune")
    if path is None:
        raise Error("ocrtune: the program is neither in this Python environment nor in PATH", 127)
    return path


def _flags(options):
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            yield flag
        elif isinstance(value, (list, tuple)) and all(isinstance(one, (int, float)) for one in value):
            yield from (flag, ",".join(map(str, value)))
        elif isinstance(value, (list, tuple)):
            for one in value:
                yield from (flag, str(one))
        elif value is not None and value is not False:
            yield from (flag, str(value))


def _run(words, says=False):
    said = ""  # the last line
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        process = subprocess.Popen(
            [program(), *words], stdout=out, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
        )
        try:
            for line in process.stderr:
                said = line.strip() or said
                if says:
                    sys.stderr.write(line)
        finally:  # Ctrl-C goes to the program too, which keeps what was measured
            code = process.wait()
            process.stderr.close()
        out.seek(0)
        text = out.read()
    try:
        return Document(json.loads(text), code)
    except ValueError:
        raise Error(said or f"ocrtune ended with exit code {code}", code) from None


def _words(command):
    if len(command) == 1 and isinstance(command[0], str):
        continued = re.sub(r"\\(\r?\n|.)", lambda pair: pair[0] if pair[1][-1] != "\n" else "", command[0])
        return shlex.split(continued)
    if len(command) == 1 and isinstance(command[0], (list, tuple)):
        command = command[0]
    return [str(word) for word in command]


def tune(*command, **options):
    """ocrtune tune OPTIONS --json -- COMMAND: a line as one text, or its words, in a list too.

    An option is the flag's name with "_" for "-"; True for one without a value, a list of numbers
    for 1,2,4, a list of texts to repeat the flag.
    """
    words = _words(command)
    return _run(["tune", *_flags(options), "--json", *(["--", *words] if words else [])], says=True)


def show(run="last", **options):
    """ocrtune show RUN --json: a stored run, by its name or id."""
    return _run(["show", str(run), *_flags(options), "--json"])


def plan(*machines, **options):
    """ocrtune plan OPTIONS --json: machines for a load, from a stored run."""
    return _run(["plan", *map(str, machines), *_flags(options), "--json"])
