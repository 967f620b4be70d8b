// A source is told by what lies there. A file that begins as SQLite does is a store, one that
// begins with a brace a probe, any other a table. What is no file is a run of the store.
#include "extras/capacity/commands/plan_sources.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "cli/commands/stored_run.h"
#include "extras/capacity/other_machine.h"

namespace ocrtune {
namespace {

struct Source {
  std::string name;            // as typed, without the price
  std::string path, run;       // path empty: a run of the store
  std::optional<double> cost;  // an hour
};

bool begins_with(const Source& source, const char* text) {
  const auto head = read_file(source.path, 64);
  return head && starts_with(trim(*head), text);
}

Result<Source> parse_source(const std::string& text) {
  Source source;
  source.name = text;
  const std::size_t equals = text.rfind('=');
  // A file may have '=' in its name.
  if (equals != std::string::npos && !path_exists(text)) {
    const auto cost = parse_number(text.substr(equals + 1));
    if (!cost || !std::isfinite(*cost) || *cost <= 0) {
      return Error{ErrorKind::usage, "'" + text +
                                         "': the price an hour behind = is no number above "
                                         "zero"};
    }
    source.name = text.substr(0, equals);
    source.cost = *cost;
  }
  source.run = source.name;
  const std::size_t colon = source.name.rfind(':');
  if (path_exists(source.name)) {
    source.path = source.name;
    source.run = "last";
  } else if (colon != std::string::npos && path_exists(source.name.substr(0, colon))) {
    source.path = source.name.substr(0, colon);
    source.run = source.name.substr(colon + 1);
  } else if (source.name.find('/') != std::string::npos || ends_with(source.name, ".sqlite")) {
    return Error{ErrorKind::missing, source.name + ": no such file"};
  }
  return source;
}

}  // namespace

Result<std::vector<NodeMeasurement>> measure_run(const std::string& database,
                                                 const std::string& id) {
  const Status there = check_there(database);
  if (!there && there.error().kind == ErrorKind::missing) {
    return Error{ErrorKind::missing, "no run is stored in " + database +
                                         "; run `ocrtune tune` first, or give --table T.csv"};
  }
  const auto run = OCRTUNE_TRY(judged_run(database, id));
  return measure_settings(run);
}

Result<std::vector<MachineKind>> read_kinds(const std::vector<std::string>& sources,
                                            const std::string& database) {
  std::vector<MachineKind> kinds;
  std::vector<Source> probes;
  for (const std::string& text : sources) {
    const Source source = OCRTUNE_TRY(parse_source(text));
    const auto same = [&](const MachineKind& kind) { return kind.name == source.name; };
    if (std::any_of(kinds.begin(), kinds.end(), same)) {
      return Error{ErrorKind::usage, source.name + " is named twice"};
    }
    MachineKind kind{source.name, {}, source.cost};
    if (source.path.empty() || begins_with(source, "SQLite format 3")) {
      kind.settings =
          OCRTUNE_TRY(measure_run(source.path.empty() ? database : source.path, source.run));
    } else if (begins_with(source, "{")) {
      probes.push_back(source);
      continue;
    } else {
      const auto table = OCRTUNE_TRY(read_table(source.path));
      kind.settings = OCRTUNE_TRY(measure_settings(table, source.path));
    }
    kinds.push_back(std::move(kind));
  }
  for (const Source& probe : probes) {
    // Probes come last, whatever their place in the line: they are scaled from the first measured
    // one.
    if (kinds.empty()) {
      return Error{ErrorKind::usage,
                   probe.name + " is a probe: name the run to scale from as well, such as last"};
    }
    const auto machine = OCRTUNE_TRY(read_machine(probe.path));
    auto scaled = OCRTUNE_TRY(scale_to_machine(kinds.front().settings.front(), machine));
    kinds.push_back({probe.name, {std::move(scaled)}, probe.cost});
  }
  return kinds;
}

}  // namespace ocrtune
