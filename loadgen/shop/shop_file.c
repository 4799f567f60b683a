/* Reads the text of a shop file: its head, its sections in their order, and in them the outcomes
 * and the ledger. step.c reads the steps. */
#include "shop.h"

#include "query.h"
#include "reader.h"
#include "step.h"
#include "text.h"
#include "utf8.h"

#include <assert.h>
#include <string.h>

#define TITLE_BYTES 64
#define NAME_FORM   "a name of at most 64 letters, digits, _ and -" /* SHOP_NAME_BYTES */

#define X(id, name) name,
static const char *const outcome_names[] = {SHOP_OUTCOMES(X)};
#undef X
#define OUTCOMES (sizeof outcome_names / sizeof *outcome_names)

/* ---- the head: shop, version, config, base, set, env, run */

static int read_title(struct reader *reader, struct shop *shop) {
    const char *end = reader_value_end(reader);

    if (end == NULL)
        return -1;
    if (shop->name != NULL)
        return reader_fail(reader, reader->at, "expected one line `shop`, this is the second");
    if (end == reader->at || end - reader->at > TITLE_BYTES)
        return reader_fail(reader, reader->at, "expected a name of 1 to %d bytes", TITLE_BYTES);
    shop->name = memory_copy(reader->memory, reader->at, (size_t)(end - reader->at));
    reader->at = end;
    return shop->name != NULL ? 0 : reader_no_memory(reader);
}

/* A line for reports: it may use values that only a round has. */
static int read_remark(struct reader *reader, struct shop_text *text, const char *word) {
    int code;

    if (text->count > 0)
        return reader_fail(reader, reader->at, "expected one line `%s`, this is the second", word);
    reader->scope = NAME_OF_ROUND;
    code = text_read_value(reader, TEXT_VALUE, text);
    reader->scope = NAME_OF_FILE;
    if (code != 0)
        return -1;
    return text->count > 0 ? 0 : reader_expected(reader, reader->at, "a text");
}

static int read_version(struct reader *reader, struct shop *shop) {
    return read_remark(reader, &shop->version, "version");
}

static int read_config(struct reader *reader, struct shop *shop) {
    return read_remark(reader, &shop->config, "config");
}

/* Whether the text begins with a scheme and a character of a host, or with a value. */
static bool is_url(const char *text) {
    const char *host = strncmp(text, "https://", 8) == 0  ? text + 8
                       : strncmp(text, "http://", 7) == 0 ? text + 7
                       : strncmp(text, "{{", 2) == 0      ? text
                                                          : "";

    return *host != '\0' && strchr("/ \t\n#", *host) == NULL;
}

static int read_base(struct reader *reader, struct shop *shop) {
    const char *begin = reader->at, *end = reader_value_end(reader);
    struct shop_text *items =
        end == NULL ? NULL
                    : reader_grow(reader, shop->bases, shop->base_count, sizeof *items, "bases");

    if (items == NULL)
        return -1;
    shop->bases = items;
    if (!is_url(begin))
        return reader_expected(reader, begin, "a URL with http:// or https://");
    if (reader_word(reader) < (size_t)(end - begin))
        return reader_fail(reader, begin + reader_word(reader), "expected one URL in a line");
    if (end[-1] == '/')
        end--;
    if (text_read(reader, begin, end, TEXT_LINE, &items[shop->base_count++]) != 0)
        return -1;
    reader->at = end + (*end == '/');
    return 0;
}

static struct shop_value *add_value(struct reader *reader, struct shop *shop,
                                    enum shop_value_kind kind) {
    const char *begin = reader->at;
    const size_t length = name_length(begin);
    struct shop_value *items =
        reader_grow(reader, shop->values, shop->value_count, sizeof *items, "values");
    struct shop_value *value;

    if (items == NULL)
        return NULL;
    shop->values = items;
    if (length == 0 || length > SHOP_NAME_BYTES || length != reader_word(reader)) {
        (void)reader_expected(reader, begin, NAME_FORM);
        return NULL;
    }
    value = &items[shop->value_count++];
    *value = (struct shop_value){.kind = kind,
                                 .name = memory_copy(reader->memory, begin, length),
                                 .line = reader_line(reader, begin)};
    if (value->name == NULL) {
        (void)reader_no_memory(reader);
        return NULL;
    }
    reader->at += length;
    reader_skip_blanks(reader);
    return value;
}

static int read_value_text(struct reader *reader, struct shop_value *value) {
    const char *begin = reader->at;

    switch (value->kind) {
    case SHOP_SET:
        if (text_read_value(reader, TEXT_VALUE, &value->text) != 0)
            return -1;
        return value->text.count > 0 ? 0 : reader_expected(reader, reader->at, "a value");
    case SHOP_RUN:
        if (begin == reader->line_end)
            return reader_expected(reader, begin, "a shell command");
        reader->at = reader->line_end; /* a # belongs to the shell */
        return text_read(reader, begin, reader->line_end, TEXT_VERBATIM, &value->text);
    case SHOP_ENV:
        break;
    }
    return 0;
}

/* The value may not use its own name, so that becomes known behind it. */
static int read_value(struct reader *reader, struct shop *shop, enum shop_value_kind kind) {
    const char *begin = reader->at;
    struct shop_value *value = add_value(reader, shop, kind);
    int code;

    if (value == NULL)
        return -1;
    reader->scope = kind == SHOP_RUN ? NAME_OF_ROUND : NAME_OF_FILE;
    code = read_value_text(reader, value);
    if (code == 0)
        code = step_add_name(reader, begin, value->name, false);
    reader->scope = NAME_OF_FILE;
    return code;
}

static int read_set(struct reader *reader, struct shop *shop) {
    return read_value(reader, shop, SHOP_SET);
}

static int read_env(struct reader *reader, struct shop *shop) {
    return read_value(reader, shop, SHOP_ENV);
}

static int read_run(struct reader *reader, struct shop *shop) {
    return read_value(reader, shop, SHOP_RUN);
}

static const struct {
    const char *word;
    int (*read)(struct reader *reader, struct shop *shop);
} head_lines[] = {{"shop", read_title}, {"version", read_version}, {"config", read_config},
                  {"base", read_base},  {"set", read_set},         {"env", read_env},
                  {"run", read_run}};
#define HEAD_LINES (sizeof head_lines / sizeof *head_lines)

static int read_head_line(struct reader *reader, struct shop *shop) {
    for (size_t i = 0; i < HEAD_LINES; i++)
        if (reader_at_word(reader, head_lines[i].word)) {
            reader->at += strlen(head_lines[i].word);
            reader_skip_blanks(reader);
            return head_lines[i].read(reader, shop) != 0 ? -1 : reader_finish_line(reader);
        }
    return reader_expected(reader, reader->at,
                           "shop, version, config, base, set, env, run, or a section such as "
                           "== order ==");
}

static int read_head(struct reader *reader, struct shop *shop) {
    reader->scope = NAME_OF_FILE;
    while (reader_next(reader) && !step_at_section(reader))
        if (read_head_line(reader, shop) != 0)
            return -1;
    if (shop->name == NULL)
        return reader_expected(reader, reader->at, "a line `shop NAME` before the sections");
    if (shop->base_count == 0)
        return reader_expected(reader, reader->at, "a line `base URL` before the sections");
    return 0;
}

/* ---- outcomes */

static int read_outcome(struct reader *reader, struct shop *shop) {
    struct shop_outcome *items =
        reader_grow(reader, shop->outcomes, shop->outcome_count, sizeof *items, "outcomes");
    struct shop_outcome *outcome;
    size_t word = 0;

    if (items == NULL)
        return -1;
    shop->outcomes = items;
    while (word < OUTCOMES && !reader_at_word(reader, outcome_names[word]))
        word++;
    if (word == OUTCOMES)
        return reader_expected(reader, reader->at, "sold, soldout, busy or refused");
    outcome = &items[shop->outcome_count++];
    outcome->word = (enum shop_outcome_word)word;
    outcome->line = reader_line(reader, reader->at);
    reader->at += strlen(outcome_names[word]);
    reader_skip_blanks(reader);
    if (query_read(reader, &outcome->query) != 0 ||
        predicate_read(reader, &outcome->predicate) != 0)
        return -1;
    return reader_finish_line(reader);
}

static int read_outcomes(struct reader *reader, struct shop *shop) {
    bool can_sell = false;

    while (reader_next(reader) && !step_at_section(reader))
        if (read_outcome(reader, shop) != 0)
            return -1;
    for (size_t i = 0; i < shop->outcome_count; i++)
        can_sell = can_sell || shop->outcomes[i].word == SHOP_SOLD;
    return can_sell ? 0 : reader_expected(reader, reader->at, "a rule `sold QUERY PREDICATE`");
}

/* ---- the ledger */

#define LEDGER_PARTS "[Orders], [Stock], [Writes] or [Witness]"

static bool at_witness(const struct reader *reader) {
    return reader_at_word(reader, "[Witness]");
}

/* [Orders], [Stock] or [Writes], alone in its line. */
static struct shop_text *query_named(const struct reader *reader, struct shop_ledger *ledger) {
    const struct {
        const char *line;
        struct shop_text *text;
    } queries[] = {
        {"[Orders]", &ledger->orders}, {"[Stock]", &ledger->stock}, {"[Writes]", &ledger->writes}};

    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        if (reader_at_word(reader, queries[i].line))
            return queries[i].text;
    return NULL;
}

/* A query goes up to the next [Name] or section; its lines are not looked at. */
static int read_query_text(struct reader *reader, struct shop_ledger *ledger,
                           struct shop_text *text) {
    const char *begin = reader->at, *end;

    end = begin;
    for (; reader->at < reader->end && !step_at_section(reader) &&
           query_named(reader, ledger) == NULL && !at_witness(reader);
         reader_leave_line(reader)) {
        const char *at = reader->line_end;

        while (at > reader->at && reader_is_blank(at[-1]))
            at--;
        if (at > reader->at)
            end = at;
    }
    if (end == begin)
        return reader_expected(reader, begin, "the text of the query");
    begin += strspn(begin, " \t\n");
    return text_read(reader, begin, end, TEXT_VERBATIM, text);
}

/* `name: TEXT`; a # belongs to SQL. */
static int read_witness_line(struct reader *reader, struct shop_witness *witness) {
    const struct {
        const char *name;
        struct shop_text *text;
    } lines[] = {{"table:", &witness->table}, {"rows:", &witness->rows}, {"left:", &witness->left}};
    const char *end = reader->line_end;

    while (end > reader->at && reader_is_blank(end[-1]))
        end--;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (strncmp(reader->at, lines[i].name, strlen(lines[i].name)) != 0)
            continue;
        if (lines[i].text->count > 0)
            return reader_fail(reader, reader->at, "expected one line `%s`, this is the second",
                               lines[i].name);
        reader->at += strlen(lines[i].name);
        reader_skip_blanks(reader);
        if (reader->at >= end)
            return reader_expected(reader, reader->at, "SQL after the colon");
        if (text_read(reader, reader->at, end, TEXT_VERBATIM, lines[i].text) != 0)
            return -1;
        reader_leave_line(reader);
        return 0;
    }
    return reader_expected(reader, reader->at, "table:, rows: or left:, or " LEDGER_PARTS);
}

static int read_witness(struct reader *reader, struct shop_ledger *ledger) {
    struct shop_witness *witness = &ledger->witness;
    const char *begin = reader->at;

    if (ledger->kind != SHOP_LEDGER_POSTGRES)
        return reader_fail(reader, begin,
                           "expected [Witness] in a ledger postgres only: it is a trigger there");
    if (witness->line > 0)
        return reader_fail(reader, begin, "expected one [Witness], this is the second");
    witness->line = reader_line(reader, begin);
    reader_leave_line(reader);
    while (reader_next(reader) && !step_at_section(reader) && query_named(reader, ledger) == NULL &&
           !at_witness(reader))
        if (read_witness_line(reader, witness) != 0)
            return -1;
    if (witness->table.count == 0 || witness->rows.count == 0 || witness->left.count == 0)
        return reader_fail(reader, begin,
                           "expected the lines table:, rows: and left: in [Witness]");
    return 0;
}

static int read_query(struct reader *reader, struct shop_ledger *ledger) {
    struct shop_text *text = query_named(reader, ledger);

    if (text == NULL)
        return reader_expected(reader, reader->at, LEDGER_PARTS);
    if (text->count > 0)
        return reader_fail(reader, reader->at,
                           "expected another query: this one is the second "
                           "of its name");
    reader_leave_line(reader);
    return read_query_text(reader, ledger, text);
}

static int read_ledger(struct reader *reader, struct shop *shop) {
    while (reader_next(reader) && !step_at_section(reader))
        if ((at_witness(reader) ? read_witness(reader, &shop->ledger)
                                : read_query(reader, &shop->ledger)) != 0)
            return -1;
    if (shop->ledger.orders.count == 0)
        return reader_expected(reader, reader->at, "the query [Orders] of the ledger");
    if (shop->ledger.stock.count == 0)
        return reader_expected(reader, reader->at, "the query [Stock] of the ledger");
    return 0;
}

/* The kind of the ledger and its target stand in the section's line. */
static int read_ledger_head(struct reader *reader, struct shop_ledger *ledger, const char *end) {
    if (reader_at_word(reader, "postgres"))
        ledger->kind = SHOP_LEDGER_POSTGRES;
    else if (reader_at_word(reader, "command"))
        ledger->kind = SHOP_LEDGER_COMMAND;
    else
        return reader_expected(reader, reader->at, "postgres CONNINFO or command COMMAND");
    ledger->line = reader_line(reader, reader->at);
    reader->at += reader_word(reader);
    reader_skip_blanks(reader);
    if (reader->at >= end)
        return reader_expected(reader, reader->at,
                               ledger->kind == SHOP_LEDGER_POSTGRES ? "a conninfo of libpq"
                                                                    : "a shell command");
    reader->scope = NAME_OF_FILE;
    if (text_read(reader, reader->at, end, TEXT_VERBATIM, &ledger->target) != 0)
        return -1;
    reader->at = end;
    return 0;
}

/* ---- sections, in their order */

enum part {
    PART_SETUP,
    PART_PREPARE,
    PART_ORDER,
    PART_COMMIT,
    PART_OUTCOME,
    PART_LEDGER,
    PART_TEARDOWN
};
#define PARTS (PART_TEARDOWN + 1)

static const struct {
    const char *name;
    enum name_scope scope;
    enum shop_section section;
    bool is_needed;
} parts[PARTS] = {[PART_SETUP] = {"setup", NAME_OF_ROUND, SHOP_SETUP, false},
                  [PART_PREPARE] = {"prepare", NAME_OF_CUSTOMER, SHOP_PREPARE, false},
                  [PART_ORDER] = {"order", NAME_OF_CUSTOMER, SHOP_ORDER, true},
                  [PART_COMMIT] = {"commit", NAME_OF_CUSTOMER, SHOP_ORDER, false},
                  [PART_OUTCOME] = {"outcome", NAME_OF_CUSTOMER, SHOP_ORDER, true},
                  [PART_LEDGER] = {"ledger", NAME_OF_ROUND, SHOP_ORDER, true},
                  [PART_TEARDOWN] = {"teardown", NAME_OF_ROUND, SHOP_TEARDOWN, false}};

static int read_steps(struct reader *reader, struct shop *shop, enum part part) {
    struct shop_steps *steps = &shop->sections[parts[part].section];
    const size_t before = steps->count;

    if (steps_read(reader, steps) != 0)
        return -1;
    if (steps->count == before)
        return reader_expected(reader, reader->at,
                               "a request in this section, such as POST /orders");
    if (part == PART_ORDER)
        steps->items[0].is_commit_mark = true;
    if (part == PART_COMMIT) {
        steps->items[0].is_commit_mark = false;
        steps->items[before].is_commit_mark = true;
    }
    return 0;
}

static int read_part(struct reader *reader, struct shop *shop, enum part part) {
    reader->scope = parts[part].scope;
    if (part == PART_OUTCOME)
        return read_outcomes(reader, shop);
    if (part == PART_LEDGER)
        return read_ledger(reader, shop);
    return read_steps(reader, shop, part);
}

/* Reads `== NAME ==`. The text of a ledger may have == in it, so the line's last one counts. */
static int read_part_head(struct reader *reader, struct shop *shop, enum part *part) {
    const char *end = reader->line_end;

    while (end > reader->at && reader_is_blank(end[-1]))
        end--;
    if (end - reader->at < 4 || strncmp(end - 2, "==", 2) != 0)
        return reader_expected(reader, reader->at,
                               "a section with == at both ends, such as "
                               "== order ==");
    reader->at += 2;
    for (end -= 2; end > reader->at && reader_is_blank(end[-1]);)
        end--;
    reader_skip_blanks(reader);
    for (*part = PART_SETUP; *part < PARTS; (*part)++)
        if (reader_at_word(reader, parts[*part].name))
            break;
    if (*part == PARTS)
        return reader_expected(reader, reader->at,
                               "setup, prepare, order, commit, outcome, ledger or teardown");
    reader->at += strlen(parts[*part].name);
    reader_skip_blanks(reader);
    if (*part == PART_LEDGER && read_ledger_head(reader, &shop->ledger, end) != 0)
        return -1;
    if (reader->at < end)
        return reader_expected(reader, reader->at, "== after the name of the section");
    reader_leave_line(reader);
    return 0;
}

/* A part may not come behind a later one, nor twice, nor may a needed one before it be missing. */
static int check_order(struct reader *reader, const char *at, enum part last, enum part part) {
    if (last < PARTS && part <= last)
        return reader_fail(reader, at,
                           part == last ? "expected one section %s, this is the second"
                                        : "expected the section %s before the section %s",
                           parts[part].name, parts[last].name);
    for (enum part i = last < PARTS ? last + 1 : PART_SETUP; i < part; i++)
        if (parts[i].is_needed)
            return reader_fail(reader, at, "expected a section %s before this one", parts[i].name);
    return 0;
}

static int read_parts(struct reader *reader, struct shop *shop) {
    enum part part = PART_SETUP, last = PARTS;

    while (reader_next(reader)) {
        const char *at = reader->at;

        assert(step_at_section(reader));
        if (read_part_head(reader, shop, &part) != 0 || check_order(reader, at, last, part) != 0 ||
            read_part(reader, shop, part) != 0)
            return -1;
        last = part;
    }
    for (enum part i = last < PARTS ? last + 1 : PART_SETUP; i < PARTS; i++)
        if (parts[i].is_needed)
            return reader_fail(reader, reader->end, "expected a section %s", parts[i].name);
    return 0;
}

/* ---- the text */

static int add_names(struct reader *reader) {
    static const struct name names[] = {{"stock", NAME_OF_ROUND, false},
                                        {"run", NAME_OF_ROUND, false},
                                        {"n", NAME_OF_CUSTOMER, false},
                                        {"key", NAME_OF_CUSTOMER, false}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names_add(&reader->names, reader->memory, names[i]) != 0)
            return reader_no_memory(reader);
    return 0;
}

static int check_characters(struct reader *reader) {
    for (const char *at = reader->start; at < reader->end;) {
        const size_t length = *at == '\n' || *at == '\t' ? 1 : utf8_printable(at);

        if (length == 0)
            return reader_fail(reader, at,
                               "expected UTF-8 without control characters, found the byte "
                               "0x%02x",
                               (unsigned)(unsigned char)*at);
        at += length;
    }
    return 0;
}

/* Copies the text: CRLF becomes LF, and a mark of the byte order at its beginning is dropped. */
static int take_text(struct reader *reader, const char *text, size_t length) {
    char *copy = memory_take(reader->memory, length + 2); /* one more NUL: two are looked at */
    size_t used = 0;

    if (copy == NULL)
        return reader_no_memory(reader);
    for (size_t i = length >= 3 && strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; i < length; i++)
        if (text[i] != '\r' || i + 1 == length || text[i + 1] != '\n')
            copy[used++] = text[i];
    reader->start = reader->at = copy;
    reader->end = copy + used;
    return check_characters(reader);
}

static int read_all(struct reader *reader, struct shop *shop, const char *text, size_t length) {
    if (length > SHOP_FILE_BYTES)
        return why_set(reader->why, "%.400s: expected a file of at most %d KiB", reader->path,
                       SHOP_FILE_BYTES / 1024);
    if (take_text(reader, text, length) != 0 || add_names(reader) != 0 ||
        read_head(reader, shop) != 0)
        return -1;
    return read_parts(reader, shop);
}

int shop_parse(struct shop *shop, const char *path, const char *text, size_t length,
               struct why *why) {
    struct reader reader = {.path = path, .why = why, .memory = memory_new()};
    int code;

    *shop = (struct shop){.memory = reader.memory};
    if (reader.memory == NULL ||
        (shop->path = memory_copy(reader.memory, path, strlen(path))) == NULL)
        code = reader_no_memory(&reader);
    else
        code = read_all(&reader, shop, text, length);
    if (code != 0)
        shop_free(shop);
    return code;
}
