#include "diagnosis/advice.h"

#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

using Config = std::map<std::string, std::string>;

constexpr const char* kWorkers = "Train.loader.num_workers";
constexpr const char* kBatch = "Train.loader.batch_size_per_card";
constexpr const char* kFirstBatch = "Train.sampler.first_bs";
constexpr const char* kShared = "Train.loader.use_shared_memory";

std::optional<std::int64_t> number_of(const Config& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end()) return std::nullopt;
  const auto number = parse_integer(found->second);
  return number ? std::optional<std::int64_t>(*number) : std::nullopt;
}

// "Train.loader.batch_size_per_card=32 Train.sampler.first_bs=32"; empty: no smaller batch.
std::string half_batch(const Config& config) {
  std::string text;
  for (const char* key : {kBatch, kFirstBatch}) {
    const auto batch = number_of(config, key);
    if (!batch || *batch < 2) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, *batch / 2);
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> printed_config(const std::vector<LogScan>& logs) {
  for (const LogScan& log : logs) {
    if (!log.config.empty()) return log.config;
  }
  return {};
}

std::vector<std::string> fixes_of(const CauseRow& cause, const Config& config) {
  std::vector<std::string> fixes;
  const auto workers = number_of(config, kWorkers);
  for (const char* fix : cause.fixes) {
    const std::string_view text = fix;
    const bool names_workers = text.find("Train.loader.num_workers=2") != std::string_view::npos;
    const bool halves_batch =
        text.find(kBatch) != std::string_view::npos && text.find("halve") != std::string_view::npos;
    if (names_workers && workers) {
      if (*workers <= 0) continue;
      fixes.push_back(fmt::format("{}={} Eval.loader.num_workers=0   # it was {}", kWorkers,
                                  *workers / 2, *workers));
    } else if (halves_batch && number_of(config, kBatch)) {
      std::string smaller = half_batch(config);
      if (!smaller.empty()) fixes.push_back(std::move(smaller));
    } else if (const auto shared = config.find(kShared);
               text.find(kShared) != std::string_view::npos && shared != config.end() &&
               lower(shared->second) == "false") {
      continue;
    } else {
      fixes.emplace_back(text);
    }
  }
  return fixes;
}

}  // namespace ocrtune
