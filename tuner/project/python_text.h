// What the text of a Python file says of how it is used: nothing is executed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

// Whether loading the file does something: a statement outside of functions and classes that is no
// import, docstring or assignment; an assignment is one where it calls one of `makers` ("Reader(").
bool runs_when_loaded(const std::string& text, const std::vector<std::string_view>& makers);

// The files that its imports may mean, relative to a folder of modules: "a/b.py" and
// "a/b/__init__.py" of `import a.b`, "a/b.py" of `from a import b` too.
std::vector<std::string> imported_files(const std::string& text);

// The port that it listens on where it names one as a number: port=8000, ("0.0.0.0", 8000). Empty:
// it names none.
std::string literal_port(const std::string& text);

}  // namespace ocrtune
