/** @file zip_file.h  Zip archives for tests: made from scratch, or a real one with entries replaced. All functions
 * abort the test program when the file cannot be written. */
#ifndef ADEPT_TEST_ZIP_FILE_H
#define ADEPT_TEST_ZIP_FILE_H
#include <stdbool.h>
#include <stddef.h>

typedef struct test_entry {
    const char *name;
    const void *data;
    size_t size;
} test_entry;

/** Entry with a string as content. */
#define TEST_TEXT(name, text)                                                                                          \
    {                                                                                                                  \
        name, text, sizeof(text) - 1                                                                                   \
    }

void test_zip_write(const char *path, const test_entry *entries, size_t n, bool deflate);

/** Copy an archive; the content of the entry called `name` becomes `data`, NULL drops it. New names are added. */
void test_zip_replace(const char *to, const char *from, const char *name, const void *data, size_t size);

/** Content of an entry, malloc'ed and zero-terminated; NULL if there is none. */
char *test_zip_read(const char *path, const char *name, size_t *size);

/** Whole files. */
char *test_file_read(const char *path, size_t *size);
void test_file_write(const char *path, const void *data, size_t size);

#endif
