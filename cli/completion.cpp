// Each shell's script is one template with tables made from the declared flags. A script is static
// text, loaded once: completing a word starts no ocrtune.
#include "cli/completion.h"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/list_topics.h"

namespace ocrtune {
namespace {

// The words that a value may be; none where any text is right. Stored runs are not asked for: a
// script is made once and for all machines.
std::vector<std::string> words_of(const Flag& flag) {
  if (!flag.choices.empty()) return flag.choices;
  std::vector<std::string> found = flag.verbs;
  if (flag.topic == "runs") found.emplace_back("last");
  if (flag.topic == "runs") return found;
  for (const Topic& topic : list_topics()) {
    if (flag.topic == "topics") found.emplace_back(topic.name);
    if (flag.topic != topic.name) continue;
    const Result<Table> table = topic.make("");
    for (std::size_t row = 0; table && row < table->rows(); ++row) {
      found.push_back(cell_text(table->at(row, 0)) + (flag.topic == "knobs" ? "=" : ""));
    }
  }
  return found;
}

struct Shown {
  const Command* command;
  Flags flags;
};

// Every command that is not hidden, with its flags; what the flags point to is gone and not used.
std::vector<Shown> shown_commands() {
  std::vector<Shown> all;
  for (const Command& command : command_table()) {
    if (command.hidden()) continue;
    all.push_back({&command, {}});
    const CommandRun unused = command.declare(all.back().flags);
  }
  return all;
}

struct ShownGroup {
  CommandGroup group;
  std::vector<const Command*> members;

  std::string names() const {
    std::vector<std::string> all;
    for (const Command* member : members) all.emplace_back(member->name);
    return join(all, " ");
  }
};

std::vector<ShownGroup> shown_groups() {
  std::vector<ShownGroup> all;
  for (const CommandGroup& group : kGroups) {
    ShownGroup shown{group, members_of(group)};
    if (!shown.members.empty()) all.push_back(std::move(shown));
  }
  return all;
}

// Of bash: "words:a b", "files", "folders" or nothing.
std::string bash_kind(const Flag& flag) {
  const std::vector<std::string> words = words_of(flag);
  if (!words.empty()) return "words=" + shell_quote(join(words, " "));
  if (flag.paths == Flag::Paths::files) return "paths=-f";
  return flag.paths == Flag::Paths::folders ? "paths=-d" : ":";
}

std::string bash_script() {
  std::string commands, groups, options, values;
  for (const ShownGroup& each : shown_groups()) {
    commands += fmt::format(" {}", each.group.name);
    groups += fmt::format("    {}) members='{}' ;;\n", each.group.name, each.names());
  }
  for (const Shown& each : shown_commands()) {
    const std::string name = each.command->name;
    commands += " " + name;
    std::string names = "--help";
    for (const Flag& flag : each.flags.rows()) {
      if (flag.unseen) continue;
      if (!flag.positional) names += " " + flag.name;
      if (!flag.is_switch()) {
        values += fmt::format("    {}:{}) {} ;;\n", name, flag.positional ? "" : flag.name,
                              bash_kind(flag));
      }
    }
    options += fmt::format("    {}) words='{}' ;;\n", name, names);
  }
  return fmt::format(
      R"sh(# bash completion for ocrtune; load it with: source <(ocrtune completion bash)
_ocrtune_value() {{
  case $1 in
{}    *) return 1 ;;
  esac
}}
_ocrtune() {{
  local typed=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words= paths= word
  local command=${{COMP_WORDS[1]#--}} members=
  case $command in
{}  esac
  [[ -z $members ]] || command=${{COMP_WORDS[2]}}
  COMPREPLY=()
  # bash breaks words at "=", and replaces only what stands behind it.
  if [[ $typed == "=" ]]; then typed=; elif [[ $before == "=" ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  [[ $before == -* ]] || before=
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    if [[ $word == -- ]]; then mapfile -t COMPREPLY < <(compgen -cf -- "$typed"); return; fi
  done
  if ((COMP_CWORD == 1)); then
    words='{} --help --version'
  elif [[ -n $members ]] && ((COMP_CWORD == 2)); then
    words="$members --help"
  elif [[ $typed == -* ]]; then
    case $command in
{}    esac
  else
    _ocrtune_value "$command:$before" || _ocrtune_value "$command:"
  fi
  if [[ -n $paths ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen "$paths" -- "$typed")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$typed")
    [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace
  fi
}}
complete -F _ocrtune ocrtune
)sh",
      values, groups, std::string_view(commands).substr(1), options);
}

// Inside '...' of zsh and fish; brackets and colons are zsh's own separators.
std::string quoted(const std::string& text, bool zsh) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += zsh ? "'\\''" : "\\'";
    } else if (zsh && (c == '[' || c == ']' || c == ':' || c == '\\')) {
      out += std::string("\\") + c;
    } else {
      out += !zsh && c == '\\' ? "\\\\" : std::string(1, c);
    }
  }
  return out;
}

// ":FILE:_files" of zsh's _arguments.
std::string zsh_value(const Flag& flag) {
  if (flag.is_switch()) return "";
  std::string text = (flag.optional_value ? "::" : ":") + quoted(flag.metavar, true) + ":";
  const std::vector<std::string> words = words_of(flag);
  if (!words.empty()) return text + "(" + quoted(join(words, " "), true) + ")";
  if (flag.paths == Flag::Paths::folders) return text + "_files -/";
  return flag.paths == Flag::Paths::files ? text + "_files" : text + " ";
}

// 'NAME:SUMMARY', a line of zsh's arrays for _describe.
std::string zsh_row(const char* name, const char* summary) {
  return fmt::format("    '{}:{}'\n", name, quoted(summary, true));
}

// The last line lets the script work from $fpath as well as by `source`.
std::string zsh_script() {
  std::string commands, cases, groups;
  for (const ShownGroup& each : shown_groups()) {
    commands += zsh_row(each.group.name, each.group.summary);
    groups += fmt::format("    {})\n      members=(\n", each.group.name);
    for (const Command* member : each.members) groups += zsh_row(member->name, member->summary);
    groups += "      )\n      ;;\n";
  }
  for (const Shown& each : shown_commands()) {
    commands += zsh_row(each.command->name, each.command->summary);
    cases += fmt::format("    {})\n      _arguments -s", each.command->name);
    for (const Flag& flag : each.flags.rows()) {
      if (flag.unseen) continue;
      cases += " \\\n        '";
      if (flag.positional) {
        cases += (flag.repeated ? "*" : "") + zsh_value(flag) + "'";
      } else {
        cases += (flag.repeated ? "*" : "") + flag.name + "[" + quoted(flag.help, true) + "]" +
                 zsh_value(flag) + "'";
      }
    }
    cases += " \\\n        '--help[Print this help]'\n      ;;\n";
  }
  return fmt::format(R"sh(#compdef ocrtune
# zsh completion for ocrtune; load it with: source <(ocrtune completion zsh)
_ocrtune() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local -a members=()
  case $words[2] in
{}  esac
  if (( $#members && CURRENT == 3 )); then
    _describe command members
    return
  fi
  if (( $#members )); then
    shift words
    (( CURRENT-- ))
  fi
  local command=${{words[2]#--}}
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
if [[ ${{funcstack[1]}} == _ocrtune ]]; then _ocrtune "$@"; elif (( $+functions[compdef] )); then compdef _ocrtune ocrtune; fi
)sh",
                     commands, groups, cases);
}

std::string fish_script() {
  std::string text =
      "# fish completion for ocrtune; load it with: ocrtune completion fish | source\n"
      "complete -c ocrtune -f\n";
  for (const ShownGroup& each : shown_groups()) {
    text += fmt::format("complete -c ocrtune -n __fish_use_subcommand -a {} -d '{}'\n",
                        each.group.name, quoted(each.group.summary, false));
    for (const Command* member : each.members) {
      text += fmt::format(
          "complete -c ocrtune -n '__fish_seen_subcommand_from {}; and not "
          "__fish_seen_subcommand_from {}' -a {} -d '{}'\n",
          each.group.name, each.names(), member->name, quoted(member->summary, false));
    }
  }
  for (const Shown& each : shown_commands()) {
    text += fmt::format("complete -c ocrtune -n __fish_use_subcommand -a {} -d '{}'\n",
                        each.command->name, quoted(each.command->summary, false));
    for (const Flag& flag : each.flags.rows()) {
      if (flag.unseen) continue;
      text += fmt::format("complete -c ocrtune -n '__fish_seen_subcommand_from {}'",
                          each.command->name);
      if (!flag.positional) {
        text += fmt::format(" -l {} -d '{}'", flag.name.substr(2), quoted(flag.help, false));
      }
      const std::vector<std::string> words = words_of(flag);
      if (!words.empty()) text += " -a '" + quoted(join(words, " "), false) + "'";
      if (flag.paths == Flag::Paths::folders) text += " -a '(__fish_complete_directories)'";
      if (flag.paths == Flag::Paths::files) text += " -F";
      if (!flag.positional && !flag.is_switch()) text += " -r";
      text += "\n";
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return bash_script();
  return shell == "zsh" ? zsh_script() : fish_script();
}

}  // namespace ocrtune
