// The order: which knobs are within reach, the choice of knobs, their flags, the variables, the
// launch; only then what a trial alone needs. A variable that the user has set stays; flags of
// turned knobs and of a trial take the place of the user's.
#include "trial/workloads/command/preset_apply.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_template.h"
#include "trial/workloads/command/flag_words.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxScriptBytes = 256 << 10;
constexpr double kHelpSeconds = 30;  // a launcher loads its framework to print its help

std::string in_folder_of(const CommandWorkload& workload, const std::string& path) {
  const bool relative = !path.empty() && path[0] != '/' && !workload.directory.empty();
  return relative ? join_path(workload.directory, path) : path;
}

Status check_files(const CommandWorkload& workload, const PresetFile& preset) {
  for (const std::string& flag : preset.files) {
    const auto path = flag_value(workload.command, flag);
    if (!path) return Error{ErrorKind::usage, "the command has no " + flag};
    if (path->find('{') != std::string::npos) continue;
    const Status there = check_there(in_folder_of(workload, *path));
    if (!there) return Error{there.error().kind, flag + " " + there.error().what};
  }
  return Status();
}

// False: the user has set it.
bool add_variable(CommandWorkload& workload, const std::string& variable,
                  const std::string& value) {
  const bool given = std::any_of(workload.environment.begin(), workload.environment.end(),
                                 [&](const auto& one) { return one.first == variable; });
  if (!given) workload.environment.emplace_back(variable, value);
  return !given;
}

void add_variables(CommandWorkload& workload, const PresetFile& preset) {
  for (const auto& [name, knob] : preset.knobs) {
    if (!turns(workload, name)) continue;
    for (const auto& [variable, value] : knob.environment) add_variable(workload, variable, value);
  }
}

// What the command has now, of the knobs that are numbers.
void read_current(PreparedCommand& command, const PresetFile& preset) {
  Knobs knobs;
  for (const auto& [name, knob] : preset.knobs) {
    const KnobRow* row = find_knob(name);
    if (row == nullptr || row->number == nullptr) continue;
    std::string value = knob.usual > 0 ? fmt::format("{}", knob.usual) : "";
    for (const auto& [flag, text] : knob.flags) {
      const auto given = flag_value(command.workload.command, flag);
      // A flag whose value is the knob alone says what the command has now.
      if (text == "{" + name + "}" && given) value = *given;
    }
    if (!value.empty() && set_knob(knobs, name, value)) command.current_names.insert(name);
  }
  if (!command.current_names.empty()) command.current = knobs;
}

bool word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

bool holds_word(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    // "predict.py" is no part of "my_predict.py".
    const bool begins = at == 0 || !word_character(text[at - 1]);
    const bool ends = end == text.size() || !word_character(text[end]);
    if (begins && ends) return true;
  }
  return false;
}

// The text of a script that the command names; empty: it is no text file.
std::string script_text(const CommandWorkload& workload, const std::string& word) {
  const std::string path = in_folder_of(workload, word);
  if (word.empty() || word[0] == '-' || !path_exists(path) || is_directory(path)) return "";
  const auto text = read_file(path, kMaxScriptBytes);
  // A binary is no script.
  return text && text->find('\0') == std::string::npos ? *text : "";
}

bool may_be_left_out(const PresetKnob& knob) {
  return std::find(knob.values.begin(), knob.values.end(), "none") != knob.values.end();
}

// The program's --help names all flags of the knob. The program: the command up to the first word
// of `behind`, as in `python -m torch.distributed.run --help`.
bool helps_with(const CommandWorkload& workload, const PresetFile& preset, const PresetKnob& knob) {
  ProcessOptions options;
  const std::size_t words = place_behind(workload.command, preset.behind);
  if (words == workload.command.size()) return false;  // it names no launcher
  options.arguments.assign(workload.command.begin(),
                           workload.command.begin() + static_cast<std::ptrdiff_t>(words));
  options.arguments.emplace_back("--help");
  options.directory = workload.directory;
  auto process = Process::start(options);
  if (!process || !process->wait(kHelpSeconds)) return false;
  const std::string help = process->output().contents();
  return std::all_of(knob.flags.begin(), knob.flags.end(), [&](const auto& flag) {
    return help.find(split(flag.first, '|').front()) != std::string::npos;
  });
}

// The first need that is not met here; empty: all are, as far as the machine can say.
std::string unmet_need(const PresetKnob& knob, const Machine& machine) {
  for (const std::string& need : knob.needs) {
    if (need == "gpus" && machine.gpus.empty()) return need;
    if (need == "numa_nodes" && machine.cpu.numa_nodes < 2) return need;
    // Every other need is the name of a program.
    const bool program = need != "gpus" && need != "numa_nodes" && need != "help";
    if (program && !find_executable(need)) return need;
  }
  return "";
}

// A knob of the preset's own that the user has not asked for and that can do something here.
bool is_offered(const CommandWorkload& workload, const PresetFile& preset, const PresetKnob& knob,
                const Machine& machine) {
  if (knob.values.size() < 2) return false;
  for (const auto& [flag, value] : knob.flags) {
    if (flag_value(workload.command, flag)) return false;  // the user has set it
  }
  if (!unmet_need(knob, machine).empty()) return false;
  const bool help = std::find(knob.needs.begin(), knob.needs.end(), "help") != knob.needs.end();
  return !help || helps_with(workload, preset, knob);
}

const std::vector<std::string>& place_of(const PresetKnob& knob, const PresetFile& preset) {
  return knob.behind.empty() ? preset.behind : knob.behind;
}

// No flag of the knob is in the command, and none can be put there: a script starts the program.
bool is_out_of_reach(const CommandWorkload& workload, const PresetFile& preset,
                     const PresetKnob& knob) {
  return !knob.flags.empty() && !has_place(workload.command, place_of(knob, preset)) &&
         std::none_of(knob.flags.begin(), knob.flags.end(), [&](const auto& flag) {
           return flag_value(workload.command, flag.first).has_value();
         });
}

// A knob of ocrtune's that the program has only where its needs are met, or whose flags have no
// place in the command. usage: its needs are not met, and it is varied all the same.
Result<bool> is_left_alone(const CommandWorkload& workload, const PresetFile& preset,
                           const std::string& name, const Machine& machine) {
  const PresetKnob& knob = preset.knobs.at(name);
  if (find_knob(name) == nullptr) return false;
  const std::string need = unmet_need(knob, machine);
  if (need.empty()) return is_out_of_reach(workload, preset, knob);
  const bool fixed =
      std::find(workload.fixed.begin(), workload.fixed.end(), name) != workload.fixed.end();
  if (fixed || !turns(workload, name)) return true;
  return Error{ErrorKind::usage,
               fmt::format("{} does nothing for {} without {}, and there is none here: do not vary "
                           "--{}",
                           name, preset.name, need, name)};
}

void turn_flags(CommandWorkload& workload, const PresetFile& preset, const std::string& name) {
  const PresetKnob& knob = preset.knobs.at(name);
  // The user has said where it stands, perhaps within a script.
  const bool placed =
      std::any_of(workload.command.begin(), workload.command.end(), [&](const std::string& word) {
        const std::vector<std::string> names = placeholder_names(word);
        return std::find(names.begin(), names.end(), name) != names.end();
      });
  if (placed) return;
  const std::vector<std::string>& behind = place_of(knob, preset);
  for (const auto& [flag, value] : knob.flags) {
    if (may_be_left_out(knob)) {
      put_behind(workload.command, "{" + name + "?" + flag + "=}", behind);
    } else {
      set_flag(workload.command, flag, value, behind);
    }
  }
}

// What only a short trial needs.
void add_trial(PreparedCommand& command, const PresetFile& preset) {
  CommandWorkload& workload = command.workload;
  const auto& behind = preset.trial_behind.empty() ? preset.behind : preset.trial_behind;
  for (const auto& [flag, value] : preset.trial_flags) {
    const bool reached = has_place(workload.command, behind) || flag_value(workload.command, flag);
    if (reached) set_flag(workload.command, flag, value, behind);
  }
  for (const auto& [variable, value] : preset.trial_environment) {
    if (add_variable(workload, variable, value)) command.trial_variables.push_back(variable);
  }
}

// Flags of words that stand in the command now and did not before.
std::vector<std::string> flags_added(const std::vector<std::string>& before,
                                     const std::vector<std::string>& now) {
  std::vector<std::string> flags;
  for (const std::string& word : now) {
    if (!starts_with(word, "-") || std::find(before.begin(), before.end(), word) != before.end()) {
      continue;
    }
    flags.push_back(word.substr(0, word.find('=')));
  }
  return flags;
}

}  // namespace

std::string preset_words(const PreparedCommand& command, const std::string& said) {
  const auto named = [&](const std::string& flag) { return holds_word(said, flag); };
  const auto& flags = command.preset_flags;
  if (std::none_of(flags.begin(), flags.end(), named)) return "";
  return fmt::format("preset {} has added {}; it was tried with {}", command.workload.preset,
                     join(flags, " "),
                     command.preset_tried.empty() ? "no version" : command.preset_tried);
}

Status apply_preset_file(PreparedCommand& command, const PresetFile& preset, const Machine& machine,
                         const KnobChoice& choose) {
  CommandWorkload& workload = command.workload;
  const std::vector<std::string> typed = workload.command;
  command.trains = preset.trains;
  OCRTUNE_TRY(check_files(workload, preset));
  read_current(command, preset);
  std::vector<std::string> reachable;
  for (const auto& [name, knob] : preset.knobs) {
    if (OCRTUNE_TRY(is_left_alone(workload, preset, name, machine))) continue;
    reachable.push_back(name);
    if (find_knob(name) != nullptr) command.turnable.push_back(name);
    if (!turns(workload, name) && is_offered(workload, preset, knob, machine)) {
      command.offered.push_back({name, KnobScale::category, knob.values});
    }
  }
  if (choose) OCRTUNE_TRY(choose(command));
  for (const std::string& name : reachable) {
    if (turns(workload, name)) turn_flags(workload, preset, name);
  }
  add_variables(workload, preset);
  for (const auto& [flag, value] : preset.service.flags) {
    set_flag(workload.command, flag, value, preset.behind);
  }
  command.launch = workload.command;
  add_trial(command, preset);
  command.preset_flags = flags_added(typed, workload.command);
  std::vector<std::string> tried;
  for (const auto& [version, date] : preset.tried) tried.push_back(version);
  command.preset_tried = join(tried, ", ");
  if (workload.log_reader.empty() && workload.metric.empty()) {
    workload.log_reader = preset.log_reader;
    workload.metric = preset.metric;
    if (!preset.metric_of.empty()) workload.per_rank = preset.metric_of == "rank";
  }
  if (workload.log_file.empty()) workload.log_file = preset.log_file;
  if (workload.answers.empty()) workload.answers = preset.answers;
  command.warnings.insert(command.warnings.end(), preset.notes.begin(), preset.notes.end());
  return Status();
}

std::optional<PresetFile> recognised_preset(const CommandWorkload& workload,
                                            const std::vector<PresetFile>& presets) {
  // In the command's own order: the first word that a preset knows decides.
  for (const std::string& word : workload.command) {
    const std::string script = script_text(workload, word);
    for (const PresetFile& preset : presets) {
      for (const std::string& wanted : preset.words) {
        if (holds_word(word, wanted) || holds_word(script, wanted)) return preset;
      }
    }
  }
  return std::nullopt;
}

void add_recognised_variables(PreparedCommand& command, const PresetFile& preset) {
  command.trains = preset.trains;
  command.recognised = preset.name;
  std::vector<std::string> variables;
  for (const auto& [name, knob] : preset.knobs) {
    if (!knob.flags.empty()) command.recognised_knobs.push_back(name);
    for (const auto& [variable, value] : knob.environment) variables.push_back(variable);
  }
  add_variables(command.workload, preset);
  if (variables.empty()) return;
  command.warnings.push_back(fmt::format("{} is recognised: {} follows the knobs too ({})",
                                         preset.name, join(variables, ", "), preset.path));
}

}  // namespace ocrtune
