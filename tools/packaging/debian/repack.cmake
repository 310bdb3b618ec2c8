# The packages once more, by dpkg-deb, as equal files give equal packages then: CPack writes the time and the umask into them, and the size
# of folders on this file system into Installed-Size.
if(CPACK_GENERATOR STREQUAL "DEB")
  execute_process(COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/repack.sh ${CPACK_PACKAGE_FILES} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "dpkg-deb fails on the packages")
  endif()
endif()
