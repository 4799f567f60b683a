/* libjq: one state for each program, compiled once. */
#include "jq_program.h"

#include <jq.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_MAX (64 * 1024 * 1024) /* libjq counts in int */

/* jq 1.6 gives an empty group the string null, and one without a part of the match the offset
 * -1. */
static const char find_match[] =
    "match($re) | if .captures == [] then .string else .captures[0] |"
    " if .string == null and .offset >= 0 then \"\" else .string end end";

struct jq_program {
    jq_state *jq;
};

/* libjq would write its messages on stderr. The first one is the reason. */
static void on_message(void *to, jv message) {
    static const char begin[] = "jq: error: ", shell[] = " (Unix shell quoting issues?)";
    struct why *why = to;
    const char *text = jv_get_kind(message) == JV_KIND_STRING ? jv_string_value(message) : "";
    const char *quoting = strstr(text, shell);

    if (why->text[0] == '\0') {
        text += strncmp(text, begin, strlen(begin)) == 0 ? strlen(begin) : 0;
        (void)why_set(why, "%.*s%.*s", (int)(quoting != NULL ? quoting - text : 0), text,
                      (int)strcspn(quoting != NULL ? quoting + strlen(shell) : text, "\n"),
                      quoting != NULL ? quoting + strlen(shell) : text);
    }
    jv_free(message);
}

static void ignore_message(void *data, jv message) {
    (void)data;
    jv_free(message);
}

static struct jq_program *program_compile(const char *source, jv arguments, struct why *why) {
    struct jq_program *program = calloc(1, sizeof *program);

    why->text[0] = '\0';
    if (program == NULL || (program->jq = jq_init()) == NULL) {
        (void)why_set(why, "out of memory");
        free(program);
        jv_free(arguments);
        return NULL;
    }
    jq_set_error_cb(program->jq, on_message, why);
    jq_set_debug_cb(program->jq, ignore_message, NULL);
    if (!jq_compile_args(program->jq, source, arguments)) {
        if (why->text[0] == '\0')
            (void)why_set(why, "jq does not accept it");
        jq_program_close(program);
        return NULL;
    }
    jq_set_error_cb(program->jq, ignore_message, NULL);
    return program;
}

struct jq_program *jq_program_open(const char *source, struct why *why) {
    return program_compile(source, jv_object(), why);
}

/* Takes over the result. True, with the reason, if it is an error. */
static bool has_error(jv result, struct why *why) {
    jv message;
    bool is_error;

    if (jv_is_valid(jv_copy(result))) {
        jv_free(result);
        return false;
    }
    message = jv_invalid_get_msg(result);
    is_error = jv_get_kind(message) == JV_KIND_STRING;
    if (is_error)
        (void)why_set(why, "%s", jv_string_value(message));
    jv_free(message);
    return is_error;
}

/* jq compiles the expression when it runs, so an error shows with any text. */
struct jq_program *jq_program_open_regex(const char *regex, struct why *why) {
    struct jq_program *program = program_compile(
        find_match, jv_object_set(jv_object(), jv_string("re"), jv_string(regex)), why);

    if (program == NULL)
        return NULL;
    jq_start(program->jq, jv_string(""), 0);
    if (has_error(jq_next(program->jq), why)) {
        jq_program_close(program);
        return NULL;
    }
    return program;
}

void jq_program_close(struct jq_program *program) {
    if (program == NULL)
        return;
    jq_teardown(&program->jq);
    free(program);
}

static enum jq_result result_of(jv_kind kind) {
    switch (kind) {
    case JV_KIND_STRING:
        return JQ_TEXT;
    case JV_KIND_NUMBER:
        return JQ_NUMBER;
    case JV_KIND_TRUE:
        return JQ_TRUE;
    case JV_KIND_FALSE:
        return JQ_FALSE;
    case JV_KIND_NULL:
        return JQ_NULL;
    case JV_KIND_ARRAY:
        return JQ_LIST;
    case JV_KIND_OBJECT:
        return JQ_OBJECT;
    case JV_KIND_INVALID:
        break;
    }
    return JQ_NOTHING;
}

/* Takes over the result. */
static enum jq_result take(jv result, struct buffer *to) {
    enum jq_result kind = result_of(jv_get_kind(result));
    int length;

    if (kind == JQ_NOTHING) {
        jv_free(result);
        return kind;
    }
    if (kind != JQ_TEXT)
        result = jv_dump_string(result, 0);
    length = jv_string_length_bytes(jv_copy(result));
    if (length > JQ_BYTES || !buffer_append(to, jv_string_value(result), (size_t)length))
        kind = JQ_NOTHING;
    jv_free(result);
    return kind;
}

static enum jq_result program_run(struct jq_program *program, jv input, struct buffer *to) {
    jq_start(program->jq, input, 0);
    return take(jq_next(program->jq), to);
}

enum jq_result jq_program_run(struct jq_program *program, const char *json, size_t length,
                              struct buffer *to) {
    jv input;

    if (length > LENGTH_MAX)
        return JQ_NOTHING;
    input = jv_parse_sized(json, (int)length);
    if (!jv_is_valid(input)) {
        jv_free(input);
        return JQ_NOTHING;
    }
    return program_run(program, input, to);
}

enum jq_result jq_program_run_text(struct jq_program *program, const char *text, size_t length,
                                   struct buffer *to) {
    if (length > LENGTH_MAX)
        return JQ_NOTHING;
    return program_run(program, jv_string_sized(text, (int)length), to);
}
