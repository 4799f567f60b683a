#include "network.h"

#include "proxy.h"

/* Before a reply the fault waits for that reply: the server has done what the worker asked for. */
static int network_begin(struct fault_site *site, struct proxy_fault fault) {
    if (site->moment == FAULT_AT_REPLY && fault.moment == PROXY_NOW)
        fault.moment = PROXY_BEFORE_REPLY;
    proxy_set(site->proxy, &fault);
    return 0;
}

int freeze_begin(struct fault_site *site, struct why *why) {
    (void)why;
    return network_begin(site, (struct proxy_fault){.kind = PROXY_FREEZE});
}

int drop_begin(struct fault_site *site, struct why *why) {
    (void)why;
    return network_begin(site, (struct proxy_fault){.kind = PROXY_DROP, .ways = PROXY_REPLIES});
}

/* From now on, so that the request is late, too. */
int delay_begin(struct fault_site *site, struct why *why) {
    (void)why;
    proxy_set(site->proxy,
              &(struct proxy_fault){.kind = PROXY_DELAY, .delay_ms = site->ttl_ms * 4 / 10});
    return 0;
}

int cut_begin(struct fault_site *site, struct why *why) {
    (void)why;
    return network_begin(site, (struct proxy_fault){.kind = PROXY_CUT});
}

int tear_begin(struct fault_site *site, struct why *why) {
    (void)why;
    return network_begin(
        site, (struct proxy_fault){.kind = PROXY_CUT, .moment = PROXY_IN_REPLY, .bytes = 1});
}

int network_end(struct fault_site *site, struct why *why) {
    proxy_heal(site->proxy);
    if (site->proxy->connections > 0)
        return 0;
    (void)why_set(why, "worker %u made no connection by {url}", site->victim_number + 1);
    return FAULT_UNASKED;
}
