/* Where gcc's LeakSanitizer looks for pointers: in the variables of each library but libasan itself. Left to itself, it
 * looks through those too: 5.6 MB of tables that keep nothing of the program's, whose pages each start would touch.
 * Linked into every program of a sanitized build (CMakeLists.txt). */
#define _GNU_SOURCE
#include <link.h>
#include <sanitizer/lsan_interface.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

__attribute__((visibility("default"))) const char *__lsan_default_options(void)
{
    return "use_globals=0";
}

static int add_variables(struct dl_phdr_info *library, size_t size, void *data)
{
    (void)size;
    (void)data;
    if (strstr(library->dlpi_name, "/libasan.so")) return 0;
    for (size_t i = 0; i < library->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_W)
            __lsan_register_root_region((const void *)(uintptr_t)(library->dlpi_addr + part->p_vaddr), part->p_memsz);
    }
    return 0;
}

/* At the end, when all libraries are there that were opened, and before leaks are looked for. */
__attribute__((destructor)) static void add_roots(void)
{
    dl_iterate_phdr(add_variables, NULL);
}
