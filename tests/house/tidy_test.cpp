// The house rules that a reader would otherwise check by hand: folders, circles, sizes, words.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

// Which floor may include which others. bench/ may look at all of them, and none at it.
const std::map<std::string, std::set<std::string>> kFloors = {
    {"base", {}},
    {"diagnosis", {"base"}},
    {"probes", {"base"}},
    {"core", {"base"}},
    {"trial", {"base", "diagnosis", "probes", "core"}},
    {"tuner", {"base", "diagnosis", "probes", "trial"}},
    {"reports", {"base", "diagnosis", "probes", "trial", "tuner"}},
    {"cli", {"base", "diagnosis", "probes", "core", "trial", "tuner", "reports"}},
    {"engine", {"base", "probes", "core", "trial", "tuner", "cli"}},
    // Over the kernel: none of its floors has one of them.
    {"extras/consistency", {"base", "reports", "cli"}},
    {"extras/capacity", {"base", "probes", "trial", "tuner", "reports", "cli"}},
    {"extras/supervise", {"base", "diagnosis", "probes", "trial", "tuner", "reports", "cli"}},
    {"extras/hosts",
     {"base", "extras/consistency", "extras/supervise", "probes", "trial", "tuner", "reports",
      "cli"}},
};
constexpr int kMaxFilesInFolder = 40;

struct SourceFile {
  std::string floor;
  std::string folder;  // "tuner/space"
  std::string name;    // "tuner/space/space.h"
  std::string text;
  std::vector<std::string> includes;  // ours only: "base/result.h"
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string folder_of(const std::string& name) { return name.substr(0, name.rfind('/')); }
std::string floor_of(const std::string& name) {
  const std::string extras = "extras/";
  return name.substr(0, name.find('/', name.starts_with(extras) ? extras.size() : 0));
}

bool is_source(const fs::path& path) {
  return std::set<std::string>{".h", ".cpp", ".cu"}.count(path.extension().string()) > 0;
}

void read_floor(const std::string& floor, std::vector<SourceFile>& files) {
  const std::string include = "#include \"";
  const fs::path root(OCRTUNE_SOURCE_DIR);
  for (const auto& entry : fs::recursive_directory_iterator(root / floor)) {
    if (!is_source(entry.path())) continue;
    const std::string name = fs::relative(entry.path(), root).string();
    SourceFile file{floor, folder_of(name), name, read(entry.path()), {}};
    for (std::size_t at = file.text.find(include); at != std::string::npos;
         at = file.text.find(include, at)) {
      at += include.size();
      const std::string target = file.text.substr(at, file.text.find('"', at) - at);
      if (target.find('/') != std::string::npos) file.includes.push_back(target);
    }
    files.push_back(std::move(file));
  }
}

const std::vector<SourceFile>& sources() {
  static const std::vector<SourceFile> files = [] {
    std::vector<SourceFile> read;
    for (const auto& [floor, allowed] : kFloors) read_floor(floor, read);
    return read;
  }();
  return files;
}

// "tuner/space/space.h" and "tuner/space/space.cpp" are one room: "tuner/space/space".
std::string room(const std::string& name) { return name.substr(0, name.rfind('.')); }

using Arrows = std::map<std::string, std::set<std::string>>;

void expect_no_circle(Arrows arrows) {
  std::map<std::string, int> state;  // 0 new, 1 on the path, 2 done
  std::vector<std::string> path;
  std::function<void(const std::string&)> visit = [&](const std::string& at) {
    state[at] = 1;
    path.push_back(at);
    for (const std::string& next : arrows[at]) {
      if (state[next] == 1) {
        std::string circle;
        for (auto it = std::find(path.begin(), path.end(), next); it != path.end(); ++it) {
          circle += *it + " -> ";
        }
        ADD_FAILURE() << "a circle: " << circle << next;
      } else if (state[next] == 0) {
        visit(next);
      }
    }
    path.pop_back();
    state[at] = 2;
  };
  std::vector<std::string> starts;
  for (const auto& [name, targets] : arrows) starts.push_back(name);
  for (const std::string& name : starts) {
    if (state[name] == 0) visit(name);
  }
}

// What a file keeps to itself, by its name, a function with the types of its arguments: what stands
// at the left margin of its unnamed namespaces.
std::map<std::string, std::string> private_names(const std::string& text) {
  const std::regex type("^(?:(?:struct|class|enum|enum class) (\\w+)|using (\\w+) =).*");
  const std::regex function("^[^=(]*[ &*>](\\w+\\(.*)");
  const std::regex constant("[ &*>]([A-Za-z_]\\w*)(?:\\[\\w*\\])*(?: =|\\{|;)");
  const std::regex argument_name(" \\w+(?=[,)])");
  std::map<std::string, std::string> names;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "namespace {") inside = true;
    if (line == "}  // namespace") inside = false;
    if (!inside || line.empty() || line.find_first_of(" }/#)") == 0) continue;
    std::smatch match;
    if (std::regex_match(line, match, type)) {
      names[match[1].matched ? match[1] : match[2]] = line;
    } else if (std::regex_match(line, match, function)) {
      names[std::regex_replace(std::string(match[1]), argument_name, "")] = line;
    }
    const std::string head = line.substr(0, std::min(line.find('('), line.find("//")));
    for (std::sregex_iterator it(head.begin(), head.end(), constant), end; it != end; ++it) {
      names[(*it)[1]] = line;
    }
  }
  return names;
}

}  // namespace

// OCRTUNE_BATCHES compiles files of a folder as one.
TEST(Tidy, PrivateNamesOfAFolderStandApart) {
  std::map<std::string, std::pair<std::string, std::string>> seen;  // name -> file and line
  int names = 0;
  std::vector<SourceFile> files = sources();
  read_floor("tests/unit", files);
  read_floor("tests/e2e", files);
  for (const SourceFile& file : files) {
    const bool alone =
        file.folder.starts_with("core/backends") || file.folder.starts_with("core/graph");
    if (alone || !file.name.ends_with(".cpp")) continue;
    for (const auto& [name, line] : private_names(file.text)) {
      const auto [other, fresh] = seen.try_emplace(file.folder + ": " + name, file.name, line);
      const bool alias = line.rfind("using ", 0) == 0 && other->second.second == line;
      EXPECT_TRUE(fresh || alias) << file.name << " and " << other->second.first << " both have "
                                  << name << ": share it, or rename one";
      ++names;
    }
  }
  EXPECT_GT(names, 1000) << "the patterns find nothing";
}

TEST(Tidy, FloorsIncludeOnlyWhatTheTableAllows) {
  for (const SourceFile& file : sources()) {
    for (const std::string& include : file.includes) {
      const std::string target = floor_of(include);
      EXPECT_TRUE(target == file.floor || kFloors.at(file.floor).count(target))
          << file.name << " includes " << include;
    }
  }
}

TEST(Tidy, FoldersFormNoCircle) {
  Arrows arrows;
  for (const SourceFile& file : sources()) {
    for (const std::string& include : file.includes) {
      if (folder_of(include) != file.folder) arrows[file.folder].insert(folder_of(include));
    }
  }
  expect_no_circle(arrows);
}

TEST(Tidy, RoomsFormNoCircle) {
  Arrows arrows;
  for (const SourceFile& file : sources()) {
    for (const std::string& include : file.includes) {
      if (room(include) != room(file.name)) arrows[room(file.name)].insert(room(include));
    }
  }
  expect_no_circle(arrows);
}

TEST(Tidy, FoldersAreSmall) {
  std::map<std::string, int> count;
  for (const SourceFile& file : sources()) ++count[file.folder];
  for (const auto& [folder, files] : count) {
    EXPECT_LE(files, kMaxFilesInFolder) << folder << ": two subjects in one folder?";
  }
}

// Not every build has the fuzzing program, which lists its files by name.
TEST(Tidy, TheFuzzingProgramsFilesAreThere) {
  const fs::path root(OCRTUNE_SOURCE_DIR);
  const std::string text = read(root / "cmake/fuzz.cmake");
  const std::size_t begin = text.find("foreach(file"), end = text.find("list(APPEND");
  ASSERT_LT(begin, end);
  std::istringstream words(text.substr(begin + 12, end - begin - 12));
  int files = 0;
  for (std::string word; words >> word; ++files) {
    if (word.back() == ')') word.pop_back();
    EXPECT_TRUE(fs::exists(root / (word + ".cpp"))) << word << ", of cmake/fuzz.cmake";
  }
  EXPECT_GT(files, 50);
}

TEST(Tidy, FilesAreSmallAndCaptioned) {
  for (const SourceFile& file : sources()) {
    const auto lines = std::count(file.text.begin(), file.text.end(), '\n');
    EXPECT_LE(lines, 600) << file.name << " has " << lines << " lines: two nouns in one file?";
    EXPECT_EQ(file.text.rfind("// ", 0) == 0 || file.name.ends_with(".cpp"), true)
        << file.name << " has no caption";
  }
}

TEST(Tidy, OnlyTheTopFloorPrints) {
  const std::regex printing("std::cout|std::printf|\\bprintf\\(|fmt::print\\(");
  for (const SourceFile& file : sources()) {
    const bool commands = file.folder.starts_with("extras/") && file.folder.ends_with("/commands");
    if (commands || file.floor == "cli" || file.floor == "engine" ||
        file.name.ends_with("_main.cpp")) {
      continue;
    }
    EXPECT_FALSE(std::regex_search(file.text, printing)) << file.name << " prints";
  }
}

// Trial::evidence is written for people. What decides anything has a field of its own.
TEST(Tidy, NobodyDecidesByTheEvidenceOfATrial) {
  // Who shows it, stores it, hands it on, joins it or takes secrets out of it.
  const std::set<std::string> may_read = {"trial/ipc/trial_fields.h", "trial/workloads/launch.cpp",
                                          "extras/hosts/host_trial.cpp"};
  const std::regex used(
      "\\b(\\w*trial_?|\\w*[tT]rials?\\[\\w+\\]|back\\(\\)|merged|own|latest|longer|"
      "soak|rehearsal)(\\.|->)evidence\\b");
  const std::regex written("^(\\.(push_back|emplace_back|insert|end|clear)\\(| = )");
  int seen = 0;
  for (const SourceFile& file : sources()) {
    if (file.floor == "reports" || file.floor == "cli" || file.floor == "engine" ||
        may_read.contains(file.name))
      continue;
    const auto& text = file.text;
    for (std::sregex_iterator at(text.begin(), text.end(), used), end; at != end; ++at, ++seen) {
      const std::string after = text.substr(at->position() + at->length(), 20);
      EXPECT_TRUE(std::regex_search(after, written)) << file.name << " reads " << at->str();
    }
  }
  EXPECT_GT(seen, 10) << "the names of trials have changed";
}

// The normal distribution stands in base/normal.h.
TEST(Tidy, TheNormalDistributionStandsOnce) {
  for (const SourceFile& file : sources()) {
    const bool its_own = file.name == "base/normal.cpp" || file.floor == "core";
    EXPECT_TRUE(its_own || file.text.find("std::erfc") == std::string::npos) << file.name;
  }
}

// A member that stands before it in braces is not destroyed when it returns (GCC, bug 66139).
TEST(Tidy, NoAggregateIsLeftHalfMade) {
  constexpr std::string_view kTry = "OCRTUNE_TRY(";
  for (const SourceFile& file : sources()) {
    for (std::size_t at = file.text.find(kTry); at != std::string::npos;
         at = file.text.find(kTry, at + 1)) {
      const std::size_t begin = file.text.find_last_of("{};()", at - 1);
      if (begin == std::string::npos || file.text[begin] != '{') continue;
      const std::string before = file.text.substr(begin, at - begin);
      const bool block = before.find_first_of("=/") != std::string::npos;  // a statement, a comment
      EXPECT_TRUE(block || before.find(',') == std::string::npos) << file.name << ": " << before;
    }
  }
}

TEST(Tidy, NoEmptyWordsInNames) {
  const std::regex empty("(^|[/_])(util|utils|helper|helpers|manager|misc|common)([_.]|$)");
  for (const SourceFile& file : sources()) {
    EXPECT_FALSE(std::regex_search(file.name, empty)) << file.name;
  }
}

// Under pipefail a writer whose reader has left ends the script, now and then: SIGPIPE, 141.
TEST(Tidy, NoReaderOfAPipeLeavesEarly) {
  const std::regex leaves("\\| *(head\\b|grep -\\w*[qm]|sed [^|]*\\bq\\b|awk [^|]*\\bexit\\b)");
  const fs::path root = OCRTUNE_SOURCE_DIR;
  int scripts = 0;
  for (const std::string_view folder : {".ci", "scripts", "bench", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string text = read(entry.path());
      if (text.rfind("#!", 0) != 0 || text.find("pipefail\n") == std::string::npos) continue;
      ++scripts;
      std::smatch found;
      EXPECT_FALSE(std::regex_search(text, found, leaves)) << entry.path() << ": " << found.str();
    }
  }
  EXPECT_GT(scripts, 10);
}
