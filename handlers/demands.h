/** @file demands.h  The rows of demands.c, for the generated table of handlers. Private to handlers/. */
#ifndef ADEPT_DEMANDS_H
#define ADEPT_DEMANDS_H
#include "adept_handler.h"

extern const adept_demand adept_demands[]; /* ends with a row whose names are NULL */
#endif
