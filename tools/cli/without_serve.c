/** @file without_serve.c  What stands in for `serve` in a build without libmicrohttpd. */
#include "cli.h"

static adept_status run(adept_cli *cli, int argc, char **argv)
{
    (void)argc, (void)argv;
    return adept_error_set(&cli->err, ADEPT_E_INTERNAL,
                           "this adept was built without 'serve', which needs libmicrohttpd: install libmicrohttpd-dev "
                           "(sh tools/install_deps.sh serve) and build again");
}

const adept_command adept_command_serve = {"serve", "answer predictions over HTTP (not in this build)", run};
