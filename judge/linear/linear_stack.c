/* The places of a stack: which operation must have taken a unit from which place.
 *
 * A sale from a stack of p + 1 units takes the unit in place p, and leaves p. So each place, from
 * the count at the end up, has a last leaver, after all sales from higher places:
 * 1. the last sale from the place; or
 * 2. without such a sale, the first taker of the rank of that number, which gave its unit back; or
 * 3. one more undone operation. Its unit came back to a lower place, and was sold from there or
 *    still lies there.
 * When a unit is sold from place p, p other units are not sold for good.
 *
 * A sale that may be the first of its rank left its place in time for that; or it is a sale of a
 * unit that came back, and the first taker is one more undone operation. */
#include "linear_stack.h"

#include "number.h"
#include "sorted.h"

#include <stdlib.h>

struct place {
    int64_t passed_ns; /* the first taker of the rank of this number was done by then */
    int64_t left_ns;   /* the latest end of its sales; LINEAR_BEFORE: it has none */
    int64_t again_ns;  /* the latest end of sales, from below, of units that may have come back */
    int64_t late_ns;   /* each place up to here was left for the last time by then, in any case */
    int64_t sent_ns;   /* the latest invoke of sales from above; LINEAR_BEFORE: none */
    uint32_t leaver, sender; /* the sales of left_ns and sent_ns, or LINEAR_NO_OP */
    int64_t covers;          /* the number of sales, from above, of units from here or below */
    bool is_capped;          /* left_ns is of a sale that was the first of its rank */
    bool is_any_again;       /* a unit that came back was sold from below, or lies there */
};

struct stack {
    const struct linear_row *row;
    int64_t low; /* the count at the end */
    struct place *places;
    size_t count;        /* of places, and of sales */
    int64_t *returns_ns; /* of sales, sorted */
};

static int64_t place_of(const struct linear_op *op) {
    return (int64_t)op->rank - op->below;
}

static bool linear_stack_is_sale(const struct stack *stack, const struct linear_op *op) {
    return op->kind != LINEAR_SOLD_OUT && op->kind != LINEAR_BACK && op->rank >= 0 &&
           op->rank < stack->row->units && place_of(op) >= stack->row->left &&
           place_of(op) < stack->row->units;
}

/* The lowest place, from `low` on, that the sale passed. */
static struct place *lowest_of(const struct stack *stack, const struct linear_op *op) {
    const int64_t lowest = op->rank < place_of(op) ? op->rank : place_of(op);

    return &stack->places[lowest > stack->low ? lowest - stack->low : 0];
}

static void find_passed(const struct stack *stack) {
    for (size_t q = 0; q < stack->count; q++)
        stack->places[q] = (struct place){.passed_ns = LINEAR_NEVER,
                                          .left_ns = LINEAR_BEFORE,
                                          .again_ns = LINEAR_BEFORE,
                                          .sent_ns = LINEAR_BEFORE,
                                          .leaver = LINEAR_NO_OP,
                                          .sender = LINEAR_NO_OP};
    for (size_t i = 0; i < stack->row->count; i++) {
        const struct linear_op *op = &stack->row->ops[i];

        if (op->kind == LINEAR_SOLD_OUT && op->return_ns < stack->places[0].passed_ns)
            stack->places[0].passed_ns = op->return_ns;
        if (linear_stack_is_sale(stack, op) && op->return_ns < lowest_of(stack, op)->passed_ns)
            lowest_of(stack, op)->passed_ns = op->return_ns;
    }
    for (size_t q = 1; q < stack->count; q++)
        if (stack->places[q - 1].passed_ns < stack->places[q].passed_ns)
            stack->places[q].passed_ns = stack->places[q - 1].passed_ns;
}

static void linear_stack_add_sale(const struct stack *stack, uint32_t index) {
    const struct linear_op *op = &stack->row->ops[index];
    const int64_t began_ns = op->invoke_ns;
    struct place *place = &stack->places[place_of(op) - stack->low];
    const bool may_be_first = op->kind != LINEAR_AGAIN && began_ns <= place->passed_ns;
    const bool is_capped = may_be_first && place->passed_ns < op->return_ns;
    const int64_t end_ns = is_capped ? place->passed_ns : op->return_ns;

    if (place->leaver == LINEAR_NO_OP || end_ns > place->left_ns) {
        place->leaver = index;
        place->left_ns = end_ns;
        place->is_capped = is_capped;
    }
    if (place->sender == LINEAR_NO_OP || began_ns > place->sent_ns) {
        place->sender = index;
        place->sent_ns = began_ns;
    }
    if (op->kind != LINEAR_OK && op->return_ns > place->again_ns)
        place->again_ns = op->return_ns;
    place->is_any_again = place->is_any_again || !may_be_first;
    if (op->rank < place_of(op)) {
        lowest_of(stack, op)->covers++;
        place->covers--;
    }
}

/* Give each place the sums and the extremes of the places below it and above it. */
static void look_around(const struct stack *stack, bool is_any_waiting) {
    struct place from = {.again_ns = is_any_waiting ? LINEAR_NEVER : LINEAR_BEFORE,
                         .is_any_again = is_any_waiting,
                         .late_ns = LINEAR_NEVER,
                         .sent_ns = LINEAR_BEFORE,
                         .sender = LINEAR_NO_OP};

    for (size_t q = 0; q < stack->count; q++) {
        struct place *place = &stack->places[q];
        const struct place here = *place;

        from.covers += here.covers;
        place->covers = from.covers;
        place->again_ns = from.again_ns;
        place->is_any_again = from.is_any_again;
        if (from.again_ns == LINEAR_BEFORE && !here.is_capped)
            from.late_ns = number_min(from.late_ns,
                                      here.leaver == LINEAR_NO_OP ? here.passed_ns : here.left_ns);
        place->late_ns = from.late_ns;
        from.again_ns = here.again_ns > from.again_ns ? here.again_ns : from.again_ns;
        from.is_any_again = from.is_any_again || here.is_any_again;
    }
    for (size_t q = stack->count; q-- > 0;) {
        struct place *place = &stack->places[q];
        const struct place here = *place;

        place->sent_ns = from.sent_ns;
        place->sender = from.sender;
        if (here.sender != LINEAR_NO_OP &&
            (from.sender == LINEAR_NO_OP || here.sent_ns > from.sent_ns)) {
            from.sent_ns = here.sent_ns;
            from.sender = here.sender;
        }
    }
}

/* Whether a sale from above came after the sales and the first taker of this place had left it. */
static bool is_left_later(const struct place *place) {
    if (place->sender == LINEAR_NO_OP)
        return false;
    if (place->leaver == LINEAR_NO_OP)
        return place->sent_ns > place->passed_ns || place->covers > 0;
    return place->sent_ns > place->left_ns;
}

static size_t find_gaps(const struct stack *stack, struct linear_gap *gaps) {
    bool is_any_found = false;
    size_t found = 0;

    for (size_t q = 0; q < stack->count; q++) {
        const struct place *place = &stack->places[q];
        struct linear_gap gap = {.deadline_ns = place->again_ns,
                                 .low = (uint32_t)(stack->low + (int64_t)q),
                                 .count = 1,
                                 .op = place->sender,
                                 .passer = place->leaver,
                                 .kind = LINEAR_GAP_BACK};

        if (!is_left_later(place))
            continue;
        if (place->is_capped && place->passed_ns > gap.deadline_ns)
            gap.deadline_ns = place->passed_ns;
        gaps[found++] = gap;
        /* A sale below that may be the first of its rank is then one of a unit that came back. */
        if (!place->is_capped && !place->is_any_again && !is_any_found)
            gaps[found++] = gap;
        is_any_found = true;
    }
    return found;
}

/* Find sales from a place that was too high for the units left. No open operation explains them. */
static size_t find_too_high(const struct stack *stack, struct linear_gap *gaps) {
    const struct linear_row *row = stack->row;
    size_t found = 0, next = 0;

    for (size_t i = 0; i < row->count; i++)
        if (linear_stack_is_sale(stack, &row->ops[i]))
            stack->returns_ns[next++] = row->ops[i].return_ns;
    sorted_sort(stack->returns_ns, next, sizeof *stack->returns_ns);
    for (uint32_t i = 0; i < row->count; i++) {
        const struct linear_op *op = &row->ops[i];

        if (linear_stack_is_sale(stack, op) && op->kind != LINEAR_OK &&
            (int64_t)sorted_count_below(stack->returns_ns, stack->count, op->invoke_ns) +
                    place_of(op) >=
                row->units)
            gaps[found++] = (struct linear_gap){.deadline_ns = LINEAR_BEFORE,
                                                .low = (uint32_t)op->rank,
                                                .count = 1,
                                                .op = i,
                                                .passer = LINEAR_NO_OP,
                                                .kind = LINEAR_GAP_BACK};
    }
    return found;
}

/* A nameless sale of a unit that came back happened while enough units were left for its place. It
 * also happened before each lower place was left for the last time, if nothing can have left that
 * place later. */
static void find_late(const struct stack *stack, struct linear_gap *own, size_t own_count) {
    for (size_t i = 0; i < own_count; i++) {
        const struct linear_op *op = &stack->row->ops[own[i].op];
        int64_t left;

        if (own[i].kind != LINEAR_GAP_NAMELESS || !linear_stack_is_sale(stack, op))
            continue;
        left = stack->row->units - place_of(op);
        if (left <= (int64_t)stack->count)
            own[i].late_ns = stack->returns_ns[left - 1];
        if (place_of(op) > stack->low &&
            stack->places[place_of(op) - stack->low - 1].late_ns < own[i].late_ns)
            own[i].late_ns = stack->places[place_of(op) - stack->low - 1].late_ns;
        if (op->kind == LINEAR_AGAIN)
            own[i].deadline_ns = own[i].late_ns;
    }
}

int64_t linear_stack_find(const struct linear_row *row, struct linear_gap *own, size_t own_count,
                          struct linear_gap *more) {
    struct stack stack = {.row = row, .low = row->left};
    int64_t found = -1;

    if (row->left == LINEAR_UNREAD)
        return 0;
    for (size_t i = 0; i < row->count; i++)
        stack.low += row->ops[i].kind == LINEAR_BACK;
    for (size_t i = 0; i < row->count; i++)
        stack.count += linear_stack_is_sale(&stack, &row->ops[i]);
    /* If units are missing or were sold twice, their places are not known. */
    if (stack.count == 0 || (int64_t)stack.count != row->units - stack.low)
        return 0;
    stack.places = malloc(stack.count * sizeof *stack.places);
    stack.returns_ns = malloc(stack.count * sizeof *stack.returns_ns);
    if (stack.places != NULL && stack.returns_ns != NULL) {
        find_passed(&stack);
        for (uint32_t i = 0; i < row->count; i++)
            if (linear_stack_is_sale(&stack, &row->ops[i]) && place_of(&row->ops[i]) >= stack.low)
                linear_stack_add_sale(&stack, i);
        look_around(&stack, stack.low > row->left);
        found = (int64_t)find_gaps(&stack, more);
        found += (int64_t)find_too_high(&stack, &more[found]);
        find_late(&stack, own, own_count);
    }
    free(stack.returns_ns);
    free(stack.places);
    return found;
}
