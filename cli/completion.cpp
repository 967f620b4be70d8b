#include "cli/completion.h"

#include <algorithm>
#include <optional>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/list_topics.h"
#include "trial/knobs.h"

namespace ocrtune {
namespace {

using Paths = Completion::Paths;

// "--db", "=", "x" becomes "--db=x": what the user typed.
std::vector<std::string> rejoin(const std::vector<std::string>& words) {
  std::vector<std::string> whole;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "=" && !whole.empty()) {
      whole.back() += "=";
      if (i + 1 < words.size()) whole.back() += words[++i];
    } else {
      whole.push_back(words[i]);
    }
  }
  return whole;
}

std::vector<Candidate> topic_words(const std::string& name, const std::string& database) {
  std::vector<Candidate> found;
  for (const Topic& topic : list_topics()) {
    if (name == "topics") found.push_back({topic.name, topic.help});
    if (name != topic.name) continue;
    const Result<Table> table = topic.make(database);
    if (!table) return {};
    for (std::size_t row = 0; row < table->rows(); ++row) {
      const std::size_t last = table->columns().size() - 1;
      found.push_back({cell_text(table->at(row, 0)), cell_text(table->at(row, last))});
    }
  }
  return found;
}

const KnobRow* knob_named(std::string_view name) {
  for (const KnobRow& row : knob_table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<Candidate> choices_of(const std::string& text, std::string_view separators) {
  std::vector<Candidate> found;
  std::string word;
  for (const char c : text + std::string(1, separators[0])) {
    if (separators.find(c) == std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      found.push_back({std::exchange(word, ""), ""});
    }
  }
  return found;
}

std::vector<Candidate> knob_values(const KnobRow& row) {
  if (row.scale == KnobScale::count) return {};
  return choices_of(std::string(row.choices), "|, ");
}

// {a,b} of "TEXT:{a,b}", as CLI11 writes the members of a set.
std::vector<Candidate> members_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find(":{"), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  return choices_of(type.substr(open + 2, close - open - 2), ",");
}

struct Context {
  const CLI::App* command;
  std::string database;  // of --db earlier in the line
};

// The values of an option or a positional; `typed` is the part that is there.
Completion values_of(const Context& context, const CLI::Option& option, const std::string& typed) {
  const std::string name = option.get_positional()       ? option.get_name(true)
                           : option.get_lnames().empty() ? option.get_name()
                                                         : option.get_lnames()[0];
  Completion found;
  found.candidates = members_of(option);
  if (!found.candidates.empty()) return found;
  if (name == "setting" || name == "knobs" || name == "baseline") {  // NAME=VALUE
    const std::size_t equals = typed.find('=');
    const std::string knob = typed.substr(0, equals);
    for (const KnobRow& row : knob_table()) {
      const std::string start = std::string(row.name) + "=";
      if (equals == std::string::npos) found.candidates.push_back({start, std::string(row.help)});
      if (equals == std::string::npos || knob != row.name) continue;
      for (const Candidate& value : knob_values(row))
        found.candidates.push_back({start + value.word, ""});
    }
    return found;
  }
  if (const KnobRow* knob = knob_named(name)) {
    const std::size_t comma = typed.rfind(',');  // tune takes lists
    const std::string before = comma == std::string::npos ? "" : typed.substr(0, comma + 1);
    for (const Candidate& value : knob_values(*knob))
      found.candidates.push_back({before + value.word, ""});
    if (!found.candidates.empty()) return found;
  }
  for (const ValueRow& row : value_table()) {
    const std::string_view qualified = row.option;
    const std::size_t dot = qualified.find('.');
    if (dot == std::string_view::npos ? qualified != name
                                      : qualified != context.command->get_name() + "." + name) {
      continue;
    }
    if (std::string_view(row.from) == "files") found.paths = Paths::files;
    if (std::string_view(row.from) == "folders") found.paths = Paths::folders;
    found.candidates = topic_words(row.from, context.database);
    return found;
  }
  return found;
}

const CLI::Option* option_named(const CLI::App& command, const std::string& word) {
  for (const CLI::Option* option : command.get_options({})) {
    if (!option->get_positional() && option->check_name(word)) return option;
  }
  return nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0; }

std::vector<Candidate> options_of(const CLI::App& command) {
  std::vector<Candidate> found;
  for (const CLI::Option* option : command.get_options({})) {
    if (option->get_positional()) continue;
    for (const std::string& name : option->get_lnames()) {
      found.push_back({"--" + name, option->get_description()});
    }
  }
  return found;
}

// The positional that the word under the cursor fills: by how many words stand before it.
const CLI::Option* positional_at(const CLI::App& command, std::size_t index) {
  for (const CLI::Option* option : command.get_options({})) {
    if (!option->get_positional()) continue;
    const auto most = static_cast<std::size_t>(std::max(option->get_items_expected_max(), 1));
    if (index < most) return option;
    index -= most;
  }
  return nullptr;
}

Completion of_command(const CLI::App& command, const std::vector<std::string>& words) {
  Context context{&command, ""};
  std::size_t positionals = 0;
  const CLI::Option* waiting = nullptr;  // the option whose value comes next
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (waiting != nullptr) {
      if (waiting->check_name("--db")) context.database = word;
      waiting = nullptr;
      continue;
    }
    if (word == "--") return {{}, Paths::files};  // the user's own command
    if (!starts_with(word, "-")) {
      ++positionals;
      continue;
    }
    const std::size_t equals = word.find('=');
    const CLI::Option* option = option_named(command, word.substr(0, equals));
    if (option == nullptr || !takes_value(*option)) continue;
    if (equals == std::string::npos) waiting = option;
    if (equals != std::string::npos && option->check_name("--db")) {
      context.database = word.substr(equals + 1);
    }
  }
  const std::string& typed = words.back();
  if (waiting != nullptr) return values_of(context, *waiting, typed);
  const std::size_t equals = typed.find('=');
  if (starts_with(typed, "--") && equals != std::string::npos) {
    const CLI::Option* option = option_named(command, typed.substr(0, equals));
    if (option == nullptr) return {};
    Completion found = values_of(context, *option, typed.substr(equals + 1));
    for (Candidate& each : found.candidates) each.word.insert(0, typed.substr(0, equals + 1));
    return found;
  }
  if (starts_with(typed, "-")) return {options_of(command), Paths::none};
  const CLI::Option* positional = positional_at(command, positionals);
  return positional == nullptr ? Completion{} : values_of(context, *positional, typed);
}

Completion of_program(const CLI::App& app, const std::string& typed) {
  if (starts_with(typed, "-")) return {options_of(app), Paths::none};
  Completion found;
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    found.candidates.push_back({command->get_name(), command->get_description()});
  }
  return found;
}

}  // namespace

const std::vector<ValueRow>& value_table() {
  static const std::vector<ValueRow> kTable = {
      {"backend", "backends"},    {"checkpoint", "files"},
      {"configs", "files"},       {"csv", "folders"},
      {"data", "files"},          {"db", "files"},
      {"evaluate", "files"},      {"folder", "folders"},
      {"font", "files"},          {"from", "runs"},
      {"html", "files"},          {"input", "files"},
      {"kernel-log", "files"},    {"log-reader", "log-readers"},
      {"logs", "files"},          {"machine", "files"},
      {"model", "models"},        {"other-db", "files"},
      {"out", "folders"},         {"output", "files"},
      {"place", "files"},         {"preset", "presets"},
      {"root", "folders"},        {"run", "runs"},
      {"run-dir", "folders"},     {"runs", "runs"},
      {"strategy", "strategies"}, {"table", "files"},
      {"topic", "topics"},        {"topology", "files"},
      {"trace", "files"},         {"train.resume", "files"},
      {"tune.resume", "runs"},    {"with", "files"},
  };
  return kTable;
}

Completion complete(const CLI::App& app, std::vector<std::string> words) {
  words = rejoin(words);
  if (words.empty()) words.emplace_back();
  Completion found;
  if (words.size() == 1) {
    found = of_program(app, words[0]);
  } else {
    const std::string name = starts_with(words[0], "--") ? words[0].substr(2) : words[0];
    const auto named =
        app.get_subcommands([&](const CLI::App* each) { return each->get_name() == name; });
    if (named.empty()) return {};
    words.erase(words.begin());
    found = of_command(*named[0], words);
  }
  const std::string& typed = words.back();
  std::erase_if(found.candidates,
                [&](const Candidate& each) { return !starts_with(each.word, typed); });
  return found;
}

}  // namespace ocrtune
