# What Debian wants in a package and a plain installation does not: cpack runs this on the staged files of all packages.
# lintian finds nothing of weight then; what it is told to overlook, and why, stands in `overrides_` below.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
find_program(GZIP gzip REQUIRED)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH where it is set

set(copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: adept

Files: *
Copyright: 2026 The adept developers
License: Apache-2.0
@comment@
License: Apache-2.0
 On Debian systems, the text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
set(comment_adept "Comment:
 The program is linked with the GNU Scientific Library: as a whole it is
 distributed under the terms of the GNU General Public License, version 3,
 /usr/share/common-licenses/GPL-3. All sources of adept are under Apache-2.0.
")
set(comment_adept-slurm "Comment:
 The plugin is loaded into slurmctld, which is under the GNU General Public
 License, version 2 or later.
")
# The package is called libadept, for whatever version; its shlibs say which it needs. CPack calls ldconfig in scripts, beside the trigger.
set(overrides_libadept "libadept: package-name-doesnt-match-sonames libadept0.2
libadept: maintscript-calls-ldconfig *
")
file(GLOB stages LIST_DIRECTORIES true "${CPACK_TEMPORARY_DIRECTORY}/*")
foreach(stage IN LISTS stages)
  get_filename_component(package "${stage}" NAME)
  set(doc "${stage}/usr/share/doc/${package}")
  if(NOT IS_DIRECTORY "${doc}")
    continue()
  endif()
  set(comment "${comment_${package}}")
  string(CONFIGURE "${copyright}" text @ONLY)
  file(WRITE "${doc}/copyright" "${text}")
  file(WRITE "${doc}/changelog" "adept (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What changed is in CHANGELOG.md of the package adept.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  if(overrides_${package})
    file(WRITE "${stage}/usr/share/lintian/overrides/${package}" "${overrides_${package}}")
  endif()
  file(GLOB pages "${stage}/usr/share/man/man*/*.[1-9]" "${doc}/changelog")
  if(pages)
    execute_process(COMMAND ${GZIP} -9nf ${pages} RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "gzip fails on the pages of ${package}")
    endif()
  endif()
endforeach()
execute_process(COMMAND chmod -R u=rwX,go=rX ${stages} RESULT_VARIABLE failed) # whatever the umask was
if(failed)
  message(FATAL_ERROR "chmod fails on the packages' files")
endif()
