// ocrtune check: are the configurations of all nodes the same where training needs it?
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/command_list.h"
#include "consistency/consistency.h"
#include "consistency/node_collection.h"
#include "reports/console/consistency_page.h"

namespace ocrtune {
namespace {

struct CheckFlags {
  std::vector<std::string> paths;
  std::string nproc;
  int lr_nproc = 0;
  std::string collect, host, python = "python3";
  bool json = false;
};

Result<std::vector<FlatConfig>> read_configs(const std::vector<std::string>& paths) {
  std::vector<FlatConfig> configs;
  std::set<std::string> names;
  for (const std::string& path : paths) {
    if (is_directory(path)) {
      auto nodes = read_config_folder(path);
      if (!nodes) return nodes.error();
      for (FlatConfig& node : *nodes) configs.push_back(std::move(node));
    } else {
      auto config = read_flat_config(path);
      if (!config) return config.error();
      configs.push_back(std::move(*config));
    }
  }
  for (const FlatConfig& config : configs) {
    if (!names.insert(config.name).second) {
      return Error{ErrorKind::usage, config.name + " is named twice"};
    }
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
  const auto collected = collect_node(node);
  if (!collected) return collected.error();
  for (const std::string& note : collected->notes) {
    std::fprintf(stderr, "ocrtune check: note: %s\n", note.c_str());
  }
  std::printf("Collected in %s; once every node has: ocrtune check %s\n", collected->folder.c_str(),
              shell_quote(flags.collect).c_str());
  return kExitOk;
}

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
  const auto configs = read_configs(flags.paths);
  if (!configs) return configs.error();
  if (configs->size() == 1 && options.nproc.empty()) {
    return Error{ErrorKind::usage,
                 (*configs)[0].name +
                     " is readable, but there is nothing to compare it with: name the other nodes' "
                     "configurations too, or --nproc N to check its batch and samples alone"};
  }
  const auto consistency = compare_configs(*configs, options);
  if (!consistency) return consistency.error();
  const std::string page =
      flags.json ? consistency_json(*consistency) : consistency_text(*consistency, configs->size());
  std::fputs(page.c_str(), stdout);
  return consistency->consistent() ? kExitOk : kExitNegative;
}

}  // namespace

Command check_command() {
  return {"check", "compare the configurations of all nodes before a run",
          "ocrtune check node0/rec.yml node1/rec.yml --nproc 4\n"
          "  ocrtune check --collect shared/nodes rec.yml   # on every node, then: ocrtune check "
          "shared/nodes\n"
          "  ocrtune check collected/   # collected/<node>/{rec.yml,env.txt,versions.txt}\n"
          "Exit code: 0 consistent, 1 differences that break training, 3 unreadable.",
          [](CLI::App& app) {
            auto flags = std::make_shared<CheckFlags>();
            app.add_option("configs", flags->paths,
                           "YAML or JSON configurations, env and versions files, or a folder of "
                           "them (one sub-folder a node)")
                ->required();
            app.add_option("--nproc", flags->nproc,
                           "processes on each node: one number, or one a configuration (4,4,8)");
            app.add_option("--lr-for", flags->lr_nproc,
                           "the number of processes that the learning rate was chosen for")
                ->check(CLI::PositiveNumber);
            app.add_option("--collect", flags->collect,
                           "write this node's configurations, variables, package versions and "
                           "file hashes into a sub-folder of this folder instead");
            app.add_option("--host", flags->host, "the node's name there (default: its host name)");
            app.add_option("--python", flags->python,
                           "the Python that trains, for package versions (default: python3)");
            app.add_flag("--json", flags->json, "print one JSON document");
            return [flags] { return run_check(*flags); };
          }};
}

}  // namespace ocrtune
