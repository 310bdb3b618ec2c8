/** @file no_simulate_html.c  In place of the page of simulated policies, in a build without pictures. Apart from
 * no_pictures.c, since headers of simulate/ and of whatif/ name types alike. */
#include "gnuplot.h"
#include "report_simulate.h"

adept_status adept_simulation_write_page(adept_cli *cli, const char *path, const char *title, const adept_comparison *c)
{
    (void)path, (void)title, (void)c;
    return adept_gnuplot_check("--html", &cli->err);
}
