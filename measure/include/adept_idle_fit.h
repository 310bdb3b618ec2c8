/** @file adept_idle_fit.h  What a machine draws while it does nothing: E_idle(t) = alpha + beta t, fitted to idle runs
 * of several lengths (eq. 3.2), so that E_app = E - E_idle. Calls: sensors, adept_json. */
#ifndef ADEPT_IDLE_FIT_H
#define ADEPT_IDLE_FIT_H
#include "adept_sensor.h"

/** A straight line through (time, energy). */
typedef struct adept_idle_line {
    double alpha_j, beta_w;
    double alpha_se_j, beta_se_w; /* standard errors; NAN with two points */
    double rmse_j;                /* root of the mean square of the residuals: the divisor is n, as the thesis has it */
    double r2;                    /* NAN where all energies are the same */
    size_t n;                     /* 0: there is no line */
} adept_idle_line;

/** The lines of a host, one a component. */
typedef struct adept_idle_fit {
    char host[256];
    adept_idle_line lines[ADEPT_COMPONENTS];
} adept_idle_fit;

/**
 * Ordinary least squares.
 * @return ADEPT_E_FIT: fewer than two points, all times the same, or a number that is not finite
 */
adept_status adept_idle_line_fit(adept_idle_line *out, const double *time_s, const double *energy_j, size_t n,
                                 adept_error *err);
/** E_idle; NAN where there is no line. */
double adept_idle_energy_j(const adept_idle_line *line, double time_s);

/**
 * Put a host's lines into a file of several hosts, in place of those that it has of that host.
 * @return ADEPT_E_INVALID: there is a file, and it is no such file; ADEPT_E_IO; ADEPT_E_NOMEM
 */
adept_status adept_idle_fit_save(const adept_idle_fit *fit, const char *path, adept_error *err);
/**
 * @param out  all of it set only on ADEPT_OK
 * @return ADEPT_E_INVALID: no such file, or it has no such host; those that it has are named
 */
adept_status adept_idle_fit_load(adept_idle_fit *out, const char *path, const char *host, adept_error *err);

#endif
