# Debian packages: `cpack -G DEB` in a build tree that was configured with -DCMAKE_INSTALL_PREFIX=/usr. One for each component.
set(CPACK_PACKAGE_NAME adept)
set(CPACK_PACKAGE_VENDOR "adept")
# Who builds packages for others is their maintainer: DEBFULLNAME and DEBEMAIL as for Debian's own tools, or -DCPACK_PACKAGE_CONTACT=.
# The project has no mailing list; ".invalid" says so to programs that read the field (RFC 2606).
set(contact "The adept developers <developers@adept.invalid>")
if(DEFINED ENV{DEBEMAIL})
  set(contact "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
  if(NOT DEFINED ENV{DEBFULLNAME})
    set(contact "$ENV{DEBEMAIL} <$ENV{DEBEMAIL}>")
  endif()
endif()
set(CPACK_PACKAGE_CONTACT "${contact}" CACHE STRING "Maintainer field of packages: Name <address>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL libadept libadept-dev adept python3-adept)
if(TARGET adept_torch)
  list(APPEND CPACK_COMPONENTS_ALL adept-torch)
endif()
if(TARGET adept_slurm_plugin)
  list(APPEND CPACK_COMPONENTS_ALL adept-slurm)
  install(FILES tools/slurm/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/adept-slurm COMPONENT adept-slurm)
endif()
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component} RENAME copyright COMPONENT ${component})
endforeach()
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/adept COMPONENT adept)
install(FILES tools/packaging/adept-attribute.service tools/packaging/adept-serve.service DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/adept/examples COMPONENT adept)
install(FILES docs/LIBRARY.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/python3-adept COMPONENT python3-adept)
install(FILES docs/LIBRARY.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libadept-dev COMPONENT libadept-dev)

set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/tools/packaging/debian/files.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/tools/packaging/debian/repack.cmake)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own, the first line of its description
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON) # whatever the source was unpacked with
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/library) # adept-slurm needs libadept.so, which is not installed yet
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # dpkg-shlibdeps says which libraries are needed
set(CPACK_DEBIAN_LIBADEPT_PACKAGE_NAME libadept)
set(CPACK_DEBIAN_LIBADEPT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_LIBADEPT_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/tools/packaging/debian/triggers)
set(CPACK_COMPONENT_LIBADEPT_DESCRIPTION "time, power and energy of a deep-learning step: library
Predicts what a training or inference step of a model costs on a GPU,
for programs to embed. Needs neither PyTorch nor a GPU.")
set(CPACK_DEBIAN_LIBADEPT-DEV_PACKAGE_NAME libadept-dev)
set(CPACK_DEBIAN_LIBADEPT-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBADEPT-DEV_PACKAGE_DEPENDS "libadept (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_LIBADEPT-DEV_PACKAGE_RECOMMENDS "libcjson-dev, libzip-dev, libssl-dev") # to link libadept.a
set(CPACK_COMPONENT_LIBADEPT-DEV_DESCRIPTION "time, power and energy of a deep-learning step: headers
C headers, static library, pkg-config and CMake files, and the manual of
libadept.")
set(CPACK_DEBIAN_ADEPT_PACKAGE_NAME adept)
# What the program opens when it is needed (tools/serve/http.c, measure/network/remote.c); Debian 13 has them by other names.
set(CPACK_DEBIAN_ADEPT_PACKAGE_RECOMMENDS "adept-torch, libmicrohttpd12 | libmicrohttpd12t64, libcurl4 | libcurl4t64")
set(CPACK_DEBIAN_ADEPT_PACKAGE_SUGGESTS "gnuplot-nox, bash-completion")
set(CPACK_COMPONENT_ADEPT_DESCRIPTION "time, power and energy of a deep-learning step before it runs
The program adept: profiles of models, predictions on GPUs, calibration.
Linked with the GNU Scientific Library, this binary is distributed under
the terms of the GPL 3; its own sources are under Apache-2.0.")
set(CPACK_DEBIAN_PYTHON3-ADEPT_PACKAGE_NAME python3-adept)
set(CPACK_DEBIAN_PYTHON3-ADEPT_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON3-ADEPT_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON3-ADEPT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON3-ADEPT_PACKAGE_DEPENDS "python3 (>= 3.7), libadept (= ${PROJECT_VERSION}), adept (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON3-ADEPT_PACKAGE_SUGGESTS python3-torch)
set(scripts ${PROJECT_SOURCE_DIR}/tools/packaging/debian/python3-adept)
set(CPACK_DEBIAN_PYTHON3-ADEPT_PACKAGE_CONTROL_EXTRA ${scripts}/postinst ${scripts}/prerm)
set(CPACK_COMPONENT_PYTHON3-ADEPT_DESCRIPTION "time, power and energy of a deep-learning step: Python
Predicts modules of PyTorch and files of models, compares predictions with
the steps of a training loop, and has all of libadept.")
set(CPACK_DEBIAN_ADEPT-TORCH_PACKAGE_NAME adept-torch)
set(CPACK_DEBIAN_ADEPT-TORCH_PACKAGE_DEPENDS "adept (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_ADEPT-TORCH_DESCRIPTION "reads TorchScript models for adept
The module that reads TorchScript .pt files with libtorch. Without it,
adept reads torch.export .pt2 files and saved profiles.")
# slurmctld refuses a plugin that was built for another version than its own.
set(CPACK_DEBIAN_ADEPT-SLURM_PACKAGE_NAME adept-slurm)
set(CPACK_DEBIAN_ADEPT-SLURM_PACKAGE_DEPENDS "libadept (= ${PROJECT_VERSION})")
if(TARGET adept_slurm_plugin)
  get_target_property(slurm_versions adept_slurm_plugin ADEPT_SLURM_VERSIONS)
  list(GET slurm_versions 0 slurm_version)
  list(GET slurm_versions 1 slurm_next)
  string(APPEND CPACK_DEBIAN_ADEPT-SLURM_PACKAGE_DEPENDS ", slurmctld (>= ${slurm_version}), slurmctld (<< ${slurm_next})")
endif()
set(CPACK_COMPONENT_ADEPT-SLURM_DESCRIPTION "places jobs of Slurm by predicted time, power and energy
A job_submit plugin of slurmctld: a job with a comment adept:PROFILE gets
the partition, GPUs and power limit that libadept predicts to be best.")
include(CPack)
