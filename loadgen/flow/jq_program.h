/* A compiled program of jq, or a regular expression, which jq's library runs, too (Oniguruma, with
 * the syntax of Perl and a bound on its steps). */
#ifndef LOADGEN_JQ_PROGRAM_H
#define LOADGEN_JQ_PROGRAM_H

#include "buffer.h"
#include "why.h"

#include <stdbool.h>
#include <stddef.h>

#define JQ_BYTES (1024 * 1024) /* of a result, at most */

struct jq_program;

/* NULL with the reason: it is not valid, or there is no memory. */
__attribute__((warn_unused_result)) struct jq_program *jq_program_open(const char *source,
                                                                       struct why *why);
/* Its result for a text: the first group of the first match, NULL if that group has no part of the
 * match, or the whole match if it has no group. */
__attribute__((warn_unused_result)) struct jq_program *jq_program_open_regex(const char *regex,
                                                                             struct why *why);
void jq_program_close(struct jq_program *program);

enum jq_result { JQ_NOTHING, JQ_TEXT, JQ_NUMBER, JQ_TRUE, JQ_FALSE, JQ_NULL, JQ_LIST, JQ_OBJECT };

/* Runs it on JSON up to its first result, and appends that to `to`: a text without quotes, any
 * other value as JSON. The caller has bounded the nesting of the JSON. An error of the program is
 * NOTHING, and so is a result that is too long. Nothing bounds the time that a program takes. */
enum jq_result jq_program_run(struct jq_program *program, const char *json, size_t length,
                              struct buffer *to);
/* Runs it on a text. Bytes that are no UTF-8 become U+FFFD. */
enum jq_result jq_program_run_text(struct jq_program *program, const char *text, size_t length,
                                   struct buffer *to);

#endif
