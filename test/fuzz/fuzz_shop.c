/* Shop files. Each struct shop is whole, and keeps the promises of shop.h. */
#include "fuzz.h"
#include "shop.h"

static void demand(bool holds) {
    if (!holds)
        abort();
}

static void see_text(const struct shop_text *text) {
    for (size_t i = 0; i < text->count; i++) {
        demand(text->parts[i].length > 0);
        demand(strlen(text->parts[i].text) == text->parts[i].length);
    }
}

static void see_fields(const struct shop_fields *fields) {
    for (size_t i = 0; i < fields->count; i++) {
        see_text(&fields->items[i].name);
        see_text(&fields->items[i].value);
    }
}

static void see_query(const struct shop_query *query) {
    see_text(&query->argument);
    demand((query->argument.count == 0) ==
           (query->kind == SHOP_QUERY_STATUS || query->kind == SHOP_QUERY_BODY));
}

static void see_predicate(const struct shop_predicate *predicate) {
    see_text(&predicate->text);
    demand((predicate->operand == SHOP_NO_OPERAND) ==
           (predicate->kind == SHOP_EXISTS || predicate->kind == SHOP_IS_EMPTY));
}

static void see_step(const struct shop_step *step) {
    demand(step->method[0] != '\0' && step->url.count > 0 && step->line > 0);
    see_text(&step->url);
    see_text(&step->body);
    see_fields(&step->headers);
    see_fields(&step->query);
    see_fields(&step->form);
    for (size_t i = 0; i < step->capture_count; i++) {
        demand(strlen(step->captures[i].name) <= SHOP_NAME_BYTES);
        see_query(&step->captures[i].query);
    }
    for (size_t i = 0; i < step->assert_count; i++) {
        see_query(&step->asserts[i].query);
        see_predicate(&step->asserts[i].predicate);
    }
}

static void see_sections(const struct shop *shop) {
    size_t marks = 0;

    for (enum shop_section section = 0; section < SHOP_SECTIONS; section++)
        for (size_t i = 0; i < shop->sections[section].count; i++) {
            see_step(&shop->sections[section].items[i]);
            marks += shop->sections[section].items[i].is_commit_mark;
        }
    demand(marks == 1);
}

static void see_shop(const struct shop *shop) {
    demand(shop->name[0] != '\0' && shop->base_count > 0 && shop->outcome_count > 0);
    for (size_t i = 0; i < shop->base_count; i++)
        see_text(&shop->bases[i]);
    for (size_t i = 0; i < shop->value_count; i++)
        see_text(&shop->values[i].text);
    see_sections(shop);
    for (size_t i = 0; i < shop->outcome_count; i++) {
        see_query(&shop->outcomes[i].query);
        see_predicate(&shop->outcomes[i].predicate);
    }
    see_text(&shop->ledger.target);
    see_text(&shop->ledger.orders);
    see_text(&shop->ledger.stock);
    see_text(&shop->ledger.writes);
    see_text(&shop->ledger.witness.table);
    see_text(&shop->ledger.witness.rows);
    see_text(&shop->ledger.witness.left);
    demand((shop->ledger.witness.line > 0) == (shop->ledger.witness.left.count > 0));
    demand(shop->ledger.orders.count > 0 && shop->ledger.stock.count > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size); /* of exactly that size, without a NUL */
    struct shop shop;
    struct why why;

    if (text == NULL && size > 0)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    if (shop_parse(&shop, "a.shop", text, size, &why) == 0) {
        see_shop(&shop);
        shop_free(&shop);
    } else {
        demand(strncmp(why.text, "a.shop:", strlen("a.shop:")) == 0 && shop.memory == NULL);
    }
    free(text);
    return 0;
}
