#include "cli/shell/manual.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "tuner/store/program_versions.h"

namespace ocrtune {
namespace {

// Text as roff shows it to the letter: hyphens that can be copied, no macro by accident.
std::string roff(std::string_view text) {
  std::string out;
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

std::string option_entry(const CLI::Option& option) {
  const bool positional = option.get_positional();
  std::string head = "\\fB" + roff(option.get_name(positional, !positional)) + "\\fR";
  const std::string type = option.get_expected_max() > 0 ? option.get_type_name() : "";
  if (!type.empty()) head += " \\fI" + roff(type) + "\\fR";
  if (option.get_expected_max() > 1) head += " ...";
  if (option.get_required()) head += " (required)";
  std::string help = option.get_description();
  if (!option.get_default_str().empty()) help += " (default: " + option.get_default_str() + ")";
  return ".TP\n" + head + "\n" + roff(trim(help)) + "\n";
}

std::string options_of(const CLI::App& command) {
  std::string positionals, named;
  for (const CLI::Option* option : command.get_options({})) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? positionals : named) += option_entry(*option);
  }
  return positionals + named;
}

std::string verbatim(std::string_view text) { return ".nf\n" + roff(text) + "\n.fi\n"; }

std::string command_part(const CLI::App& command) {
  return ".SS \"ocrtune " + roff(command.get_name()) + "\"\n" + roff(command.get_description()) +
         ".\n" + options_of(command) + ".PP\n" + verbatim(command.get_footer());
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
Width of the output, where the terminal does not say it; 60 at least.
.SH "EXIT STATUS"
.TP
\fB0\fR
Fine.
.TP
\fB1\fR
The answer is no: unsafe, inconsistent, drifted, broken.
.TP
\fB2\fR
Wrong use.
.TP
\fB3\fR
The world said no: a missing file, no memory, no permission.
.TP
\fB130\fR
Interrupted; results are kept.
)";

}  // namespace

std::string manual_page(const CLI::App& app) {
  std::string page =
      ".TH OCRTUNE 1 \"\" \"ocrtune " + roff(program_version()) +
      "\" \"User Commands\"\n.SH NAME\nocrtune \\- launch settings for OCR training and "
      "inference that are safe and fast here\n";
  page +=
      ".SH SYNOPSIS\n.B ocrtune\n.I command\n[\\fIoptions\\fR] [\\-\\- \\fIyour command\\fR]\n"
      ".SH DESCRIPTION\nMeasures process counts, threads, batch sizes and other settings over a "
      "real "
      "OCR training core, or over a launch command of yours, and recommends the one that is safe "
      "and "
      "fast on this machine, with the evidence.\n.PP\n"
      "Answers go to standard output; progress and remarks go to standard error.\n";
  page += ".SH OPTIONS\n" + options_of(app) + ".SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) {
         return !each->get_group().empty() && !each->get_name().empty();
       })) {
    page += command_part(*command);
  }
  return page + kClosing;
}

}  // namespace ocrtune
