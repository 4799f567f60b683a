/* The names in --inventory, looked up again and again: a name with several addresses, as that of a
 * service with several containers, is an instance at each of them.
 *
 * A name with one address stays a name, which each new connection looks up. Of a name that cannot
 * be looked up, what was found last goes on. Literal addresses are instances as they are; where
 * there are no others, nothing is looked up. */
#ifndef ORDER_INSTANCES_H
#define ORDER_INSTANCES_H

#include "inventory_client.h"

struct instance_name;

struct instances {
    uv_timer_t timer;
    struct inventory *inventory;
    struct instance_name *names;
    unsigned count;
    bool is_looking, is_closing, is_timer_closed;
    void (*on_stopped)(void *data);
    void *data;
};

/* Start on `loop`; `urls` are those that inventory_open() took. `instances` lives until
 * `on_stopped`. 0 or UV_ENOMEM, and then there is nothing to undo. */
__attribute__((warn_unused_result)) int instances_start(struct instances *instances,
                                                        uv_loop_t *loop,
                                                        struct inventory *inventory,
                                                        const char *urls, uint64_t every_ms);
/* `on_stopped` runs once, later; the inventory must live until then. */
void instances_stop(struct instances *instances, void (*on_stopped)(void *data), void *data);

#endif
