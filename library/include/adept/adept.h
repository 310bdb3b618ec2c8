/** @file adept/adept.h  libadept: time, power and energy of a deep-learning step before it runs. Plain C11, usable from
 * C++.
 *
 *      adept_workload_open() ---+
 *                               +--> adept_oracle_new() --> adept_predict_many() --> adept_choose()
 *      adept_gpu_open() --------+
 *
 *  Functions return a status and fill the caller's adept_error. The library never prints, exits, aborts or forks, keeps
 * no state between calls, and starts threads for measurements alone. Handles are immutable and may be shared by
 * threads. SI units; the unit is part of a name. docs/LIBRARY.md, libadept(3). */
#ifndef ADEPT_ADEPT_H
#define ADEPT_ADEPT_H
#include <adept/choose.h>
#include <adept/error.h>
#include <adept/measure.h>
#include <adept/predict.h>
#include <adept/version.h>
#include <adept/workload.h>
#endif
