// The request of a host's part, its answer, and the merging. The first host's trial is the job's,
// and memory is the fullest host's. Of several failures the one that most likely caused the others
// is told.
#include "extras/hosts/host_trial.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/ipc/trial_fields.h"

namespace ocrtune {
namespace {

constexpr auto kWorkloadFields = [](auto& workload, const auto& visit) {
  OCRTUNE_VISIT(workload, command, setup, cleanup, directory, environment, unread, log_reader, gpus,
                log_file, preset, knobs, fixed, stop_grace_seconds);
};

constexpr auto kLimitFields = [](auto& limits, const auto& visit) {
  OCRTUNE_VISIT(limits, measure_seconds, max_seconds, expected_step_seconds, memory_limit_bytes);
};

constexpr auto kPlaceFields = [](auto& place, const auto& visit) {
  OCRTUNE_VISIT(place, node_rank, master_addr, master_port, hosts);
};

// Its command ended by itself before there was a speed to be read, which a host that prints none
// cannot tell from a good end.
bool just_ended(const Trial& trial) {
  return trial.outcome == Outcome::crashed &&
         (trial.cause == "ended" || trial.cause == "no_metric");
}

bool failed(const AnsweredPart& part) {
  return part.lost || (!part.trial.ok() && part.trial.cause != "interrupted");
}

const AnsweredPart* first_failure(const std::vector<AnsweredPart>& parts) {
  const AnsweredPart* first = nullptr;
  const auto rank = [](const AnsweredPart& part) {
    // Memory, a lost host, a real failure before a command that merely ended, then the earliest.
    return std::make_tuple(part.trial.outcome != Outcome::out_of_memory, !part.lost,
                           just_ended(part.trial), part.order);
  };
  const Trial& told = parts.front().trial;  // the job's
  for (const AnsweredPart& part : parts) {
    // A host that prints no speed always seems to have ended without one.
    const bool harmless = &part != &parts.front() && just_ended(part.trial) && !part.lost &&
                          (told.ok() || just_ended(told));
    if (!failed(part) || harmless) continue;
    if (first == nullptr || rank(part) < rank(*first)) first = &part;
  }
  return first;
}

}  // namespace

std::string host_trial_json(const HostTrial& trial) {
  const CommandWorkload& workload = trial.workload;
  FieldsJson json = fields_json(kWorkloadFields, workload);
  json["inherited_values"] = FieldsJson::object();
  for (const std::string& name : workload.inherited) {
    const char* value = std::getenv(name.c_str());
    if (value != nullptr) json["inherited_values"][name] = value;
  }
  json["ask"] = "trial";
  if (workload.per_rank) json["per_rank"] = *workload.per_rank;
  if (trial.print_interval) json["print_interval"] = *trial.print_interval;
  json["knob_values"] = knob_texts(trial.knobs);
  json["limits"] = fields_json(kLimitFields, trial.limits);
  json["place"] = fields_json(kPlaceFields, trial.place);
  json["guards"] = trial.guards;
  return json_line(json);
}

Result<HostTrial> parse_host_trial(const std::string& text) {
  HostTrial trial;
  const auto more = [&](const FieldsJson& json, CommandWorkload& workload) -> Status {
    if (json.contains("per_rank")) workload.per_rank = json["per_rank"].get<bool>();
    if (json.contains("print_interval")) trial.print_interval = json["print_interval"].get<int>();
    // Only the knobs that are sent are told to the command.
    trial.knobs.absent = {"nproc", "threads", "batch"};
    for (const auto& [name, value] :
         json.at("knob_values").get<std::vector<std::pair<std::string, std::string>>>()) {
      OCRTUNE_TRY(set_knob(trial.knobs, name, value));
      trial.knobs.absent.erase(name);
    }
    trial.limits = read_fields<TrialLimits>(kLimitFields, json.at("limits"));
    trial.place = read_fields<TrialPlace>(kPlaceFields, json.at("place"));
    trial.guards = json.value("guards", false);
    const FieldsJson inherited = json.value("inherited_values", FieldsJson::object());
    for (const auto& [name, value] : inherited.items()) {
      workload.inherited.push_back(name);
      trial.inherited.emplace_back(name, value.get<std::string>());
    }
    return Status();
  };
  trial.workload =
      OCRTUNE_TRY(parse_fields<CommandWorkload>(kWorkloadFields, text, "host trial", more));
  return trial;
}

void inherit(const HostTrial& trial) {
  for (const auto& [name, value] : trial.inherited) {
    const char* held = std::getenv(name.c_str());
    if (held == nullptr || held != value) ::setenv(name.c_str(), value.c_str(), 1);
  }
}

std::string part_json(const Trial& trial) {
  FieldsJson json = fields_json(kObservedFields, trial);
  json["outcome"] = std::string(outcome_name(trial.outcome));
  json["samples"] = FieldsJson::array();
  for (const Sample& sample : trial.samples) {
    json["samples"].push_back(fields_json(kSampleFields, sample));
  }
  return json_line(json);
}

Result<Trial> parse_part(const std::string& text) {
  return parse_fields<Trial>(
      kObservedFields, text, "a host's trial", [](const FieldsJson& json, Trial& trial) -> Status {
        trial.outcome = OCRTUNE_TRY(parse_outcome(json.at("outcome").get<std::string>()));
        for (const FieldsJson& sample : json.at("samples")) {
          trial.samples.push_back(read_fields<Sample>(kSampleFields, sample));
        }
        return Status();
      });
}

Trial merge_parts(std::vector<AnsweredPart> parts) {
  Trial merged = parts.front().trial;
  if (parts.size() == 1 && !parts.front().lost) return merged;
  if (const AnsweredPart* failure = first_failure(parts)) {
    merged.outcome = failure->trial.outcome;
    merged.cause = failure->trial.cause;
    merged.reason = failure->host + ": " + failure->trial.reason;
    merged.samples_per_second = 0;
  }
  for (const AnsweredPart& part : parts) {
    if (merged.ok() || part.trial.links_down.empty()) continue;
    merged.reason += fmt::format("; {}: network interface down: {}", part.host,
                                 join(part.trial.links_down, ", "));
  }
  merged.evidence.clear();
  merged.log_tail.clear();
  std::vector<std::string> starts;
  const auto names_host = [&](const std::string& line) {
    return std::any_of(parts.begin(), parts.end(), [&](const AnsweredPart& part) {
      return starts_with(line, part.host + ": ");
    });
  };
  for (const AnsweredPart& part : parts) {
    const Trial& own = part.trial;
    merged.peak_bytes = std::max(merged.peak_bytes, own.peak_bytes);
    merged.host_peak_bytes = std::max(merged.host_peak_bytes, own.host_peak_bytes);
    merged.possible_peak_bytes = std::max(merged.possible_peak_bytes, own.possible_peak_bytes);
    merged.seconds = std::max(merged.seconds, own.seconds);
    if (merged.lost_loss.empty()) merged.lost_loss = own.lost_loss;
    if (!own.reproduce.empty()) {
      starts.push_back("ssh " + part.host + " " + shell_quote(own.reproduce) + " & ");
    }
    if (!part.lost && own.peak_bytes > 0) {
      merged.evidence.push_back(
          fmt::format("{}: peak {}{}", part.host, format_bytes(own.peak_bytes),
                      own.placement.empty() ? "" : ", ranks on CPUs " + own.placement));
    }
    if (failed(part)) merged.evidence.push_back(part.host + ": " + own.reason);
    for (const std::string& line : own.evidence) {
      merged.evidence.push_back(names_host(line) ? line : part.host + ": " + line);
    }
    if (!own.log_tail.empty()) merged.log_tail += "--- " + part.host + "\n" + own.log_tail;
  }
  if (starts.size() > 1) merged.reproduce = join(starts, "") + "wait";
  return merged;
}

}  // namespace ocrtune
