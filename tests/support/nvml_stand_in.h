/** @file nvml_stand_in.h  The library that stands in for NVML (tests/measure/fake_nvml.c), held open so that its clock
 * can be set. */
#ifndef NVML_STAND_IN_H
#define NVML_STAND_IN_H

/* Setup and teardown of a group of tests: the stand-in is what adept opens as NVML. */
int open_nvml_stand_in(void **state);
int close_nvml_stand_in(void **state);

/** Its functions for tests, which that file describes; set while it is open. */
typedef struct nvml_stand_in {
    void (*at)(double time_s);
    int (*users)(void);
    double (*energy_j)(double time_s);
    double (*begin_s)(void);
} nvml_stand_in;
extern nvml_stand_in nvml;

#endif
