/* Looks up the names in --inventory again and again. A name with several addresses is an instance
 * at each of them, for example a service with several containers.
 *
 * A name with one address stays a name, which each new connection looks up. If a name cannot be
 * looked up, its last addresses stay in use. A literal address is an instance by itself. If there
 * are only literal addresses, nothing is looked up. */
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

/* Start on `loop`. `urls` are the ones that inventory_open() took. `instances` lives until
 * `on_stopped`. 0; or UV_ENOMEM, and then there is nothing to undo. */
__attribute__((warn_unused_result)) int instances_start(struct instances *instances,
                                                        uv_loop_t *loop,
                                                        struct inventory *inventory,
                                                        const char *urls, uint64_t every_ms);
/* `on_stopped` runs once, later. The inventory must live until then. */
void instances_stop(struct instances *instances, void (*on_stopped)(void *data), void *data);

#endif
