// A command's flags as data: what each is called, what it takes, what it is by default, and where
// its value goes. Parsing, --help, the manual page and completion are made from the same rows.
//
// Nothing here names the parser: cli/flags_parser.cpp alone includes CLI11.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// One flag or positional argument. The members that return Flag& complete a declaration:
//   flags.option("--batch", batch, "N", "Read at most N lines at once").range(1, 4096);
struct Flag {
  std::string name;                    // "--budget"; of a positional argument "data"
  std::string alias;                   // a second name, or empty
  std::string letter;                  // "-o", or empty
  std::vector<std::string> old_names;  // that are still taken, and shown nowhere
  std::string metavar;                 // what the value is: "DURATION"; empty for a switch
  std::string help;                    // imperative, capital first letter, no period
  std::string heading;                 // under which help shows it; empty: Options
  std::string fallback;                // the default in words; empty: none is shown
  std::string missing;                 // of a required one: what to do, with an example
  std::vector<std::string> choices;
  std::string topic;               // of `ocrtune list`: what completion offers
  std::vector<std::string> verbs;  // that completion offers beside it
  enum class Paths { none, files, folders } paths = Paths::none;
  bool positional = false, repeated = false, optional_value = false;
  bool unseen = false;  // taken, and shown nowhere
  std::optional<double> low, high;
  bool* given = nullptr;
  std::function<Status(const Flag&, const std::string&)> take;  // stores one value as typed

  bool is_switch() const { return metavar.empty(); }
  bool required() const { return !missing.empty(); }
  bool is_called(const std::string& word) const;  // one of its names, old ones too

  Flag& range(double least, double most);  // of a number; others are refused
  Flag& one_of(std::vector<std::string> words);
  Flag& from_list(const char* list_topic);
  Flag& verb_of(std::vector<std::string> words);
  Flag& file();
  Flag& folder();
  Flag& under(const char* title);
  Flag& default_text(std::string words);  // in place of the variable's value; empty shows none
  Flag& also(const char* second_name);
  Flag& brief(const char* one_letter);  // "-o"
  Flag& hide();
  Flag& formerly(const char* other_name);  // taken as well, without being shown
  Flag& require(std::string what);  // "name a table, for example: ocrtune replay --table t.csv"
  Flag& tell(bool& was_given);      // set once the flag is on the command line
  Flag& value_optional();           // "--resume" and "--resume RUN"
};

// The values of one flag as a settings file (cli/settings_file.h) gives them.
struct FileSetting {
  std::string flag;   // "--budget"; of a positional argument "command"
  std::string place;  // that begins an error: "ocrtune.toml:3: budget: "
  std::vector<std::string> values;
  bool is_switch = false;
};

class Flags;

// Where flags that are not on the command line take their values from.
struct SettingsSource {
  // None: there is no such file. A flag that the command does not have is passed over.
  std::function<Result<std::vector<FileSetting>>(const Flags&)> read;
  // Each of these, as every positional argument, says what to run by itself: nothing is read.
  std::vector<std::string> unless;
  std::vector<FileSetting>* used = nullptr;  // gets those that the command line left open
};

class Flags {
 public:
  // The value's kind follows from the variable, which keeps what it holds unless the flag is given.
  // A vector takes one value each time the flag is given (numbers: also several with commas).
  Flag& option(const char* name, std::string& target, const char* metavar, std::string help);
  Flag& option(const char* name, int& target, const char* metavar, std::string help);
  Flag& option(const char* name, std::int64_t& target, const char* metavar, std::string help);
  Flag& option(const char* name, std::uint64_t& target, const char* metavar, std::string help);
  Flag& option(const char* name, double& target, const char* metavar, std::string help);
  Flag& option(const char* name, std::optional<std::int64_t>& target, const char* metavar,
               std::string help);
  Flag& option(const char* name, std::vector<std::string>& target, const char* metavar,
               std::string help);
  Flag& option(const char* name, std::vector<int>& target, const char* metavar, std::string help);
  Flag& toggle(const char* name, bool& target, std::string help);

  // Arguments without dashes, in order; a vector takes all that are left. What stands behind "--"
  // is always positional.
  Flag& argument(const char* name, std::string& target, std::string help);
  Flag& argument(const char* name, std::vector<std::string>& target, std::string help);

  // The flags that many commands share, in the same words everywhere.
  Flag& json(bool& target);
  Flag& store(std::string& target);
  Flag& run(std::string& target);                                         // RUN, also as --run
  Flag& out(std::string& target, const char* metavar, std::string help);  // -o, --out

  // --help shows these alone, in this order, and --help-all the rest.
  void show_first(std::vector<std::string> names) { first_ = std::move(names); }
  const std::vector<std::string>& shown_first() const { return first_; }

  void take_settings(SettingsSource source) { settings_ = std::move(source); }
  const SettingsSource& settings() const { return settings_; }

  const std::list<Flag>& rows() const { return rows_; }

  // The program's whole command line, argv[0] first; empty where none was typed.
  void started_by(std::vector<std::string> words) { words_ = std::move(words); }
  const std::vector<std::string>& words() const { return words_; }

 private:
  Flag& add(const char* name, const char* metavar, std::string help);

  SettingsSource settings_;
  std::vector<std::string> first_, words_;
  std::list<Flag> rows_;  // references stay valid while more are added
};

enum class Parsed { values, help, help_all };

// Bytes, above 0, of a flag's "8G". usage: it is no such size.
Result<std::uint64_t> read_size(const char* flag, const std::string& text);

// Stores the values of `arguments`, the words after the command's name. usage: the first mistake,
// in one line that names the flag.
Result<Parsed> parse_flags(const Flags& flags, const std::vector<std::string>& arguments);

}  // namespace ocrtune
