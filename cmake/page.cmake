# The report page's style sheet and scripts as text in the program.
set(page_parts ${CMAKE_SOURCE_DIR}/reports/page/report.css ${CMAKE_SOURCE_DIR}/reports/page/report.js
    ${CMAKE_SOURCE_DIR}/reports/page/trials.js)
set(page_source ${CMAKE_BINARY_DIR}/generated/page_parts.cpp)
add_custom_command(
  OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${page_source} "-DPARTS=${page_parts}" -P ${CMAKE_SOURCE_DIR}/cmake/embed_page.cmake
  DEPENDS ${page_parts} ${CMAKE_SOURCE_DIR}/cmake/embed_page.cmake
  VERBATIM COMMENT "Embedding the report page's parts")
target_sources(ocrtune_reports PRIVATE ${page_source})
