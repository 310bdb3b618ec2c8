/* Runs a fuzz target, named first, once on every file named, or in every folder named: corpora are replayed without
 * libFuzzer.
 * Fails if there is nothing to run, so that a corpus that was lost does not pass for one that is clean. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "replay_targets.h" /* made by CMake */

#define DECLARE(name) int replay_##name(const uint8_t *data, size_t size);
ALL_TARGETS(DECLARE)
#define ROW(name) {#name, replay_##name},
static const struct {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} targets[] = {ALL_TARGETS(ROW)};

static int (*target)(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    if (!file || fstat(fileno(file), &st) != 0) {
        perror(path);
        exit(1);
    }
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size ? size : 1); /* exactly as large as the input: sanitizers see every overrun */
    if (!data || fread(data, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot read\n", path);
        exit(1);
    }
    fclose(file);
    target(data, size);
    free(data);
    return 1;
}

static int run_folder(const char *path, DIR *dir)
{
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        size_t size = strlen(path) + strlen(entry->d_name) + 2;
        char *file = malloc(size);
        if (!file) exit(1);
        snprintf(file, size, "%s/%s", path, entry->d_name);
        n += run_file(file);
        free(file);
    }
    closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    int n = 0;
    for (size_t i = 0; argc > 1 && i < sizeof targets / sizeof targets[0]; i++)
        if (!strcmp(argv[1], targets[i].name)) target = targets[i].run;
    for (int i = 2; target && i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        n += dir ? run_folder(argv[i], dir) : run_file(argv[i]);
    }
    printf("%d inputs\n", n);
    return n > 0 ? 0 : 1;
}
