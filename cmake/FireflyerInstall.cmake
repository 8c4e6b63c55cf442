# The installed copy of the target `fireflyer`: library, headers, ff, and what find_package and
# pkg-config read. Nothing in it knows where it lies, so that the tree may be moved.
include(CMakePackageConfigHelpers)

function(ff_install)
  file(RELATIVE_PATH bin_to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  file(RELATIVE_PATH FF_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set_target_properties(ff PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")

  install(TARGETS fireflyer EXPORT fireflyerTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/fireflyer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/fireflyer)
  install(EXPORT fireflyerTargets NAMESPACE fireflyer:: DESTINATION ${package})
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/fireflyerConfig.cmake.in
    ${PROJECT_BINARY_DIR}/fireflyerConfig.cmake INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/fireflyerConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/fireflyerConfig.cmake ${PROJECT_BINARY_DIR}/fireflyerConfigVersion.cmake
    DESTINATION ${package})

  configure_file(${PROJECT_SOURCE_DIR}/cmake/fireflyer.pc.in ${PROJECT_BINARY_DIR}/fireflyer.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/fireflyer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
