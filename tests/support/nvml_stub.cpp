// A stand-in for libnvidia-ml.so.1, driven by a text file that OCRTUNE_NVML_STUB names: machines
// with GPUs for tests on machines without one. Lines:
//
//   driver 550.54.15            cuda 12040           init 0|<code>|hang|crash
//   gpu key=value ...           (name, uuid, bus, memory, used, cc, gen, width, gen_now, width_now,
//                                links, switch, mig, mig_uuids=a,b, mode, busy, pid=a,b,
//                                pid_used=a,b (bytes of each; one: of all alike; -: no books),
//                                cores, drawing_pid, ecc, persistence, clock, clock_most (MHz),
//                                power, limit (milliwatts), celsius, lost;
//                                '_' in a value stands for a blank)
//   p2p all|<i>-<j> key=value   (read, write, nvlink, atomics, ancestor), later lines win
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Values = std::map<std::string, std::string>;

struct Box {
  std::string driver = "0", init = "0";
  int cuda = 0;
  std::vector<Values> gpus;
  std::map<std::pair<int, int>, Values> links;
  Values all_links;
};

Box g_box;

Values values_of(std::istringstream& line) {
  Values values;
  for (std::string word; line >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    std::string value = word.substr(equals + 1);
    for (char& c : value) c = c == '_' ? ' ' : c;
    values[word.substr(0, equals)] = value;
  }
  return values;
}

void read_box() {
  const char* path = std::getenv("OCRTUNE_NVML_STUB");
  std::ifstream in(path == nullptr ? "" : path);
  for (std::string text; std::getline(in, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind == "driver") line >> g_box.driver;
    if (kind == "init") line >> g_box.init;
    if (kind == "cuda") line >> g_box.cuda;
    if (kind == "gpu") g_box.gpus.push_back(values_of(line));
    if (kind != "p2p") continue;
    std::string pair;
    line >> pair;
    int from = 0;
    int to = 0;
    if (std::sscanf(pair.c_str(), "%d-%d", &from, &to) == 2) {
      g_box.links[{from, to}] = values_of(line);
    } else {
      g_box.all_links = values_of(line);
    }
  }
}

// Handles are indexes + 1; a slice of GPU i is 1000 * (i + 1) + its number + 1.
std::size_t index_of(void* device) { return reinterpret_cast<std::size_t>(device) - 1; }
const Values& gpu(void* device) { return g_box.gpus[index_of(device) % 1000]; }

bool has(const Values& values, const char* key) { return values.count(key) != 0; }
long number(const Values& values, const char* key) {
  return has(values, key) ? std::strtol(values.at(key).c_str(), nullptr, 10) : 0;
}

int give_text(const std::string& text, char* out, unsigned size) {
  if (text.empty()) return 3;
  std::snprintf(out, size, "%s", text.c_str());
  return 0;
}

int give(void* device, const char* key, unsigned* out) {
  if (!has(gpu(device), key)) return 3;
  *out = static_cast<unsigned>(number(gpu(device), key));
  return 0;
}

std::string list_item(const std::string& list, std::size_t index) {
  std::istringstream in(list);
  std::string item;
  for (std::size_t i = 0; i <= index; ++i) {
    if (!std::getline(in, item, ',')) return "";
  }
  return item;
}

int link_value(void* a, void* b, const char* key, int* out) {
  const std::pair<int, int> pair(static_cast<int>(index_of(a)), static_cast<int>(index_of(b)));
  const auto own = g_box.links.find(pair);
  const Values& values =
      own != g_box.links.end() && has(own->second, key) ? own->second : g_box.all_links;
  if (!has(values, key)) return 3;
  *out = static_cast<int>(number(values, key));
  return 0;
}

}  // namespace

struct Memory {
  unsigned long long total, free, used;
};
struct Pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct Utilization {
  unsigned gpu, memory;
};
struct ProcessEntry {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

extern "C" {

int nvmlInit_v2() {
  read_box();
  std::puts("noise that a library prints on stdout");
  std::fflush(stdout);
  if (g_box.init == "hang") {
    while (true) ::sleep(1000);
  }
  if (g_box.init == "crash") std::abort();
  return std::atoi(g_box.init.c_str());
}
int nvmlShutdown() { return 0; }
int ncclGetVersion(int* version) {  // as NCCL, for tests of which one would be loaded
  *version = 21805;
  return 0;
}
const char* nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Some Error"; }
int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return give_text(g_box.driver, out, size);
}
int nvmlSystemGetCudaDriverVersion_v2(int* out) {
  *out = g_box.cuda;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* out) {
  *out = static_cast<unsigned>(g_box.gpus.size());
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) {
  if (index >= g_box.gpus.size()) return 2;
  if (has(g_box.gpus[index], "lost")) return 15;
  *out = reinterpret_cast<void*>(static_cast<std::size_t>(index) + 1);
  return 0;
}
int nvmlDeviceGetName(void* d, char* out, unsigned size) {
  return has(gpu(d), "name") ? give_text(gpu(d).at("name"), out, size) : 3;
}
int nvmlDeviceGetUUID(void* d, char* out, unsigned size) {
  const std::size_t slice = index_of(d) / 1000;
  if (slice > 0) return give_text(list_item(gpu(d).at("mig_uuids"), slice - 1), out, size);
  return has(gpu(d), "uuid") ? give_text(gpu(d).at("uuid"), out, size) : 3;
}
int nvmlDeviceGetMemoryInfo(void* d, Memory* out) {
  out->total =
      std::strtoull(gpu(d).count("memory") ? gpu(d).at("memory").c_str() : "0", nullptr, 10);
  out->used = std::strtoull(gpu(d).count("used") ? gpu(d).at("used").c_str() : "0", nullptr, 10);
  out->free = out->total - out->used;
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* d, Pci* out) {
  *out = Pci{};
  return has(gpu(d), "bus") ? give_text(gpu(d).at("bus"), out->bus_id, sizeof out->bus_id) : 3;
}
int nvmlDeviceGetCudaComputeCapability(void* d, int* major, int* minor) {
  if (!has(gpu(d), "cc")) return 3;
  return std::sscanf(gpu(d).at("cc").c_str(), "%d.%d", major, minor) == 2 ? 0 : 3;
}
int nvmlDeviceGetNumGpuCores(void* d, unsigned* out) { return give(d, "cores", out); }
int nvmlDeviceGetCurrPcieLinkGeneration(void* d, unsigned* out) { return give(d, "gen_now", out); }
int nvmlDeviceGetCurrPcieLinkWidth(void* d, unsigned* out) { return give(d, "width_now", out); }
int nvmlDeviceGetMaxPcieLinkGeneration(void* d, unsigned* out) { return give(d, "gen", out); }
int nvmlDeviceGetMaxPcieLinkWidth(void* d, unsigned* out) { return give(d, "width", out); }
int nvmlDeviceGetUtilizationRates(void* d, Utilization* out) {
  *out = Utilization{};
  return give(d, "busy", &out->gpu);
}
int nvmlDeviceGetComputeMode(void* d, int* out) {
  *out = static_cast<int>(number(gpu(d), "mode"));
  return 0;
}
int nvmlDeviceGetMigMode(void* d, unsigned* current, unsigned* pending) {
  *pending = 0;
  return give(d, "mig", current);
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* out) {
  *out = 7;
  return 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void* d, unsigned index, void** out) {
  if (!has(gpu(d), "mig_uuids") || list_item(gpu(d).at("mig_uuids"), index).empty()) return 6;
  *out = reinterpret_cast<void*>(1000 * (static_cast<std::size_t>(index) + 1) + index_of(d) + 1);
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* d, unsigned* count, ProcessEntry* out) {
  const unsigned room = *count;
  const std::string used = has(gpu(d), "pid_used") ? gpu(d).at("pid_used") : "1";
  std::istringstream pids(has(gpu(d), "pid") ? gpu(d).at("pid") : "");
  *count = 0;
  for (std::string pid; std::getline(pids, pid, ',') && *count < room; ++*count) {
    std::string own = list_item(used, *count);
    if (own.empty()) own = list_item(used, 0);
    out[*count] = ProcessEntry{static_cast<unsigned>(std::strtol(pid.c_str(), nullptr, 10)),
                               own == "-" ? ~0ULL : std::strtoull(own.c_str(), nullptr, 10), 0, 0};
  }
  return 0;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void* d, unsigned* count, ProcessEntry* out) {
  *count = has(gpu(d), "drawing_pid") ? 1 : 0;
  if (*count == 1) {
    *out = ProcessEntry{static_cast<unsigned>(number(gpu(d), "drawing_pid")), 1, 0, 0};
  }
  return 0;
}
int nvmlDeviceGetClockInfo(void* d, int type, unsigned* out) {
  return type == 1 ? give(d, "clock", out) : 2;
}
int nvmlDeviceGetMaxClockInfo(void* d, int type, unsigned* out) {
  return type == 1 ? give(d, "clock_most", out) : 2;
}
int nvmlDeviceGetPowerUsage(void* d, unsigned* out) { return give(d, "power", out); }
int nvmlDeviceGetEnforcedPowerLimit(void* d, unsigned* out) { return give(d, "limit", out); }
int nvmlDeviceGetTemperature(void* d, int sensor, unsigned* out) {
  return sensor == 0 ? give(d, "celsius", out) : 2;
}
int nvmlDeviceGetPersistenceMode(void* d, int* out) {
  unsigned on = 0;
  const int code = give(d, "persistence", &on);
  *out = static_cast<int>(on);
  return code;
}
int nvmlDeviceGetEccMode(void* d, int* current, int* pending) {
  unsigned on = 0;
  const int code = give(d, "ecc", &on);
  *current = *pending = static_cast<int>(on);
  return code;
}
int nvmlDeviceGetNvLinkState(void* d, unsigned link, int* out) {
  if (!has(gpu(d), "links")) return 3;
  *out = link < static_cast<unsigned>(number(gpu(d), "links")) ? 1 : 0;
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void* d, unsigned, int* out) {
  *out = number(gpu(d), "switch") != 0 ? 2 : 0;
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* d, unsigned, Pci* out) {
  *out = Pci{};
  return has(gpu(d), "peer") ? give_text(gpu(d).at("peer"), out->bus_id, sizeof out->bus_id) : 3;
}
int nvmlDeviceGetP2PStatus(void* a, void* b, int what, int* out) {
  return link_value(a, b,
                    what == 0   ? "read"
                    : what == 1 ? "write"
                    : what == 2 ? "nvlink"
                                : "atomics",
                    out);
}
int nvmlDeviceGetTopologyCommonAncestor(void* a, void* b, int* out) {
  return link_value(a, b, "ancestor", out);
}

}  // extern "C"
