// The hosts of a run: their agents, and the doors by which a session measures through them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/hosts_door.h"
#include "extras/hosts/agents.h"
#include "extras/hosts/host_survey.h"

namespace ocrtune {

struct HostChoice {
  std::vector<HostName> hosts;
  AgentOptions options;
};
Result<HostChoice> choose_hosts(const HostFlags& flags);

class JobHosts : public OpenHosts {
 public:
  static Result<std::unique_ptr<OpenHosts>> open(const HostFlags& flags);

  const Machine& machine() const override { return machine_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  Status take_turns(bool no_wait) override;
  Status measure_links() override;
  SessionDoors doors() const override;
  const std::shared_ptr<Agents>& agents() const { return agents_; }

 private:
  std::shared_ptr<Agents> agents_;
  HostSurvey survey_;
  Machine machine_;
  std::vector<std::string> notes_;
};

}  // namespace ocrtune
