// Sessions over a played machine: no process is started and no time passes.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "trial/table_runner.h"
#include "tuner/session/session.h"

namespace ocrtune {

// A store of its own, a machine of two CPUs and 8 GiB, and a clock that only sleeping moves. Who
// trials are run by is for the test to say: doors_.runner.
class SessionBed : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("session_bed");
    ::setenv("OCRTUNE_LOCK_DIR", folder_.c_str(), 1);
    store_ = *Store::open(join_path(folder_, "runs.sqlite"), Store::Mode::write);
    machine_.fingerprint = "f00d";
    machine_.cpu.logical_cpus = 2;
    machine_.memory.available_bytes = 8ULL << 30;
    doors_.clock = &clock_;
    doors_.probe = [this](const ProbeOptions&) { return Result<Machine>(machine_); };
  }
  void TearDown() override {
    ::unsetenv("OCRTUNE_LOCK_DIR");
    store_.reset();
    EXPECT_TRUE(remove_tree(folder_));
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
  Machine machine_;
  CountingClock clock_;
  SessionDoors doors_;
};

}  // namespace ocrtune
