// The specification is written and read by one list of fields. Reading is strict: an unknown field
// or a wrong type is an error with its name.
#include "trial/workloads/engine_train/worker_spec.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "trial/ipc/json_fields.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

// Calls visit(name, field) for each field: one list for writing and for reading.
template <typename Spec, typename Visit>
void each_field(Spec& spec, const Visit& visit) {
  OCRTUNE_VISIT(spec, model, backend, precision, threads, batch, accumulate, height, width, heights,
                classes, learning_rate, seed, label_file, alphabet, loader_workers, width_buckets,
                queue_depth);
  OCRTUNE_VISIT(spec.place, rank, world_size, local_rank, local_size, node, node_count);
  OCRTUNE_VISIT(spec, bucket_kib, segment, gpu, learning, check, warm_up_seconds, report_seconds,
                run_seconds);
}

bool get(const Json& value, std::string& field) {
  if (!value.is_string()) return false;
  field = value.get<std::string>();
  return true;
}
bool get(const Json& value, bool& field) {
  if (!value.is_boolean()) return false;
  field = value.get<bool>();
  return true;
}
bool get(const Json& value, int& field) {
  if (!value.is_number_integer()) return false;
  // Negative numbers and absurdly large ones are refused for all fields alike.
  const auto wide = value.get<std::int64_t>();
  field = static_cast<int>(wide);
  return wide >= 0 && wide <= 100'000'000;
}
bool get(const Json& value, std::vector<int>& field) {
  if (!value.is_array()) return false;
  field.assign(value.size(), 0);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!get(value[i], field[i])) return false;
  }
  return true;
}
bool get(const Json& value, std::uint64_t& field) {
  if (!value.is_number_unsigned()) return false;
  field = value.get<std::uint64_t>();
  return true;
}
bool get(const Json& value, double& field) {
  if (!value.is_number()) return false;
  field = value.get<double>();
  return true;
}

Status check_ranges(const WorkerSpec& spec) {
  const auto usage = [](std::string what) { return Error{ErrorKind::usage, std::move(what)}; };
  if (spec.threads < 1 || spec.batch < 1 || spec.accumulate < 1 || spec.height < 1 ||
      spec.width < 1 || spec.classes < 2) {
    return usage(
        "worker spec: threads, batch, accumulate, height, width and classes must be "
        "positive");
  }
  if (std::any_of(spec.heights.begin(), spec.heights.end(), [](int h) { return h < 1; })) {
    return usage("worker spec: heights must be positive");
  }
  const RankPlace& place = spec.place;
  if (place.world_size < 1 || place.rank >= place.world_size || place.local_size < 1 ||
      place.local_rank >= place.local_size) {
    return usage(fmt::format("worker spec: no rank {} of {}", place.rank, place.world_size));
  }
  if (place.world_size > 1 && spec.segment.empty()) {
    return usage("worker spec: several ranks need a shared memory segment");
  }
  return Status();
}

}  // namespace

std::string spec_text(const WorkerSpec& spec) {
  Json object = Json::object();
  each_field(spec, [&](const char* name, const auto& field) { object[name] = field; });
  return json_line(std::move(object));
}

std::string short_spec_text(const WorkerSpec& spec) {
  // The default as it is written, so that equal texts are equal values.
  const Json usual = Json::parse(spec_text(WorkerSpec()));
  Json object = Json::parse(spec_text(spec));
  for (const auto& [name, value] : usual.items()) {
    if (object[name] == value) object.erase(name);
  }
  return json_line(std::move(object));
}

Result<WorkerSpec> parse_spec(const std::string& text) {
  Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return Error{ErrorKind::usage, fmt::format("worker spec is not a JSON object: '{}'",
                                               valid_utf8(text.substr(0, 60)))};
  }
  change_texts(object, bytes_of_utf8);
  WorkerSpec spec;
  std::set<std::string> known;
  std::string bad;
  each_field(spec, [&](const char* name, auto& field) {
    known.insert(name);
    const auto found = object.find(name);
    if (found != object.end() && !get(*found, field) && bad.empty()) bad = name;
  });
  if (!bad.empty()) return Error{ErrorKind::usage, "worker spec: bad value of '" + bad + "'"};
  for (const auto& [name, value] : object.items()) {
    if (known.count(name) == 0) {
      return Error{ErrorKind::usage, "worker spec: unknown field '" + name + "'"};
    }
  }
  OCRTUNE_TRY(check_ranges(spec));
  return spec;
}

}  // namespace ocrtune
