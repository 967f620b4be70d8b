// Reads of mapped memory that may fail: a file that is cut or damaged, or a disk that gives an
// error, shows itself as SIGBUS or SIGSEGV at the reading thread, or as SIGFPE where a size that
// was read is zero; pages that point in circles show themselves as seconds of computing.
#pragma once

#include <functional>

namespace ocrtune {

// False where `read` stopped at such a fault. What it leaves is left by a jump: it must own
// nothing, so it may call C functions and fill memory of the caller's, but make no object. Not
// nested.
bool read_mapped(const std::function<void()>& read);

// Within `read`: stops there, as a fault would.
[[noreturn]] void leave_mapped_read();

}  // namespace ocrtune
