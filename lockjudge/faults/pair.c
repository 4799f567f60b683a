#include "pair.h"

#include "history.h"

/* It is prepared in the victim before the workers start (a clock, a child), or is no fault. */
static bool comes_first(const struct fault *fault) {
    const bool has_preparation = fault->prepare != NULL && !(fault->needs & FAULT_NEEDS_SERVER);

    return has_preparation || fault->caps != 0 || fault->flags & HISTORY_WORKS;
}

const char *pair_refusal(const struct fault_case *first, const struct fault_case *second) {
    if (first->moment == FAULT_AT_NONE || second->moment == FAULT_AT_NONE)
        return "one of them is no fault";
    if (first->fault == second->fault && first->moment == second->moment)
        return "they are the same";
    if (comes_first(second->fault))
        return "the second one can only be the first of a pair";
    if (first->fault->needs & second->fault->needs & FAULT_NEEDS_SERVER)
        return "both break the server: it cannot do the second in the middle of the first";
    return NULL;
}

static bool is_of_holder(enum fault_moment moment) {
    return moment == FAULT_AT_HELD || moment == FAULT_AT_WRITE;
}

enum pair_target pair_target(const struct fault_case *first, const struct fault_case *second) {
    const unsigned flags = first->fault->flags, needs = first->fault->needs;

    if (flags & HISTORY_WORKS)
        return is_of_holder(second->moment) || second->moment == FAULT_AT_RELEASE ? PAIR_VICTIM
                                                                                  : PAIR_OTHER;
    if (flags & HISTORY_KILLS)
        return PAIR_OTHER; /* nothing hits a dead one */
    if (flags & HISTORY_STOPS && second->fault->needs == 0)
        return PAIR_OTHER; /* a stopped one does nothing that could be stopped */
    if (needs & second->fault->needs & FAULT_NEEDS_PROXY)
        return PAIR_OTHER; /* a proxy makes one fault at a time */
    return is_of_holder(first->moment) && is_of_holder(second->moment) ? PAIR_EITHER : PAIR_OTHER;
}
