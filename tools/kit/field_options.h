/** @file field_options.h  Rows of options, made of the rows of words. Calls: workload. */
#ifndef ADEPT_FIELD_OPTIONS_H
#define ADEPT_FIELD_OPTIONS_H
#include "adept_fields.h"
#include "cli.h"

/** What may stand behind a number of an option's short name. */
extern const adept_suffix adept_suffix_clocks[], adept_suffix_bandwidths[], adept_suffix_seconds[];

/** Parsers: of words of kinds SET and SIZED, and of the node: a name, or a file, which fills words of the run around it
 * that are not given. @param field  its bits; the node's number in an adept_run */
adept_status adept_option_set(adept_cli *cli, const char *option, char *text, void *field);
adept_status adept_option_sized(adept_cli *cli, const char *option, char *text, void *field);
adept_status adept_option_node(adept_cli *cli, const char *option, char *text, void *field);
#define ADEPT_OPTION_PARSE_WORD NULL
#define ADEPT_OPTION_PARSE_NODE adept_option_node
#define ADEPT_OPTION_PARSE_NAME NULL
#define ADEPT_OPTION_PARSE_SET adept_option_set
#define ADEPT_OPTION_PARSE_SIZED adept_option_sized
#define ADEPT_OPTION_PARSE_STAGES adept_option_sized
#define ADEPT_OPTION_PARSE_SWITCH NULL
#define ADEPT_OPTION_PARSE_COUNT NULL
#define ADEPT_OPTION_PARSE_AMOUNT NULL

#define ADEPT_OPTION_UNITS_ADEPT_NO_UNIT NULL
#define ADEPT_OPTION_UNITS_ADEPT_WATTS adept_suffix_watts
#define ADEPT_OPTION_UNITS_ADEPT_HERTZ adept_suffix_clocks
#define ADEPT_OPTION_UNITS_ADEPT_SECONDS adept_suffix_seconds
#define ADEPT_OPTION_UNITS_ADEPT_BYTES adept_suffix_sizes
#define ADEPT_OPTION_UNITS_ADEPT_BYTES_PER_S adept_suffix_bandwidths
#define ADEPT_OPTION_OF_WORD ADEPT_OPT_CHOICE
#define ADEPT_OPTION_OF_NODE ADEPT_OPT_PARSED
#define ADEPT_OPTION_OF_NAME ADEPT_OPT_NAME
#define ADEPT_OPTION_OF_SET ADEPT_OPT_PARSED
#define ADEPT_OPTION_OF_SIZED ADEPT_OPT_PARSED
#define ADEPT_OPTION_OF_STAGES ADEPT_OPT_PARSED
#define ADEPT_OPTION_OF_SWITCH ADEPT_OPT_FLAG
#define ADEPT_OPTION_OF_COUNT ADEPT_OPT_COUNT
#define ADEPT_OPTION_OF_AMOUNT ADEPT_OPT_AMOUNT

/** The option of a word, for X. @param group  of the help
 *  @param member_at  offset of the member  @param given_at  of a bool that says that it is given; 0: none */
#define ADEPT_FIELD_OPTION(of_group, member_at, given_at, word, KIND, type, words, fallback, UNIT, called, argument,   \
                           text, who)                                                                                  \
    {called,                                                                                                           \
     ADEPT_FIELD_##KIND == ADEPT_FIELD_SWITCH ? NULL : (argument),                                                     \
     of_group,                                                                                                         \
     text,                                                                                                             \
     ADEPT_OPTION_OF_##KIND,                                                                                           \
     .at = (member_at),                                                                                                \
     .given = (given_at),                                                                                              \
     .low = ADEPT_FIELD_##KIND == ADEPT_FIELD_COUNT,                                                                   \
     .units = ADEPT_OPTION_UNITS_##UNIT,                                                                               \
     .names = (words),                                                                                                 \
     .parse = ADEPT_OPTION_PARSE_##KIND,                                                                               \
     .also = #word,                                                                                                    \
     .expert = (who) == ADEPT_EXPERT},

#endif
