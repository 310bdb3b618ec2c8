/** @file adept_file.h  Files as text. Thread-safe on different files. Calls: adept_error, adept_grow. */
#ifndef ADEPT_FILE_H
#define ADEPT_FILE_H
#include "adept_error.h"
#include "adept_grow.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* Whatever reads a file by its name opens it here: a pipe or a device in a file's place is an error, and nobody waits.
 */

/** A regular file, open for reading. @param flags  more of open()'s: O_NOFOLLOW
 *  @return -1, and errno: EISDIR, or EINVAL of what else is no regular file */
int adept_file_descriptor(const char *path, int flags);
/** The same. @return ADEPT_E_INVALID naming the file */
adept_status adept_file_open(int *fd, const char *path, int flags, adept_error *err);
/** The same, as a stream. @return also ADEPT_E_NOMEM */
adept_status adept_file_stream(FILE **file, const char *path, adept_error *err);
/** As getline(), but no line has more than 16 MiB. @return -1: the end, or (unless feof()) a failure, and errno: EFBIG
 */
ssize_t adept_file_line(char **line, size_t *capacity, FILE *file);
/** Read all of an open file. @return as adept_file_read() */
adept_status adept_file_read_open(char **text, size_t *size, int fd, const char *path, size_t max_bytes,
                                  adept_error *err);
/** Add the rest of an open file that need not say how long it is: a pipe, a file of /proc or /sys.
 *  @return false: out->failed, or out->size is above max_bytes, or else errno says why */
bool adept_file_read_rest(adept_buffer *out, int fd, size_t max_bytes);
/** Read a whole file, at most max_bytes; malloc'ed, zero-terminated. @return ADEPT_E_INVALID naming the file. */
adept_status adept_file_read(char **text, size_t *size, const char *path, size_t max_bytes, adept_error *err);
/** Is there a file of that type (S_IFREG, S_IFDIR)? */
bool adept_file_is(const char *path, mode_t type);
/** Put into a sum what changes when a file is written or replaced (inode, size, time), or that it is not there.
 * @param sum  of the files before; ADEPT_FILE_STATE of the first */
uint64_t adept_file_state(uint64_t sum, const char *path);
#define ADEPT_FILE_STATE UINT64_C(14695981039346656037)
/** Is it written to as it stands: "-" (standard output), a pipe, a device such as /dev/null? */
bool adept_file_is_stream(const char *path);
/** Are both names of one regular file, or equal names of a file that is not there yet? NULL is no name. */
bool adept_file_is_same(const char *a, const char *b);
/** Write a new file in the same folder, fsync, and let it replace the old one: that survives any failure. Or to a
 * stream. Where a file system has no files without a name, the next writer removes what a killed one left. */
adept_status adept_file_write(const char *path, const char *text, size_t size, adept_error *err);

/** The same for what is written bit by bit: `stream` is the temporary file, or the stream. */
typedef struct adept_file_out {
    FILE *stream; /* NULL: none is open */
    char *target, *temporary; /* temporary: NULL of a stream */
    bool is_unnamed;          /* there is no such file yet: a program that is killed leaves nothing */
} adept_file_out;
/** @return ADEPT_E_IO; after ADEPT_OK call adept_file_end() */
adept_status adept_file_begin(adept_file_out *out, const char *path, adept_error *err);
/** Put the file in place where all went well until now, or leave nothing of it. Nothing happens where none is open.
 *  @param status  of what was written  @return it, or ADEPT_E_IO */
adept_status adept_file_end(adept_file_out *file, adept_status status, adept_error *err);

#endif
