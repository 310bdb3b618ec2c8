/** @file no_pictures.c  In place of what draws, in a build without pictures: asked for one, it says so. */
#include "gnuplot.h"
#include "power_plot.h"
#include "sweep_picture.h"
#include "stack_plot.h"
#ifdef ADEPT_WITH_CALIBRATE
#include "plot.h"
#endif

adept_status adept_gnuplot_check(const char *what, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_USAGE,
                           "%s: this adept was built without pictures (-DADEPT_WITH_PICTURES=ON)", what);
}

adept_status adept_sweep_plot(const char *path, const adept_sweep_picture *picture, adept_error *err)
{
    (void)picture;
    return adept_gnuplot_check(path, err);
}

adept_status adept_power_plot(const char *path, const adept_recording *r, double begin_s, double end_s,
                              const char *title, adept_error *err)
{
    (void)r, (void)begin_s, (void)end_s, (void)title;
    return adept_gnuplot_check(path, err);
}

adept_status adept_stack_plot(const char *path, const adept_stack *stack, adept_error *err)
{
    (void)stack;
    return adept_gnuplot_check(path, err);
}

#ifdef ADEPT_WITH_CALIBRATE
adept_status adept_plot_errors(const char *path, const adept_evaluation *e, const adept_evaluation *held_out,
                               const char *title, adept_error *err)
{
    (void)e, (void)held_out, (void)title;
    return adept_gnuplot_check(path, err);
}
#endif
