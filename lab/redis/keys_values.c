/* Keys and their values, as commands look for them, make them and drop them. */
#include "keys_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void keys_say_number(struct keys_running *at, int64_t number) {
    at->reply->type = KEYS_IS_NUMBER;
    at->reply->number = number;
}

void keys_say_text(struct keys_running *at, const char *text) {
    at->reply->type = text != NULL ? KEYS_IS_TEXT : KEYS_IS_NIL;
    (void)snprintf(at->reply->text, sizeof at->reply->text, "%s", text != NULL ? text : "");
}

void keys_add_item(struct keys_running *at, const char *text) {
    struct keys_reply *reply = at->reply;

    if (reply->number == KEYS_REPLIES) {
        keys_fail(reply, "ERR more than %d items, which the model cannot hold", KEYS_REPLIES);
        return;
    }
    reply->items[reply->number].is_nil = text == NULL;
    (void)snprintf(reply->items[reply->number++].text, KV_TEXT, "%s", text != NULL ? text : "");
}

void keys_begin_list(struct keys_running *at) {
    at->reply->type = KEYS_IS_LIST;
    at->reply->number = 0;
}

/* ---- keys and values */

int keys_find(const struct keys *keys, const char *name) {
    for (int i = 0; i < keys->key_count; i++)
        if (keys->keys[i].type != KEYS_NONE && strcmp(keys->keys[i].name, name) == 0)
            return i;
    return -1;
}

int keys_make(struct keys_running *at, enum keys_type type) {
    struct keys *keys = at->keys;
    int place = 0;

    if (at->key >= 0)
        return at->key;
    while (place < keys->key_count && keys->keys[place].type != KEYS_NONE)
        place++;
    if (place == KEYS_MAX || strlen(at->argv[1]) >= KEYS_NAME) {
        keys_fail(at->reply, "ERR more keys, or a longer one, than the model can hold");
        return -1;
    }
    if (place == keys->key_count)
        keys->key_count++;
    keys->keys[place] = (struct keys_key){.type = (uint8_t)type};
    strcpy(keys->keys[place].name, at->argv[1]);
    return at->key = place;
}

int keys_find_value(const struct keys_running *at, const char *member) {
    for (int i = 0; at->key >= 0 && i < at->keys->value_count; i++)
        if (at->keys->values[i].key == at->key && strcmp(at->keys->values[i].member, member) == 0)
            return i;
    return -1;
}

void keys_remove_value(struct keys *keys, int place) {
    keys->value_count--;
    memmove(&keys->values[place], &keys->values[place + 1],
            (size_t)(keys->value_count - place) * sizeof *keys->values);
}

int64_t keys_count_values(const struct keys_running *at) {
    int64_t count = 0;

    for (size_t i = 0; at->key >= 0 && i < at->keys->value_count; i++)
        count += at->keys->values[i].key == at->key;
    return count;
}

void keys_drop_if_empty(struct keys_running *at) {
    struct keys *keys = at->keys;

    if (at->key < 0 || keys_count_values(at) > 0)
        return;
    keys->keys[at->key].type = KEYS_NONE;
    while (keys->key_count > 0 && keys->keys[keys->key_count - 1].type == KEYS_NONE)
        keys->key_count--;
    at->key = -1;
}

int keys_add_value(struct keys_running *at, const char *member, const char *value, bool is_first) {
    struct keys *keys = at->keys;
    size_t place = is_first ? 0 : keys->value_count;

    if (keys->value_count == KEYS_VALUES || strlen(member) >= KEYS_MEMBER ||
        strlen(value) >= KV_TEXT) {
        keys_fail(at->reply, "ERR more values, or a longer one, than the model can hold");
        keys_drop_if_empty(at);
        return -1;
    }
    memmove(&keys->values[place + 1], &keys->values[place],
            (keys->value_count - place) * sizeof *keys->values);
    keys->value_count++;
    keys->values[place] = (struct keys_value){.key = (uint8_t)at->key};
    strcpy(keys->values[place].member, member);
    strcpy(keys->values[place].value, value);
    return 0;
}

int keys_put_value(struct keys_running *at, const char *member, const char *value) {
    const int place = keys_find_value(at, member);

    if (place < 0)
        return keys_add_value(at, member, value, false) == 0 ? 1 : -1;
    if (strlen(value) >= KV_TEXT) {
        keys_fail(at->reply, "ERR a longer value than the model can hold");
        return -1;
    }
    strcpy(at->keys->values[place].value, value);
    return 0;
}

const char *keys_value_of(const struct keys_running *at, const char *member) {
    const int place = keys_find_value(at, member);

    return place >= 0 ? at->keys->values[place].value : NULL;
}

int keys_read_number(struct keys_running *at, const char *text, int64_t *number) {
    char *end;

    errno = 0;
    *number = strtoll(text, &end, 10);
    if (text[0] != '\0' && !isspace((unsigned char)text[0]) && *end == '\0' && errno == 0)
        return 0;
    keys_fail(at->reply, "ERR value is not an integer or out of range");
    return -1;
}

void keys_remove(struct keys_running *at) {
    for (int i = at->keys->value_count - 1; at->key >= 0 && i >= 0; i--)
        if (at->keys->values[i].key == at->key)
            keys_remove_value(at->keys, i);
    keys_drop_if_empty(at);
}
