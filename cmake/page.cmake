# The report page's style sheet, script and chart library as text in the program.
#
# Chart.js comes from the distribution (libjs-chart.js) and lives only in the build tree. Where it is
# absent the page keeps its server-drawn pictures and says so.
find_file(OCRTUNE_CHART_JS NAMES chart.min.js Chart.min.js
          PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
          NO_DEFAULT_PATH DOC "Chart.js, embedded in report.html")
if(NOT OCRTUNE_CHART_JS)
  message(STATUS "Chart.js (libjs-chart.js) not found: report.html gets server-drawn pictures only")
endif()

set(page_parts ${CMAKE_SOURCE_DIR}/reports/page/report.css ${CMAKE_SOURCE_DIR}/reports/page/report.js
    ${CMAKE_SOURCE_DIR}/reports/page/trials.js ${CMAKE_SOURCE_DIR}/reports/page/charts.js)
set(page_source ${CMAKE_BINARY_DIR}/generated/page_parts.cpp)
add_custom_command(
  OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${page_source} "-DPARTS=${page_parts}"
          -DCHART=${OCRTUNE_CHART_JS} -P ${CMAKE_SOURCE_DIR}/cmake/embed_page.cmake
  DEPENDS ${page_parts} ${CMAKE_SOURCE_DIR}/cmake/embed_page.cmake
  VERBATIM COMMENT "Embedding the report page's parts")
target_sources(ocrtune_reports PRIVATE ${page_source})
