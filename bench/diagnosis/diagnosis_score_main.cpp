// How often `diagnose` names the first cause, and whether its confidence is worth its name.
//
//   build/diagnosis_score tests/fixtures/logs/set_aside_cases.txt [--show]
//
// Prints the share of right first causes and of those that are right or acceptably hedged (the true
// cause is a suspect and no wrong one is above 0.5), the confusions, the Brier score and the
// reliability diagram; --show names the cases that are wrong.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "bench/synthetic/retold_logs.h"

namespace ocrtune {
namespace {

struct Score {
  int cases = 0, right = 0;
  int hedged = 0;                    // the true cause is a suspect, and no wrong one is above 0.5
  int chains = 0, chains_right = 0;  // several causes in order: the first one is first
  int kills = 0, kills_right = 0;    // a SIGKILL is among what is accepted
  int healthy = 0, alarms = 0;       // a failure above 0.5 on a healthy log
  int silent = 0;                    // the words that say why are not shown
  double squares = 0;
  int answers = 0;
  std::map<int, std::pair<int, int>> bins;  // confidence x 10 -> right, all
  std::map<std::string, int> confusions;
};

bool is_kill(const std::string& cause) {
  return cause == "host_out_of_memory" || cause == "numa_node_full" ||
         cause == "cgroup_out_of_memory" || cause == "userspace_oom_kill" ||
         cause == "killed_by_other";
}

bool is_hedge(const Diagnosis& diagnosis, const std::vector<std::string>& accepted) {
  bool named = false;
  for (const Cause& cause : diagnosis.causes) {
    const bool right =
        std::find(accepted.begin(), accepted.end(), cause.row->name) != accepted.end();
    named = named || right;
    if (!right && cause.row->kind == CauseKind::failure && cause.confidence > 0.5) return false;
  }
  return named;
}

void count(const RetoldLog& log, Score& score, bool show) {
  const Diagnosis diagnosis = diagnose_retold(log);
  const std::string answer = first_answer(diagnosis);
  const auto& accepted = log.accepted;
  const bool right = std::find(accepted.begin(), accepted.end(), answer) != accepted.end();
  const double confidence = diagnosis.failed ? diagnosis.causes[0].confidence : 0;
  score.cases += 1;
  score.right += right;
  score.hedged += !right && is_hedge(diagnosis, accepted);
  if (!log.followers.empty()) score.chains += 1, score.chains_right += right;
  if (std::any_of(accepted.begin(), accepted.end(), is_kill)) {
    score.kills += 1;
    score.kills_right += right;
  }
  score.silent += !shows_why(log, diagnosis);
  if (accepted[0] == "none") {
    score.healthy += 1;
    score.alarms += confidence > 0.5;
  }
  if (diagnosis.failed) {
    score.answers += 1;
    score.squares += (confidence - right) * (confidence - right);
    auto& bin = score.bins[std::min(static_cast<int>(confidence * 10), 9)];
    bin.first += right;
    bin.second += 1;
  }
  if (show && right && !shows_why(log, diagnosis)) std::printf("SILENT %s\n", log.name.c_str());
  if (right) return;
  score.confusions[accepted[0] + " taken for " + answer] += 1;
  if (!show) return;
  std::printf("WRONG %s\n   wanted %s, got", log.name.c_str(), join(accepted, "|").c_str());
  for (const Cause& cause : diagnosis.causes) {
    std::printf(" %s %.2f", cause.row->name, cause.confidence);
  }
  std::printf("\n");
}

void print(const Score& score) {
  const double percent = 100.0 / std::max(score.cases, 1);
  std::printf(
      "%d cases, first cause right in %d (%.1f %%), right or acceptably hedged in %d (%.1f %%)\n",
      score.cases, score.right, percent * score.right, score.right + score.hedged,
      percent * (score.right + score.hedged));
  std::printf(
      "several causes in order: %d of %d; SIGKILL: %d of %d; alarms on healthy logs: %d of %d\n",
      score.chains_right, score.chains, score.kills_right, score.kills, score.alarms,
      score.healthy);
  std::printf("words that say why, not shown: %d\n", score.silent);
  std::printf("Brier score %.3f over %d answers\n", score.squares / std::max(score.answers, 1),
              score.answers);
  for (const auto& [bin, counts] : score.bins) {
    std::printf("  said %.1f to %.1f: right %d of %d\n", bin / 10.0, (bin + 1) / 10.0, counts.first,
                counts.second);
  }
  for (const auto& [confusion, times] : score.confusions) {
    std::printf("  %d x %s\n", times, confusion.c_str());
  }
}

}  // namespace
}  // namespace ocrtune

int main(int argc, char** argv) {
  ocrtune::Score score;
  const bool show = argc > 1 && std::string(argv[argc - 1]) == "--show";
  for (int i = 1; i < argc - (show ? 1 : 0); ++i) {
    const auto logs = ocrtune::read_retold_logs(argv[i]);
    if (!logs) {
      std::fprintf(stderr, "diagnosis_score: %s\n", logs.error().what.c_str());
      return 3;
    }
    for (const ocrtune::RetoldLog& log : *logs) ocrtune::count(log, score, show);
  }
  ocrtune::print(score);
  return 0;
}
