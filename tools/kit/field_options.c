/** @file field_options.c  Units and values of the options that rows of words make. */
#include "field_options.h"
#include "adept_model.h"
#include "adept_optimizer.h"
#include <string.h>

const adept_suffix adept_suffix_clocks[] = {{"", 1e6}, {"MHz", 1e6}, {"Hz", 1}, {"kHz", 1e3}, {"GHz", 1e9}, {NULL, 0}};
const adept_suffix adept_suffix_bandwidths[] = {
    {"B/s", 1},          {"MB/s", 1e6},     {"GB/s", 1e9},     {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8},
    {"Mbps", 1e6 / 8}, {"Gbps", 1e9 / 8}, {"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8},   {NULL, 0}};
const adept_suffix adept_suffix_seconds[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {NULL, 0}};

adept_status adept_option_set(adept_cli *cli, const char *option, char *text, void *field)
{
    if (adept_optimizer_extras_parse(field, text)) return ADEPT_OK;
    return adept_option_unknown(cli, option, text, adept_optimizer_extra_name);
}

/* A word with a number, or numbers by stage. Of a run: workloads have none. */
adept_status adept_option_sized(adept_cli *cli, const char *option, char *text, void *field)
{
    const char *name = option + strspn(option, "-");
    const adept_field *f = adept_field_find(adept_run_field, name, strlen(name));
    adept_field here = *f;

    here.at = 0;
    if (adept_field_set_text(&here, field, text)) return ADEPT_OK;
    if (f->names) return adept_option_unknown(cli, option, text, f->names);
    return adept_cli_usage(cli, "%s: '%.60s' is not " ADEPT_STAGES_MEANS, option, text);
}

adept_status adept_option_node(adept_cli *cli, const char *option, char *text, void *field)
{
    adept_run *run = (adept_run *)(void *)((char *)field - offsetof(adept_run, node));
    const size_t length = strlen(text), index = adept_name_index(text, adept_node_name);
    if (strchr(text, '/') || (length > 5 && strcmp(text + length - 5, ".json") == 0))
        return adept_node_read(run, text, &cli->err);
    if (index == SIZE_MAX) return adept_option_unknown(cli, option, text, adept_node_name);
    run->node = (int)index;
    return ADEPT_OK;
}
