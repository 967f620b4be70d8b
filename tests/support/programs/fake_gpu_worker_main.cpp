// A GPU worker without a GPU, for tests of what becomes of a step: the machine is the stub NVML's,
// and OCRTUNE_FAKE_GPU names a file with what goes wrong. Lines, the first that fits counts:
//
//   KIND mode=MODE [pair=0-1] [ranks=2] [with=NCCL_P2P_DISABLE] [without=NAME] [rank=0] [from=0]
//
// Modes: zeros, stale, canary, mirror (wrong data), hang, ignore_sigterm, segv, exit, killed, fail,
// garbage, silent, partial_line, huge_output, double_fork, log_only (NCCL takes shared memory
// though P2P was asked for), too_far (P2P beyond NCCL_P2P_LEVEL), warns (fails with a WARN line in
// its log), no_log, diag_ok, diag_mismatch, diag_import (NCCL's own diagnostics, where they are
// asked for), wedge (hangs, and the GPU stays busy), old_driver, little_memory, no_nccl,
// one_device, unsupported, flaky (every second run is wrong; needs OCRTUNE_FAKE_STATE, a folder),
// slow.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "probes/gpu/nvml.h"
#include "probes/p2p/steps/gpu_finding.h"

namespace {

using namespace ocrtune;  // NOLINT(google-build-using-namespace): a program of one file

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

struct Fake {
  std::string kind;
  int rank = 0, world = 1;
  std::string folder;
  GpuReport report;
  std::vector<int> devices;  // the driver's numbers of the visible ones
};

std::string pair_name(const Fake& fake) {
  if (fake.devices.size() != 2) return "";
  return std::to_string(fake.devices[0]) + "-" + std::to_string(fake.devices[1]);
}

std::map<std::string, std::string> rule_of(const Fake& fake) {
  std::ifstream in(variable("OCRTUNE_FAKE_GPU"));
  for (std::string text; std::getline(in, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind != fake.kind) continue;
    std::map<std::string, std::string> rule;
    for (std::string word; line >> word;) {
      rule[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    }
    if (rule.count("pair") != 0 && rule["pair"] != pair_name(fake)) continue;
    if (rule.count("ranks") != 0 && rule["ranks"] != std::to_string(fake.world)) continue;
    if (rule.count("rank") != 0 && rule["rank"] != std::to_string(fake.rank)) continue;
    if (rule.count("with") != 0 && variable(rule["with"].c_str()).empty()) continue;
    if (rule.count("without") != 0 && !variable(rule["without"].c_str()).empty()) continue;
    return rule;
  }
  return {};
}

GpuFinding finding(const Fake& fake, const std::string& what, const std::string& outcome) {
  GpuFinding out;
  out.what = what;
  out.outcome = outcome;
  out.rank = fake.rank;
  return out;
}

[[noreturn]] void hang() {
  while (true) ::pause();
}

void leave_a_daemon() {
  if (::fork() == 0) {
    ::setsid();
    if (::fork() == 0) hang();
    ::_exit(0);
  }
}

// Modes that end the process, or never do.
void misbehave(const std::string& mode) {
  if (mode == "ignore_sigterm") std::signal(SIGTERM, SIG_IGN);
  if (mode == "wedge") {
    static_cast<void>(write_file(join_path(variable("OCRTUNE_FAKE_STATE"), "wedged"), "1"));
  }
  if (mode == "hang" || mode == "ignore_sigterm" || mode == "wedge") hang();
  if (mode == "segv") std::raise(SIGSEGV);
  if (mode == "killed") std::raise(SIGKILL);
  if (mode == "exit") {
    say("CUDA error 719: unspecified launch failure\n");
    std::exit(3);
  }
  if (mode == "silent") std::exit(0);
  if (mode == "garbage") {
    for (int i = 0; i < 5000; ++i) say(std::string("\x00\xff{\"ocrtune_gpu_finding\":{]\n", 27));
    std::exit(0);
  }
  if (mode == "partial_line") {
    say("{\"ocrtune_gpu_finding\":{\"what\":\"end\",\"outcome\":\"pass");
    std::exit(0);
  }
  if (mode == "huge_output") {
    const std::string line(1 << 16, 'x');
    for (int i = 0; i < 200; ++i) std::fputs(line.c_str(), stderr);
    say("\n");
  }
  if (mode == "double_fork") leave_a_daemon();
}

void say_devices(const Fake& fake, const std::string& mode) {
  GpuFinding versions = finding(fake, "versions", "passed");
  versions.words = {{"nccl_version", "2.28.9"}};
  if (mode == "no_nccl") {
    versions.words.clear();
    versions.detail = "libnccl.so.2: cannot open shared object file";
  }
  say(gpu_finding_line(versions));
  const bool little = variable("OCRTUNE_FAKE_LITTLE") == "1";
  const std::size_t count = mode == "one_device" ? 1 : fake.devices.size();
  for (std::size_t i = 0; i < count; ++i) {
    GpuFinding device = finding(fake, "device", "passed");
    device.from = static_cast<int>(i);
    device.figures["free_bytes"] = little ? 3e8 : 2e10;
    say(gpu_finding_line(device));
    for (std::size_t k = 0; k < fake.devices.size(); ++k) {
      for (const GpuLink& link : fake.report.links) {
        if (link.from != fake.devices[i] || link.to != fake.devices[k]) continue;
        GpuFinding peer = finding(fake, "peer", link.read == "ok" ? "passed" : "refused");
        peer.from = static_cast<int>(i);
        peer.to = static_cast<int>(k);
        say(gpu_finding_line(peer));
      }
    }
  }
}

bool is_wrong(const std::string& mode) {
  return mode == "zeros" || mode == "stale" || mode == "canary" || mode == "mirror" ||
         mode == "flaky";
}

void say_pair(const Fake& fake, const std::string& mode, const std::string& only_from) {
  for (int from = 0; from < 2; ++from) {
    const bool here = only_from.empty() || only_from == std::to_string(from);
    const bool wrong = is_wrong(mode) && here;
    GpuFinding one = finding(fake, fake.kind, wrong ? "wrong_data" : "passed");
    one.from = from;
    one.to = 1 - from;
    if (wrong) one.detail = "first bad byte at 0, " + mode;
    one.figures["bytes_per_second"] = mode == "slow" ? 1e9 : 2.1e10;
    if (fake.kind == "handshake") one.figures["round_trip_seconds"] = 2.5e-6;
    say(gpu_finding_line(one));
  }
}

// The second, fourth, ... run passes.
std::string flaky_mode(const Fake& fake) {
  const std::string path = join_path(variable("OCRTUNE_FAKE_STATE"), "runs-" + fake.kind);
  const std::string runs = read_file(path).value_or("");
  static_cast<void>(write_file(path, runs + "x"));
  return runs.size() % 2 == 0 ? "flaky" : "ok";
}

// NCCL_P2P_LEVEL lets this rank talk to the next.
bool within_level(const Fake& fake) {
  const std::vector<std::string> levels = {"NVL", "PIX", "PXB", "PHB", "SYS"};
  const auto distance = [&](const std::string& level) {
    return std::find(levels.begin(), levels.end(), level) - levels.begin();
  };
  const std::string most = variable("NCCL_P2P_LEVEL");
  const auto rank = static_cast<std::size_t>(fake.rank);
  if (most.empty() || fake.devices.size() < 2 || rank >= fake.devices.size()) return true;
  const int next = fake.devices[(rank + 1) % fake.devices.size()];
  for (const GpuLink& link : fake.report.links) {
    if (link.from != fake.devices[rank] || link.to != next) continue;
    return distance(link.nvlink ? "NVL" : link.level) <= distance(most);
  }
  return true;
}

// As NCCL 2.28 writes it.
void write_log(const Fake& fake, const std::string& mode) {
  if (fake.folder.empty() || mode == "no_log") return;
  const std::string who = "host:" + std::to_string(::getpid()) + ":1 [0] NCCL INFO ";
  std::string text = who + "NCCL version 2.28.9+cuda13.0\n";
  for (const char* name :
       {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_CUMEM_HOST_ENABLE",
        "NCCL_MAX_CTAS", "NCCL_MIN_CTAS", "NCCL_ALGO", "NCCL_BUFFSIZE", "NCCL_NVLS_ENABLE"}) {
    const std::string value = variable(name);
    if (!value.empty()) text += who + name + " set by environment to " + value + ".\n";
  }
  const bool p2p = variable("NCCL_P2P_DISABLE") != "1" && mode != "log_only" &&
                   (mode == "too_far" || within_level(fake));
  const char* via = p2p                                   ? "P2P/CUMEM"
                    : variable("NCCL_SHM_DISABLE") == "1" ? "NET/Socket/0"
                                                          : "SHM/direct/direct";
  if (mode == "warns") text += "host:1:1 [0] misc/shm.cc:99 NCCL WARN failed to extend /dev/shm\n";
  text += who + "Channel 00/0 : " + std::to_string(fake.rank) + "[" + std::to_string(fake.rank) +
          "] -> " + std::to_string((fake.rank + 1) % fake.world) + "[0] via " + via + "\n";
  static_cast<void>(
      write_file(join_path(fake.folder, "nccl.host." + std::to_string(::getpid()) + ".log"), text));
}

// As NCCL 2.32 reports on rank 0's stdout: the way from rank 1 to rank 0 is bad.
void say_diagnostics(const Fake& fake, const std::string& mode) {
  if (!starts_with(mode, "diag_") || fake.rank != 0 || variable("NCCL_RUN_DIAGNOSTICS") != "1") {
    return;
  }
  const std::string who = "host:" + std::to_string(::getpid()) + " NCCL DIAG ";
  say(who + "=== NCCL Diagnostics ===\n");
  if (mode == "diag_ok") {
    say(who +
        "[OK]   p2p: verified P2P access in both directions between every GPU pair (2 peer "
        "accesses)\n");
  } else {
    const std::string ends =
        " srcRank=1 srcCudaDev=1 srcNvmlDev=" + std::to_string(fake.devices.back()) +
        " dstRank=0 dstCudaDev=0 dstNvmlDev=" + std::to_string(fake.devices.front()) + " path=PHB";
    say(who + "[INFO] p2p: only 1/2 GPU-to-GPU peer accesses passed verification\n");
    say(who + "[INFO] p2p: " +
        (mode == "diag_import" ? "peer-memory import failed" + ends + " reason=import"
                               : "write mismatch" + ends + " expected=0x1 got=0x0 verify=0x0") +
        "; check the pair\n");
  }
  say(who + "NCCL diagnostics completed in 12.5 ms across 2 ranks\n");
}

void say_nccl(const Fake& fake, const std::string& mode) {
  write_log(fake, mode);
  say_diagnostics(fake, mode);
  GpuFinding one = finding(fake, fake.kind,
                           is_wrong(mode)    ? "wrong_data"
                           : mode == "warns" ? "failed"
                                             : "passed");
  if (mode == "warns") one.detail = "NCCL's init: unhandled system error";
  if (is_wrong(mode)) one.detail = "all-reduce of 1 MiB: " + mode;
  const bool p2p = variable("NCCL_P2P_DISABLE") != "1";
  one.figures["bytes_per_second"] = p2p && mode == "slow" ? 5e9 : p2p ? 1.8e10 : 1.1e10;
  const std::string ctas = variable("NCCL_MAX_CTAS");
  one.figures["step_seconds"] = ctas == "4" ? 0.09 : p2p ? 0.1 : 0.12;
  one.figures["work"] = 40;
  one.figures["step_spread"] = 0.01;
  one.figures["compute_seconds"] = 0.08;
  say(gpu_finding_line(one));
}

int step(Fake& fake) {
  auto rule = rule_of(fake);
  std::string mode = rule["mode"].empty() ? "ok" : rule["mode"];
  if (mode == "flaky") mode = flaky_mode(fake);
  misbehave(mode);
  GpuFinding end = finding(fake, "end", "passed");
  if (mode == "unsupported" || mode == "fail") {
    end.outcome = mode == "fail" ? "failed" : mode;
    end.detail = rule["detail"].empty() ? "not to be had here" : rule["detail"];
  } else if (mode == "old_driver") {
    end.outcome = "failed";
    end.detail = "the driver is too old for this build";
    end.words["kind"] = "driver_too_old";
  } else if (fake.kind == "devices" || fake.kind == "ready") {
    if (mode == "little_memory") ::setenv("OCRTUNE_FAKE_LITTLE", "1", 1);
    say_devices(fake, mode);
  } else if (fake.kind == "copy" || fake.kind == "handshake") {
    if (fake.rank == 0) say_pair(fake, mode, rule["from"]);
  } else {
    say_nccl(fake, mode);
  }
  say(gpu_finding_line(end));
  return 0;
}

int probe(Fake& fake) {
  if (path_exists(join_path(variable("OCRTUNE_FAKE_STATE"), "wedged"))) {
    for (GpuFacts& gpu : fake.report.gpus) gpu.busy_percent = 100;
  }
  if (variable("OCRTUNE_FAKE_BUSY") == "1") {
    for (GpuFacts& gpu : fake.report.gpus) gpu.busy_percent = 97;
  }
  say(gpu_report_line(fake.report));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string rank = variable("OCRTUNE_FAKE_RANK");  // what trains in this one's place
  if (argc == 4 && std::string(argv[1]) == "train" && !rank.empty()) {
    ::execl(rank.c_str(), rank.c_str(), "good", argv[2], argv[3], nullptr);
    return 3;
  }
  if (argc == 4 && std::string(argv[1]) == "infer" && !rank.empty()) {
    ::execl(rank.c_str(), rank.c_str(), "infer", argv[2], argv[3], nullptr);
    return 3;
  }
  if (argc == 4 && std::string(argv[1]) == "fit" && !rank.empty()) {
    ::execl(rank.c_str(), rank.c_str(), "fit", argv[2], argv[3], nullptr);
    return 3;
  }
  Fake fake;
  fake.report = read_nvml(variable("OCRTUNE_NVML_PATH"));
  if (argc == 2) return probe(fake);
  fake.kind = argv[2];
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const std::string value = text.substr(text.find('=') + 1);
    if (starts_with(text, "--rank=")) fake.rank = std::atoi(value.c_str());
    if (starts_with(text, "--world=")) fake.world = std::atoi(value.c_str());
    if (starts_with(text, "--folder=")) fake.folder = value;
  }
  for (const std::string& uuid : split(variable("CUDA_VISIBLE_DEVICES"), ',')) {
    for (const GpuFacts& gpu : fake.report.gpus) {
      if (gpu.uuid == uuid) fake.devices.push_back(gpu.index);
    }
  }
  return step(fake);
}
