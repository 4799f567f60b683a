/* Reads a struct shop_text: a text with {{name}} in it. */
#ifndef LOADGEN_SHOP_TEXT_H
#define LOADGEN_SHOP_TEXT_H

#include "reader.h"
#include "shop.h"

enum text_form {
    TEXT_VERBATIM, /* no escapes */
    TEXT_LINE,     /* a header or a URL: \# \\ \: \u{2603} */
    TEXT_VALUE,    /* the same, and \n \t */
    TEXT_QUOTED,   /* between "" or ``: the same, and \" \` */
    TEXT_JSON,     /* no escapes; a name inside a string becomes SHOP_NAME_IN_JSON */
};

/* Reads from `from` to before `to` into `text`; the reader stays. 0; or -1 with the reason. */
int text_read(struct reader *reader, const char *from, const char *to, enum text_form form,
              struct shop_text *text);
/* A text that is only these bytes. */
int text_literal(struct reader *reader, const char *bytes, size_t length, struct shop_text *text);
bool text_is_literal(const struct shop_text *text);

/* Reads the text between two `quote`, at the first of which the reader stands, and goes behind
 * it. */
int text_read_quoted(struct reader *reader, char quote, struct shop_text *text);
/* Reads the unquoted value at the reader, and goes behind it. */
int text_read_value(struct reader *reader, enum text_form form, struct shop_text *text);

/* Goes behind the {{name}} at the reader. 0 with its name; or -1 with the reason. */
int text_read_name(struct reader *reader, const char **name);

/* Makes the body {"query":"...","variables":...} of two ranges; `variables` is empty or JSON that
 * json_body_end() has accepted. */
int text_read_graphql(struct reader *reader, const char *query, const char *query_end,
                      const char *variables, const char *variables_end, struct shop_text *text);

#endif
