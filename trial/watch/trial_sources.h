// Where the events of a trial come from: the pipes of our own workers, or a log reader that gets
// what a user command prints, writes to a log file and reports through a pipe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/line_splitter.h"
#include "base/process_tree.h"
#include "base/result.h"
#include "trial/ipc/event_writer.h"
#include "trial/watch/file_follower.h"
#include "trial/watch/trial_plan.h"

namespace ocrtune {

class TrialSources {
 public:
  struct Sink {
    std::function<void(const Event& event)> event;
    std::function<void(const std::string& line)> broken;  // on a pipe: it is no event
    std::function<void(int process)> sign_of_life;        // other than an event
    std::function<void()> heard;                          // the log reader has, a line or event
  };

  TrialSources(const TrialPlan& plan, Clock& clock, Sink sink);

  Status open(ProcessOptions& options);  // for a process about to start
  void started();                        // it has

  // Until something is there to read, or for about this time.
  void wait(const ProcessTree& tree, double seconds) const;
  void look(const ProcessTree& tree);  // reads what is there

 private:
  const TrialPlan& plan_;
  Clock& clock_;
  Sink sink_;
  std::vector<EventPipe> pipes_;
  std::vector<LineSplitter> lines_;  // of each process's output
  FileFollower followed_;

  void hear(const std::function<void(std::vector<Event>& events)>& read);  // with the reader
  void on_pipe(const Event& event);
};

}  // namespace ocrtune
