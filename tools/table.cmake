# adept_table(PREFIX TYPE FUNCTION HEADER): a table of what the files PREFIX_NAME.c of this folder define, each one TYPE_NAME, so that
# adding one touches one file. FUNCTION returns it, sorted by NAME, with a NULL at its end; ${PREFIX}_table.c is its source.
function(adept_table prefix type function header)
  file(GLOB files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${prefix}_*.c)
  list(SORT files)
  set(externs "")
  set(rows "")
  foreach(file IN LISTS files)
    string(REGEX REPLACE "^${prefix}_(.*)\\.c$" "\\1" name ${file})
    string(APPEND externs "extern const ${type} ${type}_${name};\n")
    string(APPEND rows "        &${type}_${name},\n")
  endforeach()
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
