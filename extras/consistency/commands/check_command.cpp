// ocrtune check: are the configurations of all nodes the same where training needs it?
#include "extras/consistency/commands/check_command.h"

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/terminal.h"
#include "extras/consistency/consistency.h"
#include "extras/consistency/node_collection.h"
#include "extras/consistency/reports/consistency_text.h"
#include "reports/catalogue/plain_text.h"

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

AskHostConfigs g_host_configs = nullptr;

// Of every host its own files of these names.
Result<HostConfigs> ask_hosts(const CheckFlags& flags) {
  ConfigRequest request{{}, flags.python, flags.json};
  const std::string here = OCRTUNE_TRY(real_path("."));
  for (const std::string& path : flags.paths) {
    request.paths.push_back(path[0] == '/' ? path : join_path(here, path));
  }
  return g_host_configs(flags.hosts, request);
}

Result<HostConfigs> configs_of(const CheckFlags& flags) {
  if (flags.hosts.given) return ask_hosts(flags);
  return HostConfigs{OCRTUNE_TRY(read_configs(flags.paths)), {}};
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
    say_line("ocrtune check: note: " + note);
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
  const auto [configs, notes] = OCRTUNE_TRY(configs_of(flags));
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

void set_host_configs(AskHostConfigs ask) { g_host_configs = ask; }

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
