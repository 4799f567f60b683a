/* What an answer says, whichever way it was read. */
#include "inventory_answer.h"

const char *inventory_text(const struct inventory_answer *answer, const char *field) {
    const char *text = answer->body != NULL
                           ? json_string_value(json_object_get(answer->body, field))
                           : json_flat_text(&answer->flat, field);

    return text != NULL ? text : "";
}

bool inventory_integer(const struct inventory_answer *answer, const char *field, int64_t *number) {
    const json_t *value = json_object_get(answer->body, field);

    if (answer->body == NULL)
        return json_flat_integer(&answer->flat, field, number);
    *number = json_integer_value(value);
    return json_is_integer(value);
}
