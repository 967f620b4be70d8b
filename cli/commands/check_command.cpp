// ocrtune check: are the configurations of all nodes the same where training needs it?
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/plural.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/commands/host_flags.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/progress.h"
#include "consistency/consistency.h"
#include "consistency/node_collection.h"
#include "hosts/host_survey.h"
#include "reports/catalogue/plain_text.h"
#include "reports/console/consistency_text.h"

namespace ocrtune {
namespace {

struct CheckFlags {
  std::vector<std::string> paths;
  std::string nproc;
  int lr_nproc = 0;
  std::string collect, host, python = "python3";
  HostFlags hosts;
  bool json = false;
};

Result<std::vector<FlatConfig>> read_configs(const std::vector<std::string>& paths) {
  std::vector<FlatConfig> configs;
  std::set<std::string> names;
  for (const std::string& path : paths) {
    if (is_directory(path)) {
      auto nodes = OCRTUNE_TRY(read_config_folder(path));
      for (FlatConfig& node : nodes) configs.push_back(std::move(node));
    } else {
      auto config = OCRTUNE_TRY(read_flat_config(path));
      configs.push_back(std::move(config));
    }
  }
  for (const FlatConfig& config : configs) {
    if (!names.insert(config.name).second) {
      return Error{ErrorKind::usage, config.name + " is named twice"};
    }
  }
  return configs;
}

// Of every host its own files of these names; `notes` gets what a host could not collect.
Result<std::vector<FlatConfig>> ask_hosts(const CheckFlags& flags,
                                          std::vector<std::string>& notes) {
  const HostChoice choice = OCRTUNE_TRY(choose_hosts(flags.hosts));
  const std::string here = OCRTUNE_TRY(real_path("."));
  CardRequest request;
  request.quick = true;
  request.python = flags.python;
  for (const std::string& path : flags.paths) {
    request.configs.push_back(path[0] == '/' ? path : join_path(here, path));
  }
  const auto survey = OCRTUNE_TRY([&] {
    const WorkLine line("asking " + how_many(choice.hosts.size(), "host"), flags.json);
    return survey_hosts(choice.hosts, choice.options, request);
  }());
  for (const LostHost& lost : survey.lost) {
    return Error{ErrorKind::missing, lost.host + ": " + lost.reason};
  }
  std::vector<FlatConfig> configs;
  for (const HostCard& card : survey.cards) {
    configs.push_back(card.config);
    configs.back().name = card.host;
    for (const std::string& note : card.notes) notes.push_back(card.host + ": " + note);
  }
  return configs;
}

// This node's part of what another `check` compares.
Result<int> collect(const CheckFlags& flags) {
  NodeCollection node;
  node.directory = flags.collect;
  node.configs = flags.paths;
  node.python = flags.python;
  for (const auto& [name, value] : process_environment()) node.environment[name] = value;
  node.host = flags.host;
  if (node.host.empty()) {
    node.host = std::string(trim(read_file("/proc/sys/kernel/hostname").value_or("node")));
  }
  if (node.host.find('/') != std::string::npos || node.host[0] == '.') {
    return Error{ErrorKind::usage, "--host '" + node.host + "' is no name of a folder"};
  }
  OCRTUNE_TRY(make_output_folder(flags.collect));
  const auto collected = OCRTUNE_TRY(collect_node(node));
  for (const std::string& note : collected.notes) {
    std::fprintf(stderr, "ocrtune check: note: %s\n", plain_line(note).c_str());
  }
  std::printf("Collected in %s; once every node has: ocrtune check %s\n", collected.folder.c_str(),
              shell_quote(flags.collect).c_str());
  return kExitOk;
}

constexpr std::size_t kMaxPage = 16 << 20;

Result<int> run_check(const CheckFlags& flags) {
  if (!flags.collect.empty()) return collect(flags);
  ConsistencyOptions options;
  if (flags.lr_nproc > 0) options.lr_nproc = flags.lr_nproc;
  if (!flags.nproc.empty()) {
    for (const std::string& part : split(flags.nproc, ',')) {
      const auto number = parse_integer(part);
      if (!number || *number < 1 || *number > 1000000) {
        return Error{ErrorKind::usage, "--nproc: '" + part + "' is not a number of processes"};
      }
      options.nproc.push_back(static_cast<int>(*number));
    }
  }
  std::vector<std::string> notes;
  const auto configs =
      OCRTUNE_TRY(flags.hosts.given ? ask_hosts(flags, notes) : read_configs(flags.paths));
  if (configs.size() == 1 && options.nproc.empty()) {
    return Error{ErrorKind::usage,
                 configs[0].name +
                     " is readable, but there is nothing to compare it with: name the other nodes' "
                     "configurations too, or --nproc N to check its batch and samples alone"};
  }
  auto consistency = OCRTUNE_TRY(compare_configs(configs, options));
  consistency.notes.insert(consistency.notes.end(), notes.begin(), notes.end());
  const std::string page =
      flags.json ? consistency_json(consistency)
                 : plain_text(consistency_text(consistency, configs.size()), kMaxPage);
  std::fputs(page.c_str(), stdout);
  return consistency.consistent() ? kExitOk : kExitNegative;
}

}  // namespace

CommandRun declare_check(Flags& cli) {
  auto flags = std::make_shared<CheckFlags>();
  cli.argument("configs", flags->paths,
               "YAML or JSON configurations, env and versions files, or a folder of them (one "
               "sub-folder a node)")
      .require("name the configurations, for example: ocrtune check node0/rec.yml node1/rec.yml")
      .file();
  cli.option("--nproc", flags->nproc, "N,...",
             "Processes on each node: one number, or one a configuration (4,4,8)");
  cli.option("--lr-for", flags->lr_nproc, "N",
             "Number of processes that the learning rate was chosen for")
      .default_text("")
      .range(1, 1'000'000);
  cli.option("--collect", flags->collect, "DIR",
             "Write this node's configurations, variables, package versions and file hashes into a "
             "sub-folder of DIR instead")
      .folder();
  cli.option("--host", flags->host, "NAME", "Name of this node there")
      .default_text("its host name");
  cli.option("--python", flags->python, "PROGRAM", "Python that trains, for package versions");
  declare_hosts(cli, flags->hosts);
  cli.json(flags->json);
  return [flags] { return run_check(*flags); };
}

}  // namespace ocrtune
