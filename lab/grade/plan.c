/* Grows the tree of a plan, sells by it, and asks for its branches again. */
#include "plan.h"

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

/* ---- other ids, tokens and instances: the pupil sees `shown`, the tree has `real` */

#define NAMES      96
#define TAIL       12 /* the end of an id, which a file may use alone */
#define TOKENS     8  /* of one order */
#define REHEARSALS 10 /* a sale comes after less than 2^10 others in its process */
#define INSTANCE   "inventory-"
#define ORDER_ID   "00000000-0000-7000-8000-%012d" /* of the model, with the number of the order */
#define TOKEN      "%04x%036x"

struct names {
    size_t count;
    struct {
        char real[TOKEN_TEXT], shown[TOKEN_TEXT];
    } names[NAMES];
};

static uint64_t random_next(uint64_t *seed) {
    uint64_t mixed = *seed += UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

/* Add a name that is shown as `shown`. */
static void add_name(struct names *names, const char *real, const char *shown) {
    assert(names->count < NAMES && strlen(real) == strlen(shown));
    (void)snprintf(names->names[names->count].real, TOKEN_TEXT, "%s", real);
    (void)snprintf(names->names[names->count].shown, TOKEN_TEXT, "%s", shown);
    names->count++;
}

/* An order's id, of the form that order-svc makes (a UUID of version 7), and its tokens. */
static void add_order(struct names *names, int index, uint64_t *seed) {
    const uint64_t a = random_next(seed), b = random_next(seed);
    char real[TOKEN_TEXT], shown[TOKEN_TEXT];

    (void)snprintf(real, sizeof real, ORDER_ID, index + 1);
    (void)snprintf(shown, sizeof shown, "%08x-%04x-7%03x-%04x-%012llx", (unsigned)(a >> 32),
                   (unsigned)(a & 0xffff), (unsigned)(a >> 16 & 0xfff),
                   0x8000U | (unsigned)(b >> 50), (unsigned long long)(b & 0xffffffffffff));
    add_name(names, real, shown);
    add_name(names, real + strlen(real) - TAIL, shown + strlen(shown) - TAIL);
    for (unsigned i = 1; i <= TOKENS; i++) {
        (void)snprintf(real, sizeof real, TOKEN, (unsigned)index + 1, i);
        (void)snprintf(shown, sizeof shown, "%016llx%016llx%08x",
                       (unsigned long long)random_next(seed), (unsigned long long)random_next(seed),
                       (unsigned)random_next(seed));
        add_name(names, real, shown);
    }
}

static void names_choose(struct names *names, uint64_t *seed) {
    const unsigned first = (unsigned)(random_next(seed) % 6);

    names->count = 0;
    for (int i = 0; i <= MODEL_ORDERS; i++)
        add_order(names, i, seed);
    for (unsigned i = 1; i <= MODEL_INSTANCES; i++) {
        char real[16], shown[16];

        (void)snprintf(real, sizeof real, INSTANCE "%u", i);
        (void)snprintf(shown, sizeof shown, INSTANCE "%u", (first + i) % 10);
        add_name(names, real, shown);
    }
}

/* Two names change places. */
static void exchange(struct names *names, const char *a, const char *b) {
    if (strcmp(a, b) == 0)
        return;
    add_name(names, a, b);
    add_name(names, b, a);
}

/* The names of a node's order and those of the first order change places. None: it is that one. */
static void names_exchange(struct names *names, const struct plan_node *node) {
    char first[TOKEN_TEXT], own[TOKEN_TEXT];

    names->count = 0;
    (void)snprintf(first, sizeof first, ORDER_ID, 1);
    exchange(names, node->order_id, first);
    exchange(names, node->order_id + strlen(first) - TAIL, first + strlen(first) - TAIL);
    for (unsigned i = 1; i <= TOKENS; i++) {
        (void)snprintf(first, sizeof first, TOKEN, 1, i);
        (void)snprintf(own, sizeof own, TOKEN, (unsigned)node->index + 1, i);
        exchange(names, own, first);
    }
    exchange(names, node->instance, INSTANCE "1");
}

/* Replace each real name in a text by the shown one, or back. */
static void names_replace(const struct names *names, char *text, bool back) {
    for (; *text != '\0'; text++)
        for (size_t i = 0; i < names->count; i++) {
            const char *from = back ? names->names[i].shown : names->names[i].real;
            const char *to = back ? names->names[i].real : names->names[i].shown;
            const size_t length = strlen(from);

            if (strncmp(text, from, length) == 0) {
                memcpy(text, to, length);
                text += length - 1;
                break;
            }
        }
}

static void replace_in_reply(const struct names *names, struct reply *reply) {
    names_replace(names, reply->text, false);
    for (int i = 0; i < KV_STEPS - 1; i++)
        names_replace(names, reply->then[i], false);
}

static void replace_back(const struct names *names, char key[CALL_TEXT], char value[CALL_TEXT]) {
    key[CALL_TEXT - 1] = value[CALL_TEXT - 1] = '\0';
    names_replace(names, key, true);
    names_replace(names, value, true);
}

static void replace_in_call(const struct names *names, struct call *call) {
    replace_back(names, call->key, call->value);
    for (int i = 0; i < KV_STEPS - 1; i++)
        replace_back(names, call->then[i].key, call->then[i].value);
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

/* Write a question: the sale up to `node`. */
static struct paper *write_question(struct pupil *pupil, const struct sale_options *options,
                                    const struct plan_node *node) {
    struct paper *paper = pupil_paper(pupil);

    paper->is_prepare = node->is_prepare;
    memcpy(paper->order_id, node->order_id, sizeof paper->order_id);
    memcpy(paper->instance, node->instance, sizeof paper->instance);
    paper->options = *options;
    write_replies(paper, node->parent, &node->reply);
    return paper;
}

/* Ask the question on the paper. False: plan->end is set. */
static bool plan_has_answer(struct plan *plan, struct pupil *pupil) {
    plan->end = plan_end_of(pupil_ask(pupil, &plan->why));
    plan->crashed_at = pupil->crashed_at;
    return plan->end == PLAN_OK;
}

/* True if the calls on the paper are those of the tree, up to `node`. */
static bool is_as_planned(const struct paper *paper, const struct plan_node *node) {
    for (; node != NULL; node = node->parent)
        if (!call_is_same(&paper->calls[node->depth], &node->call))
            return false;
    return true;
}

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

static void copy_texts(struct plan_node *node, const char *message, const char *trace) {
    memcpy(node->message, message, sizeof node->message - 1);
    if (trace != NULL && trace[0] != '\0' && (node->trace = malloc(PAPER_TRACE)) != NULL) {
        memcpy(node->trace, trace, PAPER_TRACE);
        memset(node->trace + PAPER_TRACE - 2, 0, 2);
    }
}

/* Ask the pupil for the call of a node of the first order. It may be NULL: there is no room. */
static struct plan_node *plan_ask(struct plan *plan, const struct sale *sale,
                                  struct plan_node *node) {
    const struct paper *paper;

    if (node == NULL)
        return &given_up;
    paper = write_question(plan->pupil, sale->options, node);
    if (!plan_has_answer(plan, plan->pupil))
        return &given_up;
    if (paper->calls_count != node->depth + 1 || !is_as_planned(paper, node->parent))
        return plan_fail(plan, PLAN_DIFFERS, DIFFERS);
    node->asked = node;
    node->call = paper->calls[node->depth];
    copy_texts(node, paper->message, paper->trace);
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
    replace_in_call(names, &node->call);
    copy_texts(node, asked->message, asked->trace);
    names_replace(names, node->message, true);
    for (char *text = node->trace; text != NULL && *text != '\0'; text += strlen(text) + 1)
        names_replace(names, text, true);
    return add_node(plan, sale, node);
}

/* ---- sell by the tree */

static struct plan_node *find_child(const struct plan_node *node, const struct reply *reply) {
    struct plan_node *child = node->child;

    while (child != NULL && memcmp(&child->reply, reply, sizeof *reply) != 0)
        child = child->sibling;
    return child;
}

static struct plan_node *plan_first(struct plan *plan, const struct sale *sale, int index,
                                    bool is_prepare) {
    struct plan_node **asked = &plan->roots[is_prepare], **root = asked + 2 * index, *node;
    struct names names = {.count = 0};
    char first[sizeof node->order_id];

    (void)snprintf(first, sizeof first, ORDER_ID, 1);
    if (*asked == NULL) {
        node = plan_ask(plan, sale, make_root(plan, 0, is_prepare, first, INSTANCE "1"));
        if (node == &given_up)
            return node;
        *asked = node;
    }
    if (*root == NULL) {
        node = make_root(plan, index, is_prepare, sale->order_id, sale->instance);
        if (node != NULL)
            names_exchange(&names, node);
        node = plan_copy(plan, sale, node, *asked, &names);
        if (node == &given_up)
            return node;
        *root = node;
    }
    return *root;
}

static struct plan_node *plan_next(struct plan *plan, const struct sale *sale,
                                   struct plan_node *node, const struct reply *reply) {
    struct plan_node *child = find_child(node, reply), *asked;
    struct reply shown = *reply;
    struct names names;

    if (child != NULL)
        return child;
    if (node->asked == node)
        return plan_ask(plan, sale, make_child(plan, node, reply));
    names_exchange(&names, node);
    replace_in_reply(&names, &shown);
    asked = find_child(node->asked, &shown);
    if (asked == NULL)
        asked = plan_ask(plan, sale, make_child(plan, node->asked, &shown));
    return asked != &given_up ? plan_copy(plan, sale, make_child(plan, node, reply), asked, &names)
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
    const size_t size = PLAN_NODES * sizeof *plan->room;
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (room != MAP_FAILED && madvise(room, size, MADV_DONTFORK) == 0)
        plan->room = room;
    else
        (void)plan_fail(plan, PLAN_BROKEN, strerror(errno));
    if (room != MAP_FAILED && plan->room == NULL)
        (void)munmap(room, size);
}

void plan_begin(struct plan *plan, struct pupil *pupil, const struct pupil_hello *hello) {
    *plan = (struct plan){.pupil = pupil,
                          .most_calls = PLAN_CALLS,
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
    selling = plan;
    make_room(plan);
}

void plan_free(struct plan *plan) {
    for (const struct plan_node *node = plan->nodes; node != NULL; node = node->next)
        free(node->trace);
    if (plan->room != NULL)
        (void)munmap(plan->room, PLAN_NODES * sizeof *plan->room);
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

/* Undo the shift of a number that is not as planned. A file may also use numbers of its own. */
static void shift_back(int64_t *number, int64_t planned, int64_t by) {
    if (*number != planned)
        *number -= by;
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

/* Ask for the sale up to `node`, under these names. True: it did the same, or plan->end is set. */
static bool is_same_again(struct plan *plan, struct pupil *pupil,
                          const struct sale_options *options, const struct plan_node *node,
                          const struct names *names, uint32_t shift) {
    struct paper *paper = write_question(pupil, options, node);

    paper->shift = shift;
    paper->rehearsals = 1U << shift % REHEARSALS;
    names_replace(names, paper->order_id, false);
    names_replace(names, paper->instance, false);
    for (uint32_t i = 0; i < paper->replies_count; i++)
        replace_in_reply(names, &paper->replies[i]);
    if (!plan_has_answer(plan, pupil))
        return true;
    for (uint32_t i = 0; i < paper->calls_count && i < PAPER_CALLS; i++)
        replace_in_call(names, &paper->calls[i]);
    return paper->calls_count == node->depth + 1 && is_as_planned(paper, node);
}

static void ask_node_again(struct plan *plan, struct pupil *pupil,
                           const struct sale_options *options, const struct plan_node *node,
                           uint64_t *seed) {
    const uint32_t shift = (uint32_t)random_next(seed);
    struct names names;

    names_choose(&names, seed);
    if (is_same_again(plan, pupil, options, node, &names, shift))
        return;
    names.count = 0;
    if (!is_same_again(plan, pupil, options, node, &names, shift))
        (void)plan_fail(plan, PLAN_DIFFERS, DIFFERS ", or at an address");
    else if (plan->end == PLAN_OK)
        (void)plan_fail(plan, PLAN_DIFFERS,
                        "it does something else for another order id, token or instance: it may "
                        "compare these, but not look at their letters");
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

void plan_ask_again(struct plan *plan, struct pupil *other, const struct sale_options *options,
                    size_t least) {
    const struct plan_node *node = NULL;
    size_t wanted = 0;
    uint64_t seed;

    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        (void)plan_fail(plan, PLAN_BROKEN, strerror(errno));
        return;
    }
    for (const struct plan_node *each = plan->nodes; each != NULL; each = each->next)
        wanted += is_end(each) ? 2 : 0;
    assert(wanted > 0); /* it holds, so it sold */
    wanted = wanted > least ? wanted : least;
    for (size_t i = 0; i < wanted && plan->end == PLAN_OK; i++) {
        node = next_end(plan, node);
        ask_node_again(plan, other, options, node, &seed);
    }
}

/* A hash of the first call of the sale up to `node` that is another one with larger numbers. 0: there
 * is none, or plan->end is set. */
static uint64_t first_other_call(struct plan *plan, struct pupil *pupil,
                                 const struct sale_options *options, const struct plan_node *node,
                                 const struct plan_shift *by) {
    struct paper *paper = write_question(pupil, options, node);
    uint64_t found = 0;
    enum pupil_end end;

    for (uint32_t i = 0; i < paper->replies_count; i++)
        shift_reply(&paper->replies[i], by);
    end = pupil_ask(pupil, &plan->why);
    if (end == PUPIL_STOPPED || end == PUPIL_BROKEN) {
        plan->end = plan_end_of(end);
        return 0;
    }
    if (end != PUPIL_OK || paper->calls_count != node->depth + 1)
        return (uint64_t)end + 1;
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

/* Choose the sales from all parts of the tree, once: it may grow later. */
static void choose_sales(struct plan *plan) {
    size_t ends = 0, at = 0;

    for (const struct plan_node *node = plan->nodes; node != NULL; node = node->next)
        ends += is_sale(node);
    for (const struct plan_node *node = plan->nodes; node != NULL; node = node->next)
        if (is_sale(node) && at++ % (1 + ends / PLAN_SALES) == 0 && plan->sale_count < PLAN_SALES)
            plan->sales[plan->sale_count++] = node;
}

uint64_t plan_others(struct plan *plan, struct pupil *other, const struct sale_options *options,
                     const struct plan_shift *by) {
    uint64_t hash = 0;

    if (plan->sale_count == 0)
        choose_sales(plan);
    for (size_t i = 0; i < plan->sale_count && plan->end == PLAN_OK; i++) {
        const uint64_t found = first_other_call(plan, other, options, plan->sales[i], by);

        if (found != 0)
            hash = model_mix(hash + i + 1, &found, sizeof found) | 1;
    }
    return hash;
}
