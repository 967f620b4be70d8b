# What `tune --engine paddle` starts: a training script, and each model's layers as JSON.
add_executable(graph_dump trial/workloads/engine_paddle/graph_dump_main.cpp)
target_link_libraries(graph_dump PRIVATE ocrtune_networks CLI11::CLI11)

set(paddle_folder ${CMAKE_BINARY_DIR}/share/ocrtune/paddle)
file(MAKE_DIRECTORY ${paddle_folder})
set(paddle_files)
list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)  # empty where the machine is that of the build
foreach(model crnn crnn-mv3 ppocr-mobile svtrv2-small svtrv2)
  add_custom_command(OUTPUT ${paddle_folder}/${model}.json
    COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0
            sh -c "${emulator} \"$<TARGET_FILE:graph_dump>\" --model ${model} > ${model}.part && mv ${model}.part ${model}.json"
    WORKING_DIRECTORY ${paddle_folder} DEPENDS graph_dump VERBATIM COMMENT "Printing ${model}.json")
  list(APPEND paddle_files ${paddle_folder}/${model}.json)
endforeach()
foreach(script paddle_engine.py paddle_network.py)
  set(source ${CMAKE_SOURCE_DIR}/trial/workloads/engine_paddle/${script})
  add_custom_command(OUTPUT ${paddle_folder}/${script} DEPENDS ${source}
    COMMAND ${CMAKE_COMMAND} -E copy ${source} ${paddle_folder}/${script})
  list(APPEND paddle_files ${paddle_folder}/${script})
endforeach()
add_custom_target(paddle_engine ALL DEPENDS ${paddle_files})
add_dependencies(ocrtune paddle_engine)
install(FILES ${paddle_files} DESTINATION ${CMAKE_INSTALL_DATADIR}/ocrtune/paddle)
