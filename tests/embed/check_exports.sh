#!/bin/sh
# libadept.so exports adept_* only and needs neither libtorch, C++ nor GSL. usage: check_exports.sh LIBRARY
set -eu
library=$1
fail() { echo "$library: $1" >&2; exit 1; }

names=$(nm -D --defined-only "$library" | awk '{print $NF}' | sed 's/@.*//')
for name in adept_predict adept_predict_ops adept_evaluator_new adept_evaluate adept_evaluate_gradient adept_prediction_to_json adept_profile_read adept_profile_build \
            adept_hwprofile_open adept_import_model adept_handlers adept_error_set; do
    echo "$names" | grep -qx "$name" || fail "does not export $name"
done
foreign=$(echo "$names" | grep -v '^adept_' || true)
test -z "$foreign" || fail "exports $foreign"
# The equations are an inside matter.
inside=$(echo "$names" | grep -E '^adept_(eq|rows|step)_' || true)
test -z "$inside" || fail "exports $inside"

# Direct and indirect dependencies.
needed=$(readelf -d "$library" | grep NEEDED; ldd "$library")
unwanted=$(echo "$needed" | grep -E 'lib(torch|c10|gsl|nlopt|stdc\+\+)' || true)
test -z "$unwanted" || fail "needs $unwanted"
readelf -d "$library" | grep -q 'SONAME.*libadept\.so\.0\.1' || fail "has no SONAME libadept.so.0.1"
