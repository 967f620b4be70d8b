"""The commands that a campaign breaks, and the exit code that goes with what each has said.

A command's code is read off its own words, by the table of `ocrtune help`: an error line means 3 (130 where it says
that it was interrupted), a document of --json means what its field says, and else 0. A command without a document has
the code that it had undisturbed.
"""
import json
import re

CLIENT = """trap 'exit 0' TERM
[ -z "$3" ] || echo "$1 $2" > "$3/log"
sleep 300 & setsid sleep 300 & env -i setsid sh "$FOLDER/stay.sh" &
i=0; while [ $i -lt 400 ]; do i=$((i + 1)); echo "step $i speed: $(($2 * 100 / $1)) lines/s"; sleep 0.02; done
"""
TRAIN = """sleep 300 & setsid sleep 300 & env -i setsid sh "$FOLDER/stay.sh" &
i=0; while [ $i -lt ${1:-200} ]; do i=$((i + 1)); echo "step $i loss 1"; echo $i > state.pt; sleep 0.01; done
[ -e again ] && exit 0; touch again; exit 1
"""
TABLE = """# cores=4 memory_bytes=1000000000
nproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma
1,1,4,100,1000000,ok,0.02
2,1,4,180,2000000,ok,0.02
4,1,4,250,4000000,ok,0.02
1,2,4,170,1000000,ok,0.02
2,2,4,260,2000000,ok,0.02
"""
LOG = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
"""

class Command:
    """kind: which field says how it ended; seconds: how long it usually takes; weight: how often it is drawn."""

    def __init__(self, kind, words, seconds, weight, hosts=False, files=(), code=None):
        self.kind, self.words, self.seconds, self.weight = kind, [str(word) for word in words], seconds, weight
        self.hosts = hosts  # on the first of two hosts of scripts/hosts
        self.files = files  # which it writes, and which are whole or not there
        self.code = code    # undisturbed, of a command without a document; none: a point's folder looks once


def commands_of(point):
    """By name."""
    folder, lines = point.folder, point.folder / "lines"
    tune = ["tune", "--db", point.store, "--trial-time", "0.2s", "--budget", "6s", "--json"]
    client = ["--metric", "speed", "--", "sh", "client.sh", "{nproc}", "{batch}"]
    serve = ["--mode", "infer", "--nproc", "1,2", "--input", lines / "labels.txt", "--url", "http://127.0.0.1:{port}/",
             "--", "sh", "server.sh", "{port}", "{nproc}"]
    service = ["tune", "--db", point.store, "--trial-time", "1s", "--budget", "12s", "--json"]
    run = ["run", "--json", "--run-dir", folder / "run", "--pause", "0.1s", "--tries", "9", "--silence",
           "5s", "--checkpoint", "state.pt"]
    good, db = "good", ["--db", point.store]
    return {
        "tune": Command("tune", [*tune, "--nproc", "1,2", "--batch", "2,4", "--threads", "1"], 7, 6),
        "tune-command": Command("tune", [*tune, "--nproc", "1", "--batch", "2,4", *client, "{trial_dir}"], 7, 8),
        "tune-infer": Command("tune", [*tune, "--mode", "infer", "--nproc", "1,2", "--batch", "4", "--threads", "1"], 7, 4),
        "tune-service": Command("tune", [*service, *serve], 11, 4),
        "tune-slo": Command("tune", [*service, "--slo", "p90=500ms", *serve], 11, 4),
        "resume": Command("tune", ["tune", "--resume", "again", *db, "--budget", "3s", "--json"], 4, 2),
        "verify": Command("verify", ["verify", good, *db, "--budget", "3s", "--json"], 6, 3),
        "doctor": Command("doctor", ["doctor", "--json", "--batch", "2", *client], 3, 2),
        "slo-command": Command("slo", ["slo", "p90=200ms", "--budget", "4s", "--json", "--", "sh", "answer.sh"], 5, 2),
        "slo-url": Command("slo", ["slo", "p90=200ms", "--budget", "4s", "--json", "--url",
                                   f"http://127.0.0.1:{point.others.port}/"], 5, 2),
        "worker": Command("worker", ["worker", "nproc=2", "threads=1", "batch=2", "workers=1", "--data", lines, "--json"],
                          4, 3),
        "run": Command("run", [*run, "--", "sh", "train.sh"], 6, 8),
        "run-from": Command("run", ["run", "--from", good, *db, "--json", "--run-dir", folder / "run", "--tries", "1",
                                     "--silence", "5s"], 11, 1),
        "infer": Command("infer", ["infer", lines, "--nproc", "2", "--batch", "1", "--json", "--output",
                                   folder / "results.tsv"], 0.6, 5),
        "train": Command("train", ["train", lines, "--steps", "120", "--batch", "2", "--workers", "1", "--threads", "1",
                                   "--save-every", "1", "--checkpoint", folder / "net.ckpt"], 4, 6, code=0),
        "hosts-tune": Command("tune", [*tune, "--hosts", "a,b", "--host-timeout", "5s", "--nproc", "1", "--batch", "2,4",
                                       "--metric-of", "rank", *client, "", "{nodes}"], 9, 4, hosts=True),
        "hosts-run": Command("run", [*run, "--hosts", "a,b", "--host-timeout", "5s", "--host-patience", "5s", "--", "sh",
                                     "train.sh", "100", "{nodes}"], 6, 4, hosts=True),
        "hosts-probe": Command("survey", ["probe", "--hosts", "a,b", "--host-timeout", "20s", "--json"], 9, 1, hosts=True),
        "make-data": Command("still", ["make-data", folder / "drawn", "--count", "200"], 0.3, 1),
        "init": Command("still", ["init", folder / "lines", "--force"], 0.1, 1, files=("lines/ocrtune.toml",)),
        "export": Command("still", ["export", good, *db, "--format", "systemd", "-o", folder / "unit"], 0.1, 1,
                          files=("unit",)),
        "report": Command("still", ["report", good, *db, "--html", folder / "page.html"], 0.2, 1),
        "runs": Command("still", ["runs", *db], 0.1, 1),
        "show": Command("still", ["show", good, *db, "--all"], 0.1, 1),
        "why-not": Command("still", ["why-not", "batch=2", "--run", good, *db], 0.1, 1),
        "plan": Command("still", ["plan", "--run", good, *db, "--samples", "1e6", "--json"], 0.2, 1),
        "list": Command("still", ["list", "models"], 0.05, 1),
        "diagnose": Command("still", ["diagnose", "dead.log", "--json"], 0.1, 1),
        "check": Command("still", ["check", "node0.yml", "node1.yml", "--json"], 0.1, 1),
        "import": Command("still", ["import", "dead.onnx"], 0.05, 1),
        "replay": Command("still", ["replay", "--table", "table.csv", "--trials", "5", "--json"], 0.2, 1),
        "probe": Command("still", ["probe", "--json"], 2, 1, code=0),
        "p2p": Command("still", ["p2p", "--static", "--json"], 0.2, 1),
        "completion": Command("still", ["completion", "bash"], 0.05, 1),
        "help": Command("still", ["help", "--all"], 0.05, 1),
    }


def error_line(errors):
    """The line of an error that ended the command; none: there is none."""
    lines = [line for line in errors.strip().splitlines() if line.strip()]
    return lines[-1] if lines and re.match(r"ocrtune[ :](?!.*\bnote: )", lines[-1]) else None


def document(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def told_code(command, output, errors):
    """The exit code that its words stand for."""
    line, said = error_line(errors), document(output)
    if line and re.search(r"interrupted", line):
        return 130
    if line and "measured on another machine" in line:  # so it is within another limit
        return 2
    if said is None or command.kind in ("still", "train"):
        return 3 if line else command.code
    if line:
        return 3
    if command.kind == "tune":
        return 130 if said["state"] == "interrupted" else int(said["verdict"] in ("inconclusive", "no_answer"))
    if command.kind == "verify":
        return int(said["state"] != "OK")
    if command.kind == "slo":
        return int(not said["found"])
    if command.kind == "survey":
        return 3 if not said["hosts"] else int(bool(said["lost"]) or not said["recommended_network"])
    if command.kind == "doctor":
        return int(not said["ready"])
    if command.kind == "run":
        return {"done": 0, "interrupted": 130}.get(said["state"], 1)
    if command.kind == "infer":
        return int(said["bad"] > 0 or bool(said["placement_conflicts"]))
    return int(said["outcome"] != "ok")  # worker
