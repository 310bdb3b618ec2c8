/** @file plot.c  gnuplot gets its program through a pipe and writes the picture to another: neither a shell nor a file
 * name takes part, and texts of the measurements are quoted and stripped of everything that could be a command. */
#include "plot.h"
#include "adept_json.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define MAX_PICTURE_BYTES ((size_t)64 << 20)

/* ---------------------------------------------------------------- the program ------------------------------------ */

/* Letters, digits and a few signs; everything else becomes a blank. */
static void put_label(FILE *out, const char *text)
{
    fputc('"', out);
    for (const char *p = text; *p && p - text < 80; p++)
        fputc(isalnum((unsigned char)*p) || strchr("_.+-,:()", *p) ? *p : ' ', out);
    fputc('"', out);
}

typedef struct quantity {
    const char *name, *label, *axis;
    double scale;
    bool time;
} quantity;

static const quantity quantities[] = {
    {"time", "Step time", "ms", 1e3, true},
    {"power", "Power", "W", 1, false},
};

static bool values_of(const adept_scored *s, const quantity *q, double *measured, double *predicted)
{
    *measured = q->scale * (q->time ? s->measured->step_time_s : s->measured->power_avg_w);
    *predicted = q->scale * (q->time ? s->time_s : s->power_w);
    return isfinite(*measured) && isfinite(*predicted) && *measured > 0 && *predicted > 0;
}

static size_t put_points(FILE *out, const char *set, const adept_evaluation *e, const quantity *q)
{
    size_t n = 0;
    double x, y;

    fprintf(out, "$%s_%s << EOD\n", q->name, set);
    for (size_t i = 0; e && i < e->n; i++) {
        if (!values_of(&e->rows[i], q, &x, &y)) continue;
        fprintf(out, "%.9g %.9g\n", x, y);
        n++;
    }
    fputs("EOD\n", out);
    return n;
}

/* Mean absolute error of each model, as groups that are made here: the caller may have grouped by something else. */
static size_t put_models(FILE *out, const adept_evaluation *e, const adept_evaluation *held_out)
{
    size_t n = 0;

    fputs("$models << EOD\n", out);
    for (size_t i = 0; i < e->n; i++) {
        const char *model = e->rows[i].measured->model_name;
        double sums[2][2] = {{0}}, counts[2][2] = {{0}}; /* of e and held_out, time and power */
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = strcmp(e->rows[j].measured->model_name, model) != 0;
        if (!first) continue;
        for (int set = 0; set < 2; set++) {
            const adept_evaluation *rows = set == 0 ? e : held_out;
            for (size_t j = 0; rows && j < rows->n; j++) {
                double x, y;
                if (strcmp(rows->rows[j].measured->model_name, model) != 0) continue;
                for (int k = 0; k < 2; k++) {
                    if (!values_of(&rows->rows[j], &quantities[k], &x, &y)) continue;
                    sums[set][k] += 100 * fabs(y / x - 1);
                    counts[set][k]++;
                }
            }
        }
        put_label(out, model);
        for (int k = 0; k < 2; k++)
            for (int set = 0; set < 2; set++)
                if (counts[set][k] > 0)
                    fprintf(out, " %.6g", sums[set][k] / counts[set][k]);
                else
                    fputs(" NaN", out);
        fputc('\n', out);
        n++;
    }
    fputs("EOD\n", out);
    return n;
}

static void put_scatter(FILE *out, const quantity *q, bool held_out)
{
    fprintf(out,
            "set title '%s'\nset xlabel 'measured (%s)'\nset ylabel 'predicted (%s)'\nset logscale xy\n"
            "set xtics rotate by 0\nset key top left\n",
            q->label, q->axis, q->axis);
    fprintf(out, "plot x with lines lc rgb '#000000' lw 1 title 'equal', 1.1*x with lines lc rgb '#a0a0a0' dt 2 title "
                 "'10 %% off', x/1.1 with lines lc rgb '#a0a0a0' dt 2 notitle");
    if (held_out)
        fprintf(out, ", $%s_held_out using 1:2 with points pt 6 ps 0.8 lc rgb '#000000' title 'held out'", q->name);
    fprintf(out, ", $%s_rows using 1:2 with points pt 7 ps 0.4 lc rgb '#606060' title '%s'\n", q->name,
            held_out ? "in-sample" : "rows");
    fputs("unset logscale\n", out);
}

static void put_bars(FILE *out, bool held_out, const bool *has)
{
    static const char *const fills[2][2] = {{"pattern 3", "solid 0.35"}, {"pattern 2", "solid 0.05"}};
    bool any = false;

    fputs("set title 'Mean absolute error by model'\nunset xlabel\nset ylabel 'percent'\nset yrange [0:*]\n"
          "set style data histograms\nset style histogram clustered gap 1\nset boxwidth 0.9\n"
          "set xtics rotate by -35\nset offsets graph 0, 0, graph 0.3, 0\nset key top right\nplot",
          out);
    for (int k = 0; k < 2; k++) {
        for (int set = 1; set >= 0; set--) {
            if (!has[k] || (set == 1 && !held_out)) continue;
            fprintf(out, "%s $models using %d:xtic(1) fs %s border lc rgb '#000000' lc rgb '#404040' title '%s%s'",
                    any ? "," : "", 2 + 2 * k + set, fills[k][set], quantities[k].name,
                    !held_out  ? ""
                    : set == 1 ? ", held out"
                               : ", in-sample");
            any = true;
        }
    }
    fputc('\n', out);
}

static void put_script(FILE *out, const adept_evaluation *e, const adept_evaluation *held_out, const char *title)
{
    bool has[2], has_held_out = false;
    int panels = 1;

    for (int k = 0; k < 2; k++) {
        has[k] = put_points(out, "rows", e, &quantities[k]) > 0;
        has_held_out |= put_points(out, "held_out", held_out, &quantities[k]) > 0;
        panels += has[k];
    }
    put_models(out, e, held_out);
    fprintf(out, "set terminal svg size %d,420 noenhanced font 'sans,11' background rgb 'white'\n", 420 * panels);
    fprintf(out, "set multiplot layout 1,%d title ", panels);
    put_label(out, title);
    fputs("\nset grid lc rgb '#e0e0e0'\nset samples 200\n", out);
    for (int k = 0; k < 2; k++)
        if (has[k]) put_scatter(out, &quantities[k], has_held_out);
    if (has[0] || has[1]) put_bars(out, has_held_out, has);
    fputs("unset multiplot\n", out);
}

char *adept_plot_script(const adept_evaluation *e, const adept_evaluation *held_out, const char *title)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out) return NULL;
    put_script(out, e, held_out, title);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* ---------------------------------------------------------------- running gnuplot -------------------------------- */

static const char no_gnuplot[] = "--plot needs gnuplot, which cannot be started (Debian: gnuplot-nox)";

adept_status adept_plot_check(adept_cli *cli)
{
    const char *path = getenv("PATH");

    for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
        char program[4096];
        size_t n = strcspn(at, ":");
        snprintf(program, sizeof program, "%.*s/gnuplot", (int)n, at);
        if (n > 0 && n < sizeof program - 16 && access(program, X_OK) == 0) return ADEPT_OK;
        at += n + (at[n] == ':');
    }
    return adept_error_set(&cli->err, ADEPT_E_INTERNAL, "%s", no_gnuplot);
}

/* The program as an open file: gnuplot reads it at its own pace while we read the picture. */
static int script_file(const char *text)
{
    int fd = memfd_create("plot", MFD_CLOEXEC);
    size_t size = strlen(text);

    for (size_t at = 0; fd >= 0 && at < size;) {
        ssize_t n = write(fd, text + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            close(fd);
            return -1;
        }
        at += (size_t)n;
    }
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool start_gnuplot(pid_t *pid, int in, int out)
{
    char *const arguments[] = {"gnuplot", "--default-settings", "-", NULL};
    posix_spawn_file_actions_t actions;
    bool ok = posix_spawn_file_actions_init(&actions) == 0;

    if (!ok) return false;
    ok = posix_spawn_file_actions_adddup2(&actions, in, 0) == 0 &&
         posix_spawn_file_actions_adddup2(&actions, out, 1) == 0 &&
         posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0 &&
         posix_spawnp(pid, "gnuplot", &actions, NULL, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return ok;
}

static char *read_picture(int fd, size_t *size)
{
    char *text = NULL;
    size_t capacity = 0;

    for (*size = 0;;) {
        if (*size == capacity) {
            capacity = 2 * capacity + 65536;
            char *grown = capacity <= MAX_PICTURE_BYTES ? realloc(text, capacity) : NULL;
            if (!grown) break;
            text = grown;
        }
        ssize_t n = read(fd, text + *size, capacity - *size);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) return text;
        if (n < 0) break;
        *size += (size_t)n;
    }
    free(text);
    return NULL;
}

/* The picture, malloc'ed; NULL if gnuplot cannot be started or fails. */
static char *draw(const char *script, size_t *size)
{
    int ends[2], in = script_file(script), how = 0;
    pid_t pid;
    char *picture = NULL;

    if (in < 0) return NULL;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(in);
        return NULL;
    }
    bool started = start_gnuplot(&pid, in, ends[1]);
    close(in);
    close(ends[1]);
    if (started) {
        picture = read_picture(ends[0], size);
        close(ends[0]);
        while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
            ;
    } else {
        close(ends[0]);
    }
    if (picture && WIFEXITED(how) && WEXITSTATUS(how) == 0 && *size > 0) return picture;
    free(picture);
    return NULL;
}

adept_status adept_plot_errors(adept_cli *cli, const char *path, const adept_evaluation *e,
                               const adept_evaluation *held_out, const char *title)
{
    size_t size = 0;
    char *script = adept_plot_script(e, held_out, title);

    if (!script) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while plotting");
    char *picture = draw(script, &size);
    free(script);
    if (!picture) return adept_error_set(&cli->err, ADEPT_E_INTERNAL, "%s: gnuplot cannot draw it", path);
    adept_status status = adept_file_write(path, picture, size, &cli->err);
    free(picture);
    return status;
}
