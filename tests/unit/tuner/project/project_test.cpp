// What init finds in a folder, and that what it writes says so.
#include "tuner/project/project.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Kind = Project::Kind;

constexpr const char* kConfig =
    "Global:\n  character_dict_path: ./dict.txt\n"
    "Train:\n  dataset:\n    data_dir: ./train\n    label_file_list: [./train/labels.txt]\n"
    "  loader:\n    batch_size_per_card: 8\n    num_workers: 2\n";

class LookAround : public testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("project"); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  void write(const std::string& name, const std::string& text) const {
    const std::string path = join_path(folder_, name);
    ASSERT_TRUE(make_directories(parent_path(path)));
    ASSERT_TRUE(write_file(path, text));
  }

  void write_checkout() const {
    write("tools/train.py", "");
    write("ppocr/__init__.py", "");
    write("configs/rec/mine.yml", kConfig);
    write("dict.txt", "a\nb\n");
    write("train/labels.txt", "a.png\tab\nb.png\tba\n");
    write("train/a.png", "");
    write("train/b.png", "");
  }

  Project look() const {
    const auto project = look_around(folder_, environment_, [this](const std::string& program) {
      return program == has_paddle_ ? Result<Python>(Python{program, "3.2.2", "", ""})
                                    : Result<Python>(Python{program, "", "", why_not_});
    });
    EXPECT_TRUE(project);
    return project ? *project : Project();
  }

  std::string folder_, has_paddle_ = "python3", why_not_;
  Environment environment_;
};

TEST_F(LookAround, CompleteCheckoutLacksNothing) {
  write_checkout();
  const Project project = look();
  EXPECT_EQ(project.kind, Kind::paddleocr);
  EXPECT_EQ(project.config, "configs/rec/mine.yml");
  EXPECT_EQ(project.python.program, "python3");
  EXPECT_THAT(project.missing, IsEmpty());
  EXPECT_THAT(project.found, Contains("data ./train/labels.txt: 2 lines"));
}

TEST_F(LookAround, ConfigWhoseFilesAreThereComesFirst) {
  write_checkout();
  write("configs/rec/a_first.yml",
        "Train:\n  dataset:\n    label_file_list: [none.txt]\n  loader: {num_workers: 1}\n");
  write("configs/rec/notes.yml", "a: 1\n");
  const Project project = look();
  EXPECT_EQ(project.config, "configs/rec/mine.yml");
  EXPECT_THAT(project.other_configs, ElementsAre("configs/rec/a_first.yml"));
}

TEST_F(LookAround, SaysWhichFileOfTheConfigIsMissing) {
  write_checkout();
  ASSERT_TRUE(remove_tree(join_path(folder_, "dict.txt")));
  EXPECT_THAT(look().missing, ElementsAre(HasSubstr("dictionary ./dict.txt not found")));
  write("dict.txt", "a\n");
  ASSERT_TRUE(remove_tree(join_path(folder_, "train/b.png")));
  EXPECT_THAT(look().missing,
              ElementsAre(HasSubstr("b.png not found in ./train (1 of the first 2")));
  ASSERT_TRUE(remove_tree(join_path(folder_, "train/labels.txt")));
  EXPECT_THAT(look().missing, ElementsAre(HasSubstr("labels.txt: No such file")));
}

TEST_F(LookAround, SaysThatNoPythonHasPaddle) {
  write_checkout();
  has_paddle_ = "none";
  EXPECT_THAT(look().missing, ElementsAre(HasSubstr("python3 cannot import paddle")));
}

TEST_F(LookAround, SaysWhatAnInstalledPaddleNeedsOfTheSystem) {
  write_checkout();
  has_paddle_ = "none";
  why_not_ = "libgomp.so.1: cannot open shared object file: No such file or directory";
  EXPECT_THAT(look().missing, ElementsAre(AllOf(HasSubstr("install the package with that library"),
                                                Not(HasSubstr("activate")))));
}

TEST_F(LookAround, ActiveEnvironmentComesBeforePath) {
  write_checkout();
  environment_["VIRTUAL_ENV"] = "/my/venv";
  has_paddle_ = "/my/venv/bin/python";
  EXPECT_EQ(look().python.program, "/my/venv/bin/python");
}

TEST_F(LookAround, KnowsOpenOcrByItsPackage) {
  write("tools/train_rec.py", "");
  write("openrec/__init__.py", "");
  write("configs/rec/svtrv2/a.yml", "Train:\n  loader: {batch_size_per_card: 8}\n");
  const Project project = look();
  EXPECT_EQ(project.kind, Kind::openocr);
  const std::string text = settings_text(project, Machine());
  EXPECT_THAT(text, HasSubstr("log-reader = \"torch\""));
  EXPECT_THAT(text, HasSubstr("nproc = [1]"));
  EXPECT_THAT(text, HasSubstr("baseline = \"nproc=1 batch=8 workers=0\""));
  EXPECT_THAT(text, Not(HasSubstr("Train.sampler.first_bs")));
  write("configs/rec/svtrv2/a.yml",
        "Train:\n  sampler: {first_bs: 4}\n  loader: {batch_size_per_card: 8}\n");
  EXPECT_THAT(settings_text(look(), Machine()), HasSubstr("Train.sampler.first_bs={batch}"));
}

TEST_F(LookAround, FindsLinesHereOrOneFolderBelow) {
  write("lines/labels.txt", "a.png\tab\n");
  EXPECT_EQ(look().kind, Kind::lines);
  EXPECT_EQ(look().data, "lines");
  write("labels.txt", "a.png\tab\n");
  EXPECT_EQ(look().data, ".");
}

TEST_F(LookAround, FindsAScriptThatTrainsBeforeOneThatReads) {
  write("a_ocr.py", "from rapidocr import RapidOCR\nengine = RapidOCR()\n");
  EXPECT_EQ(look().kind, Kind::script);
  EXPECT_EQ(look().script, "a_ocr.py");
  write("helpers.py", "def loss(x):\n  return x.loss.backward()\n");
  EXPECT_EQ(look().script, "a_ocr.py") << "a module of functions is not started";
  write("train.py",
        "import argparse, torch\nparser.add_argument('--batch-size')\n"
        "parser.add_argument('--num_workers')\noptimizer.step()\n");
  const Project project = look();
  EXPECT_EQ(project.script, "train.py");
  EXPECT_EQ(project.batch_flag, "--batch-size");
  EXPECT_THAT(settings_text(project, Machine()),
              HasSubstr("\"train.py\", \"--batch-size\", \"{batch}\", \"--num_workers\", "
                        "\"{workers}\"]"));
  EXPECT_THAT(project.found, testing::Contains(HasSubstr("--batch-size, --num_workers")));
}

TEST_F(LookAround, AScriptComesBeforeTheLinesBesideIt) {
  write("lines/labels.txt", "a.png\tab\n");
  write("read.py", "from rapidocr import RapidOCR\nengine = RapidOCR()\n");
  const Project project = look();
  EXPECT_EQ(project.kind, Kind::script);
  EXPECT_EQ(project.script, "read.py");
  EXPECT_THAT(project.found, testing::Contains("labelled lines: lines"));
}

TEST_F(LookAround, EmptyFolderHoldsNothing) {
  EXPECT_EQ(look().kind, Kind::nothing);
  const auto absent = look_around(join_path(folder_, "no"), {}, ask_python);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::missing);
}

TEST_F(LookAround, OddNamesAreQuotedInTheSettings) {
  Project project;
  project.kind = Kind::lines;
  project.data = "a \"b\"\\c\n";
  EXPECT_THAT(settings_text(project, Machine()), HasSubstr("data = \"a \\\"b\\\"\\\\c\\u000a\"\n"));
}

// A name with line feeds would put keys of its own into the settings.
TEST_F(LookAround, HostileNamesStayNames) {
  write_checkout();
  write("configs/rec/zz\nsetup = [\"touch pwned\"]\n#.yml", kConfig);
  write("configs/rec/\x1b[31m.yml", kConfig);
  const Project project = look();
  EXPECT_THAT(project.other_configs, IsEmpty());
  Project other = project;
  other.other_configs = {"a\nsetup = [\"touch pwned\"]"};
  EXPECT_THAT(settings_text(other, Machine()),
              AllOf(HasSubstr("#   \"a\\u000asetup = "), Not(HasSubstr("\nsetup"))));
}

TEST_F(LookAround, TheFoldersOwnPythonIsNotAsked) {
  write_checkout();
  write(".venv/bin/python", "");
  write(".venv/lib/python3.11/site-packages/paddlepaddle_gpu-3.2.1.dist-info/METADATA", "");
  has_paddle_ = "none";
  const std::string own = join_path(*real_path(folder_), ".venv/bin/python");
  const auto ask = [&](const std::string& program) -> Result<Python> {
    EXPECT_NE(program, own);
    return Python{program, "", "", ""};
  };
  const auto project = look_around(folder_, environment_, ask);
  ASSERT_TRUE(project);
  EXPECT_EQ(project->python.program, own);
  EXPECT_EQ(project->python.paddle, "3.2.1");
  EXPECT_THAT(project->missing, IsEmpty());
}

TEST_F(LookAround, KnowsScriptsByWhatTheyDoWhateverTheirNames) {
  const std::string trainer =
      "import argparse\nparser.add_argument('--batch')\nfor epoch in range(9):\n  step()\n";
  for (const char* name : {"mymodel.py", "tr ain.py"}) {
    write(name, trainer);
    EXPECT_EQ(look().kind, Kind::script) << name;
    EXPECT_EQ(look().script, name);
    EXPECT_TRUE(remove_tree(join_path(folder_, name)));
  }
}

TEST_F(LookAround, AServerIsProposedWithItsAddress) {
  write("serve.py",
        "import argparse\nfrom http.server import ThreadingHTTPServer\n"
        "parser.add_argument('--port')\nThreadingHTTPServer(a, H).serve_forever()\n");
  const Project project = look();
  EXPECT_EQ(project.script, "serve.py");
  EXPECT_TRUE(project.serves);
  const std::string text = settings_text(project, Machine());
  EXPECT_THAT(text, HasSubstr("mode = \"infer\"\nurl = \"http://127.0.0.1:{port}/\"\n"));
  EXPECT_THAT(text, HasSubstr("\"serve.py\", \"--port\", \"{port}\"]"));
  write("client.py", "import requests, argparse\nrequests.post('http://127.0.0.1/')\n");
  EXPECT_EQ(look().script, "serve.py");
}

TEST_F(LookAround, AServersPortIsTheOneOfItsText) {
  const std::string begins = "from http.server import ThreadingHTTPServer\n";
  const auto url = [&](const std::string& made) {
    write("serve.py", begins + made + ".serve_forever()\n");
    return settings_text(look(), Machine());
  };
  for (const char* made :
       {"ThreadingHTTPServer(('', 8765), H)", "make_server(HOST, 8765)", "run_app(app, port=8765)",
        "PORT: int = 8765\nserve(app, PORT)", "make_server(\"0.0.0.0\", 8765)"}) {
    EXPECT_THAT(url(made), HasSubstr("url = \"http://127.0.0.1:8765/\"")) << made;
    EXPECT_THAT(look().missing, IsEmpty()) << made;
  }
  EXPECT_THAT(url("s = resize(page, 8765)\nserve(app, portion=99999)"), HasSubstr(":PORT/"));
  EXPECT_THAT(look().missing, ElementsAre(HasSubstr("the port of serve.py")));
}

TEST_F(LookAround, TheScriptThatStartsIsTakenNotItsModule) {
  write("engine.py",
        "\"\"\"Loops.\n\nprint(loss)\n\"\"\"\nimport torch\nDEVICE = torch.device('cpu')\n"
        "try:\n  import apex\nexcept ImportError:\n  apex = None\n\n\n"
        "@torch.no_grad()\ndef fit(\n    model,\n):\n  loss.backward()\n\n\n"
        "class Net:\n  fit(None)\n");
  EXPECT_EQ(look().kind, Kind::nothing);
  const std::string starts = "if __name__ == \"__main__\":\n  fit(None)\n";
  write("run.py", "from engine import fit\n" + starts);
  EXPECT_EQ(look().script, "run.py");
  EXPECT_THAT(look().found, ElementsAre("run.py: trains with torch"));
  write("eval.py", "import engine\n" + starts);
  write("finetune.py", "from engine import (\n    fit as go,\n)\n" + starts);
  EXPECT_EQ(look().script, "finetune.py");
}

TEST_F(LookAround, AScriptWithoutMainStartsByItsStatements) {
  write("own.py", "import torch\nloss = 0\nfor page in pages:\n  loss.backward()\n");
  EXPECT_EQ(look().script, "own.py");
  write("with_main.py", "from own import x\nif __name__ == '__main__':\n  x()\n");
  EXPECT_EQ(look().script, "with_main.py");
}

}  // namespace
}  // namespace ocrtune
