/** @file adept/version.h  Which library this is. Part of <adept/adept.h>. */
#ifndef ADEPT_PUBLIC_VERSION_H
#define ADEPT_PUBLIC_VERSION_H
#include <adept/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** 1000 * major + minor of the library's name libadept.so.MAJOR.MINOR. Structures and functions change only with it;
 * what is added without a change are new functions, new values of enumerations and meanings for `reserved` members,
 * which must be 0 until then. */
#define ADEPT_ABI_VERSION 2

/** ADEPT_ABI_VERSION of the library that was loaded: differs from the header's only if it was opened with dlopen().
 * Thread-safe. */
ADEPT_API int adept_abi_version(void);
/** "0.2.0", constant. Thread-safe. */
ADEPT_API const char *adept_version_text(void);

#ifdef __cplusplus
}
#endif
#endif
