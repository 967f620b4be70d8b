// One list of the numbers (each_number) serves both directions. A field of another type counts as
// not known.
#include "diagnosis/failure_evidence.h"

#include <csignal>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/process.h"

namespace ocrtune {
namespace {

using Json = nlohmann::json;

template <typename T>
void take(const Json& object, const char* key, std::optional<T>& into) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_number()) into = found->get<T>();
}

template <typename Evidence, typename Visit>
void each_number(Evidence& evidence, const Visit& visit) {
  visit("exit_code", evidence.exit_code);
  visit("cgroup_oom_kills", evidence.cgroup_oom_kills);
  visit("host_oom_kills", evidence.host_oom_kills);
  visit("cgroup_limit_hits", evidence.cgroup_limit_hits);
  visit("peak_bytes", evidence.peak_bytes);
  visit("limit_bytes", evidence.limit_bytes);
  visit("shm_peak_bytes", evidence.shm_peak_bytes);
  visit("shm_size_bytes", evidence.shm_size_bytes);
  visit("descriptors_peak", evidence.descriptors_peak);
  visit("descriptors_limit", evidence.descriptors_limit);
  visit("silent_seconds", evidence.silent_seconds);
  visit("gpu_peak_bytes", evidence.gpu_peak_bytes);
  visit("gpu_size_bytes", evidence.gpu_size_bytes);
  visit("stalled_ranks", evidence.stalled_ranks);
}

}  // namespace

ExitStatus decode_exit(std::int64_t code) {
  ExitStatus status;
  status.code = static_cast<int>(code);
  const auto known = [](std::int64_t n) { return n >= 1 && n <= 31; };
  if (code < 0 && known(-code)) status.signal = static_cast<int>(-code);
  // What a shell reports; real-time signals, above 31, end no run that is known here.
  if (code > 128 && code <= 128 + 31) status.signal = static_cast<int>(code - 128);
  // sys.exit(-9) leaves 247; only the fatal signals, because small negative codes are also used
  // as plain error codes (255 is -1).
  for (int signal : {SIGKILL, SIGBUS, SIGSEGV, SIGABRT, SIGILL, SIGTERM, SIGFPE}) {
    if (code == 256 - signal) status.signal = signal;
  }
  status.text = status.signal ? fmt::format("exit code {}: killed by signal {} ({})", code,
                                            *status.signal, signal_name(*status.signal))
                              : fmt::format("exit code {}", code);
  return status;
}

Result<FailureEvidence> parse_evidence(const std::string& json) {
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return Error{ErrorKind::invalid, "the evidence file is not JSON"};
  FailureEvidence evidence;
  const auto take_text = [&](const char* key, std::string& into) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_string()) into = found->get<std::string>();
  };
  take_text("killed_why", evidence.killed_why);
  take_text("bound_nodes", evidence.bound_nodes);
  const auto ours = object.find("killed_by_us");
  evidence.killed_by_us = ours != object.end() && ours->is_boolean() && ours->get<bool>();
  each_number(evidence, [&](const char* key, auto& value) { take(object, key, value); });
  for (const Json& state : object.value("wait_states", Json::array())) {
    if (state.is_string()) evidence.wait_states.push_back(state.get<std::string>());
  }
  if (const auto growth = object.find("growth"); growth != object.end() && growth->is_object()) {
    const auto number = [&](const char* key) {
      std::optional<double> value;
      take(*growth, key, value);
      return value.value_or(0);
    };
    evidence.growth = GrowthEvidence{number("bytes_per_second"), number("low"), number("high"),
                                     number("seconds")};
  }
  return evidence;
}

std::string evidence_json(const FailureEvidence& evidence) {
  Json object = Json::object();
  each_number(evidence, [&](const char* key, const auto& value) {
    if (value) object[key] = *value;
  });
  object["killed_by_us"] = evidence.killed_by_us;
  object["killed_why"] = evidence.killed_why;
  if (!evidence.bound_nodes.empty()) object["bound_nodes"] = evidence.bound_nodes;
  if (!evidence.wait_states.empty()) object["wait_states"] = evidence.wait_states;
  if (evidence.growth) {
    object["growth"] = {{"bytes_per_second", evidence.growth->bytes_per_second},
                        {"low", evidence.growth->low},
                        {"high", evidence.growth->high},
                        {"seconds", evidence.growth->seconds}};
  }
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ocrtune
