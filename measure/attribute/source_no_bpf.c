/** @file source_no_bpf.c  Instead of source_bpf.c in a build without libbpf or clang. */
#include "activity_source.h"
#include <stdio.h>

static bool open_bpf(void **state, adept_processes *p, bool has[ADEPT_ACTIVITIES], char *why, size_t size)
{
    (void)state;
    (void)p;
    (void)has;
    snprintf(why, size, "this adept was built without libbpf and clang");
    return false;
}

const adept_activity_source adept_activity_source_bpf = {.name = "bpf", .counts = "nothing", .open = open_bpf};
