// The one file that knows CLI11, which splits the words of a command line into flags and arguments.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/flags.h"

namespace ocrtune {
namespace {

CLI::Option* declare_option(CLI::App& app, const Flag& flag) {
  std::string names = flag.letter.empty() ? flag.name : flag.letter + "," + flag.name;
  if (!flag.alias.empty()) names += "," + flag.alias;
  for (const std::string& old : flag.old_names) names += "," + old;
  if (flag.is_switch()) return app.add_flag(names);
  // CLI11 only splits words: values are checked and stored here, so that errors read alike.
  CLI::Option* option = app.add_option(names, [](const CLI::results_t&) { return true; });
  option->expected(flag.optional_value ? 0 : 1, 1);
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  option->allow_extra_args(false);  // else "[a,b]" would become two values
  return option;
}

const Flag* flag_named(const Flags& flags, const std::string& name) {
  for (const Flag& flag : flags.rows()) {
    if (!flag.positional && flag.is_called(name)) return &flag;
  }
  return nullptr;
}

// The option that was meant: spelt nearly so, in other case, begun like the one given, or its first
// words ("--batch" of "--batch-size").
std::string meant_option(const Flags& flags, const std::string& given) {
  std::vector<std::string> names;
  for (const Flag& flag : flags.rows()) {
    if (!flag.positional) names.push_back(flag.name);
  }
  const std::string near = nearest_name(lower(given), names);
  // "--b" begins too many names to guess by its beginning.
  if (!near.empty() || given.size() < 4) return near;
  std::erase_if(names, [&](const std::string& name) {
    return !starts_with(name, lower(given)) && !starts_with(lower(given), name + "-");
  });
  return names.size() == 1 ? names[0] : "";
}

Error unknown_option(const Flags& flags, const std::string& word, bool before_command) {
  const std::string name = word.substr(0, word.find('='));
  const std::string near = meant_option(flags, name);
  std::string text = "no option " + name;
  if (!near.empty()) text += "; did you mean " + near + "?";
  if (near.empty() && before_command) text += "; a command of your own goes after --";
  return {ErrorKind::usage, text};
}

// CLI11's complaint about an option without its value: "--budget: 1 required TEXT missing".
Error complaint(const Flags& flags, const std::string& text) {
  for (const Flag& flag : flags.rows()) {
    if (flag.positional || !starts_with(text, flag.name + ":")) continue;
    return {ErrorKind::usage, flag.is_switch() ? flag.name + " takes no value"
                                               : flag.name + " needs a value: " + flag.metavar};
  }
  return {ErrorKind::usage, text.substr(0, text.find('\n'))};
}

Status check_choice(const Flag& flag, const std::string& text) {
  if (flag.choices.empty()) return Status();
  if (std::find(flag.choices.begin(), flag.choices.end(), text) != flag.choices.end()) {
    return Status();
  }
  const std::string near = nearest_name(lower(text), flag.choices);
  return Error{ErrorKind::usage,
               fmt::format("{} '{}': {}", flag.name, text,
                           near.empty() ? "needs one of " + join(flag.choices, ", ")
                                        : "did you mean " + near + "?")};
}

Status store_value(const Flag& flag, const std::string& value) {
  if (flag.given != nullptr) *flag.given = true;
  OCRTUNE_TRY(check_choice(flag, value));
  return flag.take(flag, value);
}

Status store_switch(const Flag& flag, const std::string& value) {
  if (value != "true" && value != "false") {  // of "--json=value"
    return Error{ErrorKind::usage, flag.name + " takes no value"};
  }
  *flag.given = value == "true";
  return Status();
}

Status store_option(const Flags& flags, const Flag& flag, const CLI::Option& option) {
  const std::vector<std::string>& values = option.results();
  if (flag.is_switch()) return values.empty() ? Status() : store_switch(flag, values.back());
  if (!flag.repeated && values.size() > 1) {
    return Error{ErrorKind::usage,
                 fmt::format("{} is given {} times and takes one value", flag.name, values.size())};
  }
  for (const std::string& value : values) {
    if (flag.optional_value && value.empty()) {
      *flag.given = true;
      continue;
    }
    // "--budget --json" lacks a value; no value of ours is the name of a flag.
    if (flag_named(flags, value) != nullptr) {
      return Error{ErrorKind::usage,
                   fmt::format("{} needs a value: {} ({} is an option of its own)", flag.name,
                               flag.metavar, value)};
    }
    OCRTUNE_TRY(store_value(flag, value));
  }
  if (flag.required() && values.empty()) return Error{ErrorKind::usage, flag.missing};
  return Status();
}

// The words that are no option, to the arguments in order: each takes one, a repeated one the rest.
Status store_arguments(const Flags& flags, const std::vector<std::string>& words) {
  std::size_t next = 0;
  for (const Flag& flag : flags.rows()) {
    if (!flag.positional) continue;
    if (flag.required() && next == words.size()) return Error{ErrorKind::usage, flag.missing};
    const std::size_t end = flag.repeated ? words.size() : std::min(next + 1, words.size());
    for (; next < end; ++next) OCRTUNE_TRY(store_value(flag, words[next]));
  }
  if (next == words.size()) return Status();
  return Error{ErrorKind::usage, "unexpected argument '" + words[next] + "'"};
}

// What CLI11 did not know, without the first "--"; an option among it is a mistake.
Result<std::vector<std::string>> arguments_of(const Flags& flags,
                                              const std::vector<std::string>& remaining) {
  std::vector<std::string> words;
  bool options_ended = false;
  for (const std::string& word : remaining) {
    if (!options_ended && word == "--") {
      options_ended = true;
      continue;
    }
    if (!options_ended && word.size() > 1 && word[0] == '-') {
      const bool has_command = std::any_of(flags.rows().begin(), flags.rows().end(),
                                           [](const Flag& flag) { return flag.name == "command"; });
      return unknown_option(flags, word, has_command && !words.empty());
    }
    words.push_back(word);
  }
  return words;
}

// Words before "--" are arguments that come before the command, not its first words: "--batch 1 2
// -- python3 train.py".
Status check_before_command(const Flags& flags, const std::vector<std::string>& words) {
  std::size_t places = 0;
  for (const Flag& flag : flags.rows()) {
    if (!flag.positional) continue;
    if (flag.name == "command" && places < words.size()) {
      return Error{ErrorKind::usage,
                   fmt::format("'{}' stands before --: join the values of an option by commas, and "
                               "write the command after --",
                               words[places])};
    }
    if (flag.name == "command" || flag.repeated) return Status();
    ++places;
  }
  return Status();
}

using Options = std::vector<std::pair<const Flag*, const CLI::Option*>>;

// What the settings file says of flags that are not on the command line.
Status take_settings(const Flags& flags, const Options& options,
                     const std::vector<std::string>& words) {
  const SettingsSource& source = flags.settings();
  // Any argument says what to run by itself: then the file is not looked at.
  if (!source.read || !words.empty()) return Status();
  std::vector<std::string> given;
  for (const auto& [flag, option] : options) {
    if (option->count() > 0) given.push_back(flag->name);
  }
  const auto is_given = [&given](const std::string& name) {
    return std::find(given.begin(), given.end(), name) != given.end();
  };
  if (std::any_of(source.unless.begin(), source.unless.end(), is_given)) return Status();
  auto settings = OCRTUNE_TRY(source.read(flags));
  for (FileSetting& setting : settings) {
    const auto flag = std::find_if(flags.rows().begin(), flags.rows().end(),
                                   [&](const Flag& row) { return row.is_called(setting.flag); });
    if (flag == flags.rows().end() || is_given(flag->name)) continue;
    for (const std::string& value : setting.values) {
      const Status taken =
          flag->is_switch() ? store_switch(*flag, value) : store_value(*flag, value);
      if (!taken) return Error{taken.error().kind, setting.place + taken.error().what};
    }
    source.used->push_back(std::move(setting));
  }
  return Status();
}

}  // namespace

Result<Parsed> parse_flags(const Flags& flags, const std::vector<std::string>& arguments) {
  CLI::App app;
  app.allow_extras();
  app.set_help_flag("-h,--help");
  app.set_help_all_flag("--help-all");
  Options options;
  for (const Flag& flag : flags.rows()) {
    if (!flag.positional) options.emplace_back(&flag, declare_option(app, flag));
  }
  // CLI11 takes "--" behind an option whose value may lack for the end of its values, and drops it.
  const auto command = std::find(arguments.begin(), arguments.end(), "--");
  try {
    // CLI11 takes its words from the back of the vector.
    std::vector<std::string> reversed(std::make_reverse_iterator(command), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return Parsed::help;
  } catch (const CLI::CallForAllHelp&) {
    return Parsed::help_all;
  } catch (const CLI::ParseError& error) {
    return complaint(flags, error.what());
  }
  std::vector<std::string> remaining = app.remaining();
  // First the words before "--" alone, for an error of their own; then all of them.
  const auto before = OCRTUNE_TRY(arguments_of(flags, remaining));
  if (command != arguments.end()) OCRTUNE_TRY(check_before_command(flags, before));
  remaining.insert(remaining.end(), command, arguments.end());
  const auto words = OCRTUNE_TRY(arguments_of(flags, remaining));
  for (const auto& [flag, option] : options) OCRTUNE_TRY(store_option(flags, *flag, *option));
  OCRTUNE_TRY(store_arguments(flags, words));
  OCRTUNE_TRY(take_settings(flags, options, words));
  return Parsed::values;
}

}  // namespace ocrtune
