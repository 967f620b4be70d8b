// libFuzzer over every reader of untrusted bytes: scripts/fuzz starts it. One row for each reader;
// OCRTUNE_FUZZ names the row, and OCRTUNE_FUZZ_EXAMPLE a file that gets a whole input of it. A
// reader passes when it neither crashes, hangs nor reads out of bounds.
#include <arpa/inet.h>
#include <lmdb.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/line_splitter.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "cli/flags.h"
#include "cli/settings_file.h"
#include "core/data/image_file.h"
#include "core/data/label_file.h"
#include "core/data/lmdb_source.h"
#include "core/graph/checkpoint.h"
#include "core/onnx/onnx_recognizer.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/log_scan.h"
#include "extras/capacity/day_profile.h"
#include "extras/capacity/page_lines.h"
#include "extras/consistency/flat_config.h"
#include "extras/hosts/agent_messages.h"
#include "extras/hosts/host_list.h"
#include "extras/hosts/host_trial.h"
#include "probes/host/topology.h"
#include "probes/machine/machine_json.h"
#include "probes/p2p/steps/nccl_log.h"
#include "tests/support/onnx_writer.h"
#include "trial/ipc/events.h"
#include "trial/ipc/frames.h"
#include "trial/logs/log_reader.h"
#include "trial/observe/oom_watch.h"
#include "trial/observe/rank_binding.h"
#include "trial/table_runner.h"
#include "trial/workloads/command/command_template.h"
#include "trial/workloads/command/paddleocr_config.h"
#include "trial/workloads/command/preset_file.h"
#include "trial/workloads/engine_infer/infer_device.h"
#include "trial/workloads/engine_infer/infer_process.h"
#include "trial/workloads/engine_infer/infer_spec.h"
#include "trial/workloads/engine_infer/infer_trial_spec.h"
#include "trial/workloads/engine_train/fit_spec.h"
#include "trial/workloads/engine_train/worker_spec.h"
#include "trial/workloads/service/arrivals.h"
#include "trial/workloads/service/http_target.h"
#include "trial/workloads/service/request_file.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

// The bytes as a file of this process, for readers that take a path.
std::string as_file(std::string_view bytes, const std::string& name = "input") {
  static const std::string kFolder = make_temporary_directory("fuzz").value();
  const std::string path = join_path(kFolder, name);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  return path;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

void read_labels(std::string_view bytes) {
  const auto file = LabelFile::read(as_file(bytes, "labels.txt"), "");
  if (!file) return;
  for (std::int64_t i = 0; i < (*file)->size(); ++i) {
    (void)(*file)->label(i);
    (void)(*file)->name(i);
  }
}

void read_lmdb(std::string_view bytes) {
  const auto source = LmdbSource::open(folder_of(as_file(bytes, "data.mdb")), "");
  if (!source) return;
  for (std::int64_t i = 0; i < (*source)->size(); ++i) (void)(*source)->image_bytes(i);
}

void read_weights(std::string_view bytes) {
  const std::string path = as_file(bytes);
  const auto head = read_checkpoint_head(path);
  std::vector<float> weights(64);
  (void)read_checkpoint(path, head ? head->owner : CheckpointOwner{}, {weights});
}

void read_logs(std::string_view bytes) {
  for (const LogReaderRow& row : log_reader_table()) {
    const auto reader = make_log_reader(row.name, LogContext());
    if (!reader) continue;
    std::vector<Event> events;
    double now = 0;
    for (const std::string& line : split(bytes, '\n')) (*reader)->read_line(line, now += 1, events);
  }
}

void read_frames(std::string_view bytes) {
  int ends[2];
  if (::pipe(ends) != 0) return;
  const std::string_view kept = bytes.substr(0, 60000);  // what a pipe holds
  const bool written = ::write(ends[1], kept.data(), kept.size()) >= 0;
  ::close(ends[1]);
  FrameReader reader;
  while (written && !reader.ended() && reader.read(ends[0])) {
  }
  ::close(ends[0]);
}

void read_kernel_log(std::string_view bytes) {
  KernelLog log{true, lines_since(std::string(bytes), 12)};
  const std::set<int> pids = {1, 17, 4711};
  (void)judge_oom(OomCounts(), OomCounts(), log, pids);
  FailureEvidence evidence;
  note_oom_growth(OomCounts(), OomCounts(), log, pids, evidence);
  (void)diagnose({scan_text("dmesg", bytes)}, evidence);
}

// Answers each request on loopback with the same bytes, and hangs up.
class AnsweringServer {
 public:
  AnsweringServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 16);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
    std::thread([this] { serve(); }).detach();
  }
  const std::string& url() const { return url_; }
  void answer(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    answer_ = bytes;
  }

 private:
  void serve() {
    for (int peer = 0; (peer = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      char request[4096];
      (void)!::read(peer, request, sizeof request);
      {
        const std::lock_guard lock(mutex_);
        (void)!::send(peer, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      }
      ::close(peer);
    }
  }

  int listener_;
  std::string url_, answer_;
  std::mutex mutex_;
};

void read_answer(std::string_view bytes) {
  static AnsweringServer server;
  server.answer(bytes);
  HttpTargetOptions options;
  options.url = server.url();
  options.timeout_seconds = 0.2;
  (void)make_http_target(options);
}

void read_store(std::string_view bytes) {
  const auto store = Store::open(as_file(bytes, "runs.sqlite"), Store::Mode::read);
  if (!store) return;
  (void)(*store)->list_runs();
  (void)(*store)->load_run("last");
}

std::string stored_run() {
  const std::string path = as_file("", "example.sqlite");
  (void)remove_tree(path);
  const auto store = Store::open(path, Store::Mode::write);
  RunRecord run;
  run.id = "a-run";
  run.started = utc_now();
  (void)(*store)->begin_run(run);
  Trial trial;
  trial.samples.resize(2);
  trial.evidence = {"a line"};
  trial.threads.runtimes = {"openmp"};
  (void)(*store)->add_trial(run.id, trial);
  return *read_file(path);
}

// The first byte chooses a column of a stored run, the others are what it holds.
void read_store_row(std::string_view bytes) {
  static const char* const kColumns[][2] = {
      {"run", "facts"},           {"run", "job"},         {"run", "search"},
      {"run", "versions"},        {"trial", "knobs"},     {"trial", "outcome"},
      {"trial", "evidence"},      {"trial", "placement"}, {"trial_threads", "runtimes"},
      {"trial_threads", "alive"}, {"sample", "position"}, {"run", "state"}};
  static const std::string whole = stored_run();
  if (bytes.empty()) return;
  const auto& [table, column] =
      kColumns[static_cast<unsigned char>(bytes[0]) % std::size(kColumns)];
  const std::string path = as_file(whole, "row.sqlite");
  sqlite3* sqlite = nullptr;
  sqlite3_stmt* update = nullptr;
  sqlite3_open(path.c_str(), &sqlite);
  sqlite3_exec(sqlite, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF", nullptr, nullptr,
               nullptr);
  const std::string sql = std::string("UPDATE ") + table + " SET " + column + " = ?";
  sqlite3_prepare_v2(sqlite, sql.c_str(), -1, &update, nullptr);
  sqlite3_bind_text(update, 1, bytes.data() + 1, static_cast<int>(bytes.size() - 1), SQLITE_STATIC);
  sqlite3_step(update);
  sqlite3_finalize(update);
  sqlite3_close(sqlite);
  const auto store = Store::open(path, Store::Mode::read);
  if (store) (void)(*store)->load_run("last");
}

// Where a request file names another, it is this one.
void read_request_file(std::string_view bytes) {
  (void)read_request(as_file(bytes, "page.request.toml"));
}

void read_wanted_answer(std::string_view bytes) {
  static const std::vector<std::string> kWanted = {"errorCode=0", "result.ocrResults.0.text",
                                                   "pages.1", "ok=true"};
  (void)answer_fault(kWanted, std::string(bytes));
  const std::size_t end = bytes.find('\n');
  if (end != std::string_view::npos) {
    (void)answer_fault({std::string(bytes.substr(0, end))}, std::string(bytes.substr(end + 1)));
  }
}

void read_host_names(std::string_view bytes) {
  const std::string text(bytes);
  (void)parse_host_list(text);
  (void)parse_hostfile(text, "hosts");
  (void)expand_node_list(text);
}

void read_host_messages(std::string_view bytes) {
  const std::string text(bytes);
  const auto asked = parse_host_trial(text);
  if (asked) (void)parse_host_trial(host_trial_json(*asked));
  auto part = parse_part(text);
  if (part) (void)merge_parts({{"a", std::move(*part)}, {"b", Trial()}});
}

void read_agent_messages(std::string_view bytes) {
  const std::string text(bytes);
  (void)parse_agent_line(text);
  if (auto status = parse_attempt_status(text)) (void)attempt_status_json(*status);
  if (auto end = parse_attempt_end(text)) {
    const auto again = parse_attempt_end(attempt_end_json(*end));
    if (!again || again->stop != end->stop) std::abort();
  }
}

void read_settings_file(std::string_view bytes) {
  static std::string budget;
  static std::vector<std::string> command;
  static bool no_wait = false;
  static Flags flags;
  if (flags.rows().empty()) {
    flags.option("--budget", budget, "DURATION", "Budget");
    flags.toggle("--no-wait", no_wait, "Do not wait");
    flags.argument("command", command, "Command");
  }
  const auto settings = parse_settings(flags, std::string(bytes), "ocrtune.toml");
  if (settings) (void)words_with_settings({"ocrtune", "tune", "--resume"}, *settings);
}

void fill_template(std::string_view bytes) {
  const std::string text(bytes);
  (void)fill_placeholders(text, {{"nproc", "2"}, {"batch", "8"}});
  (void)placeholder_names(text);
  (void)split_command(text);
  (void)shell_sign(text);
}

void read_small_texts(std::string_view bytes) {
  const std::string text(bytes);
  (void)parse_process_stat(text);
  (void)parse_rank_cpus(text);
  (void)parse_number(text);
  (void)parse_bytes(text);
  (void)parse_duration(text);
}

Image example_image() { return {12, 8, std::vector<std::uint8_t>(12 * 8 * 3, 77)}; }

std::string example_checkpoint() {
  const std::vector<float> weights(64, 1.5F);
  const std::string path = as_file("");
  (void)write_checkpoint(path, {"crnn", 7}, 3, {weights});
  return *read_file(path);
}

std::string example_lmdb() {
  const std::string folder = make_temporary_directory("fuzz").value();
  MDB_env* environment = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi database = 0;
  ::mdb_env_create(&environment);
  ::mdb_env_open(environment, folder.c_str(), MDB_NOSYNC, 0600);
  ::mdb_txn_begin(environment, nullptr, 0, &transaction);
  ::mdb_dbi_open(transaction, nullptr, 0, &database);
  const std::map<std::string, std::string> entries = {{"num-samples", "2"},
                                                      {"label-000000001", "ab"},
                                                      {"image-000000001", "bytes"},
                                                      {"label-000000002", "c"},
                                                      {"image-000000002", std::string(5000, 'x')}};
  for (const auto& [key, value] : entries) {
    MDB_val name = {key.size(), const_cast<char*>(key.data())};
    MDB_val bytes = {value.size(), const_cast<char*>(value.data())};
    ::mdb_put(transaction, database, &name, &bytes, 0);
  }
  ::mdb_txn_commit(transaction);
  ::mdb_env_close(environment);
  std::string bytes = *read_file(join_path(folder, "data.mdb"));
  (void)remove_tree(folder);
  return bytes;
}

struct Row {
  const char* name;
  void (*read)(std::string_view bytes);
  std::string (*example)() = nullptr;  // a whole input, where no fixture is one
};

const Row kRows[] = {
    {"labels", read_labels, [] { return std::string("a.png\tword\n[\"b.png\", \"c.png\"]\tx\n"); }},
    {"lmdb", read_lmdb, example_lmdb},
    {"png", [](std::string_view bytes) { (void)decode_png(bytes); },
     [] { return *encode_png(example_image()); }},
    {"jpeg", [](std::string_view bytes) { (void)decode_jpeg(bytes); },
     [] { return *encode_jpeg(example_image(), 80); }},
    {"checkpoint", read_weights, example_checkpoint},
    {"onnx", [](std::string_view bytes) { (void)read_onnx_recognizer(bytes, {}); },
     [] { return tiny_recognizer_with("0\n1\n2\n3", 5); }},
    {"onnx-lstm", [](std::string_view bytes) { (void)read_onnx_recognizer(bytes, {}); },
     [] { return tiny_crnn(5) + onnx_metadata_bytes("character", "0\n1\n2\n3"); }},
    {"logs", read_logs},
    {"diagnosis",
     [](std::string_view bytes) { (void)diagnose({scan_text("log", bytes)}, FailureEvidence()); }},
    {"kernel-log", read_kernel_log,
     [] {
       return std::string(
           "<3>[   12.5] Memory cgroup out of memory: Killed process 17 (python3) "
           "total-vm:1kB, anon-rss:1kB\n<6>[   13.1] NVRM: Xid (PCI:0000): 79\n");
     }},
    {"evidence", [](std::string_view bytes) { (void)parse_evidence(std::string(bytes)); },
     [] { return evidence_json(FailureEvidence()); }},
    {"config",
     [](std::string_view bytes) { (void)read_flat_config(as_file(bytes, "config.yml")); }},
    {"paddleocr-config",
     [](std::string_view bytes) {
       (void)read_paddleocr_config(as_file(bytes, "paddle.yml"), "/nowhere");
     }},
    {"preset", [](std::string_view bytes) { (void)parse_preset(std::string(bytes), "p.toml"); }},
    {"table", [](std::string_view bytes) { (void)parse_table(bytes, "t"); }},
    {"arrivals", [](std::string_view bytes) { (void)read_trace(as_file(bytes)); },
     [] { return std::string("0.5,3\n2026-11-22T10:00:00Z\n1763800000.25\n"); }},
    {"day", [](std::string_view bytes) { (void)read_day_profile(as_file(bytes)); },
     [] { return std::string("# a day\n00:00 5/s\n12:00,300/min\n"); }},
    {"pages", [](std::string_view bytes) { (void)read_lines_per_page(as_file(bytes)); },
     [] { return std::string("3\np.png\t[{\"transcription\": \"a\"}]\n"); }},
    {"event", [](std::string_view bytes) { (void)parse_event(std::string(bytes)); },
     [] { return event_line(Event()); }},
    {"frames", read_frames,
     [] {
       std::string frames;
       append_frame(frames, 'r', "body");
       append_frame(frames, 'e', "");
       return frames;
     }},
    {"infer-answer",
     [](std::string_view bytes) {
       (void)parse_error_body(bytes);
       (void)parse_gpu_place(bytes);
     },
     [] {
       return gpu_place_body({"GPU-1", 1, "NVML"});
     }},
    {"worker-spec", [](std::string_view bytes) { (void)parse_spec(std::string(bytes)); },
     [] { return spec_text(WorkerSpec()); }},
    {"infer-spec", [](std::string_view bytes) { (void)parse_infer_spec(std::string(bytes)); },
     [] { return infer_spec_text(InferSpec()); }},
    {"infer-trial-spec",
     [](std::string_view bytes) { (void)parse_infer_trial_spec(std::string(bytes)); },
     [] { return infer_trial_spec_text(InferTrialSpec()); }},
    {"fit-spec", [](std::string_view bytes) { (void)parse_fit_spec(std::string(bytes)); },
     [] { return fit_spec_text(FitSpec()); }},
    {"machine", [](std::string_view bytes) { (void)parse_machine_json(std::string(bytes)); },
     [] { return machine_json(Machine()); }},
    {"nccl-log", [](std::string_view bytes) { (void)parse_nccl_log(bytes); }},
    {"topology",
     [](std::string_view bytes) { (void)read_topology(FileRoot(), as_file(bytes, "box.xml")); }},
    {"store", read_store, stored_run},
    {"store-row", read_store_row, [] { return std::string(1, '\1') + job_json(Job()); }},
    {"http", read_answer,
     [] { return std::string("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); }},
    {"request-file", read_request_file,
     [] {
       return std::string(
           "file = \"page.request.toml\"\njson = '{\"file\": \"{base64}\"}'\n"
           "answer = [\"errorCode=0\"]\n");
     }},
    {"answer", read_wanted_answer,
     [] { return std::string("result.0.text=a\n{\"result\": [{\"text\": \"a\"}]}"); }},
    {"hosts", read_host_names,
     [] { return std::string("a slots=4 max_slots=8\nb:2,c\nn[01-03,7],rack[1-2]-gpu\n"); }},
    {"host-messages", read_host_messages, [] { return host_trial_json(HostTrial()); }},
    {"agent-messages", read_agent_messages, [] { return attempt_end_json(AttemptEnd()); }},
    {"settings", read_settings_file,
     [] { return std::string("budget = \"10m\"\ncommand = [\"a\", \"b\"]\nno-wait = true\n"); }},
    {"template", fill_template, [] { return std::string("python3 a.py --n={nproc} '{{x}}'"); }},
    {"small", read_small_texts, [] { return std::string("0-3,7:8;1"); }},
};

const Row* chosen() {
  const char* name = std::getenv("OCRTUNE_FUZZ");
  for (const Row& row : kRows) {
    if (name == nullptr || std::string_view(row.name) != name) continue;
    if (const char* file = std::getenv("OCRTUNE_FUZZ_EXAMPLE")) {
      if (row.example != nullptr) (void)write_file(file, row.example());
    }
    return &row;
  }
  for (const Row& row : kRows) std::printf("%s\n", row.name);
  std::fflush(stdout);
  ::_exit(name == nullptr ? 0 : 2);  // libFuzzer takes an exit for a crash
}

}  // namespace
}  // namespace ocrtune

// LMDB that is stopped as it opens a damaged file keeps the file's name.
extern "C" const char* __lsan_default_suppressions() { return "leak:liblmdb\n"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const ocrtune::Row* const row = ocrtune::chosen();
  row->read(std::string_view(reinterpret_cast<const char*>(bytes), size));
  return 0;
}
