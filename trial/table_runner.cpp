// A reader of CSV that names the line of each mistake, since tables are written by hand and by
// scripts. The replay adds noise, a drift and outliers from its own random numbers: a run is
// repeated by its seed.
#include "trial/table_runner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::array<const char*, 4> kResults = {"samples_per_second", "peak_bytes", "outcome",
                                                 "noise_sigma"};

bool is_result(std::string_view column) {
  return column == "cause" || std::find(kResults.begin(), kResults.end(), column) != kResults.end();
}

// One CSV record; quotes as in RFC 4180, without line breaks inside them.
std::vector<std::string> fields(std::string_view line) {
  std::vector<std::string> found(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      found.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      found.emplace_back();
    } else {
      found.back() += c;
    }
  }
  for (std::string& field : found) field = std::string(trim(field));
  return found;
}

struct Reader {
  std::string name;
  std::vector<std::string> header;
  RecordedTable table;
  std::map<Knobs, std::size_t> lines;  // setting -> line where it stood

  Error error(std::size_t line, const std::string& what) const {
    return {ErrorKind::invalid, fmt::format("{} line {}: {}", name, line, what)};
  }

  Status read_comment(std::string_view line) {
    for (const std::string& word : words(line.substr(1))) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) continue;
      const std::string key = word.substr(0, equals);
      // Words that are no known key are a person's remark.
      if (key != "cores" && key != "memory_bytes" && key != "gpus") continue;
      const auto number = parse_number(word.substr(equals + 1));
      if (!number || !(*number > 0) || !std::isfinite(*number)) {
        return error(1, fmt::format("{} is not a positive number", word));
      }
      if (key == "cores") table.cores = *number;
      if (key == "gpus") table.gpus = static_cast<int>(std::clamp(*number, 1.0, 1e6));
      if (key == "memory_bytes") table.memory_bytes = static_cast<std::uint64_t>(*number);
    }
    return Status();
  }

  Status read_header(std::size_t line, std::string_view text) {
    header = fields(text);
    std::set<std::string> seen;
    for (const std::string& column : header) {
      if (column.empty()) return error(line, "a column has no name");
      if (!seen.insert(column).second) return error(line, "column " + column + " is there twice");
    }
    for (const char* wanted : kResults) {
      if (seen.count(wanted) == 0) {
        return error(line, fmt::format("column {} is missing (needed: a column per knob, then {})",
                                       wanted, fmt::join(kResults, ", ")));
      }
    }
    for (const std::string& column : header) {
      if (!is_result(column)) table.columns.push_back(column);
    }
    if (table.columns.empty()) return error(line, "no column holds a knob");
    return Status();
  }

  Result<double> number(std::size_t line, const std::string& column, const std::string& text,
                        bool may_be_empty) const {
    if (text.empty() && may_be_empty) return 0.0;
    const auto value = parse_number(text);
    if (value && std::isfinite(*value) && *value >= 0) return *value;
    return error(line, fmt::format("{} '{}' is not a number of at least 0", column, text));
  }

  Status read_row(std::size_t line, std::string_view text) {
    const std::vector<std::string> values = fields(text);
    if (values.size() != header.size()) {
      return error(line,
                   fmt::format("{} fields where the header has {}", values.size(), header.size()));
    }
    TableRow row;
    std::map<std::string, std::string> results;
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (is_result(header[i])) {
        results[header[i]] = values[i];
        continue;
      }
      if (values[i].empty()) return error(line, header[i] + " is empty");
      const Status set = set_knob(row.knobs, header[i], values[i]);
      if (!set) return error(line, set.error().what);
    }
    const auto outcome = parse_outcome(results["outcome"]);
    if (!outcome) return error(line, outcome.error().what);
    row.outcome = *outcome;
    const bool ok = row.outcome == Outcome::ok;
    if (ok) {
      const auto rate = OCRTUNE_TRY(number(line, kResults[0], results[kResults[0]], false));
      if (!(rate > 0)) return error(line, "an ok setting with samples_per_second 0");
      row.samples_per_second = rate;
    }
    // A failed run may have left no peak, written as nothing or as NaN.
    const bool no_peak = !ok && lower(results[kResults[1]]) == "nan";
    const auto peak =
        OCRTUNE_TRY(number(line, kResults[1], no_peak ? "" : results[kResults[1]], true));
    row.peak_bytes = static_cast<std::uint64_t>(peak);
    row.noise_sigma = OCRTUNE_TRY(number(line, kResults[3], results[kResults[3]], true));
    row.cause = results["cause"];
    const auto [place, is_new] = lines.try_emplace(row.knobs, line);
    if (!is_new) {
      return error(line, fmt::format("{} is already on line {}; keep one row per setting",
                                     knobs_text(row.knobs), place->second));
    }
    table.rows.push_back(std::move(row));
    return Status();
  }
};

}  // namespace

const TableRow* RecordedTable::best() const {
  const TableRow* best = nullptr;
  for (const TableRow& row : rows) {
    if (row.outcome != Outcome::ok) continue;
    if (best == nullptr || row.samples_per_second > best->samples_per_second) best = &row;
  }
  return best;
}

Result<RecordedTable> parse_table(std::string_view csv, const std::string& name) {
  Reader reader{name, {}, {}, {}};
  std::size_t line = 0;
  for (const std::string& raw : split(csv, '\n')) {
    ++line;
    std::string_view text = trim(raw);
    // Spreadsheets write a byte order mark at the front of UTF-8.
    if (line == 1 && starts_with(text, "\xEF\xBB\xBF")) text.remove_prefix(3);
    if (text.empty()) continue;
    Status read;
    if (text[0] == '#') {
      // Comments further down are passed over.
      if (line == 1) read = reader.read_comment(text);
    } else if (reader.header.empty()) {
      read = reader.read_header(line, text);
    } else {
      read = reader.read_row(line, text);
    }
    if (!read) return read.error();
  }
  if (reader.header.empty()) return Error{ErrorKind::invalid, name + ": the table is empty"};
  if (reader.table.rows.empty()) return Error{ErrorKind::invalid, name + ": the table has no rows"};
  return std::move(reader.table);
}

Result<RecordedTable> read_table(const std::string& path) {
  const auto text = OCRTUNE_TRY(read_file(path));
  return parse_table(text, path);
}

TableRunner::TableRunner(const RecordedTable& table, Clock& clock, std::uint64_t seed,
                         ReplayFaults faults)
    : table_(&table),
      clock_(&clock),
      random_(seed),
      faults_(faults),
      drift_phase_(random_.fork(1).uniform(0, 2 * M_PI)) {
  for (std::size_t i = 0; i < table.rows.size(); ++i) rows_[table.rows[i].knobs] = i;
}

double TableRunner::disturbed(const TableRow& row) {
  double rate = row.samples_per_second * std::exp(row.noise_sigma * random_.normal());
  const double turn = 2 * M_PI * trials_ / faults_.drift_trials;
  rate *= 1 + faults_.drift * std::sin(turn + drift_phase_);
  if (faults_.outlier_share > 0 && random_.uniform() < faults_.outlier_share) {
    // Other load only ever slows a trial.
    rate *= 1 - random_.uniform(0, faults_.outlier_loss);
  }
  return rate;
}

Trial TableRunner::run(const Knobs& knobs, const TrialLimits& limits) {
  clock_->sleep_seconds(1);
  ++trials_;
  Trial trial;
  trial.knobs = knobs;
  trial.seconds = 1;
  const auto found = rows_.find(knobs);
  if (found == rows_.end()) {
    trial.outcome = Outcome::unsupported;
    trial.reason = "not in the table";
    return trial;
  }
  const TableRow& row = table_->rows[found->second];
  trial.outcome = row.outcome;
  trial.peak_bytes = trial.host_peak_bytes = row.peak_bytes;
  const auto peak = static_cast<double>(row.peak_bytes);
  const auto guard = static_cast<double>(limits.memory_limit_bytes);
  // A cause, such as "gpu" or "shm", is another memory than the guard watches.
  const bool memory = row.outcome == Outcome::out_of_memory && row.cause.empty();
  // The guard stops the tree before memory is out: the peak is then the limit itself.
  if (guard > 0 && (memory || peak >= guard)) {
    ++guarded_stops_;
    trial.outcome = Outcome::out_of_memory;
    trial.cause = "limit";
    trial.peak_bytes = trial.host_peak_bytes = limits.memory_limit_bytes;
    trial.reason = "stopped by the guard";
    return trial;
  }
  if (memory) ++out_of_memory_trials_;
  if (row.outcome != Outcome::ok) {
    trial.cause = row.cause;
    trial.reason = "as recorded";
    return trial;
  }
  trial.samples_per_second = disturbed(row);
  Sample sample;
  sample.samples = trial.samples_per_second;
  sample.seconds = 1;
  sample.steps = 1;
  trial.samples.push_back(sample);
  return trial;
}

}  // namespace ocrtune
