// The page in man(7) macros, from the table of commands. It is English in every locale.
#include "cli/manual.h"

#include <string>

#include "cli/commands.h"
#include "cli/help.h"
#include "tuner/store/program_versions.h"

namespace ocrtune {
namespace {

// Text as roff shows it to the letter: hyphens that can be copied, no macro by accident.
std::string roff(std::string_view text) {
  std::string out;
  // A line that begins with a dot or a quote would be a macro.
  bool fresh = true;
  for (const char c : text) {
    if (fresh && (c == '.' || c == '\'')) out += "\\&";
    fresh = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '~') {
      out += "\\(ti";
    } else if (c == '`') {
      out += "\\(ga";
    } else {
      out += c;
    }
  }
  return out;
}

std::string option_entry(const Flag& flag) {
  const std::string head = flag_head(flag);
  // The last word of a head is its value, which is set in italics.
  const std::size_t end = flag.positional || flag.is_switch() ? head.size() : head.rfind(' ');
  std::string text = ".TP\n\\fB" + roff(head.substr(0, end)) + "\\fR";
  if (end < head.size()) text += " \\fI" + roff(head.substr(end + 1)) + "\\fR";
  return text + "\n" + roff(flag_help(flag)) + "\n";
}

std::string options_of(const Flags& flags) {
  std::string positionals, named;
  for (const Flag& flag : flags.rows()) {
    if (flag.unseen) continue;
    (flag.positional ? positionals : named) += option_entry(flag);
  }
  return positionals + named;
}

std::string verbatim(std::string_view text) { return ".nf\n" + roff(text) + "\n.fi\n"; }

std::string command_part(const Command& command) {
  Flags flags;
  const CommandRun unused = command.declare(flags);
  std::string text = ".SS \"ocrtune " + roff(command.name) + "\"\n" + roff(command.summary) +
                     ".\n.PP\n" + verbatim(usage_of(command, flags)) + options_of(flags) +
                     ".PP\nExamples:\n" + verbatim(command.examples);
  if (*command.notes != '\0') text += ".PP\n" + roff(command.notes) + "\n";
  return text;
}

constexpr const char* kClosing = R"(.SH ENVIRONMENT
.TP
\fBXDG_DATA_HOME\fR
The store is \fIocrtune/runs.sqlite\fR in this folder; without it, in \fI~/.local/share\fR.
.TP
\fBNO_COLOR\fR
Set to anything: no colours. They are used on terminals only.
.TP
\fBCOLUMNS\fR
Width of the output, where the terminal does not say it; 30 at least.
.SH "EXIT STATUS"
.TP
\fB0\fR
Fine.
.TP
\fB1\fR
Negative result: unsafe, inconsistent, drifted, broken.
.TP
\fB2\fR
Usage error.
.TP
\fB3\fR
Environment error: a missing file, no memory, no permission.
.TP
\fB130\fR
Interrupted; results are kept.
)";

}  // namespace

std::string manual_page() {
  std::string page =
      ".TH OCRTUNE 1 \"\" \"ocrtune " + roff(program_version()) +
      "\" \"User Commands\"\n.SH NAME\nocrtune \\- launch settings for OCR training and "
      "inference that are safe and fast here\n";
  page +=
      ".SH SYNOPSIS\n.B ocrtune\n.I command\n[\\fIoptions\\fR] [\\-\\- \\fIyour command\\fR]\n"
      ".SH DESCRIPTION\nMeasures process counts, threads, batch sizes and other settings with "
      "the built-in OCR trainer or with your own launch command, and recommends the setting that "
      "is safe and fast on this machine, with the evidence.\n.PP\n"
      "Answers go to standard output; progress and remarks go to standard error.\n";
  page +=
      ".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint the help, of a command where one "
      "is "
      "named.\n.TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nPrint the versions of ocrtune and its "
      "libraries, and what this build can do.\n.SH COMMANDS\n";
  for (const Command& command : command_table()) {
    if (!command.hidden()) page += command_part(command);
  }
  return page + kClosing;
}

}  // namespace ocrtune
