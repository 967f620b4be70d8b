// A row of export_formats() is a writer and, where a format cannot hold every value, a check that
// refuses before anything is written. Each writer quotes by its reader's own rules.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "base/files.h"
#include "base/plural.h"
#include "base/process.h"
#include "base/text.h"
#include "reports/catalogue/plain_text.h"
#include "reports/export/deployment.h"
#include "trial/workloads/command/command_fill.h"

namespace ocrtune {
namespace {

// A double-quoted text of YAML, which takes JSON's. Beyond JSON, DEL, C1 characters, U+2028 and
// U+2029 are not printable there or end a line.
std::string yaml_text(const std::string& text) {
  const std::string json =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string out;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const auto byte = [&](std::size_t i) {
      return at + i < json.size() ? static_cast<unsigned char>(json[at + i]) : 0U;
    };
    if (byte(0) == 0x7f) {
      out += "\\u007f";
    } else if (byte(0) == 0xc2 && byte(1) < 0xa0) {
      out += fmt::format("\\u{:04x}", byte(1));
      at += 1;
    } else if (byte(0) == 0xe2 && byte(1) == 0x80 && (byte(2) == 0xa8 || byte(2) == 0xa9)) {
      out += fmt::format("\\u{:04x}", 0x2000 + byte(2) - 0x80);
      at += 2;
    } else {
      out += json[at];
    }
  }
  return out;
}

// Compose takes "$NAME" and Kubernetes "$(NAME)" for variables of their own, and "$$" for "$".
std::string dollars_doubled(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled += c == '$' ? "$$" : std::string(1, c);
  return doubled;
}

std::uint64_t mebibytes(std::uint64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

std::string head(const Deployment& deployment, const char* use) {
  std::string text =
      fmt::format("# Run {}: {}\n", plain_line(deployment.run_id), plain_line(deployment.setting));
  if (!deployment.measured.empty()) text += "# " + plain_line(deployment.measured) + "\n";
  text += fmt::format("# {}\n", use);
  if (!deployment.caution.empty()) text += "# " + plain_line(deployment.caution) + "\n";
  return text;
}

// Binding as it was measured, where another machine may have other CPUs.
std::string pinned_text(const Deployment& deployment, const std::string& indent) {
  std::string text;
  for (const auto& [name, value] : deployment.pinned) {
    text += fmt::format("{}# on the machine that was measured: {}={}\n", indent, name,
                        plain_line(value));
  }
  return text;
}

std::string command_text(const Deployment& deployment) {
  std::vector<std::string> words;
  for (const std::string& word : deployment.launch.arguments) {
    // A placeholder stays readable.
    words.push_back(placeholders_of(word) == std::vector<std::string>{word} ? "'" + word + "'"
                                                                            : shell_quote(word));
  }
  return join(words, " ");
}

std::string folder_text(const Deployment& deployment) {
  return deployment.launch.directory.empty() ? "<DIRECTORY>" : deployment.launch.directory;
}

std::string exports_text(const Deployment& deployment) {
  std::string text;
  for (const auto& [name, value] : deployment.launch.environment) {
    if (is_variable_name(name)) text += fmt::format("export {}={}\n", name, shell_quote(value));
  }
  return text;
}

std::string write_env(const Deployment& deployment) {
  std::string text = head(deployment, "Use: . ./FILE, then the command of the last line");
  text += exports_text(deployment);
  for (const auto& [name, value] : deployment.pinned) {
    text +=
        fmt::format("export {}={}  # of the machine that was measured\n", name, shell_quote(value));
  }
  return text + "# " + plain_line(shell_line(command_text(deployment)), 65536) + "\n";
}

// Docker takes what stands behind "=" as it is, to the end of the line.
std::string write_docker_env(const Deployment& deployment) {
  std::string text = head(deployment, "Use: docker run --env-file FILE");
  for (const auto& [name, value] : deployment.launch.environment) {
    if (!is_variable_name(name)) continue;
    // fits_docker_env() has refused such a value; this keeps the file whole if it was not asked.
    const bool one_line = value.find_first_of("\r\n") == std::string::npos;
    text += fmt::format("{}{}={}\n", one_line ? "" : "# more than one line: ", name,
                        one_line ? value : plain_line(value));
  }
  if (deployment.memory_policy) text += "# numactl needs: docker run --cap-add SYS_NICE\n";
  return text + pinned_text(deployment, "");
}

// What a rootless engine needs before it can limit CPUs: systemd delegates memory and pids alone.
constexpr const char* kRootlessNote =
    "    # A rootless engine limits CPUs only where the user's service is given the controllers:\n"
    "    # Delegate=cpu cpuset io memory pids in "
    "/etc/systemd/system/user@.service.d/delegate.conf\n";

std::string write_compose(const Deployment& deployment) {
  const std::string folder = yaml_text(dollars_doubled(folder_text(deployment)));
  std::string text = head(deployment, "Use: docker compose -f FILE up");
  text += "services:\n  ocr:\n    image: \"<IMAGE>\"\n";
  text += fmt::format(
      "    working_dir: {}\n    volumes:\n      - {{type: bind, source: {}, target: {}}}\n", folder,
      folder, folder);
  text += "    command:\n";
  for (const std::string& word : deployment.launch.arguments) {
    text += "      - " + yaml_text(dollars_doubled(word)) + "\n";
  }
  if (!deployment.launch.environment.empty()) text += "    environment:\n";
  for (const auto& [name, value] : deployment.launch.environment) {
    text += fmt::format("      {}: {}\n", yaml_text(name), yaml_text(dollars_doubled(value)));
  }
  text += pinned_text(deployment, "    ");
  if (deployment.service) {
    text += "    restart: unless-stopped\n    ports:\n";
    for (const std::string& port : deployment.service->ports) {
      text += fmt::format("      - \"{0}:{0}\"\n", port);
    }
  }
  text += kRootlessNote;
  text += fmt::format("    cpus: {}\n", deployment.cpus);
  if (deployment.memory_policy) text += "    cap_add: [SYS_NICE]  # for numactl\n";
  if (deployment.memory_bytes > 0) {
    // Docker refuses less than 6 MiB.
    const std::uint64_t size = std::max<std::uint64_t>(6, mebibytes(deployment.memory_bytes));
    text += fmt::format("    mem_limit: {}m\n    shm_size: {}m\n", size, size);
  }
  if (deployment.gpus > 0) {
    text += fmt::format(
        "    deploy:\n      resources:\n        reservations:\n          devices:\n"
        "            - {{driver: nvidia, count: {}, capabilities: [gpu]}}\n",
        deployment.gpus);
  }
  return text;
}

// The command starts the other hosts' part itself: trial/workloads/command/command_fill.h.
bool starts_other_hosts(const Deployment& deployment) {
  const std::string text = exports_text(deployment) + command_text(deployment);
  return text.find("<HOSTLIST>") != std::string::npos &&
         text.find("<NODE_RANK>") == std::string::npos &&
         text.find("<MASTER_ADDR>") == std::string::npos;
}

// For steps that the command itself starts: since Slurm 22.05 srun does not inherit the job's
// --cpus-per-task, and where Slurm binds, such a step gets one core.
std::string step_cpus_text(const Deployment& deployment) {
  return fmt::format("export SRUN_CPUS_PER_TASK={}\n", deployment.cpus);
}

// Variables and command as each node's task of a job step has them; Slurm tells it its number.
std::string srun_text(const Deployment& deployment) {
  std::string script = exports_text(deployment) + "exec " + command_text(deployment);
  // They stand in single quotes, as every word with such a character does.
  replace_all(script, "<NODE_RANK>", "'\"$SLURM_NODEID\"'");
  replace_all(script, "<MASTER_ADDR>", "'\"$OCRTUNE_MASTER\"'");
  replace_all(script, "<HOSTLIST>", "'\"$OCRTUNE_HOSTLIST\"'");
  return "export OCRTUNE_HOSTLIST=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | paste -sd,)\n"
         "export OCRTUNE_MASTER=${OCRTUNE_HOSTLIST%%,*}\n" +
         (starts_other_hosts(deployment)
              ? step_cpus_text(deployment) + script
              : fmt::format("exec srun --kill-on-bad-exit=1 --cpus-per-task={}{} sh -c {}",
                            deployment.cpus, deployment.whole_cores ? " --hint=nomultithread" : "",
                            shell_quote(script))) +
         "\n";
}

std::string write_sbatch(const Deployment& deployment) {
  std::string text = "#!/bin/bash\n" + head(deployment, "Use: sbatch FILE");
  text += fmt::format(
      "#SBATCH --job-name=ocrtune-{}\n#SBATCH --nodes={}\n{}"
      "#SBATCH --cpus-per-task={}\n",
      deployment.run_id, deployment.nodes,
      deployment.nodes == 1 ? "#SBATCH --ntasks=1\n" : "#SBATCH --ntasks-per-node=1\n",
      deployment.cpus);
  // Where Slurm counts hardware threads, CPUs that were measured as whole cores would get half.
  if (deployment.whole_cores) text += "#SBATCH --hint=nomultithread\n";
  if (deployment.memory_bytes > 0) {
    text += fmt::format("#SBATCH --mem={}M\n", mebibytes(deployment.memory_bytes));
  }
  if (deployment.gpus > 0) {
    text += fmt::format("#SBATCH --gpus{}={}\n", deployment.nodes == 1 ? "" : "-per-node",
                        deployment.gpus);
  }
  text += "#SBATCH --time=<TIME>\n#SBATCH --partition=<PARTITION>\nset -eu\n";
  const bool alone = deployment.nodes == 1;
  if (alone) text += step_cpus_text(deployment) + exports_text(deployment);
  text += pinned_text(deployment, "") + "cd " + shell_quote(folder_text(deployment)) + "\n";
  return text + (alone ? "exec " + command_text(deployment) + "\n" : srun_text(deployment));
}

// One ssh a host that is to be started, each with its own number; the exit code is of one that
// failed.
std::string write_hosts(const Deployment& deployment) {
  std::string text = "#!/bin/sh\n" + head(deployment, "Use: sh FILE, where ssh reaches the hosts");
  std::vector<std::string> names;
  for (const std::string& host : deployment.hosts) names.push_back(plain_host(host));
  const std::size_t started = starts_other_hosts(deployment) ? 1 : names.size();
  for (std::size_t i = 0; i < started; ++i) {
    std::string script = "set -e\ncd " + shell_quote(folder_text(deployment)) + "\n" +
                         exports_text(deployment) + "exec " + command_text(deployment);
    replace_all(script, "<NODE_RANK>", fmt::format("{}", i));
    replace_all(script, "<MASTER_ADDR>", names[0]);
    replace_all(script, "<HOSTLIST>", join(names, ","));
    // Without -n ssh would read the input of this script.
    text += "ssh -n " + shell_quote(deployment.hosts[i]) + " " + shell_quote(script) +
            " & pids=\"$pids $!\"\n";
  }
  return text + "code=0\nfor pid in $pids; do wait \"$pid\" || code=$?; done\nexit $code\n";
}

std::string write_hostfile(const Deployment& deployment) {
  std::string text = head(
      deployment, "Use: mpirun --hostfile FILE, deepspeed --hostfile FILE, ocrtune --hosts FILE");
  for (const std::string& host : deployment.hosts) {
    text += fmt::format("{} slots={}\n", plain_host(host), deployment.ranks);
  }
  return text;
}

// In double quotes, as systemd.syntax(7) reads them; "%" begins a specifier, "$" a variable.
std::string systemd_text(const std::string& text, bool variables) {
  std::string out = "\"";
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '%' || (c == '$' && variables)) out += c;
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// What a file in UTF-8 would change.
Status fits_utf8(const Deployment& deployment) {
  const auto unfit = [](const std::string& what, const std::string& value) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{} '{}' is not UTF-8: --format env or sbatch keeps its bytes", what,
                             plain_line(value))};
  };
  const Launch& launch = deployment.launch;
  const auto is_kept = [](const std::string& value) { return valid_utf8(value) == value; };
  if (!is_kept(launch.directory)) return unfit("the folder", launch.directory);
  for (const std::string& word : launch.arguments) {
    if (!is_kept(word)) return unfit("the command's word", word);
  }
  for (const auto& [name, value] : launch.environment) {
    if (!is_kept(value)) return unfit(name, value);
  }
  return Status();
}

// Docker's format has no quotes.
Status fits_docker_env(const Deployment& deployment) {
  for (const auto& [name, value] : deployment.launch.environment) {
    if (value.find_first_of("\r\n") == std::string::npos) continue;
    return Error{ErrorKind::unsupported, name +
                                             " has several lines, which no such file can hold: "
                                             "--format compose can"};
  }
  return Status();
}

// systemd takes no control characters in a folder (its key has no quotes), and of those in a
// variable the tab and the newline.
Status fits_systemd(const Deployment& deployment) {
  const auto holds = [](const std::string& text, std::string_view taken) {
    return std::any_of(text.begin(), text.end(), [&](char c) {
      const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
      return control && taken.find(c) == std::string_view::npos;
    });
  };
  constexpr const char* kWhy = "{} '{}' has control characters, which systemd does not take{}";
  const Launch& launch = deployment.launch;
  if (holds(launch.directory, "")) {
    return Error{ErrorKind::unsupported,
                 fmt::format(kWhy, "the folder", plain_line(launch.directory),
                             ": rename it, or --format env")};
  }
  for (const auto& [name, value] : launch.environment) {
    if (!holds(value, "\t\n")) continue;
    return Error{ErrorKind::unsupported,
                 fmt::format(kWhy, name, plain_line(value), ": --format env keeps them")};
  }
  return fits_utf8(deployment);
}

std::string write_systemd(const Deployment& deployment) {
  std::string text = head(deployment, "Use: /etc/systemd/system/ocr.service");
  // Type=exec: a program that cannot be started is an error of the unit.
  text += fmt::format("[Unit]\nDescription=OCR, run {}\n\n[Service]\nType=exec\nUser=<USER>\n",
                      deployment.run_id);
  std::string folder = folder_text(deployment);
  std::string escaped;
  for (const char c : folder) escaped += c == '%' ? "%%" : std::string(1, c);
  // The key takes no quotes: a backslash at its end would join the next line, blanks are cut off.
  if (ends_with(escaped, "\\") || ends_with(escaped, " ")) escaped += '/';
  text += "WorkingDirectory=" + escaped + "\n";
  for (const auto& [name, value] : deployment.launch.environment) {
    if (!is_variable_name(name)) continue;
    text += "Environment=" + systemd_text(name + "=" + value, false) + "\n";
  }
  text += pinned_text(deployment, "");
  if (deployment.service) text += "Restart=on-failure\nRestartSec=5\n";
  text += "ExecStart=";
  bool first = true;
  for (const std::string& word : deployment.launch.arguments) {
    // The manager searches fewer folders than a shell, and takes no path that begins elsewhere.
    std::string full = word;
    if (first && word.find('/') == std::string::npos) full = find_executable(word).value_or(word);
    if (first && full.find('/') != std::string::npos && full[0] != '/') {
      full = join_path(folder, full);
    }
    text += (first ? "" : " ") + systemd_text(full, !first);
    first = false;
  }
  text += fmt::format("\nCPUQuota={}%\n", 100 * deployment.cpus);
  if (deployment.memory_bytes > 0) {
    text += fmt::format("MemoryMax={}M\n", mebibytes(deployment.memory_bytes));
  }
  return text + "\n[Install]\nWantedBy=multi-user.target\n";
}

std::string k8s_resources(const Deployment& deployment) {
  const std::string memory =
      deployment.memory_bytes > 0
          ? fmt::format(", memory: \"{}Mi\"", mebibytes(deployment.memory_bytes))
          : "";
  const std::string gpus =
      deployment.gpus > 0 ? fmt::format(", nvidia.com/gpu: \"{}\"", deployment.gpus) : "";
  // Requests equal limits: Kubernetes then puts the pod into the class Guaranteed.
  const std::string amounts = fmt::format("{{cpu: \"{}\"{}{}}}", deployment.cpus, memory, gpus);
  return fmt::format("          resources:\n            requests: {0}\n            limits: {0}\n",
                     amounts);
}

// What begins the object, down to its pods.
std::string k8s_job(const Deployment& deployment) {
  return fmt::format(
      "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {}\nspec:\n  backoffLimit: 0\n"
      "  template:\n    spec:\n      restartPolicy: Never\n",
      yaml_text(object_name(deployment.run_id)));
}

std::string k8s_deployment(const Deployment& deployment) {
  const std::string name = yaml_text(object_name(deployment.run_id));
  return fmt::format(
      "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {0}\nspec:\n  replicas: {1}{2}\n"
      "  selector:\n    matchLabels: {{app: {0}}}\n  template:\n    metadata:\n"
      "      labels: {{app: {0}}}\n    spec:\n      topologySpreadConstraints:\n"
      "        - maxSkew: 1\n          topologyKey: topology.kubernetes.io/zone\n"
      "          whenUnsatisfiable: ScheduleAnyway\n"
      "          labelSelector: {{matchLabels: {{app: {0}}}}}\n",
      name, deployment.service->replicas,
      deployment.service->planned ? ""
                                  : "  # how many, `ocrtune plan` says: export --with plan.json");
}

// GET is answered where the run asked with it; a path that takes POST alone would never be ready.
std::string k8s_ports(const DeployedService& service) {
  std::string text = "          ports:\n";
  for (const std::string& port : service.ports) {
    text += fmt::format("            - {{containerPort: {}}}\n", port);
  }
  const std::string& first = service.ports[0];
  text += "          readinessProbe:\n";
  text += service.answers_get
              ? fmt::format("            httpGet: {{path: {}, port: {}}}\n",
                            yaml_text(service.path), first)
              : fmt::format(
                    "            tcpSocket: {{port: {}}}  # {} takes POST: a path that "
                    "answers GET shows more\n",
                    first, plain_line(service.path));
  return text + "            periodSeconds: 5\n";
}

std::string k8s_service(const Deployment& deployment) {
  const std::string name = yaml_text(object_name(deployment.run_id));
  std::string text = fmt::format(
      "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: {0}\nspec:\n"
      "  selector: {{app: {0}}}\n  ports:\n",
      name);
  const auto& ports = deployment.service->ports;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    text +=
        fmt::format("    - {{name: http{}, port: {}, targetPort: {}}}\n", i, ports[i], ports[i]);
  }
  return text;
}

std::string write_k8s(const Deployment& deployment) {
  std::string text = head(deployment, "Use: kubectl apply -f FILE");
  text += deployment.service ? k8s_deployment(deployment) : k8s_job(deployment);
  text += fmt::format(
      "      containers:\n        - name: ocr\n"
      "          image: \"<IMAGE>\"\n          workingDir: {}\n          command:\n",
      yaml_text(folder_text(deployment)));
  for (const std::string& word : deployment.launch.arguments) {
    text += "            - " + yaml_text(dollars_doubled(word)) + "\n";
  }
  if (!deployment.launch.environment.empty()) text += "          env:\n";
  for (const auto& [name, value] : deployment.launch.environment) {
    text += fmt::format("            - {{name: {}, value: {}}}\n", yaml_text(name),
                        yaml_text(dollars_doubled(value)));
  }
  text += pinned_text(deployment, "          ");
  if (deployment.service) text += k8s_ports(*deployment.service);
  if (deployment.memory_policy) {  // for numactl
    text += "          securityContext: {capabilities: {add: [SYS_NICE]}}\n";
  }
  text += k8s_resources(deployment);
  text += fmt::format(
      "          volumeMounts:\n            - {{name: data, mountPath: {}}}\n"
      "            - {{name: shm, mountPath: /dev/shm}}\n"
      "      volumes:\n        - name: data\n"
      "          persistentVolumeClaim: {{claimName: \"<CLAIM>\"}}\n"
      "        - name: shm\n          emptyDir: {{medium: Memory}}\n",
      yaml_text(folder_text(deployment)));
  return deployment.service ? text + k8s_service(deployment) : text;
}

// Keys of a PaddleOCR config by their dotted path; values are YAML already.
struct ConfigTree {
  std::map<std::string, ConfigTree> below;
  std::string value;

  void write(int depth, std::string& text) const {
    for (const auto& [key, node] : below) {
      text += std::string(static_cast<std::size_t>(2 * depth), ' ') + key + ":";
      text += node.below.empty() ? " " + node.value + "\n" : "\n";
      node.write(depth + 1, text);
    }
  }
};

bool is_config_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./[], ").find(c) != std::string_view::npos;
  });
}

// A list, a mapping or a quoted text, which -o reads as YAML: true of one line that is one.
bool is_flow_yaml(const std::string& text) {
  if (text.empty() || std::string_view("[{'\"").find(text[0]) == std::string_view::npos)
    return false;
  if (text.find('\n') != std::string::npos) return false;
  try {
    return YAML::Load(text).IsDefined();
  } catch (const YAML::Exception&) {
    return false;
  }
}

std::string config_value(const std::string& text) {
  if (text.empty()) return "null";
  return is_config_word(text) || is_flow_yaml(text) ? text : yaml_text(text);
}

std::string write_paddleocr_yaml(const Deployment& deployment) {
  ConfigTree tree;
  bool group = false;
  for (const std::string& word : deployment.launch.arguments) {
    if (starts_with(word, "-")) group = word == "-o" || word == "--opt";
    const std::size_t equals = word.find('=');
    if (!group || equals == std::string::npos || equals == 0) continue;
    ConfigTree* at = &tree;
    for (const std::string& key : split(word.substr(0, equals), '.')) {
      if (!is_config_word(key)) at = nullptr;
      if (at == nullptr) break;
      at = &at->below[key];
    }
    if (at == nullptr) continue;
    at->value = config_value(word.substr(equals + 1));
  }
  std::string text = head(deployment, "Use: put these keys into the config given with -c");
  if (tree.below.empty()) {
    return text + "# the command sets no keys with -o: this run has nothing for a config\n{}\n";
  }
  tree.write(0, text);
  return text;
}

std::string write_markdown(const Deployment& deployment) {
  std::string text = deployment.summary;
  if (!deployment.caution.empty()) text += "\n" + deployment.caution + ":\n";
  text += "\n```sh\n" + exports_text(deployment);
  text += pinned_text(deployment, "");
  text +=
      "cd " + shell_quote(folder_text(deployment)) + "\n" + command_text(deployment) + "\n```\n";
  if (deployment.memory_bytes > 0) {
    text += fmt::format("\nLimits: {}, {} of memory (measured peak and margin).\n",
                        how_many(deployment.cpus, "CPU"), format_bytes(deployment.memory_bytes));
  }
  return text;
}

}  // namespace

const std::vector<ExportFormat>& export_formats() {
  static const std::vector<ExportFormat> kTable = {
      {"env", "variables for a shell to source", write_env},
      {"docker-env", "variables for docker run --env-file", write_docker_env, fits_docker_env},
      {"compose", "a service for docker compose", write_compose, fits_utf8},
      {"sbatch", "a batch script for Slurm", write_sbatch},
      {"hosts", "a script of one ssh a host", write_hosts},
      {"hostfile", "the hosts with their processes, for Open MPI and DeepSpeed", write_hostfile},
      {"systemd", "a service unit", write_systemd, fits_systemd},
      {"k8s", "a Job for Kubernetes, of a server a Deployment and its Service", write_k8s,
       fits_utf8},
      {"paddleocr-yaml", "the keys of a PaddleOCR config", write_paddleocr_yaml, fits_utf8},
      {"markdown", "the answer with its command, for a note or a ticket", write_markdown},
  };
  return kTable;
}

}  // namespace ocrtune
