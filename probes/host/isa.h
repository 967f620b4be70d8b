// Which vector instructions this machine can really run.
//
// A CPUID bit alone is not enough: the operating system must save the registers (XCR0), and AMX
// must be asked for once per process. bf16 without native instructions is emulated and slower than
// fp32, so it is offered only where it is native. Names are those of /proc/cpuinfo.
// Sources: Intel SDM volume 1 section 13.3 (XCR0) and volume 2 CPUID; Linux arch/x86/xstate docs;
// arm64 elf_hwcaps docs.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "probes/host/notes.h"
#include "probes/machine/machine.h"

namespace ocrtune {

struct IsaFacts {
  std::vector<std::string> names;  // "avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "sve"...
  std::string source;              // "cpuid and XCR0", "getauxval", "/proc/cpuinfo", or why unknown
  Fact<bool> native_bf16;
};

// A live root asks the CPU; a saved tree is read from its /proc/cpuinfo.
IsaFacts read_isa(const FileRoot& root, Notes& notes);

}  // namespace ocrtune
