// A remedy is tried through a placeholder of the command, then through arguments that trainers
// usually have, then as PaddleOCR's override; the first that changes anything counts. Values are
// halved, one remedy at a time, so that the next failure shows what helped.
#include "extras/supervise/safer_setting.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/workloads/command/command_template.h"

namespace ocrtune {
namespace {

// How one quantity is written in commands that ocrtune did not write.
struct QuantityRow {
  Remedy remedy;
  const char* words;
  int Knobs::*knob;
  int least;
  std::vector<const char*> arguments;  // "--x" (then "=v" or the next word) or "a.b.c="
  const char* override_key;            // PaddleOCR's, added when absent; null: none
  int override_value;
};

const std::vector<QuantityRow>& quantities() {
  static const std::vector<QuantityRow> kRows = {
      {Remedy::fewer_workers,
       "loader workers",
       &Knobs::workers,
       0,
       {"Train.loader.num_workers=", "Eval.loader.num_workers=", "--num_workers", "--num-workers",
        "--workers", "--dataloader_num_workers"},
       "Train.loader.num_workers=",
       2},
      {Remedy::fewer_ranks,
       "processes",
       &Knobs::nproc,
       1,
       {"--nproc_per_node", "--nproc-per-node", "--num_processes", "-np"},
       nullptr,
       0},
      {Remedy::smaller_batch,
       "batch",
       &Knobs::batch,
       1,
       {"Train.loader.batch_size_per_card=", "Train.sampler.first_bs=", "--batch_size",
        "--batch-size", "--per_device_train_batch_size"},
       nullptr,
       0},
  };
  return kRows;
}

const char* knob_name(int Knobs::*number) {
  for (const KnobRow& row : knob_table()) {
    if (row.number == number) return row.name;
  }
  return "";
}

// Halves every value that `row`'s arguments carry; what was done, or empty.
std::string halve_arguments(std::vector<std::string>& command, const QuantityRow& row) {
  std::string changed;
  const auto halve = [&](std::string& word, std::size_t from) {
    const auto value = parse_integer(word.substr(from));
    if (!value || *value <= row.least) return;
    const auto half = std::max<std::int64_t>(row.least, *value / 2);
    changed = fmt::format("{} {} -> {}", row.words, *value, half);
    word = word.substr(0, from) + std::to_string(half);
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    for (const std::string_view argument : row.arguments) {
      const bool key = argument.back() == '=';
      const std::string with_value = key ? std::string(argument) : std::string(argument) + "=";
      if (starts_with(command[i], with_value)) halve(command[i], with_value.size());
      if (!key && command[i] == argument && i + 1 < command.size()) halve(command[i + 1], 0);
    }
  }
  return changed;
}

bool is_paddle_ocr(const std::vector<std::string>& command) {
  return std::any_of(command.begin(), command.end(),
                     [](const std::string& word) { return ends_with(word, "tools/train.py"); });
}

// PaddleOCR and its like take one list of KEY=VALUE, the one after the last -o; of other programs
// -o may name their output.
void insert_override(std::vector<std::string>& command, const std::string& word) {
  // The place behind the last -o.
  const auto list = std::find(command.rbegin(), command.rend(), "-o").base();
  const bool given = list != command.begin();
  if (given &&
      (is_paddle_ocr(command) || (list != command.end() && list->find('=') != std::string::npos))) {
    command.insert(list, word);
  } else if (is_paddle_ocr(command)) {
    command.insert(command.end(), {"-o", word});
  } else {
    command.push_back(word);
  }
}

std::string add_override(std::vector<std::string>& command, const QuantityRow& row) {
  const auto held = std::find_if(command.begin(), command.end(), [&](const std::string& word) {
    return row.override_key != nullptr && starts_with(word, row.override_key);
  });
  if (!is_paddle_ocr(command) || row.override_key == nullptr || held != command.end()) return "";
  const std::string word = row.override_key + std::to_string(row.override_value);
  insert_override(command, word);
  return fmt::format("{} -> {}", row.words, row.override_value);
}

std::string apply_quantity(LaunchSetting& setting, const QuantityRow& row) {
  const char* name = knob_name(row.knob);
  if (names_used(setting.workload).count(name) != 0) {
    int& value = setting.knobs.*row.knob;
    if (value <= row.least) return "";
    const int half = std::max(row.least, value / 2);
    std::string words = fmt::format("{} {} -> {}", row.words, value, half);
    value = half;
    return words;
  }
  std::string words = halve_arguments(setting.workload.command, row);
  return words.empty() ? add_override(setting.workload.command, row) : words;
}

std::string set_once(LaunchSetting& setting, const std::string& name, const std::string& value) {
  Variables& environment = setting.workload.environment;
  const bool held = std::find(environment.begin(), environment.end(), std::pair(name, value)) !=
                    environment.end();
  if (held) return "";
  set_variable(environment, name, value);
  return name + "=" + value;
}

std::vector<Remedy> remedies_from(Remedy remedy) {
  switch (remedy) {
    case Remedy::fewer_workers:
      return {Remedy::fewer_workers, Remedy::fewer_ranks, Remedy::smaller_batch};
    case Remedy::smaller_batch:
      return {Remedy::smaller_batch, Remedy::fewer_ranks};
    case Remedy::fewer_ranks:
      return {Remedy::fewer_ranks, Remedy::fewer_workers, Remedy::smaller_batch};
    case Remedy::fewer_threads:
      return {Remedy::fewer_threads, Remedy::fewer_workers, Remedy::fewer_ranks};
    default:
      return {remedy};
  }
}

}  // namespace

std::string make_safer(LaunchSetting& setting, Remedy remedy) {
  for (const Remedy step : remedies_from(remedy)) {
    std::string words;
    if (step == Remedy::p2p_off) words = set_once(setting, "NCCL_P2P_DISABLE", "1");
    if (step == Remedy::longer_timeout) {
      // Paddle's, in seconds.
      words = set_once(setting, "FLAGS_stop_check_timeout", "7200");
    }
    if (step == Remedy::fewer_threads) words = set_once(setting, "OMP_NUM_THREADS", "1");
    for (const QuantityRow& row : quantities()) {
      if (row.remedy == step && words.empty()) words = apply_quantity(setting, row);
    }
    if (!words.empty()) return words;
  }
  return "";
}

std::string untold_checkpoint(const std::string& checkpoint, const std::string& resume_argument) {
  if (checkpoint.empty() || !resume_argument.empty()) return "";
  return "note: each attempt has the same arguments, and none names a checkpoint: unless the "
         "command itself goes on from " +
         checkpoint +
         ", it begins again after a failure; --resume-arg '--resume {checkpoint}' names it";
}

std::vector<std::string> resuming_command(std::vector<std::string> command,
                                          const std::string& resume_argument,
                                          const std::string& checkpoint) {
  // What a word is shows before the path is in it, which may hold anything: epoch=3-step=300.ckpt.
  const std::vector<std::string> asked = words(resume_argument);
  std::vector<std::string> more = asked;
  for (std::string& word : more) {
    const std::string place = "{checkpoint}";
    const std::size_t at = word.find(place);
    if (at != std::string::npos) word.replace(at, place.size(), checkpoint);
    word = template_of(word);
  }
  for (std::size_t i = 0; i < more.size(); ++i) {
    const std::string& word = more[i];
    const bool flag = asked[i][0] == '-';
    const std::size_t equal = asked[i].find('=');
    if (equal != std::string::npos) {
      std::erase_if(command, [&](const std::string& old) {
        return starts_with(old, std::string_view(word).substr(0, equal + 1));
      });
      if (flag) command.push_back(word);
      if (!flag) insert_override(command, word);
      continue;
    }
    const auto at = std::find(command.begin(), command.end(), word);
    // "--resume {checkpoint}": the next word belongs to the flag.
    const bool has_value = flag && i + 1 < more.size() && asked[i + 1][0] != '-' &&
                           asked[i + 1].find('=') == std::string::npos;
    if (!has_value) {
      if (at == command.end()) command.push_back(word);
      continue;
    }
    const std::string& value = more[++i];
    if (at == command.end()) {
      command.insert(command.end(), {word, value});
    } else if (at + 1 != command.end() && !starts_with(*(at + 1), "-")) {
      *(at + 1) = value;
    } else {
      command.insert(at + 1, value);
    }
  }
  return command;
}

}  // namespace ocrtune
