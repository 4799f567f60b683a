/* A getaddrinfo() that the loader finds before the system's, and a port that stays silent. */
#include "names.h"

#include "test.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

typedef int (*resolver)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static const char *_Atomic leads_to; /* libuv's threads read it */
static pthread_mutex_t holding = PTHREAD_MUTEX_INITIALIZER;

void names_hold(void) {
    (void)pthread_mutex_lock(&holding);
}

void names_let_go(void) {
    (void)pthread_mutex_unlock(&holding);
}

void names_lead_to(const char *addresses) {
    leads_to = addresses;
}

static resolver usual(void) {
    resolver found;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");

    memcpy(&found, &symbol, sizeof found);
    return found;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    char addresses[128], *each, *rest = NULL;
    unsigned char bytes[sizeof(struct in6_addr)];
    int status = EAI_NONAME;

    if (leads_to == NULL || inet_pton(AF_INET, name, bytes) == 1 ||
        inet_pton(AF_INET6, name, bytes) == 1)
        return usual()(name, service, hints, found);
    names_hold();
    names_let_go();
    (void)snprintf(addresses, sizeof addresses, "%s", leads_to);
    *found = NULL;
    for (each = strtok_r(addresses, " ", &rest); each != NULL; each = strtok_r(NULL, " ", &rest))
        if (usual()(each, service, hints, found) == 0) {
            status = 0;
            while (*found != NULL)
                found = &(*found)->ai_next;
        }
    return status;
}

static struct sockaddr_storage address_of(const char *text, int port, socklen_t *length) {
    char service[16];
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
    struct sockaddr_storage address = {0};

    (void)snprintf(service, sizeof service, "%d", port);
    assert_int_equal(usual()(text, service, &hints, &found), 0);
    memcpy(&address, found->ai_addr, found->ai_addrlen);
    *length = found->ai_addrlen;
    freeaddrinfo(found);
    return address;
}

/* The kernel drops a connection that no longer fits the queue. */
void silent_start(struct silent *silent, const char *text, int port) {
    socklen_t length;
    struct sockaddr_storage address = address_of(text, port, &length);
    int one = 1;

    silent->listener = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(silent->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal(bind(silent->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(silent->listener, 0), 0);
    for (int i = 0; i < SILENT_TAKEN; i++) {
        silent->taken[i] = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(silent->taken[i], (struct sockaddr *)&address, length);
    }
}

void silent_stop(struct silent *silent) {
    for (int i = 0; i < SILENT_TAKEN; i++)
        (void)close(silent->taken[i]);
    (void)close(silent->listener);
}
