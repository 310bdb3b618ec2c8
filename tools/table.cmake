# adept_table_lines(TYPE NAME...): of TYPE_NAME, ..., which some files define, sets `externs` to their declarations and `rows` to their
# addresses, a line each, so that adding one touches one file.
function(adept_table_lines type)
  set(externs "")
  set(rows "")
  foreach(name IN LISTS ARGN)
    string(APPEND externs "extern const ${type} ${type}_${name};\n")
    string(APPEND rows "        &${type}_${name},\n")
  endforeach()
  set(externs "${externs}" PARENT_SCOPE)
  set(rows "${rows}" PARENT_SCOPE)
endfunction()

# adept_table_names(OUT PREFIX): the NAMEs of the files PREFIX_NAME.c of this folder, sorted.
function(adept_table_names out prefix)
  file(GLOB names RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${prefix}_*.c)
  list(TRANSFORM names REPLACE "^${prefix}_(.*)\\.c$" "\\1")
  list(SORT names)
  set(${out} ${names} PARENT_SCOPE)
endfunction()

# adept_table(PREFIX TYPE FUNCTION HEADER): a table of what the files PREFIX_NAME.c of this folder define, each one TYPE_NAME. FUNCTION
# returns it, sorted by NAME, with a NULL at its end; ${PREFIX}_table.c is its source.
function(adept_table prefix type function header)
  adept_table_names(names ${prefix})
  adept_table_lines(${type} ${names})
  file(CONFIGURE OUTPUT ${prefix}_table.c @ONLY CONTENT [[
/* Generated from the files @prefix@_*.c. */
#include "@header@"
@externs@
const @type@ *const *@function@(void)
{
    static const @type@ *const table[] = {
@rows@        NULL};
    return table;
}
]])
endfunction()

# Rows of a CSV as rows of C, in HEADER of the build's folder: no file is looked for at run time. PATTERN is what a row must
# match, ROW what it becomes, with \\1 for its first group; COLUMNS are named where a row does not match.
function(adept_csv_rows header csv columns pattern row)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${csv})
  file(STRINGS ${csv} lines REGEX "^[^#]")
  set(rows "")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "${pattern}")
      message(FATAL_ERROR "${csv}: not ${columns}: ${line}")
    endif()
    string(REGEX REPLACE "${pattern}" "${row}" cells "${line}")
    string(APPEND rows "${cells},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${header} CONTENT "${rows}" @ONLY)
endfunction()
