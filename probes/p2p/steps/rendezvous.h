// How the processes of one step find each other: small files in the step's own folder.
#pragma once

#include <string>

#include "base/result.h"

namespace ocrtune {

class Rendezvous {
 public:
  Rendezvous(std::string folder, int rank, int world, double deadline_seconds)
      : folder_(std::move(folder)), rank_(rank), world_(world), seconds_(deadline_seconds) {}

  Status publish(const std::string& name, const std::string& bytes);
  // Waits for another rank to publish it; failed: not within the deadline.
  Result<std::string> fetch(const std::string& name);
  // All ranks meet; each name can be used once.
  Status meet(const std::string& name);

  int rank() const { return rank_; }
  int world() const { return world_; }

 private:
  std::string folder_;
  int rank_, world_;
  double seconds_;
};

}  // namespace ocrtune
