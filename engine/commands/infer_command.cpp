// ocrtune infer: reads line images on all cores, one process for each group of them.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/plural.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/commands/engine_flags.h"
#include "cli/model_choice.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "core/gpu/device_footprint.h"
#include "core/infer/decode.h"
#include "engine/commands/engine_commands.h"
#include "probes/gpu/gpu_worker_program.h"
#include "probes/placement/partition.h"
#include "probes/probe.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/engine_infer/framework_table.h"
#include "trial/workloads/engine_infer/infer_pool.h"
#include "trial/workloads/engine_infer/infer_runner.h"
#include "trial/workloads/engine_infer/infer_worker.h"
#include "trial/workloads/engine_infer/line_list.h"
#include "tuner/space/device_choice.h"

namespace ocrtune {
namespace {

struct InferFlags {
  InferJob job;
  std::string place, alphabet, output, model, binding = "compact", queue = "shared";
  int nproc = 0;
  bool json = false, binding_given = false, height_given = false, width_given = false;
  DeviceRequest device{"cpu", "", "", 60};
};

// One process for each GPU, or several where that was asked for, and proof that they may run.
Status choose_infer_gpus(InferFlags& flags, const Machine& machine, int classes) {
  InferJob& job = flags.job;
  const auto choice = OCRTUNE_TRY(choose_device(flags.device, machine, process_environment()));
  if (!choice.gpu) return Status();
  const auto count = static_cast<int>(choice.gpus.size());
  if (flags.nproc == 0) flags.nproc = count;
  if (flags.nproc > count && !job.share_gpus) {
    return Error{ErrorKind::usage,
                 fmt::format("--nproc {} on {}: some would share one; --share-gpus allows it",
                             flags.nproc, how_many(count, "GPU"))};
  }
  for (int i = 0; i < flags.nproc; ++i) {
    job.gpus.push_back(choice.gpus[static_cast<std::size_t>(i % count)].uuid);
  }
  const auto bytes = OCRTUNE_TRY(device_reading_bytes(job.spec.recognizer, classes));
  const auto most = static_cast<std::uint64_t>((flags.nproc + count - 1) / count);
  if (bytes * most > choice.memory_bytes) {
    return Error{ErrorKind::exhausted,
                 fmt::format("--device gpu: {} of about {} and {} free on the fullest GPU; "
                             "a smaller --batch takes less",
                             how_many(static_cast<std::int64_t>(most), "process"),
                             format_bytes(bytes), format_bytes(choice.memory_bytes))};
  }
  job.program = gpu_worker_program("", process_environment());
  // More than the default: a GPU's context and libraries are slow to start.
  job.silence_seconds = 180;
  return Status();
}

// As they stand in one line of a table.
std::string escaped(const std::string& text) {
  std::string line;
  for (const char c : valid_utf8(text)) {
    if (c == '\t')
      line += "\\t";
    else if (c == '\n')
      line += "\\n";
    else if (c == '\r')
      line += "\\r";
    else
      line += c;
  }
  return line;
}

std::string result_line(const std::string& name, const LineAnswer& answer) {
  const bool read = answer.state == LineAnswer::State::read;
  char confidence[32];
  std::snprintf(confidence, sizeof confidence, "%.4f", answer.confidence);
  return escaped(name) + "\t" +
         (read ? escaped(answer.text) + "\t" + confidence + "\t" : "\t\t" + escaped(answer.text)) +
         "\n";
}

// Written as lines become final, so that what is known survives whatever comes. An earlier table
// stays until there is something to write.
class ResultFile {
 public:
  ~ResultFile() {
    if (descriptor_ == STDOUT_FILENO || descriptor_ < 0) return;
    ::close(descriptor_);
    if (made_ && !started_) ::unlink(path_.c_str());
  }
  Status open(const std::string& path) {
    if (path.empty() || path == "-") return Status();
    made_ = !path_exists(path);
    path_ = path;
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    return descriptor_ < 0 ? Status(system_error(errno, "create " + path)) : Status();
  }
  void write(std::string_view text) {
    if (!std::exchange(started_, true)) {
      // What is no regular file cannot be cut, and need not be.
      if (descriptor_ != STDOUT_FILENO && ::ftruncate(descriptor_, 0) != 0 && errno != EINVAL) {
        status_ = system_error(errno, "write " + path_);
      }
      write("name\ttext\tconfidence\terror\n");
    }
    if (!status_) return;
    status_ =
        descriptor_ == STDOUT_FILENO ? write_file("-", text) : write_all(descriptor_, text, path_);
  }
  const Status& status() const { return status_; }

 private:
  int descriptor_ = STDOUT_FILENO;
  bool made_ = false, started_ = false;
  std::string path_ = "standard output";
  Status status_;
};

Status choose_masks(InferFlags& flags, int classes) {
  ProbeOptions quick;
  quick.quick = true;
  const auto machine = OCRTUNE_TRY(probe_machine(quick));
  const int threads = flags.job.spec.recognizer.threads;
  OCRTUNE_TRY(choose_infer_gpus(flags, machine, classes));
  if (!flags.job.gpus.empty() && !flags.binding_given) flags.binding = "none";
  if (flags.nproc == 0) {
    std::set<int> cores;
    for (const CpuPlace& place : machine.cpu.places) {
      if (machine.cpu.allowed.contains(place.cpu)) cores.insert(place.core);
    }
    // One process for each allowed core, fewer where a quota gives fewer CPUs.
    const auto quota = static_cast<int>(machine.cpu.usable_cpus.value_or(1e6));
    flags.nproc = std::max(1, std::min(static_cast<int>(cores.size()), quota) / threads);
  }
  flags.job.masks = OCRTUNE_TRY(partition_cpus(machine.cpu, flags.nproc, threads, flags.binding));
  flags.job.exclusive = flags.binding != "none";
  return Status();
}

LabelErrors label_errors(const LineList& list, const std::vector<LineAnswer>& answers) {
  LabelErrors errors;
  for (std::size_t i = 0; i < list.truths.size(); ++i) {
    if (answers[i].state == LineAnswer::State::read) {
      errors.add_text(answers[i].text, list.truths[i]);
    }
  }
  return errors;
}

nlohmann::json json_of(const InferFlags& flags, const LineList& list, const InferOutcome& outcome) {
  nlohmann::json json;
  json["lines"] = list.paths.size();
  json["read"] = outcome.read;
  json["bad"] = outcome.bad;
  json["start_seconds"] = outcome.start_seconds;
  json["seconds"] = outcome.seconds;
  json["lines_per_second"] =
      outcome.seconds > 0 ? static_cast<double>(outcome.read) / outcome.seconds : 0.0;
  json["nproc"] = flags.nproc;
  json["threads"] = flags.job.spec.recognizer.threads;
  json["batch"] = flags.job.spec.recognizer.batch;
  json["queue"] = flags.queue;
  json["binding"] = flags.binding;
  json["placement_conflicts"] = outcome.conflicts;
  json["stopped_by"] = outcome.stopped_by;
  if (!list.truths.empty()) {
    const LabelErrors errors = label_errors(list, outcome.answers);
    json["label_error_rate"] = errors.lines > 0 ? nlohmann::json(errors.rate()) : nullptr;
  }
  for (const InferWorkerReport& worker : outcome.workers) {
    json["workers"].push_back({{"pid", worker.placement.pid},
                               {"cpus_meant", worker.placement.meant.text()},
                               {"cpus_allowed", worker.placement.allowed.text()},
                               {"cpus_seen_inside", worker.placement.seen_inside.text()},
                               {"cpus_seen_outside", worker.placement.seen_outside.text()},
                               {"gpu", worker.gpu.uuid},
                               {"gpu_bytes", worker.gpu.bytes},
                               {"gpu_bytes_source", worker.gpu.source},
                               {"lines", worker.lines},
                               {"restarts", worker.restarts},
                               {"last_end", worker.last_end},
                               {"given_up", worker.given_up}});
  }
  return json;
}

void print_summary(std::FILE* to, const InferFlags& flags, const LineList& list,
                   const InferOutcome& outcome) {
  std::fprintf(
      to, "%lld of %s read in %s: %s lines/s, %s x %s, %s queue\n",
      static_cast<long long>(outcome.read), how_many(list.paths.size(), "line").c_str(),
      format_duration(outcome.seconds).c_str(),
      format_count(static_cast<double>(outcome.read) / std::max(outcome.seconds, 1e-9)).c_str(),
      how_many(flags.nproc, "process").c_str(),
      how_many(flags.job.spec.recognizer.threads, "thread").c_str(), flags.queue.c_str());
  for (std::size_t i = 0; i < outcome.workers.size(); ++i) {
    const InferWorkerReport& worker = outcome.workers[i];
    if (worker.lines == 0 && worker.restarts == 0 && !worker.given_up) {
      std::fprintf(to, "  worker %zu: idle\n", i);
      continue;
    }
    std::fprintf(to, "  worker %zu (pid %d): %s; allowed CPU %s, ran on %s (inside), %s (/proc)", i,
                 worker.placement.pid, how_many(worker.lines, "line").c_str(),
                 worker.placement.allowed.text().c_str(),
                 worker.placement.seen_inside.text().c_str(),
                 worker.placement.seen_outside.text().c_str());
    if (!worker.gpu.uuid.empty()) {
      std::fprintf(to, "; on %s with %s (%s)", worker.gpu.uuid.c_str(),
                   format_bytes(worker.gpu.bytes).c_str(), worker.gpu.source.c_str());
    }
    if (worker.restarts > 0 || worker.given_up) {
      std::fprintf(to, "; %s, %s%s", how_many(worker.restarts, "restart").c_str(),
                   worker.last_end.c_str(), worker.given_up ? ", given up" : "");
    }
    std::fputc('\n', to);
  }
  if (!list.truths.empty()) {
    const LabelErrors errors = label_errors(list, outcome.answers);
    if (errors.lines == 0) {
      std::fprintf(to, "label_error_rate not available: no line was read\n");
    } else {
      std::fprintf(to, "label_error_rate %.4f, %lld of %s without an error\n", errors.rate(),
                   static_cast<long long>(errors.exact_lines),
                   how_many(errors.lines, "line").c_str());
    }
  }
  if (outcome.bad > 0) {
    std::fprintf(to, "%s could not be read; the column error says why\n",
                 how_many(outcome.bad, "image").c_str());
  }
  if (list.other_files > 0) {
    std::fprintf(to, "passed over: %s\n", how_many(list.other_files, "other file").c_str());
  }
  if (list.repeated > 0) {
    std::fprintf(to, "in the list more than once: %s; each line has its answer\n",
                 how_many(list.repeated, "name").c_str());
  }
}

Result<int> verdict(const InferOutcome& outcome, const Status& written) {
  if (!written) return written.error();
  for (const std::string& conflict : outcome.conflicts) {
    std::fprintf(stderr, "ocrtune infer: WRONG PLACEMENT: %s\n", conflict.c_str());
  }
  if (!outcome.conflicts.empty()) return kExitNegative;
  if (outcome.interrupted) {
    return Error{ErrorKind::interrupted, "interrupted",
                 "the results so far are kept: run it again for all"};
  }
  if (!outcome.stopped_by.empty()) return Error{ErrorKind::failed, outcome.stopped_by};
  return outcome.bad > 0 ? kExitNegative : kExitOk;
}

void print_json(const InferFlags& flags, const LineList& list, const InferOutcome& outcome,
                bool with_lines) {
  nlohmann::json json = json_of(flags, list, outcome);
  for (std::size_t i = 0; with_lines && i < list.names.size(); ++i) {
    const LineAnswer& answer = outcome.answers[i];
    const bool read = answer.state == LineAnswer::State::read;
    json["results"].push_back({{"name", list.names[i]},
                               {"text", read ? answer.text : ""},
                               {"confidence", answer.confidence},
                               {"error", read ? "" : answer.text}});
  }
  const auto replace = nlohmann::json::error_handler_t::replace;
  std::printf("%s\n", json.dump(2, ' ', false, replace).c_str());
}

Result<int> infer(InferFlags flags) {
  InferJob& job = flags.job;
  job.policy = flags.queue == "static" ? QueuePolicy::static_shards : QueuePolicy::shared;
  const auto list = OCRTUNE_TRY(read_line_list(flags.place));
  RecognizerOptions& recognizer = job.spec.recognizer;
  const auto choice = OCRTUNE_TRY(choose_model(recognizer.checkpoint, flags.model, flags.alphabet,
                                               flags.height_given ? recognizer.height : 0,
                                               find_framework(recognizer.backend) != nullptr));
  recognizer.model = choice.model;
  if (choice.height != 0) {
    recognizer.height = choice.height;
    // Elsewhere such a recogniser takes a line of any width.
    const int widest = flags.width_given ? 0 : widest_bucket(list.paths, choice.height);
    if (widest > 0) recognizer.width = widest;
  }
  job.spec.alphabet = choice.alphabet;
  OCRTUNE_TRY(choose_masks(flags, choice.classes));
  if (job.chunk == 0) {
    const auto lines = static_cast<int>(std::min<std::size_t>(list.paths.size(), 1 << 20));
    // Two chunks for each process at least, of a short list too, so that none waits for the last.
    job.chunk = std::min(chunk_for(recognizer.batch), std::max(1, lines / (2 * flags.nproc)));
    job.max_chunk = max_chunk_for(recognizer.batch);
  }
  job.paths = list.paths;
  if (job.gpus.empty()) job.program = own_program();
  if (recognizer.checkpoint.empty() && choice.height == 0) {
    std::fprintf(stderr,
                 "no --weights: random weights; throughput is valid, the recognised text is not\n");
  }
  ResultFile results;
  const bool to_stdout = flags.output.empty() || flags.output == "-";
  const bool lines_in_json = flags.json && to_stdout;
  if (!lines_in_json) OCRTUNE_TRY(results.open(flags.output));
  Result<InferOutcome> outcome = Error{};
  const auto write = [&](const std::vector<LineAnswer>& answers, std::int64_t first,
                         std::int64_t count) {
    std::string text;
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(first + count);
         ++i) {
      if (answers[i].state != LineAnswer::State::open)
        text += result_line(list.names[i], answers[i]);
    }
    if (!lines_in_json) results.write(text);
  };
  std::int64_t delivered = 0;
  {
    Progress progress("reading", static_cast<std::int64_t>(list.paths.size()));
    InferWatcher watcher;
    watcher.deliver = [&](const auto& answers, std::int64_t first, std::int64_t count) {
      write(answers, first, count);
      delivered = first + count;
    };
    // Where the answers themselves run over the terminal they say enough.
    const bool rows_in_sight = !flags.json && to_stdout && is_terminal(stdout);
    watcher.progress = [&](std::int64_t done) {
      if (!rows_in_sight) progress.show(done);
    };
    outcome = run_inference(job, watcher);
  }
  if (!outcome) return outcome.error();
  // After an early end: what is known beyond the first open line, still in order.
  write(outcome->answers, delivered, static_cast<std::int64_t>(list.paths.size()) - delivered);
  if (flags.json) {
    print_json(flags, list, *outcome, lines_in_json);
  } else {
    print_summary(to_stdout ? stderr : stdout, flags, list, *outcome);
  }
  return verdict(*outcome, results.status());
}

}  // namespace

CommandRun declare_infer(Flags& cli) {
  auto flags = std::make_shared<InferFlags>();
  flags->job.chunk = 0;
  RecognizerOptions& recognizer = flags->job.spec.recognizer;
  cli.argument("place", flags->place, "Folder of PNG and JPEG images, or a list of paths")
      .require("name a folder of images or a list of paths, for example: ocrtune infer lines/")
      .file();
  cli.option("--weights", recognizer.checkpoint, "FILE", "Use these weights of ocrtune train")
      .formerly("--checkpoint")
      .default_text("random weights")
      .file();
  declare_alphabet(cli, flags->alphabet, "the checkpoint's");
  cli.option("--model", flags->model, "MODEL",
             "Recognise with this model of the table, or with this ONNX file")
      .default_text("the checkpoint's, else crnn")
      .from_list("models");
  cli.option("--backend", recognizer.backend, "BACKEND",
             "Compute with onednn or reference, or with a framework of the active Python: "
             "onnxruntime, openvino, paddle, paddle-onednn")
      .from_list("backends");
  cli.option("--precision", recognizer.precision, "TYPE",
             "Compute in fp32, bf16, int8 (8-bit integers, on the CPUs alone) or, on GPUs, tf32");
  cli.option("--device", flags->device.device, "DEVICE",
             "Compute on the cpu, the gpu (one process for each), or auto: GPUs where usable ones "
             "are");
  declare_gpus(cli, flags->device.gpus);
  cli.toggle("--share-gpus", flags->job.share_gpus, "Let several processes compute on one GPU");
  cli.option("--nproc", flags->nproc, "N", "Start N worker processes")
      .default_text("one for each core")
      .range(1, 4096);
  cli.option("--threads", recognizer.threads, "N", "Compute with N threads in each process")
      .range(1, 1024);
  cli.option("--batch", recognizer.batch, "N", "Read at most N lines in one forward pass")
      .range(1, 4096);
  cli.option("--height", recognizer.height, "PIXELS", "Scale lines to this height")
      .range(8, 1024)
      .tell(flags->height_given);
  cli.option("--width", recognizer.width, "PIXELS", "Squeeze lines that are wider than this")
      .default_text("320; with an ONNX file as the widest line")
      .range(8, 65'536)
      .tell(flags->width_given);
  cli.option("--binding", flags->binding, "BINDING", "Bind the processes to CPUs")
      .one_of({"none", "compact", "spread", "numa"})
      .tell(flags->binding_given);
  cli.option("--queue", flags->queue, "QUEUE", "Hand out lines from one queue, or in equal shares")
      .one_of({"shared", "static"});
  cli.option("--chunk", flags->job.chunk, "N", "Hand N lines to a worker at a time")
      .default_text("what it reads in half a second")
      .range(1, 4096);
  cli.out(flags->output, "FILE", "Write the table of results to this file")
      .formerly("--output")
      .default_text("standard output")
      .file();
  cli.option("--seed", recognizer.seed, "N", "Seed of random weights");
  cli.json(flags->json);
  return [flags] { return infer(*flags); };
}

CommandRun declare_infer_worker(Flags& cli) {
  auto text = std::make_shared<std::string>();
  cli.option("--spec", *text, "JSON", "Orders of this process")
      .require("--spec is given by ocrtune infer");
  return [text]() -> Result<int> {
    const auto spec = OCRTUNE_TRY(parse_infer_spec(*text));
    return run_infer_worker(spec) ? kExitOk : kExitNegative;
  };
}

}  // namespace ocrtune
