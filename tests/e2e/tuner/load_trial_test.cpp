// What a trial of a service says while it measures.
#include "tuner/slo/load_trial.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "base/line_splitter.h"
#include "trial/ipc/event_writer.h"
#include "trial/ipc/events.h"

namespace ocrtune {
namespace {

TEST(LoadTrial, AnswersAreHeardDuringALongProbe) {
  InferTrialSpec spec;
  spec.command = {"sed", "-u", "s/.*\"id\": *\\([0-9]*\\).*/{\"id\": \\1}/"};
  spec.seconds = 6;  // the last probe takes half of it
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t trial = ::fork();
  if (trial == 0) {  // until it is ended, as a trial's process is
    ::close(ends[0]);
    EventWriter events(ends[1]);
    ::_exit(run_load_trial(spec, events) ? 0 : 1);
  }
  ::close(ends[1]);
  int probes = 0, heard = 0;  // after the first probe
  bool finished = false;
  LineSplitter lines;
  const auto hear = [&](const std::string& line) {
    const auto event = parse_event(line);
    if (!event) return;
    finished = finished || std::holds_alternative<ResultEvent>(*event);
    const auto* note = std::get_if<NoteEvent>(&*event);
    if (note == nullptr) return;
    if (!note->text.empty()) ++probes;
    if (note->text.empty() && probes > 0) ++heard;
  };
  char bytes[4096];
  for (ssize_t count = 0; !finished && (count = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
    lines.add({bytes, static_cast<std::size_t>(count)}, hear);
  }
  ::kill(trial, SIGKILL);
  ::waitpid(trial, nullptr, 0);
  ::close(ends[0]);
  EXPECT_TRUE(finished);
  EXPECT_GT(probes, 0);
  EXPECT_GT(heard, 0);
}

}  // namespace
}  // namespace ocrtune
