# What recognises lines with --backend onnxruntime, openvino and paddle.
set(framework_script ${CMAKE_BINARY_DIR}/share/ocrtune/frameworks/framework_engine.py)
set(framework_source ${CMAKE_SOURCE_DIR}/trial/workloads/engine_infer/framework_engine.py)
add_custom_command(OUTPUT ${framework_script} DEPENDS ${framework_source}
  COMMAND ${CMAKE_COMMAND} -E copy ${framework_source} ${framework_script})
add_custom_target(framework_engine ALL DEPENDS ${framework_script})
add_dependencies(ocrtune framework_engine)
install(FILES ${framework_script} DESTINATION ${CMAKE_INSTALL_DATADIR}/ocrtune/frameworks)
