/** @file cmocka_test.h  cmocka, what it wants before it, and what every test needs beside it. */
#ifndef ADEPT_CMOCKA_TEST_H
#define ADEPT_CMOCKA_TEST_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h> // after the headers it needs
#endif
