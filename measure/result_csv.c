/** @file result_csv.c  Rows of a measurement at the end of a CSV file that other processes may write to as well. */
#include "adept_csv_writer.h"
#include "adept_number.h"
#include "adept_result.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the end of a file ------------------------------ */

static adept_status failed(adept_error *err, const char *path, const char *what, int why)
{
    return adept_error_set(err, ADEPT_E_IO, "%s: %s: %s", path, what, strerror(why));
}

/* What stands in front of the rows: the title of a new file; the end of a line that somebody left open. */
static adept_status begin(adept_buffer *out, int file, off_t size, const char *title, const char *path,
                          adept_error *err)
{
    size_t length = strlen(title);
    char *old = size > 0 ? malloc(length) : NULL;
    char last = '\n';

    if (size == 0) {
        adept_buffer_text(out, title);
        return ADEPT_OK;
    }
    if (!old) return adept_no_memory(err, path);
    bool same = pread(file, old, length, 0) == (ssize_t)length && memcmp(old, title, length) == 0;
    free(old);
    if (!same)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: has other columns than this run; give another file", path);
    if (pread(file, &last, 1, size - 1) == 1 && last != '\n') adept_buffer_text(out, "\n");
    return ADEPT_OK;
}

/* One write; of one that was cut short nothing stays. */
static adept_status write_whole(int file, const adept_buffer *out, const struct stat *before, const char *path,
                                adept_error *err)
{
    ssize_t n = write(file, out->data, out->size);
    int why = n < 0 ? errno : ENOSPC;

    if (n == (ssize_t)out->size && (!S_ISREG(before->st_mode) || fsync(file) == 0)) return ADEPT_OK;
    if (n == (ssize_t)out->size) why = errno;
    if (S_ISREG(before->st_mode) && ftruncate(file, before->st_size) != 0) why = errno;
    return failed(err, path, "cannot write", why);
}

static adept_status append_open(int file, const char *title, const adept_buffer *rows, const char *path,
                                adept_error *err)
{
    struct stat before;
    adept_buffer out = {0};

    /* Network file systems may have no locks: a single write at the end keeps rows whole there too. */
    while (flock(file, LOCK_EX) != 0 && errno == EINTR)
        ;
    if (fstat(file, &before) != 0) return failed(err, path, "cannot write", errno);
    adept_status status = begin(&out, file, S_ISREG(before.st_mode) ? before.st_size : 0, title, path, err);
    adept_buffer_add(&out, rows->data, rows->size);
    if (status == ADEPT_OK && out.failed) status = adept_no_memory(err, path);
    if (status == ADEPT_OK) status = write_whole(file, &out, &before, path, err);
    adept_buffer_free(&out);
    return status;
}

/* Takes both texts. */
static adept_status append(const char *path, adept_buffer *title, adept_buffer *rows, adept_error *err)
{
    char *first = adept_buffer_take(title);
    adept_status status = first && !rows->failed ? ADEPT_OK : adept_no_memory(err, path);
    int file = status == ADEPT_OK ? open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666) : -1;

    if (status == ADEPT_OK && file < 0) status = failed(err, path, "cannot write", errno);
    if (status == ADEPT_OK) status = append_open(file, first, rows, path, err);
    if (file >= 0 && close(file) != 0 && status == ADEPT_OK) status = failed(err, path, "cannot write", errno);
    adept_buffer_free(rows);
    free(first);
    return status;
}

/* ---------------------------------------------------------------- a row for each sensor -------------------------- */

static void put_next_text(adept_buffer *row, const char *text)
{
    adept_csv_put_text(row, text);
    adept_buffer_text(row, ",");
}

static void put_next_number(adept_buffer *row, const cJSON *object, const char *key)
{
    adept_csv_put_number(row, adept_result_number(object, key));
    adept_buffer_text(row, ",");
}

static void put_command(adept_buffer *row, const cJSON *result)
{
    const cJSON *word = NULL;
    adept_buffer line = {0};

    cJSON_ArrayForEach(word, cJSON_GetObjectItemCaseSensitive(result, "command"))
    {
        if (line.size > 0) adept_buffer_text(&line, " ");
        if (word->valuestring) adept_buffer_text(&line, word->valuestring);
    }
    char *text = adept_buffer_take(&line);
    put_next_text(row, text ? text : "");
    row->failed = row->failed || !text;
    free(text);
}

static void put_sensor(adept_buffer *row, const cJSON *result, const cJSON *sensor, int run)
{
    put_next_text(row, adept_result_text(result, "started"));
    put_next_text(row, adept_result_text(result, "host"));
    adept_csv_put_number(row, run);
    adept_buffer_text(row, ",");
    put_command(row, result);
    put_next_text(row, adept_result_text(sensor, "name"));
    put_next_text(row, adept_result_text(sensor, "component"));
    put_next_text(row, adept_result_text(sensor, "origin"));
    put_next_number(row, sensor, "energy_j");
    put_next_number(row, sensor, "avg_power_w");
    put_next_number(row, sensor, "peak_power_w");
    put_next_number(row, result, "time_s");
    adept_csv_put_number(row, adept_result_number(result, "exit_status"));
    adept_buffer_text(row, "\n");
}

adept_status adept_result_append_csv(const char *path, const cJSON *result, int run, adept_error *err)
{
    adept_buffer title = {0}, rows = {0};
    const cJSON *sensors = cJSON_GetObjectItemCaseSensitive(result, "sensors"), *sensor = NULL;

    adept_buffer_text(&title,
                      "started,host,run,command,sensor,component,origin,energy_j,avg_power_w,peak_power_w,time_s,"
                      "exit_status\n");
    cJSON_ArrayForEach(sensor, sensors) put_sensor(&rows, result, sensor, run);
    if (rows.size == 0) put_sensor(&rows, result, NULL, run);
    return append(path, &title, &rows, err);
}

/* ---------------------------------------------------------------- EA2P's row ------------------------------------- */

static void put_rounded(adept_buffer *row, double value)
{
    adept_csv_put_number(row, round(value * 1e5) / 1e5);
    adept_buffer_text(row, ",");
}

/* As the clock on the wall has it. */
static void put_local_time(adept_buffer *row, const char *started)
{
    double time_s = adept_result_time_s(started);
    time_t seconds = isfinite(time_s) ? (time_t)time_s : 0;
    struct tm parts;
    char text[64] = "";

    if (isfinite(time_s) && localtime_r(&seconds, &parts)) strftime(text, sizeof text, "%m/%d/%Y %H:%M:%S", &parts);
    put_next_text(row, text);
}

adept_status adept_result_append_ea2p(const char *path, const cJSON *result, const adept_ea2p_labels *labels,
                                      adept_error *err)
{
    adept_buffer title = {0}, row = {0};
    const cJSON *sensors = cJSON_GetObjectItemCaseSensitive(result, "sensors"), *sensor = NULL;
    char column[128];

    adept_buffer_text(&title, "Project Name,Datetime,");
    put_next_text(&row, labels->project);
    put_local_time(&row, adept_result_text(result, "started"));
    cJSON_ArrayForEach(sensor, sensors)
    {
        snprintf(column, sizeof column, "%s (J)", adept_result_text(sensor, "name"));
        put_next_text(&title, column);
        put_rounded(&row, adept_result_number(sensor, "energy_j"));
    }
    adept_buffer_text(&title, "CPU Time [s],Package,Algorithm,Algorithm's parameters\n");
    put_rounded(&row, adept_result_number(result, "time_s"));
    put_next_text(&row, labels->package);
    put_next_text(&row, labels->algorithm);
    adept_csv_put_text(&row, labels->parameters);
    adept_buffer_text(&row, "\n");
    return append(path, &title, &row, err);
}
