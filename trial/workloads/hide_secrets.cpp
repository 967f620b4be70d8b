#include "trial/workloads/hide_secrets.h"

#include "base/secrets.h"

namespace ocrtune {

void hide_secrets(const Launch& launch, Trial& trial) {
  const std::vector<std::string> secrets = secrets_of(launch);
  trial.log_tail = without_secrets(trial.log_tail, secrets);
  trial.reason = without_secrets(trial.reason, secrets);
  for (std::string& line : trial.evidence) line = without_secrets(line, secrets);
}

}  // namespace ocrtune
