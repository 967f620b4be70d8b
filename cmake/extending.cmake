# The examples of docs/extending.md as a program: each row is put into a copy of its table, which is linked
# in place of the table itself, and the examples' own tests run over them.
set(examples ${CMAKE_CURRENT_BINARY_DIR}/extending)
file(READ ${CMAKE_SOURCE_DIR}/docs/extending.md document)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/extending.md)

# Takes the next block of that kind out of `document`: what stands after "```kind". Empty: there is none.
function(take_block kind out)
  set(${out} "" PARENT_SCOPE)
  string(FIND "${document}" "\n```${kind}\n" at)
  if(at EQUAL -1)
    return()
  endif()
  string(SUBSTRING "${document}" 0 ${at} before)
  string(LENGTH "\n```${kind}" head)
  math(EXPR at "${at} + ${head}")
  string(SUBSTRING "${document}" ${at} -1 rest)
  string(FIND "${rest}" "\n```\n" end)
  string(SUBSTRING "${rest}" 1 ${end} block)
  string(SUBSTRING "${rest}" ${end} -1 after)
  set(${out} "${block}" PARENT_SCOPE)
  set(document "${before}${after}" PARENT_SCOPE)
endfunction()

function(write_example name text)
  file(WRITE ${examples}/${name}.new "${text}")
  file(COPY_FILE ${examples}/${name}.new ${examples}/${name} ONLY_IF_DIFFERENT)
endfunction()

# Puts the document's rows for that file, of that kind, into a copy of it, behind the first line that matches `head`.
function(write_table kind table head)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${table})
  take_block("${kind} ${table}" row)
  file(READ ${CMAKE_SOURCE_DIR}/${table} text)
  string(REGEX MATCH "\n${head}\n" line "${text}")
  string(FIND "${text}" "${line}" at)
  if(row STREQUAL "" OR line STREQUAL "")
    message(FATAL_ERROR "docs/extending.md has no row for ${table}, or that has no table")
  endif()
  string(LENGTH "${line}" length)
  math(EXPR at "${at} + ${length}")
  string(SUBSTRING "${text}" 0 ${at} before)
  string(SUBSTRING "${text}" ${at} -1 after)
  write_example(${table} "${before}${row}${after}")
  set(document "${document}" PARENT_SCOPE)
endfunction()

set(row_head "  (static const [^\n]*= |return ){")
write_table(cpp trial/knobs.h "struct Knobs {")
write_table(cpp trial/knobs.cpp "${row_head}")
write_table(text diagnosis/signatures/signatures_program.cpp "const std::string_view [^\n]*rows[(]")
write_table(cpp trial/logs/log_reader.cpp "${row_head}")

take_block("toml presets/pagewright.toml" preset)
write_example(config/ocrtune/presets/pagewright.toml "${preset}")

file(READ ${CMAKE_SOURCE_DIR}/tests/support/extending_test.cpp.in tests)
take_block("cpp test" test)
while(NOT test STREQUAL "")
  string(APPEND tests "\n${test}")
  take_block("cpp test" test)
endwhile()
write_example(extending_test.cpp "${tests}")

add_executable(extending_tests ${examples}/extending_test.cpp ${examples}/diagnosis/signatures/signatures_program.cpp
               ${examples}/trial/logs/log_reader.cpp)
target_compile_definitions(extending_tests PRIVATE OCRTUNE_EXAMPLE_CONFIG="${examples}/config")
target_link_libraries(extending_tests PRIVATE test_paths ocrtune_trial GTest::gtest_main GTest::gmock)
label_tests(extending_tests house/ unit)

# A knob is a field of every setting: no file that knows the other form of `Knobs` may be linked with it. The
# table's own tests hold for the row as well.
take_block("cpp test of trial/knobs" test)
write_example(extending_knob_test.cpp "#include \"trial/knobs.h\"\n\n#include <gtest/gtest.h>\n\nusing namespace ocrtune;  // NOLINT\n\n${test}")
add_executable(extending_knob_tests ${examples}/extending_knob_test.cpp ${examples}/trial/knobs.cpp
               ${CMAKE_CURRENT_SOURCE_DIR}/unit/trial/knobs_test.cpp)
target_include_directories(extending_knob_tests BEFORE PRIVATE ${examples})
target_link_libraries(extending_knob_tests PRIVATE test_paths ocrtune_trial GTest::gtest_main)
label_tests(extending_knob_tests house/ unit)
