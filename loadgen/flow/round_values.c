/* See round_values.h. */
#include "round_values.h"

#include "uuid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char no_memory[] = "out of memory";

/* Reads all that the command prints. 0; or -1 with the reason. */
static int read_output(const struct shop *shop, const struct shop_value *value, FILE *from,
                       struct buffer *output, struct why *why) {
    char bytes[4096];
    size_t length;

    while ((length = fread(bytes, 1, sizeof bytes, from)) > 0) {
        if (output->length + length > VALUE_BYTES)
            return why_set(why, "%s:%d: the command prints more than 64 KiB", shop->path,
                           value->line);
        if (!buffer_append(output, bytes, length))
            return why_set(why, no_memory);
    }
    return 0;
}

static int run_command(const struct shop *shop, const struct shop_value *value, const char *command,
                       struct buffer *output, struct why *why) {
    FILE *from = popen(command, "re");
    int code, status;

    if (from == NULL)
        return why_set(why, "%s:%d: cannot run the command: %s", shop->path, value->line,
                       strerror(errno));
    code = read_output(shop, value, from, output, why);
    status = pclose(from);
    if (code != 0)
        return -1;
    if (status != 0)
        return why_set(why, "%s:%d: the command ended with %s %d", shop->path, value->line,
                       WIFEXITED(status) ? "exit code" : "signal",
                       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    if (output->length > 0 && output->bytes[output->length - 1] == '\n')
        output->length--;
    return 0;
}

static int take_environment(const struct shop *shop, const struct shop_value *value,
                            struct values *values, struct why *why) {
    const char *text = getenv(value->name);

    if (text == NULL)
        return why_set(why, "%s:%d: the environment has no %s", shop->path, value->line,
                       value->name);
    return values_set(values, value->name, text, strlen(text), true) == 0 ? 0
                                                                          : why_set(why, no_memory);
}

static int take_value(const struct shop *shop, const struct shop_value *value,
                      struct values *values, struct why *why) {
    struct buffer text = {0}, output = {0};
    const struct buffer *taken = value->kind == SHOP_RUN ? &output : &text;
    int code;

    if (value->kind == SHOP_ENV)
        return take_environment(shop, value, values, why);
    code = values_fill(values, &value->text, FILL_AS_IS, &text, why);
    if (code == 0 && value->kind == SHOP_RUN)
        code = run_command(shop, value, text.bytes, &output, why);
    if (code == 0 && values_set(values, value->name, taken->length > 0 ? taken->bytes : "",
                                taken->length, false) != 0)
        code = why_set(why, no_memory);
    buffer_free(&text);
    buffer_free(&output);
    return code;
}

int round_values_set(struct values *values, const struct shop *shop, int64_t stock,
                     struct why *why) {
    char digits[32], uuid[UUID_TEXT];
    const char *run = uuid + UUID_TEXT - 1 - 12; /* its last group: random */

    (void)snprintf(digits, sizeof digits, "%" PRId64, stock);
    uuid_v7(uuid);
    if (values_set(values, "stock", digits, strlen(digits), false) != 0 ||
        values_set(values, "run", run, strlen(run), false) != 0)
        return why_set(why, no_memory);
    for (size_t i = 0; i < shop->value_count; i++)
        if (take_value(shop, &shop->values[i], values, why) != 0)
            return -1;
    return 0;
}
