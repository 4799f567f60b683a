/* See errand.h. */
#include "errand.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

static int append(struct buffer *to, const char *text, size_t length, struct why *why) {
    return buffer_append(to, text, length) ? 0 : why_set(why, "out of memory");
}

/* name=value, with & between them. */
static int fill_fields(const struct shop_fields *fields, const struct values *values,
                       struct buffer *to, struct why *why) {
    for (size_t i = 0; i < fields->count; i++) {
        const struct shop_field *field = &fields->items[i];

        if ((i > 0 && append(to, "&", 1, why) != 0) ||
            values_fill(values, &field->name, FILL_FIELD, to, why) != 0 ||
            append(to, "=", 1, why) != 0 ||
            values_fill(values, &field->value, FILL_FIELD, to, why) != 0)
            return -1;
    }
    return append(to, "", 1, why) == 0 && to->length-- > 0 ? 0 : -1;
}

/* libcurl would guess a scheme, and take the beginning of a text for a host. */
static int check_url(const char *url, struct why *why) {
    return strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0
               ? 0
               : why_set(why, "the URL is neither a path nor begins with http:// or https://");
}

static int fill_url(struct errand *errand, const struct shop_step *step,
                    const struct values *values, const struct shop_text *base, struct why *why) {
    struct buffer path = {0};
    struct buffer *url = &errand->url;
    int code = values_fill(values, &step->url, FILL_URL, &path, why);

    if (code == 0 && path.bytes[0] == '/')
        code = values_fill(values, base, FILL_URL, url, why);
    if (code == 0)
        code = append(url, path.bytes, path.length + 1, why);
    if (code == 0)
        url->length--;
    buffer_free(&path);
    if (code == 0)
        code = check_url(url->bytes, why);
    if (code != 0 || step->query.count == 0)
        return code;
    return append(url, strchr(url->bytes, '?') != NULL ? "&" : "?", 1, why) != 0
               ? -1
               : fill_fields(&step->query, values, url, why);
}

static int fill_lines(struct errand *errand, const struct shop_step *step,
                      const struct values *values, struct why *why) {
    struct buffer *to = &errand->lines;
    bool has_type = step->content_type == NULL;

    for (size_t i = 0; i < step->headers.count; i++) {
        const struct shop_field *field = &step->headers.items[i];
        const size_t begin = to->length;

        if (values_fill(values, &field->name, FILL_HEADER, to, why) != 0 ||
            append(to, ": ", 2, why) != 0 ||
            values_fill(values, &field->value, FILL_HEADER, to, why) != 0 ||
            append(to, "", 1, why) != 0)
            return -1;
        has_type = has_type || strncasecmp(to->bytes + begin, "Content-Type:", 13) == 0;
    }
    if (has_type)
        return 0;
    return append(to, "Content-Type: ", 14, why) != 0
               ? -1
               : append(to, step->content_type, strlen(step->content_type) + 1, why);
}

static void point_to_lines(struct errand *errand) {
    size_t count = 0;

    for (size_t at = 0; at < errand->lines.length; at += strlen(errand->lines.bytes + at) + 1) {
        assert(count + 1 < sizeof errand->headers / sizeof *errand->headers);
        errand->headers[count++] = errand->lines.bytes + at;
    }
    errand->headers[count] = NULL;
}

int errand_fill(struct errand *errand, const struct shop_step *step, const struct values *values,
                const struct shop_text *base, struct why *why) {
    *errand = (struct errand){.headers = {NULL}};
    if (fill_url(errand, step, values, base, why) != 0 ||
        fill_lines(errand, step, values, why) != 0)
        return -1;
    point_to_lines(errand);
    switch (step->body_kind) {
    case SHOP_NO_BODY:
        return 0;
    case SHOP_BODY_TEXT:
        return values_fill(values, &step->body, FILL_AS_IS, &errand->body, why);
    case SHOP_BODY_FORM:
        return fill_fields(&step->form, values, &errand->body, why);
    }
    return 0;
}

void errand_free(struct errand *errand) {
    buffer_free(&errand->url);
    buffer_free(&errand->body);
    buffer_free(&errand->lines);
}
