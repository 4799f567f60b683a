/* What the parts of the view share. */
#ifndef LAB_VIEW_INTERNAL_H
#define LAB_VIEW_INTERNAL_H

#include "servers.h"
#include "verdict.h"
#include "view.h"

/* All of an end that the judgement depends on; without padding, as it is compared. */
struct view_order {
    uint8_t state, outcome, instance, came_after;
    int32_t unit;
};

struct view_end {
    uint8_t has_fault, gave_back;
    uint8_t none[2];
    uint32_t returned_count;
    struct model_unit returned[2 * MODEL_UNITS];
    int32_t in_count[MODEL_SHARDS]; /* of `available`, that came back */
    int32_t available[MODEL_SHARDS];
    struct model_sold sold[MODEL_ORDERS + 1];
    struct view_order orders[MODEL_ORDERS + 1];
};

#define VIEW_KNOWN 4096 /* ends; few differ, so they hardly get into each other's way */

struct view_known {
    struct view_end end;
    bool is_there;
    unsigned found;
};

struct view {
    struct recorder *recorder;
    struct ledger ledger;
    struct ledger_sale sales[MODEL_ORDERS + 1];
    struct ledger_order orders[MODEL_ORDERS + 1];
    struct ledger_row rows[MODEL_SHARDS];
    struct ledger_returned returned[2 * MODEL_UNITS];
    struct verdict_case judged;
    struct verdict verdict; /* of the last that was asked */
    bool has_failed;
    struct view_known known[VIEW_KNOWN];
};

/* view_fill.c: the world's end in terms of loadgen. */
void view_fill(struct view *view, const struct model_world *world, const struct view_end *end);
/* The units that can be had. */
int64_t view_left(const struct model_world *world);
/* view_judge() without what is known. */
unsigned view_judge_anew(struct view *view, const struct model_world *world);

#endif
