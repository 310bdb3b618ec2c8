/** @file tres.c  GPUs in Slurm's lists of trackable resources. */
#include "adept_tres.h"
#include "adept_number.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

/* Boards have seven slices, but for an A30 and an RTX PRO 6000, which have four of these (NVIDIA's MIG user guide). */
static int slices_of_board(int slices, int gigabytes)
{
    static const struct {
        int slices, gigabytes;
    } of_four[] = {{1, 6}, {2, 12}, {4, 24}, {2, 48}, {4, 96}};

    for (size_t i = 0; i < sizeof of_four / sizeof *of_four; i++)
        if (of_four[i].slices == slices && of_four[i].gigabytes == gigabytes) return 4;
    return 7;
}

/* How much of its board a MIG instance is, by its profile's name anywhere in a text of that length, "a100_1g.5gb":
 * 1/7; NAN: there is none. */
static double mig_share(const char *text, size_t length)
{
    for (size_t i = 0; i + 4 < length; i++) { /* "1g.5gb", "3g.20gb", "1g.5gb+me" */
        size_t at = i + 3;
        int gigabytes = 0;
        if (text[i] < '1' || text[i] > '7' || text[i + 1] != 'g' || text[i + 2] != '.') continue;
        if (i > 0 && isdigit((unsigned char)text[i - 1])) continue;
        for (; at < length && isdigit((unsigned char)text[at]) && gigabytes < 10000; at++)
            gigabytes = 10 * gigabytes + (text[at] - '0');
        if (at == i + 3 || at + 1 >= length || strncmp(text + at, "gb", 2) != 0) continue;
        int slices = text[i] - '0';
        return (double)slices / slices_of_board(slices, gigabytes);
    }
    return NAN;
}

/* The entry without a type is the sum of the typed ones, which older versions of Slurm lack, or it is more. */
bool adept_tres_gpus_read(adept_tres_gpus *out, const char *list)
{
    static const char gpu[] = "gres/gpu", shard[] = "gres/shard";
    const size_t gpu_length = sizeof gpu - 1, shard_length = sizeof shard - 1;
    const double most = 1e9;
    double all = 0, whole = 0;

    *out = (adept_tres_gpus){0};
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        const char *equals = p + strcspn(p, "=,");
        size_t length = (size_t)(equals - p);
        bool is_gpu = length >= gpu_length && strncmp(p, gpu, gpu_length) == 0 && strchr(":=,", p[gpu_length]);
        bool is_shard =
            length >= shard_length && strncmp(p, shard, shard_length) == 0 && strchr(":=,", p[shard_length]);
        if (!is_gpu && !is_shard) continue;
        double value = *equals == '=' && isdigit((unsigned char)equals[1]) ? adept_number_value(equals + 1) : NAN;
        if (!(value <= most) || value != floor(value)) return false;
        double share = is_gpu ? mig_share(p, length) : NAN;
        if (is_shard)
            out->shards = fmax(out->shards, value); /* with a type, and all of them */
        else if (length == gpu_length)
            all = value;
        else if (isnan(share))
            whole += value;
        else
            out->slices += value, out->sliced += value * share;
    }
    out->whole = fmax(whole, all - out->slices);
    return true;
}
