// The states that a training program has saved: which there are, which are whole, which comes next.
//
// A program that is killed while it saves leaves a state that is cut. What can be seen of that is
// seen here: archives, pickles and safetensors end where they say that they end, and a folder such
// as checkpoint-300 holds the files that the one before it holds. What the program itself refuses
// to load is passed over as well, until it is written anew.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ocrtune {

struct Checkpoint {
  // To resume from: a file, PREFIX of Paddle's PREFIX.pdparams, or a folder such as checkpoint-300.
  std::string path;
  double seconds = 0;        // since 1970, of its newest file
  std::uint64_t bytes = 0;   // of all its files
  std::int64_t number = -1;  // that its name ends in; -1: none
  bool whole = true;
};

// Behind a checkpoint's name: the file, PREFIX.pdparams and its like, or all states of a folder and
// two levels below; the newest first. Logs and configs beside them do not count.
std::vector<Checkpoint> find_checkpoints(const std::string& name);

// Does the file end where its format says? True for formats that do not say so.
bool is_whole_file(const std::string& path);

// Which state the next attempt resumes from. A state that changed since the last look is newer than
// one that did not, whatever the clock was set to.
class SavedStates {
 public:
  explicit SavedStates(std::string name) : name_(std::move(name)) { look(); }

  void look();  // after each attempt
  // Whole, and not refused; null: start from the beginning.
  const Checkpoint* newest() const { return states_.empty() ? nullptr : &states_.front(); }
  bool saved() const { return saved_; }  // a whole state, between the last two looks
  // Paths of states that are newer, but cut.
  const std::vector<std::string>& passed_over() const { return passed_over_; }
  // Files of the folder, in which nothing was recognised as a state, that changed between the last
  // two looks, by their paths below it. Logs, tables and pages do not count.
  const std::vector<std::string>& unrecognised() const { return unrecognised_; }
  // The program cannot load newest(). False: no earlier state is left, and this one stays.
  bool refuse();

 private:
  using Version = std::pair<double, std::uint64_t>;  // seconds, bytes
  void look_for_others(bool nothing_recognised);

  std::string name_;
  std::vector<Checkpoint> states_;                       // that may be loaded, the newest first
  std::map<std::string, std::pair<Version, int>> seen_;  // path -> version, look that saw it first
  std::map<std::string, Version> refused_;
  std::vector<std::string> passed_over_;
  std::map<std::string, Version> others_;  // where nothing was recognised: path -> version
  std::vector<std::string> unrecognised_;
  int looks_ = 0;
  bool saved_ = false;
};

}  // namespace ocrtune
