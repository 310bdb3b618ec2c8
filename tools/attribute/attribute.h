/** @file attribute.h  The parts of `adept attribute`. Each reads a command line of its own; argv[0] is the part's word.
 * Calls: cli. */
#ifndef ADEPT_ATTRIBUTE_H
#define ADEPT_ATTRIBUTE_H
#include "cli.h"

adept_status adept_attribute_record(adept_cli *cli, int argc, char **argv);
adept_status adept_attribute_fit(adept_cli *cli, int argc, char **argv);
adept_status adept_attribute_report(adept_cli *cli, int argc, char **argv);
adept_status adept_attribute_slurm(adept_cli *cli, int argc, char **argv);

#endif
