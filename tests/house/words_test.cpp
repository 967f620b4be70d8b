// Words of the code: none that docs/glossary.md has a better one for, and no whole sentence in an
// assertion.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

struct OldWord {
  const char* word;  // "most_*": whatever begins so
  const char* better;
  std::set<std::string> not_in = {};  // where the word means something else: beginnings of paths
};

// Whole words; what stands between quotes or backticks is a key of stored runs, which never
// changes.
const std::vector<OldWord>& old_words() {
  static const std::vector<OldWord> kWords = {
      {"world said no", "environment error"},
      {"kExitWorldSaidNo", "kExitEnvironment"},
      {"kExitAnswerIsNo", "kExitNegative"},
      {"most_*", "max_"},
      {"least_*", "min_"},
      {"the judge", "the reference"},
      {"judged by",
       "checked against",  // of a rule that decides, it is English
       {"cli/", "docs/adr/", "tests/e2e/tuner/", "trial/trial.h", "tuner/"}},
      {"clean samples", "valid windows", {"docs/schema.md", "trial/"}},
      {"samples spoilt", "windows discarded"},
      {"foreign command", "user command"},
      {"ForeignCommand*", "UserCommand"},
      {"foreign CPUs", "external load"},
      {"foreign load", "external load"},
      {"folk rule", "rule of thumb"},
      {"folk rules", "rules of thumb"},
      {"promise", "SLO, latency target", {"base/thread_team.cpp"}},
      {"promises", "SLO, latency target"},
      {"promised",
       "within the latency target",
       {"tuner/slo/load_trial.cpp"}},  // words of old stores
      {"merit", "objective"},
      {"student_95", "t_quantile"},
      {"kLittle", "kMinExpectedImprovement"},
      {"kSomething", "what it bounds"},
      {"kUnlikely", "what it bounds"},
      {"duty", "next_mandatory"},
      {"guest", "baseline", {"trial/observe/", "tests/"}},  // a state of CPUs
      {"ladder",
       "initial design",
       {"bench/gpu/", "cli/commands/p2p_command.cpp", "docs/gpu.md", "probes/p2p/",
        "tests/e2e/probes/", "trial/trial.h", "tuner/search/search.h"}},
      {"rung", "initial design", {"probes/p2p/", "tests/e2e/probes/", "docs/gpu.md"}},
      {"rungs", "initial design", {"probes/p2p/", "tests/e2e/probes/"}},
      {"each()", "for_each()"},
      {"again()", "capture_or_replay()"},
      {"lane.join", "lane.sync"},
      {"lane.most", "lane.reduce_max"},
      {"CudaMachine", "CudaExecutor"},
      {"bury", "reap"},
      {"bury_the_dead", "reap_exited"},
      {"farewell", "shutdown grace"},
      {"Court", "CauseRanker"},
      {"whoever", "all that"},
      {"Whoever", "all that"},
      {"reads lines", "recognises text lines"},
      {"reader processes", "recogniser processes"},
      {"draws lines", "renders text lines"},
      {"draws some", "renders some"},
      {"drawn lines", "rendered lines"},
      {"answer that nothing keeps", "no setting meets the target"},
      {"slo_page", "slo_text"},
      {"consistency_page", "consistency_text"},
      {"EndsWhoIgnoresSigtermAndWhoHides", "KillsProcessesThatIgnoreSigterm"},
      {"训练内核", "内置训练引擎"},
      {"旋钮", "可调参数"},
      {"图片行", "文本行图像"},
      {"守住承诺", "满足延迟目标"},
      {"机器卡片", "机器概况"},
      {"替身驱动", "桩驱动"},
      {"停止也可以", "可以就此停止"},
  };
  return kWords;
}

// Words of the field that begin like an old one, and keys of stored runs.
const std::set<std::string> kKept = {"least_loaded", "least_samples_per_second",
                                     "most_step_seconds", "most_peak_bytes"};

bool is_letter(const std::string& text, std::size_t at) {
  if (at >= text.size()) return false;
  const auto c = static_cast<unsigned char>(text[at]);
  return std::isalnum(c) != 0 || c == '_';
}

bool is_key(const std::string& text, std::size_t begin, std::size_t end) {
  const std::string marks = "\"`'";
  return begin > 0 && end < text.size() && marks.find(text[begin - 1]) != std::string::npos &&
         marks.find(text[end]) != std::string::npos;
}

std::string line_at(const std::string& text, std::size_t at) {
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

// The lines of the text that have the word.
std::vector<std::string> lines_with(const std::string& text, std::string word) {
  const bool open_end = word.back() == '*';
  if (open_end) word.pop_back();
  const bool ascii = (static_cast<unsigned char>(word[0]) & 0x80U) == 0;
  std::vector<std::string> lines;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    std::size_t end = at + word.size();
    if (ascii && ((at > 0 && is_letter(text, at - 1)) || (!open_end && is_letter(text, end)))) {
      continue;
    }
    while (open_end && is_letter(text, end)) ++end;
    if (kKept.count(text.substr(at, end - at)) > 0 || is_key(text, at, end)) continue;
    lines.push_back(line_at(text, at));
  }
  return lines;
}

struct TextFile {
  std::string name;
  std::string text;
};

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool begins_with_any(const std::string& name, const std::set<std::string>& beginnings) {
  for (const std::string& beginning : beginnings) {
    if (name.rfind(beginning, 0) == 0) return true;
  }
  return false;
}

// All that we wrote: code, tests, help, reports, documents. Logs of other programs are not ours.
std::vector<TextFile> own_files() {
  static const std::set<std::string> kEndings = {".h",  ".cpp", ".cu", ".py",  ".js",   ".css",
                                                 ".md", ".sh",  ".in", ".txt", ".toml", ".cmake"};
  const fs::path root(OCRTUNE_SOURCE_DIR);
  std::vector<TextFile> files;
  for (const char* folder :
       {"base", "bench", "cli", "cmake", "core", "diagnosis", "docs", "engine", "extras", "presets",
        "probes", "python", "reports", "scripts", "tests", "trial", "tuner"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string name = fs::relative(entry.path(), root).string();
      const bool other = begins_with_any(name, {"tests/fixtures/", "tests/house/words_test.cpp"});
      if ((other && name != "tests/fixtures/help.txt") || !entry.is_regular_file()) continue;
      if (kEndings.count(entry.path().extension().string()) > 0 ||
          std::string(folder) == "scripts") {
        files.push_back({name, content(entry.path())});
      }
    }
  }
  for (const char* name : {"README.md", "README.zh.md", "CONTRIBUTING.md", "CHANGELOG.md"}) {
    files.push_back({name, content(root / name)});
  }
  return files;
}

// The longest run of plain words, one space between two of them, as sentences have them: names,
// paths, figures and flags end a run.
int longest_run(const std::string& text) {
  static const std::regex kRun("(^|[ (\"'])[A-Za-z][a-z']*([,;:]? [a-z']+)*");
  int longest = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), kRun), end; it != end; ++it) {
    std::istringstream words(it->str());
    int count = 0;
    for (std::string word; words >> word;) ++count;
    longest = std::max(longest, count);
  }
  return longest;
}

// Where the literal that begins at `at` ends, behind its last quote; its text goes to `literal`.
std::size_t read_literal(const std::string& text, std::size_t at, std::string& literal) {
  if (at > 0 && text[at - 1] == 'R') {
    const std::size_t open = text.find('(', at);
    const std::string close = ")" + text.substr(at + 1, open - at - 1) + "\"";
    const std::size_t end = text.find(close, open);
    literal += text.substr(open + 1, end - open - 1);
    return end + close.size();
  }
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') literal += text[at++];
    literal += text[at];
  }
  return at + 1;
}

// The literals of the assertion whose parenthesis opens at `at`; neighbours are one, as for the
// compiler.
std::vector<std::string> literals_of(const std::string& text, std::size_t at) {
  std::vector<std::string> literals;
  bool joins = false;
  for (int depth = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      if (!joins) literals.emplace_back();
      at = read_literal(text, at, literals.back());
      joins = true;
      continue;
    }
    if (c == '\'' && at + 2 < text.size() && text[at + 2] == '\'') at += 2;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0) break;
    joins = joins && std::isspace(static_cast<unsigned char>(c)) != 0;
    ++at;
  }
  return literals;
}

std::vector<std::string> asserted_literals(const std::string& text) {
  std::vector<std::string> all;
  for (const char* head : {"EXPECT_", "ASSERT_"}) {
    for (std::size_t at = text.find(head); at != std::string::npos; at = text.find(head, at + 1)) {
      const std::size_t open = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", at);
      if (open == std::string::npos || text[open] != '(') continue;
      const auto literals = literals_of(text, open);
      all.insert(all.end(), literals.begin(), literals.end());
    }
  }
  return all;
}

}  // namespace

TEST(Words, NoneOfTheOldOnes) {
  const std::vector<TextFile> files = own_files();
  EXPECT_GT(files.size(), 900U) << "the folders were not found";
  for (const OldWord& old : old_words()) {
    for (const TextFile& file : files) {
      if (begins_with_any(file.name, old.not_in)) continue;
      for (const std::string& line : lines_with(file.text, old.word)) {
        ADD_FAILURE() << file.name << ": " << old.better << " instead of " << old.word << ": "
                      << line;
      }
    }
  }
}

// Tests compare codes, arguments and key figures: a sentence belongs to the tests of the catalogue,
// and a line of another program's log to those of the diagnosis.
TEST(Words, AssertionsHoldNoSentences) {
  constexpr int kMaxWords = 6;
  const std::set<std::string> kSentences = {"tests/unit/diagnosis/",
                                            "tests/unit/reports/catalogue/",
                                            "tests/unit/reports/html/page_sections_test.cpp"};
  std::size_t seen = 0;
  for (const TextFile& file : own_files()) {
    if (!begins_with_any(file.name, {"tests/unit/", "tests/e2e/"})) continue;
    if (begins_with_any(file.name, kSentences)) continue;
    for (const std::string& literal : asserted_literals(file.text)) {
      ++seen;
      EXPECT_LE(longest_run(literal), kMaxWords) << file.name << ": " << literal;
    }
  }
  EXPECT_GT(seen, 3000U) << "the pattern finds nothing";
}
