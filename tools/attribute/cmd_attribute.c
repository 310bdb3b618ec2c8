/** @file cmd_attribute.c  `adept attribute record|fit|report|--slurm`: whose joules they were. */
#include "attribute.h"

typedef struct attribute_options {
    adept_words words;
} attribute_options;

static const struct adept_subcommand parts[] = {
    {"record", &adept_attribute_record},
    {"fit", &adept_attribute_fit},
    {"report", &adept_attribute_report},
    {"--slurm", &adept_attribute_slurm},
    {0},
};

/* Of a first word that is none of them. */
static adept_status attribute(adept_cli *cli, void *options)
{
    const attribute_options *o = options;

    return adept_cli_usage(cli,
                           "attribute: '%s' is not one of record, fit, report, --slurm; see adept attribute --help",
                           o->words.words[0]);
}

const adept_command adept_command_attribute = {
    .name = "attribute",
    .summary = "joules of processes and jobs from node power",
    .usage = "record|fit|report|--slurm [OPTION...]",
    .doc = "Say whose joules they were: record what processes do beside what meters read, learn what their work costs, "
           "and report it; or account the energy of Slurm's jobs. Each part has its own --help."
           "\vExamples:\n"
           "  adept attribute record --help\n"
           "  adept attribute fit --help\n"
           "  adept attribute report --help\n"
           "  adept attribute --slurm --help\n",
    .size = sizeof(attribute_options),
    .arguments = {.needs = "record, fit, report or --slurm first",
                  .takes = "one of record, fit, report, --slurm",
                  .most = ADEPT_ANY_NUMBER,
                  .at = offsetof(attribute_options, words)},
    .takes_program = true,
    .run = attribute,
    .subcommands = parts,
};
