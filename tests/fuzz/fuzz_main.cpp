// libFuzzer over every reader of untrusted bytes: scripts/fuzz starts it. One row for each reader;
// OCRTUNE_FUZZ names the row. A reader passes when it neither crashes, hangs nor reads out of
// bounds.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/line_splitter.h"
#include "base/text.h"
#include "capacity/day_profile.h"
#include "capacity/page_lines.h"
#include "consistency/flat_config.h"
#include "core/data/image_file.h"
#include "core/data/label_file.h"
#include "core/data/lmdb_source.h"
#include "core/graph/checkpoint.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/log_scan.h"
#include "probes/host/topology.h"
#include "probes/machine/machine_json.h"
#include "probes/p2p/steps/nccl_log.h"
#include "trial/ipc/events.h"
#include "trial/ipc/frames.h"
#include "trial/logs/log_reader.h"
#include "trial/table_runner.h"
#include "trial/workloads/command/command_template.h"
#include "trial/workloads/engine_infer/infer_spec.h"
#include "trial/workloads/engine_infer/infer_trial_spec.h"
#include "trial/workloads/engine_train/worker_spec.h"
#include "trial/workloads/service/arrivals.h"
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

void read_store(std::string_view bytes) {
  const auto store = Store::open(as_file(bytes, "runs.sqlite"), Store::Mode::read);
  if (store) (void)(*store)->load_run("last");
}

void fill_template(std::string_view bytes) {
  const std::string text(bytes);
  (void)fill_placeholders(text, {{"nproc", "2"}, {"batch", "8"}});
  (void)split_command(text);
}

struct Row {
  const char* name;
  void (*read)(std::string_view bytes);
};

const Row kRows[] = {
    {"labels", read_labels},
    {"lmdb", read_lmdb},
    {"image", [](std::string_view bytes) { (void)decode_image(bytes); }},
    {"checkpoint", read_weights},
    {"logs", read_logs},
    {"diagnosis",
     [](std::string_view bytes) { (void)diagnose({scan_text("log", bytes)}, FailureEvidence()); }},
    {"config",
     [](std::string_view bytes) { (void)read_flat_config(as_file(bytes, "config.yml")); }},
    {"table", [](std::string_view bytes) { (void)parse_table(bytes, "t"); }},
    {"arrivals", [](std::string_view bytes) { (void)read_trace(as_file(bytes)); }},
    {"day", [](std::string_view bytes) { (void)read_day_profile(as_file(bytes)); }},
    {"pages", [](std::string_view bytes) { (void)read_lines_per_page(as_file(bytes)); }},
    {"event", [](std::string_view bytes) { (void)parse_event(std::string(bytes)); }},
    {"frames", read_frames},
    {"worker-spec", [](std::string_view bytes) { (void)parse_spec(std::string(bytes)); }},
    {"infer-spec",
     [](std::string_view bytes) {
       (void)parse_infer_spec(std::string(bytes));
       (void)parse_infer_trial_spec(std::string(bytes));
     }},
    {"machine", [](std::string_view bytes) { (void)parse_machine_json(std::string(bytes)); }},
    {"nccl-log", [](std::string_view bytes) { (void)parse_nccl_log(bytes); }},
    {"topology",
     [](std::string_view bytes) { (void)read_topology(FileRoot(), as_file(bytes, "box.xml")); }},
    {"store", read_store},
    {"template", fill_template},
};

const Row* chosen() {
  const char* name = std::getenv("OCRTUNE_FUZZ");
  for (const Row& row : kRows) {
    if (name != nullptr && std::string_view(row.name) == name) return &row;
  }
  for (const Row& row : kRows) std::printf("%s\n", row.name);
  std::exit(name == nullptr ? 0 : 2);
}

}  // namespace
}  // namespace ocrtune

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const ocrtune::Row* const row = ocrtune::chosen();
  row->read(std::string_view(reinterpret_cast<const char*>(bytes), size));
  return 0;
}
