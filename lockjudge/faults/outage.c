#include "outage.h"

#include "servers.h"

int pause_begin(struct fault_site *site, struct why *why) {
    return servers_do(site->servers, "pause", why);
}

int pause_end(struct fault_site *site, struct why *why) {
    return servers_do(site->servers, "resume", why);
}

int down_begin(struct fault_site *site, struct why *why) {
    return servers_do(site->servers, "kill", why);
}

int down_end(struct fault_site *site, struct why *why) {
    return servers_do(site->servers, "start", why);
}

int restart_begin(struct fault_site *site, struct why *why) {
    return servers_do(site->servers, "kill", why) != 0 ? -1
                                                       : servers_do(site->servers, "start", why);
}

int empty_begin(struct fault_site *site, struct why *why) {
    struct why other;
    int code;

    if (servers_do(site->servers, "kill", why) != 0)
        return -1;
    code = servers_do(site->servers, "empty", why);
    return servers_do(site->servers, "start", code == 0 ? why : &other) == 0 ? code : -1;
}

int flush_begin(struct fault_site *site, struct why *why) {
    return servers_do(site->servers, "flush", why);
}

int evict_begin(struct fault_site *site, struct why *why) {
    return servers_do(site->servers, "evict", why);
}

int failover_prepare(struct fault_site *site, struct why *why) {
    return servers_do(site->servers, "behind", why);
}

int failover_begin(struct fault_site *site, struct why *why) {
    return servers_do(site->servers, "failover", why);
}

int failover_restore(struct fault_site *site, struct why *why) {
    return servers_do(site->servers, "rejoin", why);
}

int scripts_begin(struct fault_site *site, struct why *why) {
    return servers_do(site->servers, "flush-scripts", why);
}

int nothing_end(struct fault_site *site, struct why *why) {
    (void)site;
    (void)why;
    return 0;
}
