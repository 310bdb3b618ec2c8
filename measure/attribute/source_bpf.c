/** @file source_bpf.c  (stub for now) */
#include "source.h"
#include <stdio.h>
static bool open_bpf(void **state, adept_processes *p, bool has[ADEPT_ACTIVITIES], char *why, size_t size)
{
    (void)state; (void)p; (void)has;
    snprintf(why, size, "this adept was built without libbpf");
    return false;
}
const adept_source adept_source_bpf = {.name = "bpf", .counts = "", .open = open_bpf};
