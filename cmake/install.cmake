# What `cmake --install` puts where, and the Debian package: `cpack -G DEB` in the build folder.
#
# The manual page and the completion scripts are printed by the program itself, so that they are
# those of its commands. The page's parts stand inside the program; nothing points to the build tree.
include(GNUInstallDirs)

set(documents ${CMAKE_BINARY_DIR}/documents)
file(MAKE_DIRECTORY ${documents})
function(add_document file)
  string(JOIN " " arguments ${ARGN})
  add_custom_command(
    OUTPUT ${documents}/${file}
    COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0
            sh -c "\"$<TARGET_FILE:ocrtune>\" ${arguments} > ${file}.part && mv ${file}.part ${file}"
    WORKING_DIRECTORY ${documents} DEPENDS ocrtune ocrtune-engine VERBATIM COMMENT "Printing ${file}")
  set_property(GLOBAL APPEND PROPERTY ocrtune_documents ${documents}/${file})
endfunction()
add_document(ocrtune.1 man)
add_document(ocrtune.bash completion bash)
add_document(_ocrtune completion zsh)
add_document(ocrtune.fish completion fish)
add_custom_command(OUTPUT ${documents}/ocrtune.1.gz COMMAND gzip -9nkf ocrtune.1
                   WORKING_DIRECTORY ${documents} DEPENDS ${documents}/ocrtune.1 VERBATIM)
set_property(GLOBAL APPEND PROPERTY ocrtune_documents ${documents}/ocrtune.1.gz)
get_property(document_files GLOBAL PROPERTY ocrtune_documents)
add_custom_target(documents ALL DEPENDS ${document_files})

install(TARGETS ocrtune ocrtune-engine ocrtune-gpu-worker RUNTIME)
if(TARGET ocrtune-cuda-worker)
  install(TARGETS ocrtune-cuda-worker RUNTIME)
endif()
if(TARGET ocrtune-cuda-core)
  install(TARGETS ocrtune-cuda-core RUNTIME)
endif()
install(DIRECTORY presets/ DESTINATION ${CMAKE_INSTALL_DATADIR}/ocrtune/presets FILES_MATCHING PATTERN *.toml)
install(FILES ${documents}/ocrtune.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${documents}/ocrtune.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ocrtune)
install(FILES ${documents}/ocrtune.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
# Debian's zsh looks into /usr/share/zsh/vendor-completions and /usr/local/share/zsh/site-functions.
install(CODE "
  set(folder site-functions)
  if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    set(folder vendor-completions)
  endif()
  file(INSTALL \"${documents}/_ocrtune\"
       DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder}\")")
install(FILES README.md docs/architecture.md docs/glossary.md docs/schema.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/schema DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ocrtune)
set(CPACK_PACKAGE_VENDOR "ocrtune")
set(CPACK_PACKAGE_CONTACT "ocrtune developers <ocrtune@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "launch settings for OCR training, measured on this machine")
set(CPACK_PACKAGE_DESCRIPTION
    "Probes the machine, then sweeps process counts, threads, batch sizes and other
settings over a real OCR training core or over a launch command of the user's,
each in fresh processes, and recommends the setting that is safe and fast here.
The evidence is left as a report page, CSV files and a sourceable environment.")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# It is loaded when a request is to be sent.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libcurl4 | libcurl3-gnutls")
# make-data draws with the fonts that are installed.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-dejavu-core, fonts-liberation")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
