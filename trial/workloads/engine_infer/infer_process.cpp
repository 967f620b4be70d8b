// Two blocking pipes: requests are kept small enough to fit (lines_in_pipe() of infer_pool.cpp), so
// neither end waits for the other in a circle.
#include "trial/workloads/engine_infer/infer_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "probes/gpu/gpu_ids.h"
#include "trial/workloads/engine_infer/framework_table.h"

namespace ocrtune {
namespace {

// Room for the paths of two chunks. What a user may have in pipes is limited (64 MiB by default),
// so this is no more than it needs; answers are short and read at once.
constexpr int kRequestBytes = 256 << 10;
constexpr double kReapSeconds = 5;  // a driver may hold a killed process for some time

}  // namespace

void EndOfRoot::operator()(Process* process) const {
  process->signal(SIGKILL);
  process->wait(kReapSeconds);
}

Result<InferProcess> start_infer_process(ProcessTree& tree, const std::string& program,
                                         InferSpec spec, const CpuSet& mask) {
  int requests[2] = {-1, -1}, answers[2] = {-1, -1};
  if (::pipe2(requests, O_CLOEXEC) != 0) return system_error(errno, "make a pipe");
  Descriptor request_out(requests[0]), request_in(requests[1]);
  if (::pipe2(answers, O_CLOEXEC) != 0) return system_error(errno, "make a pipe");
  Descriptor answer_out(answers[0]), answer_in(answers[1]);
  // Refused where the user's pipes are used up: then the pool sends smaller chunks.
  ::fcntl(requests[1], F_SETPIPE_SZ, kRequestBytes);
  spec.request_descriptor = requests[0];
  spec.result_descriptor = answers[1];
  ProcessOptions options;
  const char* verb = spec.gpu.empty() ? "infer-worker" : "infer";
  options.arguments = {program, verb, "--spec", infer_spec_text(spec)};
  options.environment = {{"OMP_NUM_THREADS", std::to_string(spec.recognizer.threads)}};
  // The threads that scale pictures would spin on the CPUs of the framework's.
  if (find_framework(spec.recognizer.backend) != nullptr) {
    options.environment.emplace_back("GOMP_SPINCOUNT", "0");
  }
  if (!spec.gpu.empty()) {
    for (auto& variable : gpu_environment({0, -1, spec.gpu, ""}, GpuVendor::nvidia)) {
      options.environment.push_back(std::move(variable));
    }
  }
  options.descriptors = {requests[0], answers[1]};
  options.cpus = mask;
  const auto process = OCRTUNE_TRY(tree.start(options));
  InferProcess started;
  started.process.reset(process);
  started.requests = std::move(request_in);
  started.answers = std::move(answer_out);
  return started;
}

std::string error_body(const Error& error) {
  std::string body;
  append_number(body, static_cast<std::uint32_t>(error.kind));
  append_number(body, static_cast<std::uint32_t>(error.scarce));
  return body + error.what;
}

Error parse_error_body(std::string_view body) {
  const std::uint32_t kind = take_number(body);
  const std::uint32_t scarce = take_number(body);
  // Another version of the program may send kinds that this one does not know.
  const bool known = kind <= static_cast<std::uint32_t>(ErrorKind::failed) &&
                     scarce <= static_cast<std::uint32_t>(Scarce::shared_memory);
  if (!known) return Error{ErrorKind::failed, std::string(body)};
  return Error{static_cast<ErrorKind>(kind), std::string(body), {}, static_cast<Scarce>(scarce)};
}

}  // namespace ocrtune
