/* Makes the rounds of three strategies by hand. */
#include "report_fixture.h"

#include "options_fixture.h"

struct options options;
struct round rounds[3];
static struct product product = {.id = "01900000-0000-7000-8000-000000000001"};
static struct summary made;
struct result *results;
struct summary summary;

static void fill_round(struct round *round, size_t i) {
    round->item = &options.list.items[i];
    round->strategy = i;
    round->items = 1;
    round->products = &product;
    round->recorder = recorder_make(1);
    assert_non_null(round->recorder);
    round->recorder->count = 800;
    round->recorder->answered = 800;
    round->recorder->last_ns = round->recorder->sold_ns = 1000 * MS;
    round->recorder->by_outcome[RECORD_SOLD] = 800;
    for (int64_t n = 1; n <= 100; n++) {
        histogram_record(&round->recorder->latency, n * MS);
        histogram_record(&round->recorder->service, n * MS);
        histogram_record(&round->recorder->lateness, n * 1000);
    }
    round->verdict = (struct verdict){
        .sold = 800, .distinct = 800, .left = 200, .overlapping = 790, .pairs = 4000};
}

void violate(struct verdict *verdict, enum anomaly anomaly, int64_t count, const char *example) {
    verdict->kind = VERDICT_VIOLATED;
    verdict->found[anomaly].count = count;
    verdict->found[anomaly].examples = 1;
    snprintf(verdict->found[anomaly].example[0], VERDICT_TEXT, "%s", example);
}

int report_set_up(void **state) {
    static char work[] = "2ms";

    options_fill(&options, "none,redis,ttl=2s,fail=after-read:pause=4s@100,atomic",
                 "none=TWIN+EARLY-SOLD-OUT+LEAK?");
    options.stock = 1000;
    options.work = work;
    for (size_t i = 0; i < 3; i++)
        fill_round(&rounds[i], i);
    violate(&rounds[0].verdict, ANOMALY_TWIN, 431,
            "unit 788 sold twice: order 01900000-0000-7000-8000-000000000001 by inventory-1 at "
            "10:01:02.123, order 01900000-0000-7000-8000-000000000002 "
            "by inventory-2 at 10:01:02.124");
    violate(&rounds[0].verdict, ANOMALY_EARLY_SOLD_OUT, 3, "request x was told sold out");
    violate(&rounds[0].verdict, ANOMALY_LEAK, 31, "12 left + 0 returned + 3 units sold is 15");
    rounds[1].verdict.kind = VERDICT_INCONCLUSIVE;
    rounds[1].verdict.reasons = 1;
    snprintf(rounds[1].verdict.reason[0], VERDICT_TEXT, "the schedule was missed");
    assert_int_equal(summary_make(&made, &options, rounds, 3), 0);
    summary = made;
    summary.exit_code = 2;
    results = summary.results;
    return 0;
}

void sell_by_shop(void) {
    struct shop_about *about = &options.about;

    assert_int_equal(
        shop_about_make(about, "Vendure", "3.7.3", "row \033locks", "shops/vendure.shop"), 0);
    assert_int_equal(shop_about_add_base(about, "http://127.0.0.1:9701"), 0);
    assert_int_equal(shop_about_add_base(about, "http://127.0.0.1:9702"), 0);
    options.requests = 200;
    options.rate = 20;
    options.stock = 50;
    options.list.count = 1;
    summary.count = summary.round_count = 1;
    summary.exit_code = 1;
}

int report_tear_down(void **state) {
    shop_about_free(&options.about);
    summary_free(&made);
    for (size_t i = 0; i < 3; i++)
        recorder_free(rounds[i].recorder);
    memset(rounds, 0, sizeof rounds);
    return 0;
}

char *printed(int (*write)(const struct summary *, FILE *)) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    assert_int_equal(write(&summary, to), 0);
    assert_int_equal(fclose(to), 0);
    return text;
}

void assert_fits(size_t columns) {
    char *text = printed(report_print);

    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (table_width(line) > columns && strstr(line, "all of it") == NULL)
            fail_msg("%zu columns: %s", table_width(line), line);
    }
    free(text);
}

void cost(struct recorder *total) {
    for (int i = 0; i < 100; i++) {
        histogram_record(&total->wait, 40 * MS);
        histogram_record(&total->hold, 3 * MS);
        histogram_record(&total->commit, MS);
    }
    total->costed = 100;
    total->postgres = 250;
    total->redis = 210;
    total->retries = 400;
    total->locks[RECORD_LOCK_REDIS] = 100;
}

/* If `is_plain`, any blanks between two words become one blank. */
static void look_for(const char *words, bool is_plain, bool is_wanted) {
    char *text = printed(report_print), *to = text;

    for (const char *at = text; is_plain && *at != '\0'; at++) {
        bool is_space = *at == ' ' || *at == '\n';

        if (!is_space || to == text || to[-1] != ' ')
            *to++ = is_space ? ' ' : *at;
    }
    if (is_plain)
        *to = '\0';
    if ((strstr(text, words) != NULL) != is_wanted)
        fail_msg("%s: %s\n%s", is_wanted ? "not said" : "said", words, text);
    free(text);
}

void assert_says(const char *expected) {
    look_for(expected, false, true);
}

void assert_tells(const char *expected) {
    look_for(expected, true, true);
}

void assert_silent_on(const char *word) {
    look_for(word, false, false);
}
