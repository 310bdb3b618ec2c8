/** @file report_html.h  A prediction as one HTML file. Calls: pictures, model. */
#ifndef ADEPT_REPORT_HTML_H
#define ADEPT_REPORT_HTML_H
#include "explain.h"
#include "report_pictures.h"

/** The page with the sentences of the explanation, malloc'ed; NULL when memory is out. The rows of the report's groups
 * are layers, most time first. */
char *adept_report_html(const adept_prediction_report *report, const adept_pictures *pictures,
                        const adept_explanation *explanation, size_t *size);

#endif
