#include "tuner/project/python_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool runs(const std::string& text) { return runs_when_loaded(text, {"Reader("}); }

TEST(PythonText, ModulesDoNothingWhenLoaded) {
  for (const char* text :
       {"", "# fit()\n", "import a\nfrom b import (\n  c,\n  d)\n", "'''x\nfit()\n'''\n",
        "r\"\"\"x \\\"\"\" fit()\"\"\"", "A = f(1)\nB: int = 2\na.b[c] += 3\n", "x: int\n",
        "def f():\n  fit()\n\n  fit()\nclass B:\n\tfit()\n", "async def f(): fit()\n",
        "if A:\n  import b\nelse:\n  raise ImportError('c')\n", "@f(\n  1)\ndef g(): pass\n",
        "A = 1 + \\\n  2\n", "B = 'fit(\\'\\n'\r\n"}) {
    EXPECT_FALSE(runs(text)) << text;
  }
}

TEST(PythonText, ScriptsDoSomethingWhenLoaded) {
  for (const char* text :
       {"fit()\n", "import a\n\nfit(b=1)", "for a in b:\n  c = a\n", "with a as b:\n  c = b\n",
        "def f():\n  pass\nf()\n", "if A:\n  def f():\n    pass\n  f()\n", "a = Reader(['en'])\n",
        "a == b\n", "'''x'''\nfit()\n"}) {
    EXPECT_TRUE(runs(text)) << text;
  }
}

TEST(PythonText, BrokenTextIsRead) {
  for (const char* text :
       {"'", "'''", "(", ")", "\\", "\"a\\", "'''a\\", "a = '\n", "#", "@", ":"}) {
    runs(text);
    imported_files(text);
    EXPECT_EQ(literal_port(text), "") << text;
  }
}

TEST(PythonText, OneLiteralPortIsTheServers) {
  EXPECT_EQ(literal_port("support = 50\nuvicorn.run(app, host=\"0.0.0.0\", port=8123)\n"), "8123");
  EXPECT_EQ(literal_port("connect(host=\"db\", port=5432)\nuvicorn.run(app, port=8123)\n"), "");
}

TEST(PythonText, ImportsAreFiles) {
  EXPECT_THAT(imported_files("import a.b as c, d\n"),
              ElementsAre("a/b.py", "a/b/__init__.py", "d.py", "d/__init__.py"));
  EXPECT_THAT(imported_files("from .a import (  # x\n  b as c,\n)\n"),
              ElementsAre("a.py", "a/__init__.py", "a/b.py", "a/b/__init__.py"));
  EXPECT_THAT(imported_files("from . import a\n"), ElementsAre("a.py", "a/__init__.py"));
  EXPECT_THAT(imported_files("from ../../etc import passwd\nimport\nfrom\n"), IsEmpty());
}

}  // namespace
}  // namespace ocrtune
