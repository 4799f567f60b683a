/* Compares two summaries, value by value. */
#include "diff.h"
#include "json_text.h"
#include "options.h"
#include "summary_read.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- settings and machines */

static const char *const machine[] = {"cpu", "cores", "memory_bytes", "kernel"};

static void add_unequal(json_t **unequal, const char *name, const json_t *of_a,
                        const json_t *of_b) {
    json_t *a = json_object_get(of_a, name), *b = json_object_get(of_b, name);

    if (a == NULL || b == NULL || json_equal(a, b) || json_is_null(a) || json_is_null(b))
        return;
    json_text_append(unequal, json_pack("{s:s, s:O, s:O}", "setting", name, "a", a, "b", b));
}

static bool differs(const json_t *a, const json_t *b, const char *name) {
    const json_t *of_a = json_object_get(a, name), *of_b = json_object_get(b, name);

    return of_a != NULL && of_b != NULL && !json_equal(of_a, of_b);
}

/* The length of a load of one rate; -1 of one in stages. */
static double steady_ms(const json_t *set) {
    const json_t *stages = json_object_get(set, "stages"), *first = json_array_get(stages, 0);
    double from = json_number_value(json_object_get(first, "from_rate"));
    double to = json_number_value(json_object_get(first, "to_rate"));

    if (json_array_size(stages) != 1 || fabs(from - to) > 0)
        return -1;
    return json_number_value(json_object_get(first, "duration_ms"));
}

/* Rate, length and number of requests hang together: of what was changed by one flag, one is told.
 */
static bool diff_is_told(const json_t *a, const json_t *b, const char *name) {
    double ms_a = steady_ms(a), ms_b = steady_ms(b);
    bool is_steady = ms_a >= 0 && ms_b >= 0;

    if (strcmp(name, "stages") == 0)
        return !is_steady;
    if (strcmp(name, "rate") == 0)
        return is_steady || !differs(a, b, "stages");
    if (strcmp(name, "requests") == 0)
        return is_steady ? !differs(a, b, "rate") || fabs(ms_a - ms_b) > 1
                         : !differs(a, b, "stages");
    return true;
}

static json_t *compare_conditions(const json_t *a, const json_t *b, const json_t *env_a,
                                  const json_t *env_b) {
    json_t *set_a = json_object_get(a, "settings"), *set_b = json_object_get(b, "settings");
    const json_t *on_a = json_object_get(env_a, "machine");
    const json_t *on_b = json_object_get(env_b, "machine");
    json_t *unequal = json_array(), *value;
    const char *name;

    json_object_foreach (set_a, name, value)
        if (option_is_compared(name) && diff_is_told(set_a, set_b, name))
            add_unequal(&unequal, name, set_a, set_b);
    for (size_t i = 0; i < sizeof machine / sizeof machine[0]; i++)
        add_unequal(&unequal, machine[i], on_a, on_b);
    return unequal;
}

/* ---- values */

/* What `path`, such as "spread.p50_ms.median", leads to: a new reference; null when it is nothing.
 */
static json_t *diff_find(const json_t *from, const char *path) {
    char key[32];

    while (from != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");

        assert(length > 0 && length < sizeof key);
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        from = json_object_get(from, key);
        path += length + (path[length] == '.');
    }
    return from != NULL ? json_incref((json_t *)(uintptr_t)from) : json_null();
}

/* The number at `path`, or else at `otherwise`: medians of the rounds, or what there was before
 * them. */
static json_t *find_number(const json_t *strategy, const char *path, const char *otherwise) {
    json_t *value = diff_find(strategy, path);

    if (json_is_number(value))
        return value;
    json_decref(value);
    return otherwise != NULL ? find_number(strategy, otherwise, NULL) : json_null();
}

static json_t *diff_pair(json_t *a, json_t *b) {
    return json_pack("{s:o, s:o}", "a", a, "b", b);
}

static json_t *pair_with_ratio(const json_t *a, const json_t *b, const char *path,
                               const char *otherwise) {
    json_t *of_a = find_number(a, path, otherwise), *of_b = find_number(b, path, otherwise);
    double ratio = json_number_value(of_b) / json_number_value(of_a);
    bool has_ratio = json_is_number(of_a) && json_is_number(of_b) && isfinite(ratio);

    return json_pack("{s:o, s:o, s:o}", "a", of_a, "b", of_b, "ratio",
                     has_ratio ? json_real(ratio) : json_null());
}

/* ---- anomalies */

static json_int_t count_all(const json_t *strategy) {
    const json_t *anomalies = json_object_get(strategy, "anomalies");
    json_int_t sum = 0;

    for (size_t i = 0; i < json_array_size(anomalies); i++)
        sum += json_integer_value(json_object_get(json_array_get(anomalies, i), "count"));
    return sum;
}

/* Those of `from`, but not those that are in `known` when that is not NULL. */
static void diff_add_counts(json_t **counts, const json_t *from, const json_t *known,
                            const json_t *a, const json_t *b) {
    const json_t *anomalies = json_object_get(from, "anomalies");

    for (size_t i = 0; i < json_array_size(anomalies); i++) {
        const char *name = summary_text(json_array_get(anomalies, i), "name");

        if (name[0] != '\0' && summary_anomaly_count(known, name) == 0)
            json_text_append(counts, json_pack("{s:s, s:I, s:I}", "name", name, "a",
                                               summary_anomaly_count(a, name), "b",
                                               summary_anomaly_count(b, name)));
    }
}

static json_t *compare_anomalies(const json_t *a, const json_t *b) {
    json_t *counts = json_array();

    diff_add_counts(&counts, a, NULL, a, b);
    diff_add_counts(&counts, b, a, a, b);
    return counts;
}

/* ---- strategies */

/* How bad a verdict is; -1 for one that says nothing. */
static int badness(const json_t *strategy) {
    static const char *const kinds[] = {"VALID", "INCONCLUSIVE", "VIOLATED"};

    for (int i = 0; i < 3; i++)
        if (strcmp(summary_text(strategy, "verdict"), kinds[i]) == 0)
            return i;
    return -1;
}

static bool diff_is_worse(const json_t *a, const json_t *b, const json_t *counts) {
    if (badness(a) < 0 || badness(b) < 0)
        return false;
    for (size_t i = 0; i < json_array_size(counts); i++) {
        const json_t *count = json_array_get(counts, i);

        if (json_integer_value(json_object_get(count, "a")) == 0 &&
            json_integer_value(json_object_get(count, "b")) > 0)
            return true;
    }
    return badness(b) > badness(a);
}

static json_t *compare_strategies(const char *name, const json_t *a, const json_t *b) {
    json_t *counts = compare_anomalies(a, b);

    return JSON_TEXT_OBJECT(
        {"strategy", json_text(name)}, {"is_worse", json_boolean(diff_is_worse(a, b, counts))},
        {"verdict", diff_pair(diff_find(a, "verdict"), diff_find(b, "verdict"))},
        {"sold", diff_pair(diff_find(a, "sold"), diff_find(b, "sold"))},
        {"anomalies", diff_pair(json_integer(count_all(a)), json_integer(count_all(b)))},
        {"p50_ms", pair_with_ratio(a, b, "spread.p50_ms.median", "latency_ms.p50")},
        {"p99_ms", pair_with_ratio(a, b, "spread.p99_ms.median", "latency_ms.p99")},
        {"rate", pair_with_ratio(a, b, "spread.achieved_rate.median", "achieved_rate")},
        {"postgres_per_order", pair_with_ratio(a, b, "work.postgres_per_order", NULL)},
        {"redis_per_order", pair_with_ratio(a, b, "work.redis_per_order", NULL)},
        {"anomaly_counts", counts});
}

/* Of the `i`th strategy of one summary that of the other, or NULL. The same strategy may be listed
 * twice: the second of A is held against the second of B. */
static const json_t *find_partner(const json_t *of, size_t i, const json_t *among) {
    const char *name = summary_given(of, i);
    size_t skip = 0;

    for (size_t before = 0; before < i; before++)
        skip += strcmp(summary_given(of, before), name) == 0;
    for (size_t at = 0; summary_strategy(among, at) != NULL; at++)
        if (strcmp(summary_given(among, at), name) == 0 && skip-- == 0)
            return summary_strategy(among, at);
    return NULL;
}

static json_t *without_partner(const json_t *of, const json_t *among) {
    json_t *names = json_array();

    for (size_t i = 0; summary_strategy(of, i) != NULL; i++)
        if (find_partner(of, i, among) == NULL)
            json_text_append(&names, json_text(summary_given(of, i)));
    return names;
}

/* Returns whether any became worse. */
static bool compare_all(const json_t *a, const json_t *b, json_t **compared) {
    bool worse = false;

    for (size_t i = 0; summary_strategy(a, i) != NULL; i++) {
        const json_t *partner = find_partner(a, i, b);
        json_t *one;

        if (partner == NULL)
            continue;
        one = compare_strategies(summary_given(a, i), summary_strategy(a, i), partner);
        worse = worse || json_is_true(json_object_get(one, "is_worse"));
        json_text_append(compared, one);
    }
    return worse;
}

static json_t *origin(const json_t *summary, const json_t *env) {
    return json_pack("{s:o, s:o, s:o}", "name", diff_find(summary, "name"), "started_at",
                     diff_find(summary, "started_at"), "revision", diff_find(env, "revision.git"));
}

json_t *diff_make(const json_t *a, const json_t *b, const json_t *env_a, const json_t *env_b) {
    json_t *compared = json_array();
    bool worse = compare_all(a, b, &compared);

    return JSON_TEXT_OBJECT({"a", origin(a, env_a)}, {"b", origin(b, env_b)},
                            {"unequal", compare_conditions(a, b, env_a, env_b)},
                            {"strategies", compared}, {"only_a", without_partner(a, b)},
                            {"only_b", without_partner(b, a)}, {"is_worse", json_boolean(worse)});
}
