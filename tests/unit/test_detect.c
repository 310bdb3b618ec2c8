/* What a file is, by its content, and one clear message for each kind of file that is no model. */
#include "adept_import.h"
#include "adept_file.h"
#include "sha256.h"
#include "torchscript_pack.h"
#include "cmocka_test.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

static char folder[] = "/tmp/adept-detect-XXXXXX";
static char path[256];

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char name[600];
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(name, sizeof name, "%s/%s", folder, e->d_name);
        unlink(name);
    }
    if (dir) closedir(dir);
    return rmdir(folder);
}

static const char *write_file(const char *name, const char *bytes, size_t size)
{
    adept_error err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(adept_file_write(path, bytes, size, &err), ADEPT_OK);
    return path;
}

/* A zip with entries of these names; the list ends with NULL. */
static const char *write_zip(const char *name, const char *const *entries)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int code = 0;
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    assert_non_null(zip);
    for (; *entries; entries++) {
        zip_source_t *source = zip_source_buffer(zip, "x", 1, 0);
        assert_true(zip_file_add(zip, *entries, source, 0) >= 0);
    }
    assert_int_equal(zip_close(zip), 0);
    return path;
}

static void is_format(const char *file, adept_file_format expected)
{
    adept_file_format format;
    adept_error err = {0};
    if (adept_file_detect(&format, file, NULL, 0, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_int_equal(format, expected);
}

/* Both detection and import refuse, with the same words. */
static void is_refused(const char *file, const char *words)
{
    adept_file_format format;
    adept_graph *g = NULL;
    adept_error err = {0}, again = {0};
    assert_int_equal(adept_file_detect(&format, file, NULL, 0, &err), ADEPT_E_INVALID);
    assert_int_equal(adept_import_model(&g, file, NULL, &again), ADEPT_E_INVALID);
    assert_null(g);
    assert_string_equal(err.message, again.message);
    if (strncmp(err.message, file, strlen(file)) != 0 || !strstr(err.message, words)) fail_msg("'%s'", err.message);
    assert_int_equal(adept_file_detect(&format, file, NULL, 0, NULL), ADEPT_E_INVALID);
}

static void test_formats(void **state)
{
    (void)state;
    is_format(write_zip("a.pt", (const char *[]){"net/code/__torch__.py", "net/data.pkl", NULL}),
              ADEPT_FORMAT_TORCHSCRIPT);
    is_format(write_zip("b.pt", (const char *[]){"net/constants.pkl", NULL}), ADEPT_FORMAT_TORCHSCRIPT);
    is_format(write_zip("c.pt2", (const char *[]){"serialized_exported_program.json", "version", NULL}),
              ADEPT_FORMAT_EXPORT);
    is_format(write_zip("d.bin", (const char *[]){"net/archive_format", "net/models/model.json", NULL}),
              ADEPT_FORMAT_EXPORT);
    is_format(write_file("e.json", " \n{\"schema_version\": 1}", 23), ADEPT_FORMAT_PROFILE);
}

/* What downloads leave in a model's place. */
static void test_texts(void **state)
{
    (void)state;
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 102530333\n",
                      page[] = "<!doctype html>\n<html lang=\"en\">";
    is_refused(write_file("pointer.pt", pointer, sizeof pointer - 1),
               ": a pointer of Git LFS, not the file itself: git lfs pull");
    is_refused(write_file("page.pt", page, sizeof page - 1), ": a web page, not the file itself");
    is_refused(write_file("short.pt", pointer, 9), "neither a zip archive");
}

static void test_no_files(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/none.pt", folder);
    is_refused(path, "No such file");
    is_refused(folder, "is a directory");
    is_refused(write_file("empty.pt", "", 0), "empty");
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    is_refused(path, "not a regular file");
}

static void test_no_models(void **state)
{
    (void)state;
    is_refused(write_zip("s.pt", (const char *[]){"net/data.pkl", "net/data/0", "net/version", NULL}),
               "holds weights only (torch.save), no program: export the model with torch.jit.trace(...).save or "
               "torch.export.save");
    is_refused(write_zip("f.zip", (const char *[]){"README", "src/main.c", NULL}), "a zip archive, but not one");
    is_refused(write_zip("aoti.pt2", (const char *[]){"net/archive_format", "net/data/aotinductor/model/a.so", NULL}),
               "AOTInductor");
    is_refused(write_file("old.pt", "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", 15), "before 1.6");
    is_refused(write_file("p.pkl", "\x80\x04\x95", 3), "pickle");
    is_refused(write_file("text.pt", "hello, world", 12), "neither a zip archive");
    is_refused(write_file("one.pt", "P", 1), "neither a zip archive");
    is_refused(write_file("pk.pt", "PK\x03\x04 and then nothing", 20), "damaged or truncated");
}

static void test_truncated(void **state)
{
    (void)state;
    char *bytes = NULL;
    size_t size;
    adept_error err = {0};
    const char *whole = write_zip("w.pt", (const char *[]){"net/code/a.py", "net/data.pkl", NULL});
    assert_int_equal(adept_file_read(&bytes, &size, whole, 100000, &err), ADEPT_OK);
    for (size_t n = 2; n < size; n++)
        is_refused(write_file("t.pt", bytes, n), "damaged or truncated");
    free(bytes);
}

static void test_profile_is_no_model(void **state)
{
    (void)state;
    adept_graph *g = NULL;
    adept_error err = {0};
    assert_int_equal(adept_import_model(&g, write_file("p.json", "{}", 2), NULL, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "where a model"));
}

static void test_import_export(void **state)
{
    (void)state;
    char file[512], hex[65];
    snprintf(file, sizeof file, "%s/models/vit_b_16.pt2", ADEPT_SHARED_DIR);
    if (access(file, R_OK) != 0) skip();
    adept_graph *g = NULL;
    adept_error err = {0};
    assert_int_equal(adept_import_model(&g, file, NULL, &err), ADEPT_OK);
    assert_string_equal(g->path, file);
    assert_int_equal(adept_file_sha256(hex, file, &err), ADEPT_OK);
    assert_string_equal(g->sha256, hex);
    adept_graph_free(g);
}

/* Python's zipfile takes the last of two entries, libzip the first. */
static void test_twice(void **state)
{
    (void)state;
    static const char *const names[] = {"serialized_exported_program.json", "archive/data.pkl"};
    for (size_t i = 0; i < 2; i++) {
        adept_torch_pack pack = {.n_entries = 0};
        adept_torch_pack_begin(&pack, 0);
        adept_torch_pack_add(&pack, names[i], "{}", 2);
        adept_torch_pack_add(&pack, "archive/constants.pkl", "N.", 2);
        adept_torch_pack_add(&pack, names[i], "[]", 2);
        assert_true(adept_torch_pack_end(&pack, "twice.pt2"));
        is_refused(write_file("twice.pt2", pack.file.bytes, pack.file.n_bytes), "is in the archive twice");
        adept_torch_pack_free(&pack);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_texts), cmocka_unit_test(test_no_files),
        cmocka_unit_test(test_no_models),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_profile_is_no_model),
        cmocka_unit_test(test_import_export),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
