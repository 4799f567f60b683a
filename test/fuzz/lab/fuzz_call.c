/* The calls that a student's process writes on its paper (lab/pupil/call.h): two sales make them on
 * the model. The first byte has the faults, and its highest bit makes a sale a cart. Eight bytes are
 * a call. An impossible one ends the sale. */
#include "call.h"
#include "explore.h"
#include "fuzz.h"
#include "view.h"

static const uint8_t *bytes;
static size_t count;

static int64_t number_of(uint8_t byte) {
    static const int64_t edges[] = {INT64_MIN, INT32_MIN, -2,       -1,        INT32_MAX - 1,
                                    INT32_MAX, INT64_MAX, 1L << 45, UINT32_MAX};

    return byte < 240 ? byte % 20 : edges[byte % (sizeof edges / sizeof *edges)];
}

static struct call call_at(const uint8_t *at) {
    const int64_t a = number_of(at[4]), b = number_of(at[5]);
    struct call call = {.kind = at[0] % 28 - 1,
                        .how = (int32_t)number_of(at[1]),
                        .mode = (int32_t)number_of(at[2]),
                        .last = (int32_t)number_of(at[3]),
                        .shard = a,
                        .number = b,
                        .row = {a, b, number_of(at[6]), number_of(at[7]), b, a}};

    memset(call.key, at[6], at[7] % (CALL_TEXT + 1));
    memset(call.value, at[5], at[4] % (CALL_TEXT + 1));
    for (int i = 0; i < KV_STEPS - 1 && call.kind == CALL_KV; i++) {
        call.then[i].how = (int32_t)number_of(at[2 + i]) % (KV_COUNT + 3);
        call.then[i].number = a;
        memset(call.then[i].key, at[6 - i], at[7] % (CALL_TEXT + 1));
    }
    return call;
}

static enum outcome sell(struct sale *sale) {
    for (size_t i = 0; i + 8 <= count; i += 8) {
        const struct call call = call_at(bytes + i);
        struct reply reply;

        if (!call_is_possible(&call, sale))
            return OUTCOME_FAILED;
        if (call.kind == CALL_END) {
            sale->shard = (int)call.row.shard;
            sale->remaining = call.row.available;
            sale->unit = call.row.unit;
            sale->fence = call.row.fence;
            return (enum outcome)call.how;
        }
        call_make(sale, &call, &reply);
    }
    return OUTCOME_BUSY;
}

static bool is_enough(void *data, const struct exploration *so_far) {
    (void)data;
    return so_far->runs >= 20;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct strategy strategy = {.name = "exercise",
                                             .family = "lab",
                                             .summary = "",
                                             .promise = "",
                                             .breaks = "",
                                             .source = "",
                                             .takes = TAKES_SHARDS,
                                             .default_shards = 2,
                                             .sell = sell};
    struct exploration exploration = {
        .setup = {.strategy = &strategy,
                  .options = {.shards = 2,
                              .ttl_ms = 2000,
                              .wait_ms = 1000,
                              .is_cart = size > 0 && data[0] >> 7 != 0},
                  .orders = 2,
                  .instances = 2,
                  .stock = 3,
                  .faults = size > 0 ? data[0] : 0},
        .preemptions = 1,
        .judge = view_judge,
        .is_stopped = is_enough};
    struct view *view = view_make();

    if (view == NULL)
        abort();
    exploration.data = view;
    bytes = size > 0 ? data + 1 : data;
    count = size > 0 ? size - 1 : 0;
    if (count > 8 * 40)
        count = 8 * 40;
    if (explore(&exploration) != 0)
        abort();
    view_free(view);
    return 0;
}
