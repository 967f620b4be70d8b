// A stored run's recommendation as a file that starts it elsewhere: one writer for each format.
//
// What only the user knows stands as a placeholder, "<IMAGE>", in capitals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trial/workloads/launch.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// Where a server is reached.
struct DeployedService {
  std::vector<std::string> ports;  // one a copy, "<PORT>" where the run had a free one
  std::string path;                // "/ocr"
  bool answers_get = false;        // the run asked with GET: a probe may do so too
  int replicas = 1;                // that a plan asks for
  bool planned = false;            // else nobody said how many
};

// What every format is made of.
struct Deployment {
  std::string run_id, setting;  // "nproc=2 threads=1 batch=16"
  std::string measured;         // "ocrtune 0.1.0 on HOST, 2026-11-25: SAFE, 12 (11..13) requests/s"
  Launch launch;                // secrets are placeholders of their variable's name
  // Variables that name CPUs of the machine that was measured: right there and nowhere else.
  Variables pinned;
  int nodes = 1;                   // hosts; of several, the launch has <NODE_RANK> and its like
  std::vector<std::string> hosts;  // so many; not known: <HOST_0>, <HOST_1>
  int ranks = 1;                   // processes on a host
  int cpus = 1;                    // that the setting kept busy on a host, whole ones
  std::uint64_t memory_bytes = 0;  // measured peak and the run's margin; 0: not measured
  // The CPUs were whole cores: on machines that number hardware threads, `cpus` cores are asked
  // for.
  bool whole_cores = false;
  bool memory_policy = false;  // numactl is in the command: container engines refuse its calls
  int gpus = 0;
  std::optional<DeployedService> service;  // none: it runs once and ends
  std::string caution;                     // what to know before it is started; empty: nothing
  std::string summary;                     // a Markdown page without its launch part
};

// What starts a recommendation of several hosts on all of them from here; empty: it is of one.
std::string run_on_hosts_line(const RunRecord& run);

// missing: the run recommends nothing; usage: it measured a server that was running already.
Result<Deployment> deployment_of(const RunRecord& run);

// As many copies of a service as the first sentence of what `ocrtune plan --json` has written says:
// those to buy now where it plans a year, else those that are enough with 95 %.
// invalid: that is no such document, or it plans nothing; usage: the deployment is no service.
Status take_plan(const std::string& json, Deployment& deployment);

// Of the run's objects in Kubernetes.
std::string object_name(const std::string& run_id);

struct ExportFormat {
  const char* name;  // of --format
  const char* help;
  std::string (*write)(const Deployment& deployment);
  // unsupported: the format has no way to write one of the values, which it names. Null: it has.
  Status (*fits)(const Deployment& deployment) = nullptr;
};

const std::vector<ExportFormat>& export_formats();
const ExportFormat* find_export_format(const std::string& name);  // null: there is none

// The placeholders of a written file, each once, in order.
std::vector<std::string> placeholders_of(const std::string& text);

}  // namespace ocrtune
