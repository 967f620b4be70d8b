// All keys of all configs, each by the rule that its name fits (consistency_rules.cpp). Lists with
// named entries come first: what a whole entry lacks is told once and not key by key. Sums and
// batches follow.
#include "extras/consistency/consistency.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/files.h"
#include "base/plural.h"
#include "base/text.h"
#include "extras/consistency/batch_sums.h"

namespace ocrtune {
namespace {

constexpr const char* kAbsent = "(absent)";
// Of a label file, which is read and hashed; guess.
constexpr std::uint64_t kLargestNamedFile = 1ULL << 30;

bool fits(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (text.substr(0, star) != pattern.substr(0, star)) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t i = star; i <= text.size(); ++i) {
    if (fits(rest, text.substr(i))) return true;
  }
  return false;
}

std::string value_of(const FlatConfig& config, const std::string& key) {
  const auto found = config.values.find(key);
  return found == config.values.end() ? kAbsent : found->second;
}

std::optional<double> number_of(const FlatConfig& config, const std::string& key) {
  const auto number = parse_number(value_of(config, key));
  return number ? std::optional<double>(*number) : std::nullopt;
}

// The batch that a rank really uses: a multi-scale sampler overrides the loader's number.
std::optional<double> batch_of(const FlatConfig& config) {
  const auto sampler = number_of(config, "Train.sampler.first_bs");
  return sampler ? sampler : number_of(config, "Train.loader.batch_size_per_card");
}

// "00ff... 6625", as content_text writes it.
std::optional<FileContent> parse_content(const std::string& text) {
  const std::vector<std::string> fields = words(text);
  if (fields.size() != 2) return std::nullopt;
  FileContent content;
  const std::string& digits = fields[0];
  const auto [end, code] =
      std::from_chars(digits.data(), digits.data() + digits.size(), content.hash, 16);
  const auto lines = parse_integer(fields[1]);
  if (code != std::errc() || end != digits.data() + digits.size() || !lines) return std::nullopt;
  content.lines = *lines;
  return content;
}

class Comparison {
 public:
  Comparison(const std::vector<FlatConfig>& configs, std::vector<int> nproc,
             std::optional<int> lr_nproc)
      : configs_(configs), nproc_(std::move(nproc)), lr_nproc_(lr_nproc) {}

  Consistency run();

 private:
  void compare_list(const std::string& list);
  void compare_key(const std::string& key);
  void add(const std::string& key, std::map<std::string, std::string> values);
  void compare_equal(const std::string& key);
  void compare_different(const std::string& key, const ConsistencyRule& rule);
  void compare_files(const std::string& key, const ConsistencyRule& rule);
  void check_batches();
  void check_learning_rate(double global_batch);
  void check_samples();
  void check_sums();
  std::map<std::string, std::string> values_of(const std::string& key) const;
  bool all_alike(const std::map<std::string, std::string>& values) const;

  const std::vector<FlatConfig>& configs_;
  std::vector<int> nproc_;  // one a config, or empty
  std::optional<int> lr_nproc_;
  std::set<std::string> missing_;  // keys of lists and entries that some config has not
  Consistency result_;
};

std::map<std::string, std::string> Comparison::values_of(const std::string& key) const {
  std::map<std::string, std::string> values;
  for (const FlatConfig& config : configs_) values[config.name] = value_of(config, key);
  return values;
}

bool Comparison::all_alike(const std::map<std::string, std::string>& values) const {
  return std::all_of(values.begin(), values.end(),
                     [&](const auto& entry) { return entry.second == values.begin()->second; });
}

void Comparison::add(const std::string& key, std::map<std::string, std::string> values) {
  const ConsistencyRule& rule = rule_for(key);
  auto& into = rule.demand == Demand::local ? result_.local : result_.differences;
  into.push_back({key, std::move(values), rule.effect});
}

// A list with named entries (transforms, losses, heads): which entries some nodes lack, then
// whether those that all have come in one order. What the entries hold is compared key by key.
void Comparison::compare_list(const std::string& list) {
  const std::string key = list.substr(0, list.size() - std::string_view(kListNames).size());
  std::map<std::string, std::vector<std::string>> names;  // node -> entries
  std::vector<std::string> all;
  for (const FlatConfig& config : configs_) {
    const auto found = config.values.find(list);
    if (found == config.values.end()) {
      missing_.insert(key);
      return add(key, values_of(list));
    }
    for (const std::string& name : split(found->second, ',')) {
      names[config.name].emplace_back(trim(name));
      all.emplace_back(trim(name));
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const std::string& name : all) {
    std::map<std::string, std::string> places;
    bool everywhere = true;
    for (auto& [node, own] : names) {
      const auto at = std::find(own.begin(), own.end(), name);
      everywhere = everywhere && at != own.end();
      places[node] = at == own.end()
                         ? kAbsent
                         : fmt::format("entry {} of {}", at - own.begin() + 1, own.size());
    }
    if (everywhere) continue;
    const std::string entry = fmt::format("{}[{}]", key, name);
    missing_.insert(entry);
    add(entry, std::move(places));
  }
  std::map<std::string, std::string> orders;
  for (auto& [node, own] : names) {
    std::erase_if(own, [&](const std::string& name) {
      return missing_.count(fmt::format("{}[{}]", key, name)) > 0;
    });
    orders[node] = join(own, ", ");
  }
  // Transforms and heads are applied in their order.
  if (!all_alike(orders)) add(key + " (order)", std::move(orders));
}

void Comparison::compare_equal(const std::string& key) {
  auto values = values_of(key);
  if (all_alike(values)) return;
  // An absent key means its default to PaddleOCR, and mostly what null means.
  auto without_null = values;
  const std::string absent = default_of(key).value_or(kAbsent);
  for (auto& [node, value] : without_null) {
    if (value == "null" || value == kAbsent) value = absent;
  }
  if (!all_alike(without_null)) add(key, std::move(values));
}

void Comparison::compare_different(const std::string& key, const ConsistencyRule& rule) {
  std::map<std::string, std::map<std::string, std::string>> owners;  // value -> nodes that have it
  for (const FlatConfig& config : configs_) {
    const std::string value = value_of(config, key);
    // A rank that is not given is the launcher's to give.
    if (value != kAbsent && value != "null") owners[value][config.name] = value;
  }
  for (auto& [value, nodes] : owners) {
    if (nodes.size() > 1) result_.differences.push_back({key, std::move(nodes), rule.effect});
  }
}

void Comparison::compare_files(const std::string& key, const ConsistencyRule& rule) {
  std::map<std::string, std::string> values, shown;
  std::set<std::uint64_t> hashes;
  std::set<std::string> file_names;
  std::vector<std::string> unread;
  for (const FlatConfig& config : configs_) {
    const std::string value = value_of(config, key);
    shown[config.name] = value;
    values[config.name] = value == "null" || value.empty() ? kAbsent : value;
    if (values[config.name] == kAbsent) continue;
    file_names.insert(value.substr(value.find_last_of('/') + 1));
    if (const auto content = content_of(value, config)) {
      hashes.insert(content->hash);
      shown[config.name] = fmt::format("{} ({}, content {:016x})", value,
                                       how_many(content->lines, "line"), content->hash);
    } else {
      unread.push_back(fmt::format("{} of {}", value, config.name));
    }
  }
  const bool named_by_all = std::none_of(values.begin(), values.end(),
                                         [](const auto& entry) { return entry.second == kAbsent; });
  // Contents that cannot be compared: a different file name is a difference, another folder is not.
  const bool other_names = !unread.empty() && file_names.size() > 1;
  if (hashes.size() > 1 || other_names || (!named_by_all && !all_alike(values))) {
    result_.differences.push_back({key, std::move(shown), rule.effect});
  } else if (!unread.empty() && named_by_all && configs_.size() > 1) {
    result_.notes.push_back(fmt::format(
        "{}: {} cannot be read here, so its content was not compared", key, join(unread, ", ")));
    if (!all_alike(values)) result_.local.push_back({key, std::move(values), rule.effect});
  }
}

void Comparison::compare_key(const std::string& key) {
  const ConsistencyRule& rule = rule_for(key);
  switch (rule.demand) {
    case Demand::equal:
    case Demand::local:
      return compare_equal(key);
    case Demand::different:
      return compare_different(key, rule);
    case Demand::same_files:
      return compare_files(key, rule);
  }
}

void Comparison::check_learning_rate(double global_batch) {
  const auto rate = number_of(configs_[0], "Optimizer.lr.learning_rate");
  if (!rate) return;
  const int world = std::accumulate(nproc_.begin(), nproc_.end(), 0);
  if (!lr_nproc_) {
    result_.notes.push_back(fmt::format(
        "learning rate {} at a global batch of {}; PaddleOCR does not rescale it when the number "
        "of processes changes (its own configs are made for 8; say --lr-for N to have it checked)",
        *rate, global_batch));
  } else if (*lr_nproc_ != world) {
    const double scaled = *rate * world / *lr_nproc_;
    result_.differences.push_back(
        {"Optimizer.lr.learning_rate against the number of processes",
         {{"now", fmt::format("{} with {}", *rate, how_many(world, "process"))},
          {"chosen for", how_many(*lr_nproc_, "process")}},
         fmt::format("the global batch is {:.3g} times what the rate was chosen for; by the linear "
                     "rule it would be {:.3g}",
                     static_cast<double>(world) / *lr_nproc_, scaled)});
  }
}

// Global batch = sum over nodes of processes x batch; every node must see the same one.
void Comparison::check_batches() {
  for (const FlatConfig& config : configs_) {
    const auto sampler = number_of(config, "Train.sampler.first_bs");
    const auto loader = number_of(config, "Train.loader.batch_size_per_card");
    if (sampler && loader && *sampler != *loader) {
      result_.notes.push_back(fmt::format(
          "{}: Train.sampler.first_bs {} holds; Train.loader.batch_size_per_card {} has no effect",
          config.name, *sampler, *loader));
    }
  }
  if (nproc_.empty()) return;
  double global = 0;
  for (std::size_t i = 0; i < configs_.size(); ++i) {
    const auto batch = batch_of(configs_[i]);
    if (!batch) return;
    global += *batch * nproc_[i];
  }
  const int world = std::accumulate(nproc_.begin(), nproc_.end(), 0);
  result_.notes.push_back(fmt::format("{}, global batch {}", how_many(world, "process"), global));
  check_learning_rate(global);
}

// After the split over the ranks there must be at least one batch for each.
void Comparison::check_samples() {
  if (nproc_.empty()) return;
  const int world = std::accumulate(nproc_.begin(), nproc_.end(), 0);
  for (const FlatConfig& config : configs_) {
    const auto batch = batch_of(config);
    std::int64_t samples = 0;
    bool read = batch.has_value();
    for (const auto& [key, value] : config.values) {
      if (!starts_with(key, "Train.dataset.label_file_list")) continue;
      const auto content = content_of(value, config);
      read = read && content.has_value();
      if (content) samples += content->lines;
    }
    if (!read || samples == 0) continue;
    if (static_cast<double>(samples) / world < *batch) {
      result_.differences.push_back(
          {"samples against processes",
           {{config.name, fmt::format("{}, {}, batch {}", how_many(samples, "sample"),
                                      how_many(world, "process"), *batch)}},
           "a rank has fewer samples than one batch: PaddleOCR stops with 'No Images in train "
           "dataset'"});
      return;
    }
  }
}

// Nodes that share a file share its mistake: the first one tells it.
void Comparison::check_sums() {
  const int world = std::accumulate(nproc_.begin(), nproc_.end(), 0);
  const auto ranks = nproc_.empty() ? std::nullopt : std::optional<int>(world);
  std::set<std::string> told;
  for (const FlatConfig& config : configs_) {
    for (ConfigDifference& sum : wrong_sums(config, ranks)) {
      if (told.insert(sum.key + sum.values.begin()->second).second) {
        result_.differences.push_back(std::move(sum));
      }
    }
  }
}

Consistency Comparison::run() {
  std::set<std::string> keys;
  for (const FlatConfig& config : configs_) {
    for (const auto& [key, value] : config.values) keys.insert(key);
  }
  for (const std::string& key : keys) {
    if (ends_with(key, kListNames)) compare_list(key);
  }
  for (const std::string& key : keys) {
    const bool reported = std::any_of(missing_.begin(), missing_.end(), [&](const auto& entry) {
      return starts_with(key, entry) &&
             (key.size() == entry.size() || key[entry.size()] == '.' || key[entry.size()] == '[');
    });
    if (!reported && !ends_with(key, kListNames)) compare_key(key);
  }
  check_batches();
  check_samples();
  check_sums();
  return std::move(result_);
}

}  // namespace

const ConsistencyRule& rule_for(const std::string& key) {
  const auto& rules = consistency_rules();
  return *std::find_if(rules.begin(), rules.end(),
                       [&](const ConsistencyRule& rule) { return fits(rule.pattern, key); });
}

std::string content_text(const FileContent& content) {
  return fmt::format("{:016x} {}", content.hash, content.lines);
}

std::optional<FileContent> content_of(const std::string& value, const FlatConfig& config) {
  if (const auto collected = config.contents.find(value); collected != config.contents.end()) {
    return parse_content(collected->second);
  }
  const std::string base = value.substr(value.find_last_of('/') + 1);
  for (const std::string& path : {value[0] == '/' ? value : join_path(config.directory, value),
                                  value, join_path(config.directory, base)}) {
    if (path.empty() || is_directory(path)) continue;
    const auto text = read_file(path, kLargestNamedFile);
    if (!text) continue;
    FileContent content;
    // FNV-1a, 64 bits: its offset basis, and its prime below.
    content.hash = 14695981039346656037ULL;
    std::string_view lines = *text;  // an end of line at the end of the file is no content
    while (!lines.empty() && (lines.back() == '\n' || lines.back() == '\r')) lines.remove_suffix(1);
    for (const char c : lines) {
      if (c == '\n') content.lines += 1;
      if (c != '\r')
        content.hash = (content.hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    }
    if (!lines.empty()) content.lines += 1;
    return content;
  }
  return std::nullopt;
}

Result<Consistency> compare_configs(const std::vector<FlatConfig>& configs,
                                    const ConsistencyOptions& options) {
  if (configs.empty()) return Error{ErrorKind::usage, "name at least one configuration"};
  std::vector<int> nproc = options.nproc;
  if (nproc.size() == 1) nproc.resize(configs.size(), nproc[0]);
  if (!nproc.empty() && nproc.size() != configs.size()) {
    return Error{ErrorKind::usage,
                 fmt::format("--nproc has {} numbers for {} configurations: give one, or one each",
                             nproc.size(), configs.size())};
  }
  if (std::any_of(nproc.begin(), nproc.end(), [](int n) { return n < 1; })) {
    return Error{ErrorKind::usage, "--nproc must be at least 1"};
  }
  return Comparison(configs, std::move(nproc), options.lr_nproc).run();
}

}  // namespace ocrtune
