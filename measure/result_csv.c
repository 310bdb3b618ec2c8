/** @file result_csv.c  Rows of a measurement at the end of a CSV file that other processes may write to as well. */
#include "adept_csv_writer.h"
#include "adept_number.h"
#include "adept_result.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void put_sensor(adept_buffer *row, const cJSON *result, const cJSON *sensor, int run)
{
    put_next_text(row, adept_result_text(result, "started"));
    put_next_text(row, adept_result_text(result, "host"));
    adept_csv_put_number(row, run);
    adept_buffer_text(row, ",");
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
    return adept_csv_append(path, &title, &rows, err);
}

/* ---------------------------------------------------------------- EA2P's row ------------------------------------- */

static void put_rounded(adept_buffer *row, double value)
{
    adept_csv_put_number(row, round(value * 1e5) / 1e5);
    adept_buffer_text(row, ",");
}

adept_status adept_result_append_ea2p(const char *path, const cJSON *result, const adept_ea2p_labels *labels,
                                      adept_error *err)
{
    adept_buffer title = {0}, row = {0};
    const cJSON *sensors = cJSON_GetObjectItemCaseSensitive(result, "sensors"), *sensor = NULL;
    char column[128];

    adept_buffer_text(&title, "Project Name,Datetime,");
    put_next_text(&row, labels->project);
    /* As the clock on the wall has it. */
    const char *started = adept_result_text(result, "started");
    double time_s = adept_result_time_s(started);
    time_t seconds = isfinite(time_s) ? (time_t)time_s : 0;
    struct tm parts;
    char text[64] = "";
    if (isfinite(time_s) && localtime_r(&seconds, &parts)) strftime(text, sizeof text, "%m/%d/%Y %H:%M:%S", &parts);
    put_next_text(&row, text);
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
    return adept_csv_append(path, &title, &row, err);
}
