/* Grows the tree of a plan, sells by it, and asks for its branches again. */
#include "plan.h"

#include "clock.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

struct plan_node {
    struct call call;
    struct reply reply; /* the answer to the call above it */
    struct plan_node *parent, *child, *sibling, *next;
    struct plan_node *asked; /* the same place in the tree of the order that is asked for */
    struct plan_node *guess; /* the place below, if the store answers as guessed: not in the tree */
    uint32_t depth;          /* the calls above it */
    int index;               /* of the order */
    bool is_prepare;
    char order_id[40], instance[24];
    char message[MESSAGE_BYTES]; /* if the call is END */
    char *trace;                 /* of the paper, or NULL: it has no text */
};

/* The end of a sale where the tree ends, after a failure. */
static struct plan_node given_up = {.call = {.kind = CALL_END, .how = OUTCOME_FAILED}};

static struct plan *selling;

static struct plan_node *plan_fail(struct plan *plan, enum plan_end end, const char *why) {
    plan->end = end;
    (void)why_set(&plan->why, "%s", why);
    return &given_up;
}

enum plan_end plan_end_of(enum pupil_end end) {
    static const enum plan_end ends[] = {[PUPIL_OK] = PLAN_OK,
                                         [PUPIL_DIED] = PLAN_DIED,
                                         [PUPIL_ENDLESS] = PLAN_ENDLESS,
                                         [PUPIL_STOPPED] = PLAN_STOPPED,
                                         [PUPIL_BROKEN] = PLAN_BROKEN};

    return ends[end];
}

/* ---- ask for the next call */

/* Write the answers on the way to a call at `depth` below `parent`; `last` is the newest. */
static void write_replies(struct paper *paper, const struct plan_node *parent,
                          const struct reply *last) {
    paper->replies_count = parent != NULL ? parent->depth + 1 : 0;
    for (; parent != NULL; parent = parent->parent) {
        paper->replies[parent->depth] = *last;
        last = &parent->reply;
    }
}

/* Write a question, under these names: the sale up to `node`. */
static struct paper *write_question(struct pupil *pupil, const struct sale_options *options,
                                    const struct plan_node *node, const struct names *names) {
    struct paper *paper = pupil_paper(pupil);

    paper->is_prepare = node->is_prepare;
    memcpy(paper->order_id, node->order_id, sizeof paper->order_id);
    memcpy(paper->instance, node->instance, sizeof paper->instance);
    paper->options = *options;
    write_replies(paper, node->parent, &node->reply);
    names_replace(names, paper->order_id, false);
    names_replace(names, paper->instance, false);
    for (uint32_t i = 0; i < paper->replies_count; i++)
        names_show(names, &paper->replies[i]);
    return paper;
}

/* Ask the question on the paper. False: plan->end is set. */
static bool plan_has_answer(struct plan *plan, struct pupil *pupil) {
    plan->end = plan_end_of(pupil_ask(pupil, &plan->why));
    plan->crashed_at = pupil->crashed_at;
    return plan->end == PLAN_OK;
}

/* Read the calls of an answer under the tree's names. */
static void take_back(struct paper *paper, const struct names *names) {
    for (uint32_t i = 0; i < paper->calls_count && i < PAPER_CALLS; i++)
        names_take_back(names, &paper->calls[i]);
}

/* True if the calls on the paper are those of the tree, up to `node`. */
static bool is_as_planned(const struct paper *paper, const struct plan_node *node) {
    for (; node != NULL; node = node->parent)
        if (!call_is_same(&paper->calls[node->depth], &node->call))
            return false;
    return true;
}

#define ROOM       (2 * PLAN_NODES)
#define TRIES      50   /* to find names that the file's text has not */
#define REHEARSED  4096 /* calls, in all rehearsals of a sale */
#define REHEARSALS 512  /* a sale comes after so many others in its process */
#define DIFFERS                                                                                    \
    "after the same answers of the store it did something else: it looks at memory that is not "   \
    "its own"
#define OUT_OF_TURN                                                                                \
    "it asked its store for something that no function of store.h asks for: look for a wild "      \
    "pointer"

/* A blank node. NULL: plan->end is set. */
static struct plan_node *make_node(struct plan *plan) {
    if (plan->end != PLAN_OK)
        return NULL;
    if (plan->count < PLAN_NODES)
        return &plan->room[plan->count];
    (void)plan_fail(plan, PLAN_TOO_LARGE, "it does something else after each answer");
    return NULL;
}

static struct plan_node *make_root(struct plan *plan, int index, bool is_prepare,
                                   const char *order_id, const char *instance) {
    struct plan_node *node = make_node(plan);

    if (node == NULL)
        return NULL;
    node->index = index;
    node->is_prepare = is_prepare;
    (void)snprintf(node->order_id, sizeof node->order_id, "%s", order_id);
    (void)snprintf(node->instance, sizeof node->instance, "%s", instance);
    return node;
}

static struct plan_node *make_child(struct plan *plan, struct plan_node *parent,
                                    const struct reply *reply) {
    struct plan_node *node =
        make_root(plan, parent->index, parent->is_prepare, parent->order_id, parent->instance);

    if (node == NULL)
        return NULL;
    if (parent->depth + 2 >= PAPER_CALLS) {
        (void)plan_fail(plan, PLAN_ENDLESS,
                        "an order does not end: it calls the store again and again");
        return NULL;
    }
    node->parent = parent;
    node->depth = parent->depth + 1;
    node->reply = *reply;
    return node;
}

/* The node has a call now. */
static struct plan_node *add_node(struct plan *plan, const struct sale *sale,
                                  struct plan_node *node) {
    if (!call_is_possible(&node->call, sale))
        return plan_fail(plan, PLAN_DIED, OUT_OF_TURN);
    if (node->parent != NULL) {
        node->sibling = node->parent->child;
        node->parent->child = node;
    }
    node->next = plan->nodes;
    plan->nodes = node;
    plan->count++;
    return node;
}

static void copy_texts(struct plan_node *node, const char *message, const char *trace,
                       const struct names *names) {
    memcpy(node->message, message, sizeof node->message - 1);
    names_replace(names, node->message, true);
    if (trace != NULL && trace[0] != '\0' && (node->trace = malloc(PAPER_TRACE)) != NULL) {
        memcpy(node->trace, trace, PAPER_TRACE);
        memset(node->trace + PAPER_TRACE - 2, 0, 2);
    }
    for (char *text = node->trace; text != NULL && *text != '\0'; text += strlen(text) + 1)
        names_replace(names, text, true);
}

/* Ask for the call of a node, and of those after guessed answers. Else plan->end is set. */
static struct paper *ask_and_guess(struct plan *plan, const struct sale *sale,
                                   const struct plan_node *node) {
    struct paper *paper = write_question(plan->pupil, sale->options, node, &plan->names);

    if (plan->is_guessing && plan->guessed + GUESSED_MOST <= PLAN_NODES)
        memcpy(&paper->guesses, &plan->shown, offsetof(struct guesses, list[plan->shown.count]));
    if (plan_has_answer(plan, plan->pupil) || !plan->is_guessing ||
        (plan->end != PLAN_DIED && plan->end != PLAN_ENDLESS))
        return paper;
    plan->is_guessing = false; /* no store may answer so */
    paper = write_question(plan->pupil, sale->options, node, &plan->names);
    (void)plan_has_answer(plan, plan->pupil);
    return paper;
}

/* Keep the calls after guessed answers, the newest with the paper's texts. */
static void keep_guesses(struct plan *plan, struct plan_node *node, const struct paper *paper) {
    const struct reply *reply = NULL;

    while (node->depth + 1 < paper->calls_count &&
           (reply = guesses_find(&plan->guesses, &node->call)) != NULL) {
        struct plan_node *guess = &plan->room[PLAN_NODES + plan->guessed++];

        *guess = *node;
        guess->parent = node;
        guess->depth++;
        guess->call = paper->calls[guess->depth];
        guess->reply = *reply;
        guess->asked = guess;
        node->guess = guess;
        node = guess;
    }
    copy_texts(node, paper->message, paper->trace, &plan->names);
}

/* Ask the pupil for the call of a node of the first order. It may be NULL: there is no room. */
static struct plan_node *plan_ask(struct plan *plan, const struct sale *sale,
                                  struct plan_node *node) {
    struct paper *paper;

    if (node == NULL)
        return &given_up;
    paper = ask_and_guess(plan, sale, node);
    if (plan->end != PLAN_OK)
        return &given_up;
    take_back(paper, &plan->names);
    if (paper->calls_count <= node->depth ||
        paper->calls_count > node->depth + 1 + (plan->is_guessing ? GUESSED_MOST : 0) ||
        !is_as_planned(paper, node->parent))
        return plan_fail(plan, PLAN_DIFFERS, DIFFERS);
    node->asked = node;
    node->call = paper->calls[node->depth];
    keep_guesses(plan, node, paper);
    return add_node(plan, sale, node);
}

/* An order does what the first one did, under its own names. */
static struct plan_node *plan_copy(struct plan *plan, const struct sale *sale,
                                   struct plan_node *node, struct plan_node *asked,
                                   const struct names *names) {
    if (node == NULL)
        return &given_up;
    node->asked = asked;
    node->call = asked->call;
    names_take_back(names, &node->call);
    copy_texts(node, asked->message, asked->trace, names);
    return add_node(plan, sale, node);
}

/* ---- sell by the tree */

static void learn(struct plan *plan, const struct call *call, const struct reply *reply) {
    struct reply shown = *reply;

    names_show(&plan->names, &shown);
    guesses_learn(&plan->guesses, call, reply);
    guesses_learn(&plan->shown, call, &shown);
}

static struct plan_node *find_child(const struct plan_node *node, const struct reply *reply) {
    struct plan_node *child = node->child;

    while (child != NULL && memcmp(&child->reply, reply, sizeof *reply) != 0)
        child = child->sibling;
    return child;
}

static struct plan_node *plan_first(struct plan *plan, const struct sale *sale, int index,
                                    bool is_prepare) {
    struct plan_node **asked = &plan->roots[is_prepare], **root = asked + 2 * index, *node;
    struct names *names = &plan->exchanged;

    if (*root != NULL)
        return *root;
    if (*asked == NULL) {
        char first[TOKEN_TEXT], instance[TOKEN_TEXT];

        names_first(first, instance);
        node = plan_ask(plan, sale, make_root(plan, 0, is_prepare, first, instance));
        if (node == &given_up)
            return node;
        *asked = node;
    }
    if (*root == NULL) {
        node = make_root(plan, index, is_prepare, sale->order_id, sale->instance);
        if (node != NULL)
            names_exchange(names, node->order_id, node->index, node->instance);
        node = plan_copy(plan, sale, node, *asked, names);
        if (node == &given_up)
            return node;
        *root = node;
    }
    return *root;
}

/* The next place of the first order. */
static struct plan_node *next_asked(struct plan *plan, const struct sale *sale,
                                    struct plan_node *node, const struct reply *reply) {
    struct plan_node *child = find_child(node, reply), *guess = node->guess;

    if (child != NULL)
        return child;
    learn(plan, &node->call, reply);
    if (guess == NULL || memcmp(&guess->reply, reply, sizeof *reply) != 0)
        return plan_ask(plan, sale, make_child(plan, node, reply));
    node->guess = NULL;
    return make_node(plan) != NULL ? add_node(plan, sale, guess) : &given_up;
}

static struct plan_node *plan_next(struct plan *plan, const struct sale *sale,
                                   struct plan_node *node, const struct reply *reply) {
    struct names *names = &plan->exchanged;
    struct plan_node *child, *asked;
    struct reply shown;

    if (node->asked == node)
        return next_asked(plan, sale, node, reply);
    child = find_child(node, reply);
    if (child != NULL)
        return child;
    shown = *reply;
    names_exchange(names, node->order_id, node->index, node->instance);
    names_show(names, &shown);
    asked = next_asked(plan, sale, node->asked, &shown);
    return asked != &given_up ? plan_copy(plan, sale, make_child(plan, node, reply), asked, names)
                              : asked;
}

static enum outcome plan_end_sale(struct sale *sale, const struct plan_node *node) {
    const struct call_row *unit = &node->call.row;

    sale->shard = (int)unit->shard;
    sale->remaining = unit->available;
    sale->unit = unit->unit;
    sale->fence = unit->fence;
    if (node->message[0] != '\0')
        (void)snprintf(sale->message, MESSAGE_BYTES, "%s", node->message);
    return (enum outcome)node->call.how;
}

static void plan_show(struct sale *sale, const struct plan_node *node) {
    for (const char *text = node->trace; text != NULL && *text != '\0'; text += strlen(text) + 1)
        store_trace(sale, text);
}

static enum outcome play(struct sale *sale, bool is_prepare) {
    struct plan *plan = selling;
    struct plan_node *node = plan_first(plan, sale, model_of(sale)->index, is_prepare);

    while (node->call.kind != CALL_END) {
        struct reply reply;

        plan_show(sale, node);
        if (++plan->calls > plan->most_calls && plan->end == PLAN_OK)
            (void)plan_fail(plan, PLAN_TOO_LARGE, "its schedules have too many calls");
        call_make(sale, &node->call, &reply);
        node = plan_next(plan, sale, node, &reply);
    }
    plan_show(sale, node);
    plan->latest = node;
    return plan_end_sale(sale, node);
}

static enum outcome plan_sell(struct sale *sale) {
    return play(sale, false);
}

static enum outcome plan_prepare(struct sale *sale) {
    return play(sale, true);
}

/* Room for the nodes. The pupils' forks would copy the page tables of a tree in the heap. */
static void make_room(struct plan *plan) {
    const size_t size = ROOM * sizeof *plan->room;
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (room != MAP_FAILED && madvise(room, size, MADV_DONTFORK) == 0)
        plan->room = room;
    else
        (void)plan_fail(plan, PLAN_BROKEN, strerror(errno));
    if (room != MAP_FAILED && plan->room == NULL)
        (void)munmap(room, size);
}

void plan_begin(struct plan *plan, struct pupil *pupil, const struct pupil_hello *hello,
                uint64_t seed) {
    *plan = (struct plan){.pupil = pupil,
                          .most_calls = PLAN_CALLS,
                          .is_guessing = true,
                          .strategy = {.name = "exercise",
                                       .family = "lab",
                                       .summary = "",
                                       .promise = "",
                                       .breaks = "",
                                       .source = "",
                                       .takes = hello->takes,
                                       .default_shards = hello->default_shards,
                                       .default_handover = hello->default_handover,
                                       .sell = plan_sell,
                                       .prepare = hello->has_prepare ? plan_prepare : NULL}};
    names_choose(&plan->names, seed, NAMES_STRANGE, 0);
    selling = plan;
    make_room(plan);
}

void plan_free(struct plan *plan) {
    for (size_t i = 0; plan->room != NULL && i < plan->count; i++)
        free(plan->room[i].trace);
    for (size_t i = 0; plan->room != NULL && i < plan->guessed; i++)
        free(plan->room[PLAN_NODES + i].trace);
    if (plan->room != NULL)
        (void)munmap(plan->room, ROOM * sizeof *plan->room);
    plan->room = plan->nodes = NULL;
    selling = NULL;
}

/* ---- look at the tree */

const struct plan_node *plan_next_sold(const struct plan *plan, const struct plan_node *before) {
    const struct plan_node *node = before != NULL ? before->next : plan->nodes;

    while (node != NULL &&
           (node->is_prepare || node->call.kind != CALL_END || node->call.how != OUTCOME_SOLD))
        node = node->next;
    return node;
}

const struct call *plan_call(const struct plan_node *node) {
    return &node->call;
}

const struct plan_node *plan_above(const struct plan_node *node) {
    return node->parent;
}

/* ---- other numbers */

/* A row with units gets more of them, and so do the rows before it. */
static void shift_units(struct call_row *row, int64_t count) {
    if (row->available <= 0 || row->available + count <= 0)
        return;
    row->available += count;
    row->first_unit += count * row->shard;
    row->unit += count * (row->shard + 1);
}

static void shift_reply(struct reply *reply, const struct plan_shift *by) {
    if (reply->row.first_unit != 0) {
        reply->row.version += by->version;
        reply->row.fence += by->fence;
        shift_units(&reply->row, by->count);
    }
    if (reply->sale.fence != 0)
        reply->sale.fence += by->fence;
    if (reply->sale.unit != 0) {
        reply->sale.available += by->count;
        reply->sale.unit += by->count * (reply->sale.shard + 1);
    }
}

/* Undo the shift of a number that is not as planned. A file may also use numbers of its own, such as
 * the smallest one. */
static void shift_back(int64_t *number, int64_t planned, int64_t by) {
    if (*number != planned)
        *number = (int64_t)((uint64_t)*number - (uint64_t)by);
}

static void shift_call_back(struct call *call, const struct call *planned,
                            const struct plan_shift *by) {
    const struct call_row *row = &planned->row;

    if (planned->kind == CALL_WRITE_STOCK) /* a token */
        shift_back(&call->number, planned->number, by->fence);
    shift_back(&call->row.version, row->version, by->version);
    shift_back(&call->row.fence, row->fence, by->fence);
    shift_back(&call->row.available, row->available, by->count);
    shift_back(&call->row.first_unit, row->first_unit, by->count * row->shard);
    shift_back(&call->row.unit, row->unit, by->count * (row->shard + 1));
}

/* ---- ask again */

/* A sale that is asked for again: its end, and its names. */
struct again {
    const struct plan_node *node;
    uint32_t shift;
    struct names names;
};

static bool is_ambiguous(const struct plan_node *node, const struct names *names) {
    while (node != NULL && !names_are_in(names, &node->call))
        node = node->parent;
    return node != NULL;
}

/* Choose other names if the file has one of these in its own text. */
static void choose_names(struct again *again, uint64_t seed, enum names_form form) {
    const uint64_t now_ms = (uint64_t)(clock_wall_us() / 1000);

    names_choose(&again->names, seed, form, now_ms);
    for (uint64_t i = 1; i <= TRIES && is_ambiguous(again->node, &again->names); i++)
        names_choose(&again->names, seed + i, i < TRIES ? form : NAMES_STRANGE, now_ms);
}

static void write_again(struct pupil *pupil, const struct sale_options *options,
                        const struct again *again) {
    write_question(pupil, options, again->node, &again->names)->shift = again->shift;
}

static bool is_same_again(struct paper *paper, const struct again *again) {
    take_back(paper, &again->names);
    return paper->calls_count == again->node->depth + 1 && is_as_planned(paper, again->node);
}

/* A sale with many retries may wait in a loop before each, so it is rehearsed less often. */
static uint32_t rehearsals_of(const struct again *asked) {
    uint32_t count = REHEARSALS;

    while (count > 1 && count * asked->node->depth > REHEARSED)
        count /= 2;
    return count;
}

/* Ask a player. True: each sale did the same. False also if plan->end is set. */
static bool ask_again(struct plan *plan, struct pupil *pupil, const struct sale_options *options,
                      const struct again asked[PAPERS], bool has_rehearsals) {
    bool is_same = true;

    for (uint32_t i = 0; i < PAPERS; i++)
        write_again(pupil, options, &asked[i]);
    pupil->papers[0].rehearsals = has_rehearsals ? rehearsals_of(&asked[0]) : 0;
    if (!plan_has_answer(plan, pupil))
        return false;
    for (uint32_t i = 0; i < PAPERS && is_same; i++)
        is_same = is_same_again(&pupil->papers[i], &asked[i]);
    return is_same;
}

/* A sale did something else. Does it under its own names, too? */
static void tell_what_differs(struct plan *plan, struct pupil *pupil,
                              const struct sale_options *options, struct again asked[PAPERS],
                              bool has_rehearsals) {
    for (uint32_t i = 0; i < PAPERS; i++)
        asked[i].names = plan->names;
    if (ask_again(plan, pupil, options, asked, has_rehearsals))
        (void)plan_fail(plan, PLAN_DIFFERS,
                        "it does something else for another order id, token or instance: it may "
                        "compare these, but not look at their letters");
    else if (plan->end == PLAN_OK)
        (void)plan_fail(plan, PLAN_DIFFERS, DIFFERS ", or at an address");
}

/* The pupil was asked for this node, and for nothing below it. */
static bool is_end(const struct plan_node *node) {
    return node->asked == node && node->child == NULL;
}

/* The next end, in turns. */
static const struct plan_node *next_end(const struct plan *plan, const struct plan_node *node) {
    do
        node = node != NULL && node->next != NULL ? node->next : plan->nodes;
    while (!is_end(node));
    return node;
}

/* In turns: under some names, and then under these names mirrored. */
static void choose_again(struct again *again, const struct plan_node *node, uint64_t seed,
                         size_t number, size_t ends) {
    const bool is_mirrored = number / ends % 2 != 0;

    seed += number - (is_mirrored ? ends : 0);
    seed = names_random(&seed);
    again->node = node;
    again->shift = (uint32_t)seed;
    choose_names(again, seed, is_mirrored ? NAMES_MIRRORED : NAMES_LIVE);
}

void plan_ask_again(struct plan *plan, struct pupil *other, const struct sale_options *options,
                    size_t least) {
    const struct plan_node *node = NULL;
    static struct again asked[PAPERS]; /* large */
    size_t ends = 0, wanted;
    uint64_t seed;

    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        (void)plan_fail(plan, PLAN_BROKEN, strerror(errno));
        return;
    }
    for (const struct plan_node *each = plan->nodes; each != NULL; each = each->next)
        ends += is_end(each);
    assert(ends > 0); /* it holds, so it sold */
    wanted = 2 * ends > least ? 2 * ends : least;
    for (size_t done = 0; done < wanted && plan->end == PLAN_OK; done += PAPERS) {
        for (size_t i = 0; i < PAPERS; i++) {
            node = next_end(plan, node);
            choose_again(&asked[i], node, seed, done + i, ends);
        }
        if (!ask_again(plan, other, options, asked, done == 0) && plan->end == PLAN_OK)
            tell_what_differs(plan, other, options, asked, done == 0);
    }
}

static void write_other(const struct plan *plan, struct pupil *pupil,
                        const struct sale_options *options, const struct plan_node *node,
                        const struct plan_shift *by) {
    struct paper *paper = write_question(pupil, options, node, &plan->names);

    for (uint32_t i = 0; i < paper->replies_count; i++)
        shift_reply(&paper->replies[i], by);
}

/* A hash of the first call of the sale up to `node` that is another one with larger numbers. 0: there
 * is none. */
static uint64_t first_other_call(const struct plan *plan, struct paper *paper,
                                 const struct plan_node *node, const struct plan_shift *by) {
    uint64_t found = 0;

    take_back(paper, &plan->names);
    if (paper->calls_count != node->depth + 1)
        return 1;
    for (; node != NULL; node = node->parent) {
        const struct call *call = &paper->calls[node->depth];
        const uint64_t it[] = {node->depth + 1, (uint64_t)call->kind, (uint64_t)call->how,
                               (uint64_t)call->mode, (uint64_t)call->shard};

        shift_call_back(&paper->calls[node->depth], &node->call, by);
        if (!call_is_same(call, &node->call))
            found = model_mix(1, it, sizeof it);
    }
    return found;
}

/* The end of a whole sale. */
static bool is_sale(const struct plan_node *node) {
    return is_end(node) && node->call.kind == CALL_END && !node->is_prepare;
}

/* Choose the sales from all parts of the tree. */
static void choose_sales(struct plan *plan) {
    size_t ends = 0, at = 0;

    for (const struct plan_node *node = plan->nodes; node != NULL; node = node->next)
        ends += is_sale(node);
    for (const struct plan_node *node = plan->nodes; node != NULL; node = node->next)
        if (is_sale(node) && at++ % (1 + ends / PLAN_SALES) == 0 && plan->sale_count < PLAN_SALES)
            plan->sales[plan->sale_count++] = node;
}

/* Ask for each of the sales with each of the shifts, from question `first` on, with one player. Add
 * what they do to the hashes. Returns how many have an answer. */
static size_t ask_others(struct plan *plan, struct pupil *other, const struct sale_options *options,
                         const struct plan_shift *shifts, size_t count, uint64_t *hashes,
                         size_t first) {
    const size_t each = plan->sale_count, left = count * each - first;
    const size_t asked = left < PAPERS ? left : PAPERS;
    uint64_t found;
    enum pupil_end end;

    for (size_t i = first; i < first + asked; i++)
        write_other(plan, other, options, plan->sales[i % each], &shifts[i / each]);
    end = pupil_ask(other, &plan->why);
    if (end == PUPIL_STOPPED || end == PUPIL_BROKEN) {
        plan->end = plan_end_of(end);
        return 0;
    }
    for (size_t i = first; i <= first + other->answered && i < first + asked; i++) {
        uint64_t *hash = &hashes[i / each];

        found = i < first + other->answered
                    ? first_other_call(plan, &other->papers[i - first], plan->sales[i % each],
                                       &shifts[i / each])
                    : (uint64_t)end + 1;
        if (found != 0)
            *hash = model_mix(*hash + i % each + 1, &found, sizeof found) | 1;
    }
    return other->answered + (end != PUPIL_OK);
}

void plan_others(struct plan *plan, struct pupil *other, const struct sale_options *options,
                 const struct plan_shift *shifts, size_t count, uint64_t *hashes) {
    memset(hashes, 0, count * sizeof *hashes);
    choose_sales(plan);
    for (size_t i = 0; i < count * plan->sale_count && plan->end == PLAN_OK;)
        i += ask_others(plan, other, options, shifts, count, hashes, i);
    if (plan->end != PLAN_OK)
        memset(hashes, 0, count * sizeof *hashes);
}
