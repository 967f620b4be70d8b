// The whole program as a table of contents: see cli/commands.h.
#include "cli/commands.h"

int main(int argc, char** argv) { return ocrtune::run_command_line(argc, argv); }
