// Whom a failure is about: what the line, or the block, that decided names beside its writer. A
// rank, a process, a card, a model, a pod, a host, a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/cause.h"
#include "diagnosis/cause_ranker.h"

namespace ocrtune {

// What one line names, each kind once, in the order of the table in who.cpp.
std::vector<Named> named_in(std::string_view line);

// Of the first cause; empty: nobody, as where all were stopped at once.
std::vector<Named> who_failed(const std::vector<LogScan>& logs, const CauseRanker& ranker,
                              const Cause& first, const std::vector<StoryEvent>& story);

// Is nobody of the run first in such a failure? Somebody ended all of it from outside, or the
// parent handed its children what they cannot bear.
bool ends_all(std::string_view cause);

// "gpu-a03" of "Connect to 172.17.0.1<50877> failed", where that host printed the address as its
// own; empty: nobody did.
std::string owner_of_address(const std::vector<LogScan>& logs, std::string_view line);

// Who holds what was wanted, a port or a card's memory, as ss, lsof, nvidia-smi or Ray list it: the
// pid of the one that is not of this run; empty: nobody is listed.
std::string holder_in(const std::vector<LogScan>& logs);

}  // namespace ocrtune
