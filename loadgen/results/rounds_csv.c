/* Writes rounds.csv. */
#include "folder_files.h"

#include "iso_time.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define MS 1e6

/* Writes a field, in quotes if it has a comma, a quote or a line break. */
static void rounds_csv_put_text(FILE *to, const char *text) {
    const char *quote = strpbrk(text, ",\"\r\n") != NULL ? "\"" : "";

    fputs(quote, to);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            putc('"', to);
        putc(*text, to);
    }
    fputs(quote, to);
}

static void put_head(FILE *to) {
    fputs("strategy,repeat,position,started_at,verdict,offered", to);
    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        fprintf(to, ",%s", record_outcome_name((enum record_outcome)i));
    fputs(",ledger_sold,ledger_left", to);
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        putc(',', to);
        for (const char *at = anomaly_name((enum anomaly)i); *at != '\0'; at++)
            putc(*at == '-' ? '_' : tolower((unsigned char)*at), to);
    }
    fputs(",rate,p50_ms,p99_ms,max_ms,service_p50_ms,service_p99_ms,service_max_ms,"
          "late_launches,within_10ms\r\n",
          to);
}

static void put_ledger(FILE *to, const struct verdict *verdict) {
    if (verdict->kind == VERDICT_UNJUDGED) {
        for (int i = 0; i < 2 + ANOMALY_COUNT; i++)
            putc(',', to);
        return;
    }
    fprintf(to, ",%" PRId64 ",%" PRId64, verdict->sold, verdict->left);
    for (int i = 0; i < ANOMALY_COUNT; i++)
        fprintf(to, ",%" PRId64, verdict->found[i].count);
}

static void put_times(FILE *to, const struct histogram *histogram) {
    fprintf(to, ",%.3f,%.3f,%.3f", (double)histogram_percentile(histogram, 50) / MS,
            (double)histogram_percentile(histogram, 99) / MS, (double)histogram->max / MS);
}

static void put_round(FILE *to, const struct round *round, size_t position) {
    const struct recorder *recorder = round->recorder;
    char started[ISO_TIME];

    rounds_csv_put_text(to, round->item->given);
    fprintf(to, ",%zu,%zu,%s,%s,%zu", round->repeat + 1, position,
            iso_time(started, round->started_us), verdict_kind_name(round->verdict.kind),
            recorder->count);
    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        fprintf(to, ",%zu", recorder->by_outcome[i]);
    put_ledger(to, &round->verdict);
    fprintf(to, ",%.3f", recorder_rate(recorder));
    put_times(to, &recorder->latency);
    put_times(to, &recorder->service);
    fprintf(to, ",%zu,%.5f\r\n", recorder->late_launches,
            recorder_punctual(recorder, VERDICT_LATE_NS));
}

int rounds_csv_write(const struct summary *summary, FILE *to) {
    put_head(to);
    for (size_t i = 0; i < summary->round_count; i++)
        put_round(to, &summary->rounds[i], i + 1);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
