/** @file export_schema.h  Arguments of PyTorch's operators. Private. Calls: nothing. */
#ifndef ADEPT_EXPORT_SCHEMA_H
#define ADEPT_EXPORT_SCHEMA_H

/** "self other alpha=" of "add.Tensor": their names in order, those behind which = stands have a default. NULL for what
 * is none of aten's, or not among those of the release that data/operator_arguments.csv was written with. */
const char *adept_operator_arguments(const char *operator);
#endif
