// One row for each command of the kernel; a command adds its row here and its file in
// cli/commands/. Those of the extras come to it by cli/extras.h.
#include <algorithm>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/engine_commands.h"
#include "cli/extras.h"
#include "trial/workloads/engine_parts.h"

namespace ocrtune {
namespace {

constexpr const char* kFind = "Find settings";

// Without the engine's part a command has no flags here.
template <CommandRun (*EngineCommands::*Declare)(Flags& flags)>
CommandRun of_engine(Flags& flags) {
  if (engine_commands() != nullptr) return (engine_commands()->*Declare)(flags);
  return []() -> Result<int> { return engine_elsewhere(); };
}

// clang-format off
const std::vector<Command> kKernel = {
    {"init", kFind, "Look around and write ocrtune.toml, which tune runs",
     "ocrtune init\n"
     "ocrtune init PaddleOCR/ --force",
     "Exit code: 0 written, 1 nothing here that could be tuned.", declare_init},
    {"doctor", kFind, "Try one step of a tune, and say what would make it fail",
     "ocrtune doctor\n"
     "ocrtune doctor --preset paddleocr -- python3 tools/train.py -c rec.yml",
     "Takes what tune takes, ./ocrtune.toml included. One line each: ok, warning or fails.\n"
     "Exit code: 0 ready, 1 something would make the tune fail.", declare_doctor},
    {"tune", kFind, "Find the launch settings that are safe and fast on this machine",
     "ocrtune tune -- python3 train.py --batch-size {batch}\n"
     "ocrtune tune --preset paddleocr -- python3 tools/train.py -c rec.yml\n"
     "ocrtune tune --budget 2m --data lines/ -o report/\n"
     "ocrtune tune --mode infer --slo p99=50ms --data lines/\n"
     "ocrtune tune -- torchrun --nproc_per_node {nproc} train.py --batch {batch}\n"
     "ocrtune tune --hosts a,b --preset torchrun --log-reader torch -- torchrun train.py",
     "Without a command, --data, --mode, --model, --preset, --resume or --url the flags come from\n"
     "./ocrtune.toml, if there is one (ocrtune init): keys are flags without dashes.\n"
     "Exit code: 0 a setting is recommended, 1 none works or the trials settle nothing,\n"
     "130 interrupted (results are kept).",
     declare_tune},
    {"show", kFind, "Print the answer of a stored run: eight lines, all of it, or its page",
     "ocrtune show\n"
     "ocrtune show --all\n"
     "ocrtune show --why 'nproc=8 batch=64'\n"
     "ocrtune show first-try --html report.html",
     "Exit code: as of tune; 0 a setting is recommended, 1 none works or nothing is settled.",
     declare_show},
    {"verify", kFind, "Measure a stored recommendation again before it is deployed",
     "ocrtune verify last --budget 60s",
     "Exit code: 0 OK, 1 DRIFT, UNSAFE or UNDECIDED with the reason, 3 no such run.",
     declare_verify},
    {"runs", kFind, "List the stored runs, compare two of them, or remove some",
     "ocrtune runs\n"
     "ocrtune runs compare 2026-11-20-0a3f9 2026-11-21-77e01\n"
     "ocrtune runs rm first-try",
     "", declare_runs},
    {"export", kLaunch, "Write a recommendation as a file for Docker, Slurm, systemd or Kubernetes",
     "ocrtune export last --format sbatch -o train.sbatch\n"
     "ocrtune export last --format compose > compose.yml",
     "Memory is the measured peak and the run's margin. What only you know stands as <NAME>.\n"
     "Exit code: 0 written, 3 no such run, or it recommends nothing.", declare_export},
    {"diagnose", kLaunch, "Say why a run died, from its logs, exit code and kernel log",
     "ocrtune diagnose log/workerlog.* --exit-code 137 --kernel-log dmesg.txt",
     "Exit code: 0 no failure found, 1 a failure and its causes, 3 a file cannot be read.",
     declare_diagnose},
    {"train", kEngineGroup, "Train the built-in model on labelled lines",
     "ocrtune engine train lines --steps 2000 --checkpoint lines.ckpt --evaluate held-out", "",
     of_engine<&EngineCommands::train>, true},
    {"infer", kEngineGroup, "Recognise line images on all cores, one process for each group of cores",
     "ocrtune engine infer lines --weights lines.ckpt -o results.tsv", "", of_engine<&EngineCommands::infer>, true},
    {"import", kEngineGroup, "Check an exported ONNX recogniser, and write it with its dictionary for infer and tune",
     "ocrtune engine import ch_PP-OCRv4_rec_infer.onnx\n"
     "ocrtune engine import rec.onnx --alphabet ppocr_keys_v1.txt --height 48 -o rec.ocrtune.onnx\n"
     "ocrtune engine import rec.onnx --weights tuned -o tuned.onnx",
     "Exit code: 0 written, 2 a flag contradicts the model, 3 it cannot be read or translated.",
     of_engine<&EngineCommands::import>, true},
    {"make-data", kEngineGroup, "Draw line images with labels, to train and to test on",
     "ocrtune engine make-data lines --count 2000 --seed 7 --alphabet alnum", "", of_engine<&EngineCommands::make_data>, true},
    {"worker", kEngineGroup, "Measure one setting once",
     "ocrtune engine worker nproc=2 threads=1 batch=16 --data lines", "", of_engine<&EngineCommands::worker>, true},
    {"replay", kEngineGroup, "Score the search on a recorded table, without hardware",
     "ocrtune engine replay --table machine.csv --trials 25 --repeat 10",
     "The table: a column per knob, then samples_per_second, peak_bytes, outcome and\n"
     "noise_sigma; its first line may be '# cores=64 memory_bytes=137438953472', with gpus=2\n"
     "where the processes took turns on two GPUs.", declare_replay},
    {"probe", kHostsGroup, "Show what this machine allows: CPUs, memory, instructions, GPUs",
     "ocrtune probe --quick\n"
     "ocrtune probe --json > machine.json\n"
     "ocrtune probe --topology 'pack:2 numa:2 l3:2 core:8 pu:2'\n"
     "ocrtune probe --hosts node1,node2,node3   # what differs, who is slow, which network",
     "Exit code with --hosts: 0 all answered and reach each other, 1 they do not.", declare_probe},
    {"p2p", kHostsGroup, "Say whether GPU peer-to-peer works, and the smallest change where it does not",
     "ocrtune hosts p2p\n"
     "ocrtune hosts p2p --gpus 0,1 --soak 1m\n"
     "ocrtune hosts p2p --sweep --model svtrv2 --out settings\n"
     "ocrtune hosts p2p --static --json",
     "", declare_p2p},
    {"slo", kRest, "Find the highest rate at which a server meets its latency target",
     "ocrtune slo p99=50ms --url http://127.0.0.1:8080/ocr --input wide.png --input short.png\n"
     "ocrtune slo p95=80ms --budget 5m --input a.png -- python3 serve_lines.py",
     "A command reads {\"id\": 7, \"input\": \"a.png\"} a line and answers {\"id\": 7} or\n"
     "{\"id\": 7, \"error\": \"...\"}. Exit code: 0 found, 1 no rate meets the target.",
     declare_slo},
    {"why-not", kRest, "Say why a setting was not chosen",
     "ocrtune why-not nproc=8 batch=64", "", declare_why_not},
    {"report", kRest, "Write the page and the tables of a stored run, or compare two runs",
     "ocrtune report last --html report.html --csv tables\n"
     "ocrtune report last --html report.html --with plan.json --with slo.json\n"
     "ocrtune report 2026-11-20-0a3f9 2026-11-21-77e01 --html compared.html\n"
     "ocrtune report --all --html pages/index.html",
     "", declare_report},
    {"list", kRest, "Print a table of the program: knobs, models, commands, runs, ...",
     "ocrtune list knobs", "", declare_list},
    {"rm", kRest, "Remove runs from the store", "ocrtune rm first-try 2026-11-20",
     "A run is named by its name, its id or the beginning of it. A run that is being measured\n"
     "stays. Exit code: 0 all removed, 2 or 3 none of them.", declare_rm},
    {"rank-exec", kRest, "Bind this rank to its CPUs (OCRTUNE_RANK_CPUS), then run a program",
     "torchrun --nproc_per_node 2 --no-python ocrtune rank-exec -- python train.py", "",
     declare_rank_exec},
    {"help", kRest, "Print the help of a command", "ocrtune help tune", "", declare_help},
    {"man", kRest, "Print the manual page", "ocrtune man | man -l -", "", declare_man},
    {"completion", kRest, "Print the completion script of a shell",
     "source <(ocrtune completion bash)\n"
     "source <(ocrtune completion zsh)\n"
     "ocrtune completion fish | source",
     "", declare_completion},
    {"infer-trial", kHidden, "Run one trial of tune --mode infer; started by it, not by hand",
     "ocrtune tune --mode infer --data lines", "", declare_infer_trial},
    {"infer-worker", kHidden, "Be one process of ocrtune infer; started by it, not by hand",
     "ocrtune infer lines", "", of_engine<&EngineCommands::infer_worker>, true},
};
// clang-format on

}  // namespace

const std::vector<Command>& command_table() {
  static const std::vector<Command> kTable = [] {
    std::vector<Command> table = kKernel;
    for (const Extra& extra : extras()) {
      for (const auto& [before, row] : extra.commands) {
        // In front of the command that its row names, so that help shows related commands together.
        table.insert(std::ranges::find(table, std::string_view(before), &Command::name), row);
      }
    }
    return table;
  }();
  return kTable;
}

std::vector<const Command*> members_of(const CommandGroup& group) {
  std::vector<const Command*> members;
  for (const Command& command : command_table()) {
    if (std::string_view(group.name) == command.section) members.push_back(&command);
  }
  return members;
}

std::string nearest_command(std::string_view name) {
  std::vector<std::string> names;
  for (const Command& command : command_table()) {
    if (!command.hidden()) names.emplace_back(command.name);
  }
  for (const CommandGroup& group : kGroups) names.emplace_back(group.name);
  return nearest_name(lower(name), names);
}

const Command* find_command(std::string_view name) {
  for (const Command& command : command_table()) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

Result<int> run_command(const char* name, const std::vector<std::string>& arguments) {
  Flags flags;
  const CommandRun run = find_command(name)->declare(flags);
  OCRTUNE_TRY(parse_flags(flags, arguments));
  return run();
}

}  // namespace ocrtune
