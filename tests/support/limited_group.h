// A control group with a memory limit for one test's own children; nothing else is ever in it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/files.h"

namespace ocrtune {

class LimitedGroup {
 public:
  LimitedGroup(const std::string& tag, std::uint64_t bytes) {
    const bool v1 = path_exists("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    const std::string path = std::string(v1 ? "/sys/fs/cgroup/memory/" : "/sys/fs/cgroup/") +
                             "ocrtune.test." + tag + "." + std::to_string(::getpid());
    std::error_code error;
    if (!std::filesystem::create_directory(path, error)) {
      why_not_ = "no control group can be made here";
      return;
    }
    path_ = path;
    if (!put(v1 ? "memory.limit_in_bytes" : "memory.max", std::to_string(bytes))) {
      why_not_ = "no memory controller here";
      return;
    }
    put(v1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max", v1 ? std::to_string(bytes) : "0");
  }
  ~LimitedGroup() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove(path_, error);
  }
  LimitedGroup(const LimitedGroup&) = delete;
  LimitedGroup& operator=(const LimitedGroup&) = delete;

  const std::string& why_not() const { return why_not_; }  // empty: it stands
  // The most that was ever charged to it; 0: not known.
  double peak_bytes() const {
    for (const char* name : {"memory.max_usage_in_bytes", "memory.peak"}) {
      const auto text = read_file(join_path(path_, name), 64);
      if (text) return std::strtod(text->c_str(), nullptr);
    }
    return 0;
  }
  std::string processes_file() const { return join_path(path_, "cgroup.procs"); }

 private:
  bool put(const std::string& name, const std::string& value) const {
    std::FILE* file = std::fopen(join_path(path_, name).c_str(), "w");
    if (file == nullptr) return false;
    std::fputs(value.c_str(), file);
    return std::fclose(file) == 0;
  }

  std::string path_, why_not_;
};

}  // namespace ocrtune
