/** @file fuzz_result.c  Files that `adept measure`, `adept predict` and `adept simulate` are said to have written:
 * merged, compared with themselves, put into rows; and goals. What is accepted gives numbers or none, and no crash. */
#include "adept_idle_fit.h"
#include "adept_merge.h"
#include "adept_result.h"
#include "fuzz_require.h"
#include "goal.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_merge(const char *path)
{
    adept_merge *m = NULL;
    adept_error err = {0};
    adept_status status = adept_merge_files(&m, (const char *const[]){path, path}, 2, &err);

    REQUIRE(status == ADEPT_OK ? m && m->n_nodes == 1 && m->n_columns > 0 : !m && err.message[0]);
    adept_merge_free(m);
}

static void check_compare(const char *path)
{
    adept_compare c;
    adept_error err = {0};
    const char *const paths[2] = {path, path};
    const adept_compare_choice choice = {.region = NULL};

    if (adept_compare_files(&c, paths, &choice, &err) == ADEPT_OK)
        for (size_t i = 0; i < c.n_rows; i++)
            REQUIRE(isnan(c.rows[i].difference) || c.rows[i].difference == 0);
    else
        REQUIRE(err.message[0]);
    adept_compare_free(&c);
}

static void check_rows(const char *path)
{
    const adept_ea2p_labels labels = {"", "", "", ""};
    cJSON *result = NULL;

    if (adept_result_read(&result, path, NULL) != ADEPT_OK) return;
    REQUIRE(adept_result_append_csv("/dev/null", result, 1, NULL) == ADEPT_OK);
    REQUIRE(adept_result_append_ea2p("/dev/null", result, &labels, NULL) == ADEPT_OK);
    cJSON_Delete(result);
}

static char *text_of(const adept_comparison *c)
{
    adept_json_writer w = {.pretty = false};

    REQUIRE(adept_comparison_write(&w, c, NULL) == ADEPT_OK);
    return adept_json_finish(&w);
}

/* What is read and written reads as the same again. */
static void check_simulated(const char *path)
{
    cJSON *tree = NULL, *again = NULL;
    adept_comparison one, two;
    adept_error err = {0};

    if (adept_result_read(&tree, path, NULL) != ADEPT_OK) return;
    adept_status status = adept_comparison_read(&one, tree, path, &err);
    REQUIRE(status == ADEPT_OK || err.message[0]);
    if (status == ADEPT_OK && one.n_policies * one.n_seeds < 1000) {
        char *text = text_of(&one);
        REQUIRE(text && (again = cJSON_Parse(text)) && adept_comparison_read(&two, again, path, &err) == ADEPT_OK);
        char *same = text_of(&two);
        REQUIRE(same && strcmp(same, text) == 0);
        free(text);
        free(same);
        cJSON_Delete(again);
        adept_comparison_free(&two);
    }
    adept_comparison_free(&one);
    cJSON_Delete(tree);
}

static void check_goals(const char *path)
{
    adept_goals goals;

    if (adept_goals_read(&goals, path, NULL) == ADEPT_OK) REQUIRE(goals.n > 0);
    adept_goals_free(&goals);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int file = memfd_create("fuzz", 0);
    char path[64];
    adept_idle_fit fit;

    REQUIRE(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    check_merge(path);
    check_compare(path);
    check_rows(path);
    check_simulated(path);
    check_goals(path);
    if (adept_idle_fit_load(&fit, path, "n1", NULL) == ADEPT_OK) REQUIRE(strcmp(fit.host, "n1") == 0);
    close(file);
    return 0;
}
