// The file that `ocrtune init` writes: settings_text() and server_url() of project.h. It is text
// and no serialised struct, so that its comments can tell what else may be set.
#include <fmt/format.h>

#include "base/text.h"
#include "tuner/project/project.h"

namespace ocrtune {
namespace {

using Kind = Project::Kind;

// A TOML text: escapes as JSON has them, which TOML shares.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string list_text(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) all.push_back(quoted(word));
  return "[" + join(all, ", ") + "]";
}

std::vector<std::string> command_of(const Project& project) {
  const std::string python = project.python.program.empty() ? "python3" : project.python.program;
  const std::string config = project.config.empty() ? "CONFIG.yml" : project.config;
  if (project.kind == Kind::script) {
    std::vector<std::string> command = {python, project.script};
    const std::vector<std::string> flags = tuned_flags(project);
    command.insert(command.end(), flags.begin(), flags.end());
    return command;
  }
  if (project.kind == Kind::paddleocr) {
    // No {placeholders}: the preset "paddleocr" sets the knobs of such a command itself.
    return {python, "-m", "paddle.distributed.launch", project.script, "-c", config};
  }
  std::vector<std::string> command = {python,
                                      "-m",
                                      "torch.distributed.run",
                                      "--nproc_per_node={nproc}",
                                      "--master_port={port}",
                                      project.script,
                                      "--c",
                                      config,
                                      "-o",
                                      "Train.loader.batch_size_per_card={batch}",
                                      "Train.loader.num_workers={workers}",
                                      "Global.output_dir={trial_dir}/output",
                                      "Global.print_batch_step=2"};
  if (project.has_sampler) command.emplace_back("Train.sampler.first_bs={batch}");
  return command;
}

std::string workload_text(const Project& project, const Machine& machine) {
  if (project.kind == Kind::lines) {
    return "# The built-in engine trains on these lines; for your own trainer write instead:\n"
           "#   command = [\"python3\", \"train.py\", \"--batch\", \"{batch}\"]\n" +
           fmt::format("data = {}\n", quoted(project.data)) +
           "# model = \"svtrv2\"           # ocrtune list models\n";
  }
  if (project.serves) {
    return fmt::format(
        "# Your server, started with other settings in each trial, and the address that requests\n"
        "# go to; input = \"PAGE.jpg\" posts a page.\n"
        "mode = \"infer\"\nurl = {}\ncommand = {}\n",
        quoted(server_url(project)), list_text(command_of(project)));
  }
  if (project.kind == Kind::script) {
    return fmt::format(
        "# Your program, started with other settings in each trial. Add the arguments that it\n"
        "# needs; {{nproc}}, {{threads}}, {{batch}} and {{workers}} stand for the values of a "
        "trial.\n"
        "command = {}\n"
        "# How it prints its speed is found in its first lines; or say it:\n"
        "# metric = \"step_time:s/step\"\n",
        list_text(command_of(project)));
  }
  std::string text = "# Your training, started with other settings in each trial.\n";
  text +=
      project.kind == Kind::paddleocr
          ? "preset = \"paddleocr\"\n"
          : "log-reader = \"torch\"\nmetric-of = \"rank\"  # each process tells its own speed\n";
  text += fmt::format("command = {}\n", list_text(command_of(project)));
  for (std::size_t i = 0; i < project.other_configs.size() && i < 5; ++i) {
    if (i == 0) text += "# Other configs:\n";
    text += fmt::format("#   {}\n", quoted(project.other_configs[i]));
  }
  if (project.kind == Kind::openocr && machine.gpus.size() < 2) {
    text += "nproc = [1]  # OpenOCR joins its processes only on several GPUs\n";
  }
  if (project.kind == Kind::openocr && project.batch > 0) {
    text += fmt::format("baseline = \"nproc=1 batch={} workers={}\"  # as the config has it\n",
                        project.batch, project.workers);
  }
  return text;
}

}  // namespace

std::string server_url(const Project& project) {
  const std::string known = project.port.empty() ? "PORT" : project.port;
  return fmt::format("http://127.0.0.1:{}/", project.port_flag.empty() ? known : "{port}");
}

std::string settings_text(const Project& project, const Machine& machine) {
  std::string text =
      "# What `ocrtune tune` runs in this folder; written by `ocrtune init`.\n"
      "# The keys are the flags of `ocrtune tune --help` without their dashes; a flag on the\n"
      "# command line wins over its line here. `ocrtune doctor` tries one step of it.\n\n";
  text += workload_text(project, machine);
  text +=
      "\n# How long to search, and how much memory stays free.\n"
      "budget = \"5m\"\n"
      "memory-margin = 0.1\n"
      "# memory-limit = \"16GiB\"       # less than the machine has, if others need some\n";
  text +=
      "\n# Values to try; a line that is left out tries what makes sense here.\n"
      "# nproc = [1, 2, 4]\n"
      "# batch = [16, 32, 64]\n"
      "# workers = [0, 2, 4]\n";
  return text;
}

}  // namespace ocrtune
