// Which failure produces which: the table behind "the first cause, not the loudest line"; and what
// the lines around one say of it.
#pragma once

#include <string_view>
#include <vector>

#include "diagnosis/causes.h"
#include "diagnosis/log_scan.h"

namespace ocrtune {

// Is `follower` what `cause` makes this process or the other ranks report? A rank that dies makes
// the others time out, lose a peer and get SIGTERM; never the other way round.
bool produces(std::string_view cause, std::string_view follower);

// The same, but only where the table has a row for the pair itself.
bool in_table(std::string_view cause, std::string_view follower);

// A failure that only tells of another process's end, or of waiting for it.
bool is_witness(std::string_view cause);

// A failure whose name says little about why: an exception, a panic, an exit code.
bool is_generic(std::string_view cause);

// Did a later line take it back: the retry that connected, the request that was refused?
bool recovered(const Finding& finding, const LogScan& log);

enum class RunEnd {
  unknown,
  exit_zero,  // by its exit code alone
  well,       // it says so itself, or what started it does
};

// Do the logs say that the run came to its end, and none of a program that it failed?
bool ended_well(const std::vector<LogScan>& logs);

// How much of a finding's weight is left, given what followed it and how the run ended.
double survival_factor(const Finding& finding, const LogScan& log, RunEnd end);

// Something damaged was read: was it samples, not weights?
bool reads_samples(const Finding& finding, const LogScan& log);

}  // namespace ocrtune
