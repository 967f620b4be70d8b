// Which failure produces which: the table behind "the first cause, not the loudest line".
#pragma once

#include <string_view>

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

}  // namespace ocrtune
