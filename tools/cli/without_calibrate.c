/** @file without_calibrate.c  What stands in for `calibrate` and `evaluate` in a build without GSL and NLopt. */
#include "cli.h"
#include <string.h>

static adept_status run(adept_cli *cli, int argc, char **argv)
{
    (void)argc;
    return adept_error_set(
        &cli->err, ADEPT_E_INTERNAL,
        "this adept was built without '%s', which needs GSL and NLopt: install libgsl-dev and libnlopt-dev "
        "(sh tools/install_deps.sh calibrate) and build again",
        argv[0]);
}

const adept_command adept_command_calibrate = {"calibrate",
                                               "fit a GPU's parameters to measured runs (not in this build)", run};
const adept_command adept_command_evaluate = {"evaluate", "compare predictions with measurements (not in this build)",
                                              run};
