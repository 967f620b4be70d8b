// Three ways: CPUID with XCR0 on x86, the auxiliary vector on ARM, the list of /proc/cpuinfo for
// saved trees. A name stands only where both the CPU and the kernel support it.
#include "probes/host/isa.h"

#include <algorithm>
#include <cstdint>
#include <set>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "base/text.h"

namespace ocrtune {
namespace {

// In the order in which they are shown.
constexpr const char* kNames[] = {
    "sse4_2",   "avx",      "f16c",     "fma",         "avx2",        "avx_vnni",    "avx512f",
    "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile",
    "amx_bf16", "amx_int8", "asimd",    "asimdhp",     "asimddp",     "bf16",        "i8mm",
    "sve",      "sve2",     "svebf16",  "lsx",         "lasx"};

#if defined(__x86_64__)

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

// Bits of XCR0 (Intel SDM volume 1, 13.3).
constexpr std::uint64_t kAvxState = 0x6;      // XMM and YMM
constexpr std::uint64_t kAvx512State = 0xE6;  // and opmask, both halves of ZMM
constexpr std::uint64_t kAmxState = 0x60000;  // tile configuration and tiles

std::uint64_t saved_states() {
  // OSXSAVE: without it XGETBV itself is an invalid instruction.
  const bool has_xgetbv = (cpuid(1, 0).ecx >> 27 & 1) != 0;
  if (!has_xgetbv) return 0;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<std::uint64_t>(high) << 32 | low;
}

// Linux gives a process the large tile registers only on request; sandboxes may refuse.
bool may_use_amx() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileState = 18;              // XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileState) == 0;
}

struct Bit {
  const char* name;
  std::uint32_t leaf, subleaf;
  std::uint32_t Registers::*word;
  int bit;
  std::uint64_t states;  // that the system must save
};

constexpr Bit kBits[] = {
    {"sse4_2", 1, 0, &Registers::ecx, 20, 0},
    {"avx", 1, 0, &Registers::ecx, 28, kAvxState},
    {"f16c", 1, 0, &Registers::ecx, 29, kAvxState},
    {"fma", 1, 0, &Registers::ecx, 12, kAvxState},
    {"avx2", 7, 0, &Registers::ebx, 5, kAvxState},
    {"avx_vnni", 7, 1, &Registers::eax, 4, kAvxState},
    {"avx512f", 7, 0, &Registers::ebx, 16, kAvx512State},
    {"avx512bw", 7, 0, &Registers::ebx, 30, kAvx512State},
    {"avx512dq", 7, 0, &Registers::ebx, 17, kAvx512State},
    {"avx512vl", 7, 0, &Registers::ebx, 31, kAvx512State},
    {"avx512_vnni", 7, 0, &Registers::ecx, 11, kAvx512State},
    {"avx512_bf16", 7, 1, &Registers::eax, 5, kAvx512State},
    {"avx512_fp16", 7, 0, &Registers::edx, 23, kAvx512State},
    {"amx_tile", 7, 0, &Registers::edx, 24, kAmxState},
    {"amx_bf16", 7, 0, &Registers::edx, 22, kAmxState},
    {"amx_int8", 7, 0, &Registers::edx, 25, kAmxState},
};

std::set<std::string> ask_cpu(std::string& source, Notes& notes) {
  source = "cpuid and XCR0";
  std::set<std::string> found;
  const std::uint64_t states = saved_states();
  for (const Bit& bit : kBits) {
    const Registers r = cpuid(bit.leaf, bit.subleaf);
    const bool there = (r.*bit.word >> bit.bit & 1) != 0;
    if (there && (states & bit.states) == bit.states) found.insert(bit.name);
  }
  // The request is for the whole process, and is made once.
  if (found.count("amx_tile") != 0 && !may_use_amx()) {
    for (const char* name : {"amx_tile", "amx_bf16", "amx_int8"}) found.erase(name);
    notes.warnings.emplace_back("the CPU has AMX, but this process may not use it (arch_prctl)");
  }
  return found;
}

#elif defined(__aarch64__)

std::set<std::string> ask_cpu(std::string& source, Notes&) {
  source = "getauxval";
  struct Bit {
    const char* name;
    unsigned long vector;
    int bit;
  };
  // Bit numbers of arch/arm64/include/uapi/asm/hwcap.h, whose header old systems lack in part.
  constexpr Bit kBits[] = {{"asimd", AT_HWCAP, 1},    {"asimdhp", AT_HWCAP, 10},
                           {"asimddp", AT_HWCAP, 20}, {"sve", AT_HWCAP, 22},
                           {"sve2", AT_HWCAP2, 1},    {"svebf16", AT_HWCAP2, 12},
                           {"i8mm", AT_HWCAP2, 13},   {"bf16", AT_HWCAP2, 14}};
  std::set<std::string> found;
  for (const Bit& bit : kBits) {
    if ((::getauxval(bit.vector) >> bit.bit & 1) != 0) found.insert(bit.name);
  }
  return found;
}

#else

std::set<std::string> ask_cpu(std::string& source, Notes& notes) {
  source = "this build knows no way to ask this CPU";
  notes.unknowns.push_back("instruction set: " + source);
  return {};
}

#endif

std::set<std::string> read_cpuinfo(const FileRoot& root, std::string& source, Notes& notes) {
  const auto text = root.read("/proc/cpuinfo");
  for (const std::string& line : split(text.value_or(""), '\n')) {
    const bool flags = starts_with(line, "flags") || starts_with(line, "Features");
    const std::size_t colon = line.find(':');
    if (!flags || colon == std::string::npos) continue;
    source = "/proc/cpuinfo";
    const auto names = words(line.substr(colon + 1));
    return {names.begin(), names.end()};
  }
  source = "/proc/cpuinfo lists no flags";
  notes.unknowns.push_back("instruction set: " + source);
  return {};
}

}  // namespace

IsaFacts read_isa(const FileRoot& root, Notes& notes) {
  IsaFacts facts;
  const std::set<std::string> found =
      root.is_live() ? ask_cpu(facts.source, notes) : read_cpuinfo(root, facts.source, notes);
  for (const char* name : kNames) {
    if (found.count(name) != 0) facts.names.emplace_back(name);
  }
  if (found.empty()) {
    facts.native_bf16.source = facts.source;
    return facts;
  }
  const bool native = found.count("avx512_bf16") != 0 || found.count("amx_bf16") != 0 ||
                      found.count("bf16") != 0 || found.count("svebf16") != 0;
  facts.native_bf16 = {native, facts.source};
  return facts;
}

}  // namespace ocrtune
