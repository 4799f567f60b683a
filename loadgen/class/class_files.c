/* Hands out the page and what it loads. */
#include "class_files.h"

#include "serve.h"

#include <string.h>

extern const char class_html[], class_css[], class_dom_js[], class_steps_js[], class_js[];

const char class_files_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static void reply(struct http_exchange *exchange, const char *content_type, const char *text) {
    serve_add_headers(exchange, class_files_policy);
    http_reply(exchange, 200, content_type, text, strlen(text));
}

void class_files_page(struct http_exchange *exchange, void *data) {
    (void)data;
    reply(exchange, "text/html; charset=utf-8", class_html);
}

void class_files_other(struct http_exchange *exchange, void *data) {
    static const char script[] = "text/javascript; charset=utf-8";
    static const struct {
        const char *name, *content_type, *text;
    } files[] = {{"class.css", "text/css; charset=utf-8", class_css},
                 {"dom.js", script, class_dom_js},
                 {"steps.js", script, class_steps_js},
                 {"class.js", script, class_js}};
    const char *name = http_path_param(exchange, "file");

    (void)data;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(files[i].name, name) == 0) {
            reply(exchange, files[i].content_type, files[i].text);
            return;
        }
    http_reply_error(exchange, 404, "not_found", "the page has no such file");
}
