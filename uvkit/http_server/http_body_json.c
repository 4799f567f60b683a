/* A request's body as a JSON object, or the refusal that says what is wrong with it. */
#include "http_server_internal.h"

#include <string.h>
#include <strings.h>

/* jansson parses by recursion, up to 2,048 levels: too many for a fiber's stack. */
#define DEPTH 32

static bool is_json_type(const char *type) {
    size_t length = strcspn(type, "; \t");

    return length == strlen("application/json") &&
           strncasecmp(type, "application/json", length) == 0;
}

static bool is_too_deep(const char *text, size_t length) {
    bool is_in_string = false;
    int depth = 0;

    for (size_t i = 0; i < length; i++) {
        if (is_in_string && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            is_in_string = !is_in_string;
        else if (!is_in_string && (text[i] == '{' || text[i] == '['))
            depth++;
        else if (!is_in_string && (text[i] == '}' || text[i] == ']'))
            depth--;
        if (depth > DEPTH)
            return true;
    }
    return false;
}

json_t *http_body_json(struct http_exchange *exchange) {
    const char *type = http_header(exchange, "Content-Type");
    json_error_t error;
    size_t length;
    const char *body = http_body(exchange, &length);
    json_t *json;

    if (type != NULL && !is_json_type(type)) {
        http_reply_error(exchange, 415, "unsupported_media_type",
                         "send JSON, with Content-Type: application/json");
        return NULL;
    }
    if (is_too_deep(body, length)) {
        http_reply_error(exchange, 400, "bad_request", "the JSON is nested deeper than %d levels",
                         DEPTH);
        return NULL;
    }
    json = json_loadb(body, length, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        http_reply_error(exchange, 400, "bad_request", "not valid JSON: line %d, column %d: %s",
                         error.line, error.column, error.text);
    else if (!json_is_object(json))
        http_reply_error(exchange, 400, "bad_request", "send a JSON object");
    else
        return json;
    json_decref(json);
    return NULL;
}
