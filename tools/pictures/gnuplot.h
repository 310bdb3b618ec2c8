/** @file gnuplot.h  Running gnuplot: a program in, a picture out. Calls: nothing. */
#ifndef ADEPT_GNUPLOT_H
#define ADEPT_GNUPLOT_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Is gnuplot there? Asked before work that would be lost. @param what needs it, for the message
 *  @return ADEPT_E_INTERNAL if not */
adept_status adept_gnuplot_check(const char *what, adept_error *err);

/** Write a text as a string of gnuplot's language: letters, digits and a few signs; everything else becomes a blank. */
void adept_gnuplot_text(FILE *out, const char *text);

/** The picture, malloc'ed; NULL if gnuplot cannot be started or fails.
 *  @param script  sets its terminal by `eval adept_terminal(WIDTH, HEIGHT, FONT)`, in pixels
 *  @param name    of the picture: .pdf is a PDF, .png a PNG, any other an SVG */
char *adept_gnuplot_draw(const char *script, const char *name, size_t *size);
/**
 * The same with what went wrong.
 * @param script  taken; NULL: memory was out
 * @param name    of the picture, also for the message
 * @return ADEPT_E_NOMEM, ADEPT_E_INTERNAL
 */
adept_status adept_gnuplot_picture(char **picture, size_t *size, char *script, const char *name, adept_error *err);

#endif
