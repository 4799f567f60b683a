/* The reply of a shop: its first line is the head, the rest the body. Each kind of query looks into
 * it. */
#include "fuzz.h"
#include "json_read.h"
#include "reply_value.h"

static struct jq_program *first, *word;

/* One constant text. */
#define ARGUMENT(constant)                                                                         \
    { .parts = &(struct shop_part){SHOP_LITERAL, constant, sizeof constant - 1}, .count = 1 }

static void look(const struct reply_view *reply, struct shop_query query,
                 struct jq_program *program) {
    struct shop_predicate predicate = {
        .kind = SHOP_MATCHES, .operand = SHOP_TEXT, .text = ARGUMENT("a+b")};
    struct reply_value value;

    if (!reply_value_find(reply, &query, program, &value))
        abort();
    (void)reply_value_meets(&value, &predicate, word, reply->values);
    predicate.kind = SHOP_LESS;
    (void)reply_value_meets(&value, &predicate, NULL, reply->values);
    buffer_free(&value.text);
}

static void mask(const struct values *values, const char *text) {
    struct buffer masked = {0};
    size_t length = strlen(text);

    if (!values_mask(values, text, &length, SIZE_MAX, &masked))
        abort();
    buffer_free(&masked);
}

/* libjq keeps pointers to the ends of its memory, which the leak checker does not take for
 * pointers. */
static void close_programs(void) {
    jq_program_close(first);
    jq_program_close(word);
}

static void open_programs(void) {
    struct why why;

    first = jq_program_open(".a[0]?, ..", &why);
    word = jq_program_open_regex("a+(b)|\"(\\w+)\"", &why);
    if (first == NULL || word == NULL || atexit(close_programs) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    const size_t head = strcspn(text, "\n") + (strchr(text, '\n') != NULL);
    struct values values = {0};
    struct web_request request = {0};
    struct reply_view reply = {.request = &request, .values = &values};

    if (first == NULL)
        open_programs();
    if (values_set(&values, "a", text, head, true) != 0 ||
        !buffer_append(&request.head, text, head) ||
        !buffer_append(&request.reply, text + head, strlen(text + head) + 1))
        abort();
    request.reply.length--;
    reply.json = json_read_as_is(request.reply.bytes, request.reply.length, NULL);
    look(&reply, (struct shop_query){SHOP_QUERY_HEADER, ARGUMENT("a")}, NULL);
    look(&reply, (struct shop_query){SHOP_QUERY_JSONPATH, ARGUMENT("$.a[0]['b']")}, NULL);
    look(&reply, (struct shop_query){SHOP_QUERY_JQ, ARGUMENT("")}, first);
    look(&reply, (struct shop_query){SHOP_QUERY_REGEX, ARGUMENT("")}, word);
    look(&reply, (struct shop_query){.kind = SHOP_QUERY_BODY}, NULL);
    mask(&values, text);
    json_decref(reply.json);
    web_request_free(&request);
    values_free(&values);
    free(text);
    return 0;
}
