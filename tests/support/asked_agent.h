// `ocrtune node`, spoken to through a pipe.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/line_splitter.h"
#include "base/process.h"
#include "extras/hosts/agent_messages.h"
#include "tests/support/paths.h"

namespace ocrtune {

class AskedAgent {
 public:
  AskedAgent() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    ProcessOptions options;
    options.arguments = {OCRTUNE_BINARY, "node"};
    options.input = ends[0];
    process_.emplace(std::move(Process::start(options)).value());
    ::close(ends[0]);
    input_ = ends[1];
  }
  ~AskedAgent() { hang_up(); }

  void ask(const FieldsJson& request) {
    const std::string line = request.dump() + "\n";
    EXPECT_EQ(::write(input_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  // To the request of this number; null where none came.
  FieldsJson reply(int id) {
    FieldsJson found;
    LineSplitter splitter(1 << 20);
    for (const double end = steady_seconds() + 60; found.is_null() && steady_seconds() < end;) {
      beat();
      process_->read_output([&](std::string_view bytes) {
        splitter.add(bytes, [&](const std::string& line) {
          const FieldsJson said = parse_message(line);
          if (said.is_object() && said.value("id", 0) == id) found = said;
        });
      });
      ::usleep(20000);
    }
    return found;
  }
  void beat() const { EXPECT_EQ(::write(input_, "\n", 1), 1); }  // a launcher's sign of life
  void hang_up() {
    if (input_ >= 0) ::close(std::exchange(input_, -1));
    process_->wait(60);
  }
  bool has_ended() { return process_->wait(20).has_value(); }
  void stop() { process_->signal(SIGSTOP); }

 private:
  std::optional<Process> process_;
  int input_ = -1;
};

}  // namespace ocrtune
