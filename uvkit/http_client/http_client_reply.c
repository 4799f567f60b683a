/* The reply to one call, as llhttp parses it: the end of it, the body, whether the connection can
 * carry another call. */
#include "http_client_internal.h"

#include <string.h>
#include <strings.h>

static int client_reply_stop(struct http_connection *connection, const char *why) {
    connection->reply.error = why;
    return -1;
}

/* RFC 9112, 6.3. */
static bool is_without_body(unsigned status, const char *method) {
    return status < 200 || status == 204 || status == 304 || strcmp(method, "HEAD") == 0;
}

/* Names and values may come in pieces, however the bytes were split on the way; and what comes
 * after the headers is a trailer. */
static int on_header_field(llhttp_t *parser, const char *bytes, size_t length) {
    struct http_connection *connection = parser->data;
    const char *wanted = connection->call->want_header;

    if (connection->reply.name_length == 0)
        connection->reply.is_wanted = wanted != NULL && !connection->reply.has_headers;
    connection->reply.is_wanted =
        connection->reply.is_wanted && length <= strlen(wanted) - connection->reply.name_length &&
        strncasecmp(wanted + connection->reply.name_length, bytes, length) == 0;
    connection->reply.name_length += length;
    return 0;
}

static void client_reply_append(char *header, const char *bytes, size_t length) {
    size_t used = strlen(header);

    if (length > HTTP_CALL_HEADER_BYTES - 1 - used)
        length = HTTP_CALL_HEADER_BYTES - 1 - used;
    memcpy(header + used, bytes, length);
    header[used + length] = '\0';
}

static int on_header_field_complete(llhttp_t *parser) {
    struct http_connection *connection = parser->data;
    struct http_call *call = connection->call;

    connection->reply.is_wanted =
        connection->reply.is_wanted && connection->reply.name_length == strlen(call->want_header);
    connection->reply.name_length = 0;
    if (connection->reply.is_wanted && call->header[0] != '\0')
        client_reply_append(call->header, ", ", 2);
    return 0;
}

static int on_header_value(llhttp_t *parser, const char *bytes, size_t length) {
    struct http_connection *connection = parser->data;

    if (connection->reply.is_wanted)
        client_reply_append(connection->call->header, bytes, length);
    return 0;
}

static int client_reply_on_headers_complete(llhttp_t *parser) {
    struct http_connection *connection = parser->data;

    connection->reply.has_headers = parser->status_code >= 200;
    if (parser->http_major != 1)
        return client_reply_stop(connection, "the reply is not HTTP/1.x");
    if (connection->lines.is_folded)
        return client_reply_stop(connection, "a header of the reply goes over two lines");
    if (parser->status_code == 101)
        return client_reply_stop(connection, "the server switched protocols unasked");
    if (is_without_body(parser->status_code, connection->call->method))
        return 1; /* llhttp: there is none, whatever the headers say */
    if (connection->call->on_part == NULL &&
        parser->content_length > connection->client->options.reply_limit)
        return client_reply_stop(connection, "the reply is too large");
    return 0;
}

static int client_reply_on_body(llhttp_t *parser, const char *bytes, size_t length) {
    struct http_connection *connection = parser->data;
    struct http_call *call = connection->call;

    if (call->on_part != NULL)
        return call->on_part(call, bytes, length) ? 0 : client_reply_stop(connection, "broken off");
    if (length > connection->client->options.reply_limit - connection->body.length)
        return client_reply_stop(connection, "the reply is too large");
    if (!buffer_append(&connection->body, bytes, length) ||
        !buffer_append(&connection->body, "", 1))
        return client_reply_stop(connection, "out of memory for the reply");
    connection->body.length--; /* the NUL stays, until more comes */
    return 0;
}

static int client_reply_on_message_complete(llhttp_t *parser) {
    struct http_connection *connection = parser->data;

    if (parser->status_code < 200) { /* interim: the reply is still to come */
        connection->call->header[0] = '\0';
        connection->lines = (struct http_lines){0};
        return 0;
    }
    connection->reply.is_complete = true;
    connection->reply.keeps_alive = llhttp_should_keep_alive(parser) == 1;
    return HPE_PAUSED;
}

static const llhttp_settings_t callbacks = {.on_header_field = on_header_field,
                                            .on_header_field_complete = on_header_field_complete,
                                            .on_header_value = on_header_value,
                                            .on_headers_complete = client_reply_on_headers_complete,
                                            .on_body = client_reply_on_body,
                                            .on_message_complete =
                                                client_reply_on_message_complete};

void http_reply_expect(struct http_connection *connection) {
    connection->call->header[0] = '\0';
    llhttp_init(&connection->parser, HTTP_RESPONSE, &callbacks);
    connection->parser.data = connection;
    connection->body.length = 0;
    connection->lines = (struct http_lines){0};
    memset(&connection->reply, 0, sizeof connection->reply);
}

const char *http_reply_parse(struct http_connection *connection, const char *bytes, size_t length) {
    const char *end = bytes + length;
    llhttp_errno_t code = HPE_OK;

    connection->reply.has_input = true;
    while (bytes < end && code == HPE_OK) { /* head by head: interim replies have their own */
        size_t taken = http_lines_look(&connection->lines, bytes, (size_t)(end - bytes));

        if (taken == 0) /* of the body is all the rest */
            taken = (size_t)(end - bytes);
        code = llhttp_execute(&connection->parser, bytes, taken);
        bytes += taken;
    }
    if (connection->reply.is_complete) {
        if (llhttp_get_error_pos(&connection->parser) != end)
            connection->reply.keeps_alive =
                false; /* more than was asked for: trust it no further */
        return NULL;
    }
    if (code == HPE_OK)
        return NULL;
    return connection->reply.error != NULL ? connection->reply.error : "malformed reply";
}

const char *http_reply_parse_end(struct http_connection *connection) {
    if (connection->reply.has_input)
        (void)llhttp_finish(&connection->parser); /* may complete a reply that ends here */
    connection->reply.keeps_alive = false;
    if (connection->reply.is_complete)
        return NULL;
    return connection->reply.has_input ? "the connection closed in the middle of the reply"
                                       : "the connection closed before the reply";
}
