/** @file bundled_models.h  Walks the models that travel with adept. Header only. */
#ifndef BUNDLED_MODELS_H
#define BUNDLED_MODELS_H
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/** Call `check` with the path of every bundled TorchScript or torch.export file, in the order of the folder; fails the
 *  test if the folder cannot be read. @return how many there are */
static inline size_t bundled_models_each(void (*check)(const char *path, void *context), void *context)
{
    size_t n = 0;
    DIR *folder = opendir(ADEPT_SOURCE_DIR "/data/models");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char path[1024];
        if (!strstr(entry->d_name, ".pt")) continue;
        snprintf(path, sizeof path, "%s/data/models/%s", ADEPT_SOURCE_DIR, entry->d_name);
        check(path, context);
        n++;
    }
    closedir(folder);
    return n;
}

#endif
