/* Makes the arrival schedule: positions on the integrated rate, then the moments of these
 * positions. The end reads the words that describe a load: --arrival, --stages and --skew. */
#include "plan.h"

#include "number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An impatient customer, or a retry of a client, repeats within this time. */
#define REPEAT_WITHIN_NS 100000000

/* Separate streams: neither items nor repeats change the arrivals of a seed. */
#define ITEMS_STREAM   UINT64_C(0x6974656d73)     /* "items" */
#define REPEATS_STREAM UINT64_C(0x72657065617473) /* "repeats" */

int64_t plan_span_ns(const struct plan_shape *shape) {
    int64_t span_ns = 0;

    for (size_t i = 0; i < shape->stage_count; i++)
        span_ns += shape->stages[i].span_ns;
    return span_ns;
}

static double expected_in(const struct plan_stage *stage) {
    return (stage->from + stage->to) / 2 * (double)stage->span_ns / 1e9;
}

double plan_expected(const struct plan_shape *shape) {
    double expected = 0;

    for (size_t i = 0; i < shape->stage_count; i++)
        expected += expected_in(&shape->stages[i]);
    return expected;
}

/* ---- random numbers
 *
 * xoshiro256** by Blackman and Vigna, seeded by splitmix64 as they advise
 * (https://prng.di.unimi.it). It gives the same numbers on every machine; rand() differs between C
 * libraries. */

struct generator {
    uint64_t state[4];
};

static uint64_t splitmix64(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void seed_generator(struct generator *generator, uint64_t seed) {
    for (int i = 0; i < 4; i++)
        generator->state[i] = splitmix64(&seed);
}

static uint64_t rotate_left(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

static uint64_t plan_next(struct generator *generator) {
    uint64_t *s = generator->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* Uniform in (0, 1]. */
static double uniform(struct generator *generator) {
    return (double)((plan_next(generator) >> 11) + 1) * 0x1.0p-53;
}

/* ---- from a part of the arrivals to its moment */

struct course {
    const struct plan_shape *shape;
    double expected;
    size_t stage;    /* the stage of the last part */
    double before;   /* part of the arrivals before that stage */
    int64_t from_ns; /* its start */
};

/* The place in the stage, 0..1, by which `part` of its arrivals have come: the root of
 * (to - from) / 2 x^2 + from x = part (from + to) / 2, in the form that loses no digits. */
static double place_in(const struct plan_stage *stage, double part) {
    double slope = (stage->to - stage->from) / 2, wanted = part * (stage->from + stage->to) / 2;

    if (slope == 0 || part <= 0)
        return part;
    return 2 * wanted /
           (stage->from + sqrt(fmax(0, stage->from * stage->from + 4 * slope * wanted)));
}

static double share_of(const struct course *course, size_t stage) {
    return expected_in(&course->shape->stages[stage]) / course->expected;
}

/* The moment in nanoseconds when `part` of all arrivals have come. `part` must never fall. */
static double moment_of(struct course *course, double part) {
    const struct plan_shape *shape = course->shape;
    const struct plan_stage *stage;
    double within;

    while (course->stage + 1 < shape->stage_count &&
           part >= course->before + share_of(course, course->stage)) {
        course->before += share_of(course, course->stage);
        course->from_ns += shape->stages[course->stage].span_ns;
        course->stage++;
    }
    stage = &shape->stages[course->stage];
    within = (part - course->before) / share_of(course, course->stage);
    if (!(within < 1)) /* rounding, or an empty last stage */
        return (double)course->from_ns + (expected_in(stage) > 0 ? (double)stage->span_ns : 0);
    return (double)course->from_ns + place_in(stage, within) * (double)stage->span_ns;
}

/* Exponentially distributed with mean 1. */
static double next_gap(struct generator *generator) {
    return -log(uniform(generator));
}

/* A Poisson process, given that `count` arrivals fall into the span: the sums of count + 1
 * exponential gaps, scaled so that the last one ends with the span, are sorted uniform numbers
 * (L. Devroye, Non-Uniform Random Variate Generation, chapter V.2). The inverse of the integrated
 * rate maps them to moments (chapter VI.1.3). So the mean rate is exact and does not vary. */
static void fill_poisson(struct arrival *arrivals, const struct plan_shape *shape,
                         struct course *course) {
    struct generator generator;
    double total = 0, at = 0;

    seed_generator(&generator, shape->seed);
    for (size_t i = 0; i <= shape->count; i++)
        total += next_gap(&generator);
    seed_generator(&generator, shape->seed);
    for (size_t i = 0; i < shape->count; i++) {
        at += next_gap(&generator);
        arrivals[i].due_ns = (int64_t)moment_of(course, at / total);
    }
}

static void fill_constant(struct arrival *arrivals, const struct plan_shape *shape,
                          struct course *course) {
    for (size_t i = 0; i < shape->count; i++)
        arrivals[i].due_ns = llround(moment_of(course, (double)i / (double)shape->count));
}

/* ---- which product */

/* Zipf's law: the popularity of an item, counted from 0, relative to the others. */
static double weight_of(uint32_t item, double zipf) {
    return pow((double)item + 1, -zipf);
}

static double weight_of_all(uint32_t items, double zipf) {
    double sum = 0;

    for (uint32_t i = 0; i < items; i++)
        sum += weight_of(i, zipf);
    return sum;
}

double plan_busiest(uint32_t items, double zipf) {
    return weight_of(0, zipf) / weight_of_all(items, zipf);
}

/* Running sums of the weights, up to 1; or NULL without memory. */
static double *make_popularity(const struct plan_shape *shape) {
    double *sums = malloc((shape->items + 1) * sizeof *sums);
    double all = weight_of_all(shape->items, shape->zipf), sum = 0;

    for (uint32_t i = 0; sums != NULL && i < shape->items; i++) {
        sum += weight_of(i, shape->zipf);
        sums[i] = sum / all;
    }
    return sums;
}

/* The first item with a sum of at least `part`. */
static uint32_t find_item(const double *sums, uint32_t count, double part) {
    uint32_t low = 0, high = count - 1;

    assert(count > 0);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (sums[middle] < part)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int fill_items(struct arrival *arrivals, const struct plan_shape *shape) {
    struct generator generator;
    double *sums;

    if (shape->items <= 1)
        return 0;
    sums = make_popularity(shape);
    if (sums == NULL)
        return -1;
    seed_generator(&generator, shape->seed ^ ITEMS_STREAM);
    for (size_t i = 0; i < shape->count; i++)
        arrivals[i].item = find_item(sums, shape->items, uniform(&generator));
    free(sums);
    return 0;
}

/* ---- the same key again */

/* Chooses repeats in the order of their originals; `repeats` of each is a number in `firsts`.
 * Returns their count. If the array is NULL, it only counts. */
static size_t choose_repeats(const struct plan_shape *shape, const struct arrival *firsts,
                             struct arrival *repeats) {
    struct generator generator;
    size_t count = 0;

    if (shape->dup_rate <= 0)
        return 0;
    seed_generator(&generator, shape->seed ^ REPEATS_STREAM);
    for (size_t i = 0; i < shape->count; i++) {
        bool is_chosen = uniform(&generator) <= shape->dup_rate;
        double delay_ns = uniform(&generator) * REPEAT_WITHIN_NS;

        if (is_chosen && repeats != NULL)
            repeats[count] =
                (struct arrival){firsts[i].due_ns + (int64_t)delay_ns, firsts[i].item, (uint32_t)i};
        count += is_chosen;
    }
    return count;
}

static int compare_repeats(const void *a, const void *b) {
    const struct arrival *one = a, *other = b;

    if (one->due_ns != other->due_ns)
        return one->due_ns < other->due_ns ? -1 : 1;
    return one->repeats < other->repeats ? -1 : one->repeats > other->repeats;
}

/* Merges by time; an original precedes its repeat. `firsts[i].repeats` becomes the place of i. */
static void merge(struct plan *plan, struct arrival *firsts, size_t count,
                  const struct arrival *repeats) {
    size_t first = 0, repeat = 0, repeat_count = plan->count - count;

    for (size_t place = 0; place < plan->count; place++) {
        struct arrival *arrival = &plan->arrivals[place];

        assert(first < count || repeat < repeat_count);
        if (repeat == repeat_count ||
            (first < count && firsts[first].due_ns <= repeats[repeat].due_ns)) {
            firsts[first].repeats = (uint32_t)place;
            *arrival = firsts[first++];
        } else {
            *arrival = repeats[repeat++];
            assert(arrival->repeats < first); /* so its place is known */
            arrival->repeats = firsts[arrival->repeats].repeats;
        }
    }
}

static int add_repeats(struct plan *plan, const struct plan_shape *shape, struct arrival *firsts) {
    size_t count = choose_repeats(shape, firsts, NULL);
    struct arrival *repeats = malloc((count + 1) * sizeof *repeats);

    if (repeats == NULL)
        return -1;
    plan->count = shape->count + count;
    plan->arrivals = malloc((plan->count + 1) * sizeof *plan->arrivals);
    if (plan->arrivals != NULL) {
        (void)choose_repeats(shape, firsts, repeats); /* draws the same numbers again */
        qsort(repeats, count, sizeof *repeats, compare_repeats);
        merge(plan, firsts, shape->count, repeats);
    }
    free(repeats);
    return plan->arrivals != NULL ? 0 : -1;
}

int plan_make(struct plan *plan, const struct plan_shape *shape) {
    struct course course = {.shape = shape, .expected = plan_expected(shape)};
    struct arrival *firsts = calloc(shape->count + 1, sizeof *firsts);
    int rc;

    *plan = (struct plan){.span_ns = plan_span_ns(shape)};
    if (firsts == NULL)
        return -1;
    if (shape->arrival == PLAN_POISSON)
        fill_poisson(firsts, shape, &course);
    else
        fill_constant(firsts, shape, &course);
    rc = fill_items(firsts, shape);
    if (rc == 0)
        rc = add_repeats(plan, shape, firsts);
    free(firsts);
    return rc;
}

void plan_free(struct plan *plan) {
    free(plan->arrivals);
    plan->arrivals = NULL;
}

bool plan_is_own(const struct plan *plan, size_t number, size_t parts, size_t part) {
    return parts <= 1 || plan->arrivals[number].repeats % parts == part;
}

/* ---- words */

#define RATE_MAX    1000000
#define ZIPF_MAX    10
#define SPAN_MAX_NS (INT64_C(24) * 3600 * 1000000000)

int plan_parse_arrival(const char *text, enum plan_arrival *arrival) {
    *arrival = PLAN_POISSON;
    if (strcmp(text, "poisson") == 0)
        return 0;
    *arrival = PLAN_CONSTANT;
    return strcmp(text, "constant") == 0 ? 0 : -1;
}

int plan_parse_skew(const char *text, double *zipf) {
    static const char word[] = "zipf:";
    const char *rest;

    *zipf = 0;
    if (strcmp(text, "uniform") == 0)
        return 0;
    if (strncmp(text, word, sizeof word - 1) != 0)
        return -1;
    rest = number_read(text + sizeof word - 1, zipf);
    return rest != NULL && *rest == '\0' && *zipf <= ZIPF_MAX ? 0 : -1;
}

/* ---- stages */

static int parse_rate(const char *text, double *rate) {
    int64_t number;

    if (number_read_int(text, &number) != 0 || number < 0 || number > RATE_MAX)
        return -1;
    *rate = (double)number;
    return 0;
}

/* Reads "800" or "0..800"; changes the text. */
static int parse_rates(char *text, struct plan_stage *stage) {
    char *dots = strstr(text, "..");

    if (dots != NULL)
        *dots = '\0';
    if (parse_rate(text, &stage->from) != 0)
        return -1;
    return parse_rate(dots != NULL ? dots + 2 : text, &stage->to);
}

/* Returns the error of one stage, or NULL; changes the text. */
static const char *stage_flaw(char *text, struct plan_stage *stage) {
    char *colon = strchr(text, ':');

    if (colon == NULL)
        return "a colon is missing: write DURATION:RATE, such as 20s:800, or DURATION:FROM..TO";
    *colon = '\0';
    if (number_read_duration(text, &stage->span_ns) != 0)
        return "it must begin with a duration, such as 20s or 500ms";
    if (stage->span_ns < 1000000 || stage->span_ns > SPAN_MAX_NS)
        return "its duration must be 1ms to 24h";
    if (parse_rates(colon + 1, stage) != 0)
        return "its rate must be a whole number of 0 to 1m a second, such as 800, 20k or 0..800";
    return NULL;
}

int plan_parse_stages(const char *text, struct plan_shape *shape, struct why *why) {
    char stage[64], whole[64];
    const char *flaw, *at = text;

    shape->stage_count = 0;
    do {
        size_t length = strcspn(at, ",");

        if (shape->stage_count == PLAN_STAGES)
            return why_set(why, "--stages: there are more than 32");
        snprintf(whole, sizeof whole, "%.*s", (int)(length < sizeof whole ? length : 63), at);
        memcpy(stage, whole, sizeof stage);
        flaw = length < sizeof whole ? stage_flaw(stage, &shape->stages[shape->stage_count])
                                     : "it is too long";
        shape->stage_count++;
        if (flaw != NULL)
            return why_set(why, "--stages: stage %zu, \"%.40s\": %s", shape->stage_count, whole,
                           flaw);
        at += length;
    } while (*at++ == ',');
    if (plan_span_ns(shape) > SPAN_MAX_NS)
        return why_set(why, "--stages: together they are longer than 24h");
    if (plan_expected(shape) < 1)
        return why_set(why, "--stages: together they send less than one request");
    return 0;
}
