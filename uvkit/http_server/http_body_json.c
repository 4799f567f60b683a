/* A request's body as a JSON object, or the refusal that says what is wrong with it. */
#include "http_server.h"

#include "json_flat.h"
#include "json_read.h"

#include <string.h>
#include <strings.h>

bool http_body_is_json(const struct http_exchange *exchange) {
    const char *type = http_header(exchange, "Content-Type");

    return type == NULL || (strcspn(type, "; \t") == strlen("application/json") &&
                            strncasecmp(type, "application/json", strlen("application/json")) == 0);
}

json_t *http_body_json(struct http_exchange *exchange) {
    json_error_t error;
    size_t length;
    const char *body = http_body(exchange, &length);
    json_t *json;

    if (!http_body_is_json(exchange)) {
        http_reply_error(exchange, 415, "unsupported_media_type",
                         "send JSON, with Content-Type: application/json");
        return NULL;
    }
    json = json_read(body, length, &error);
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

bool http_body_uuid(struct http_exchange *exchange, const char *name, char uuid[UUID_TEXT],
                    const char *otherwise) {
    struct json_flat flat;
    size_t length;
    const char *bytes = http_body(exchange, &length);
    bool is_flat = http_body_is_json(exchange) && json_flat_read(&flat, bytes, length);
    json_t *body = is_flat ? NULL : http_body_json(exchange);
    const char *text =
        is_flat ? json_flat_text(&flat, name) : json_string_value(json_object_get(body, name));
    bool is_good = uuid_parse(text, uuid) == 0;

    if ((is_flat || body != NULL) && !is_good)
        http_reply_error(exchange, 400, "bad_request", "%s", otherwise);
    json_decref(body);
    return is_good;
}
