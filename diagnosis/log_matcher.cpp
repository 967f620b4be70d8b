// RE2's FilteredRE2 gives the literals ("atoms") without which no pattern of the table can match.
// These make one RE2::Set, which passes over most blocks. Only the patterns whose atoms occur are
// run.
#include "diagnosis/log_matcher.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include <re2/filtered_re2.h>
#include <re2/re2.h>
#include <re2/set.h>

#include "diagnosis/context/card_report.h"

namespace ocrtune {
namespace {

constexpr int kMinLiteral = 5;  // 4 would let "loss" in, and with it every training line

// Compiled once for the process; RE2 objects may be used from several threads.
struct Matcher {
  re2::FilteredRE2 patterns{kMinLiteral};
  std::unique_ptr<re2::RE2::Set> literals;
  std::vector<std::string> unsound;
  std::vector<int> rows;  // pattern id -> row of the table
  int atom_count = 0;     // of the patterns; what stands behind them is read elsewhere

  Matcher() {
    re2::RE2::Options options;
    options.set_encoding(re2::RE2::Options::EncodingLatin1);  // bytes: logs are not always UTF-8
    options.set_log_errors(false);
    const auto& table = signature_table();
    for (std::size_t i = 0; i < table.size(); ++i) {
      int id = 0;
      if (patterns.Add(table[i].pattern, options, &id) != re2::RE2::NoError) {
        unsound.emplace_back(table[i].id);
      } else {
        rows.push_back(static_cast<int>(i));
      }
    }
    std::vector<std::string> atoms;
    patterns.Compile(&atoms);
    std::vector<int> always;
    patterns.AllPotentials({}, &always);
    // A pattern without a literal would be run on every line of every log.
    for (int id : always) {
      unsound.emplace_back(table[static_cast<std::size_t>(rows[static_cast<std::size_t>(id)])].id);
    }
    options.set_literal(true);
    options.set_case_sensitive(false);
    // Where its automaton needs more, a set matches nothing; the usual limit is 8 MiB.
    options.set_max_mem(128 << 20);
    literals = std::make_unique<re2::RE2::Set>(options, re2::RE2::UNANCHORED);
    for (const std::string& atom : atoms) literals->Add(atom, nullptr);
    atom_count = static_cast<int>(atoms.size());
    for (const std::string_view word : CardReport::kFirstWords) {
      literals->Add(word, nullptr);
    }
    literals->Add("echo $?", nullptr);  // whose answer says how the command ended
    literals->Compile();
  }
};

const Matcher& matcher() {
  static const Matcher kMatcher;
  return kMatcher;
}

std::vector<std::string> captures_of(const re2::RE2& pattern, re2::StringPiece line) {
  const int groups = std::min(pattern.NumberOfCapturingGroups(), 4);
  re2::StringPiece pieces[5];
  std::vector<std::string> captures;
  if (groups > 0 && pattern.Match(line, 0, line.size(), re2::RE2::UNANCHORED, pieces, groups + 1)) {
    for (int g = 1; g <= groups; ++g)
      captures.emplace_back(pieces[g].data() == nullptr ? "" : std::string(pieces[g]));
  }
  return captures;
}

}  // namespace

bool may_match(std::string_view block) { return matcher().literals->Match(block, nullptr); }

std::vector<SignatureMatch> match_line(std::string_view line, std::string_view behind_names) {
  std::vector<SignatureMatch> matches;
  const re2::StringPiece text(line.data(), line.size());
  std::vector<int> atoms;
  if (!matcher().literals->Match(text, &atoms)) return matches;
  std::erase_if(atoms, [](int atom) { return atom >= matcher().atom_count; });
  std::vector<int> ids;
  matcher().patterns.AllMatches(text, atoms, &ids);
  if (behind_names.size() < line.size()) {
    const re2::StringPiece rest(behind_names.data(), behind_names.size());
    std::vector<int> more;
    matcher().patterns.AllMatches(rest, atoms, &more);
    // A shell says "Killed" at the line's start; behind a name it is a launcher's, of its children.
    std::copy_if(more.begin(), more.end(), std::back_inserter(ids), [](int id) {
      const int row = matcher().rows[static_cast<std::size_t>(id)];
      return std::string_view(signature_table()[static_cast<std::size_t>(row)].id) !=
             "shell_killed";
    });
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (int id : ids) {
    const int row = matcher().rows[static_cast<std::size_t>(id)];
    matches.push_back({&signature_table()[static_cast<std::size_t>(row)], row,
                       captures_of(matcher().patterns.GetRE2(id), text)});
  }
  return matches;
}

bool is_warning(std::string_view line) {
  line = line.substr(0, 160);
  if (line.find("NCCL WARN ") != std::string_view::npos) return false;  // its word for an error
  static const re2::RE2 kWords(
      R"(^(?:\[rank\d+\]:)?\[?W\d{3}|^Corrupt JPEG data|\[W\] |\[W:onnx|Warning: |WARNING|warning: | WARN(?: |:\d)|: W tensorflow|level=warn|NCCL INFO |retrying|will retry|\(retry |retry 1|retry in | try ok|attempt 1[ /]|falling back|, skipped|\(skipped|ignoring |; dlerror: | caught[),] ?|[,;] using |\(ignored\)|thrown while requesting|Error while downloading from)");
  return re2::RE2::PartialMatch(line, kWords);
}

std::vector<std::string> unsound_patterns() { return matcher().unsound; }

}  // namespace ocrtune
