// The house rules that a reader would otherwise check by hand: floors, circles, sizes, words.
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

const std::map<std::string, int> kFloors = {{"base", 1},  {"core", 2},  {"probes", 2},
                                            {"bench", 3}, {"tuner", 4}, {"reports", 5},
                                            {"cli", 6}};

struct SourceFile {
  std::string floor;
  std::string name;  // "tuner/space.h"
  std::string text;
  std::vector<std::string> includes;  // ours only: "base/result.h"
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<SourceFile> sources() {
  std::vector<SourceFile> files;
  const std::regex include("#include \"([a-z]+/[a-z0-9_]+\\.h)\"");
  for (const auto& [floor, level] : kFloors) {
    for (const auto& entry : fs::directory_iterator(fs::path(OCRTUNE_SOURCE_DIR) / floor)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
      SourceFile file{
          floor, floor + "/" + entry.path().filename().string(), read(entry.path()), {}};
      for (std::sregex_iterator it(file.text.begin(), file.text.end(), include), end; it != end;
           ++it) {
        file.includes.push_back((*it)[1]);
      }
      files.push_back(std::move(file));
    }
  }
  return files;
}

// "tuner/space.h" and "tuner/space.cpp" are one room: "tuner/space".
std::string room(const std::string& name) { return name.substr(0, name.rfind('.')); }

}  // namespace

TEST(Tidy, IncludesDescend) {
  for (const SourceFile& file : sources()) {
    for (const std::string& include : file.includes) {
      const std::string target = include.substr(0, include.find('/'));
      ASSERT_TRUE(kFloors.count(target)) << file.name << " includes " << include;
      const bool same = target == file.floor;
      EXPECT_TRUE(same || kFloors.at(target) < kFloors.at(file.floor))
          << file.name << " includes " << include << ", which is not on a lower floor";
    }
  }
}

TEST(Tidy, RoomsFormNoCircle) {
  std::map<std::string, std::set<std::string>> arrows;
  for (const SourceFile& file : sources()) {
    for (const std::string& include : file.includes) {
      if (room(include) != room(file.name)) arrows[room(file.name)].insert(room(include));
    }
  }
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
  std::vector<std::string> rooms;
  for (const auto& [name, targets] : arrows) rooms.push_back(name);
  for (const std::string& name : rooms) {
    if (state[name] == 0) visit(name);
  }
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
    if (file.floor == "cli" || file.name.ends_with("_main.cpp")) continue;
    EXPECT_FALSE(std::regex_search(file.text, printing)) << file.name << " prints";
  }
}

TEST(Tidy, NoEmptyWordsInNames) {
  const std::regex empty("(^|[/_])(util|utils|helper|helpers|manager|misc|common)([_.]|$)");
  for (const SourceFile& file : sources()) {
    EXPECT_FALSE(std::regex_search(file.name, empty)) << file.name;
  }
}
