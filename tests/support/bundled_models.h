/** @file bundled_models.h  Walks the models that travel with adept. Header only. */
#ifndef BUNDLED_MODELS_H
#define BUNDLED_MODELS_H
#include "cmocka_test.h"
#include <dirent.h>
#include "adept_profile.h"

/** Is a bundled model another one in another size? Its operators, and what the laws make of them, are the other's. */
static inline bool bundled_again(const char *file)
{
    static const char *const sizes[] = {"bert_large_seqcls", "gpt2_large", "gpt2_medium",  "gpt2_xl",
                                        "gpt3_27",           "opt_13",     "qwen2.5_1.5b", "qwen2.5_3b"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strncmp(file, sizes[i], strlen(sizes[i])) == 0 && file[strlen(sizes[i])] == '.') return true;
    return false;
}

/** Call `check` with the path of every bundled TorchScript or torch.export file, in the order of the folder; fails the
 *  test if the folder cannot be read. @param sizes  also those of bundled_again() @return how many there are */
static inline size_t bundled_models_each(bool sizes, void (*check)(const char *path, void *context), void *context)
{
    size_t n = 0;
    DIR *folder = opendir(ADEPT_SOURCE_DIR "/data/models");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char path[1024];
        if (!strstr(entry->d_name, ".pt") || (!sizes && bundled_again(entry->d_name))) continue;
        snprintf(path, sizeof path, "%s/data/models/%s", ADEPT_SOURCE_DIR, entry->d_name);
        check(path, context);
        n++;
    }
    closedir(folder);
    return n;
}

/** The profile saved beside a bundled model. test_saved_models finds the model itself in it, and needs libtorch for
 * that. */
static inline void bundled_profile(char path[1024], const char *model)
{
    snprintf(path, 1024, "%.*s.profile.json", (int)(strrchr(model, '.') - model), model);
}

static inline adept_graph *bundled_graph(const char *model)
{
    char path[1024];
    adept_graph *graph = NULL;
    adept_workload_config config;
    adept_error err = {0};
    bundled_profile(path, model);
    if (adept_saved_read(&graph, &config, path, 0, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return graph;
}

#endif
