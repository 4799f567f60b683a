/* Sends the same requests by loadgen's own client, by the flows of a shop file through libcurl, or
 * bare: bytes that are ready are written, and replies are read and dropped. So bare costs only the
 * system calls that any open loop needs.
 *
 *     bench_flows own|flows|bare PORT RATE SECONDS      against bench_null_server
 *
 * Prints the percentage of the planned requests that left within 2 ms of plan, the CPU microseconds
 * of this process for a request, and the resident MB when all customers are prepared. */
#include "clock.h"
#include "crowd.h"
#include "punctual.h"
#include "sender.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define WITHIN_NS   2000000
#define TIMEOUT_MS  10000
#define CONNECTIONS 1000

static const char shop_format[] = "shop Null\n"
                                  "base http://127.0.0.1:%d\n"
                                  "== prepare ==\n"
                                  "GET /\n"
                                  "HTTP 200\n"
                                  "== order ==\n"
                                  "POST /orders\n"
                                  "Idempotency-Key: {{key}}\n"
                                  "{\"product_id\":\"\"}\n"
                                  "HTTP *\n"
                                  "[Captures]\n"
                                  "order: jsonpath \"$.order_id\"\n"
                                  "== outcome ==\n"
                                  "sold status == 201\n"
                                  "soldout status == 409\n"
                                  "== ledger command false ==\n"
                                  "[Orders]\n"
                                  "none\n"
                                  "[Stock]\n"
                                  "none\n";

static int port;
static struct plan plan;
static struct recorder *recorder;
static struct shop shop;
static struct flow *flow;
static struct crowd *crowd;
static double begun_s, used_s, ready_mb;
static int code = -1;

static double cpu_s(void) {
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double resident_mb(void) {
    FILE *from = fopen("/proc/self/statm", "re");
    long pages = 0;

    if (from == NULL)
        return 0;
    if (fscanf(from, "%*d %ld", &pages) != 1)
        pages = 0;
    (void)fclose(from);
    return (double)(pages * sysconf(_SC_PAGESIZE)) / 1e6;
}

static void on_start(void *data) {
    (void)data;
    ready_mb = resident_mb();
    begun_s = cpu_s();
}

static void send_own(void *arg) {
    static const struct product product;
    struct sender sender = {.loop = arg,
                            .host = "127.0.0.1",
                            .port = port,
                            .path = "/orders",
                            .products = &product,
                            .items = 1,
                            .plan = &plan,
                            .recorder = recorder,
                            .timeout_ms = TIMEOUT_MS,
                            .connections = CONNECTIONS,
                            .on_start = on_start};

    code = sender_run(&sender);
    used_s = cpu_s() - begun_s;
}

static void on_flow_closed(void *data) {
    (void)data;
}

static void send_flows(void *arg) {
    const struct flow_options flow_options = {.timeout_ms = TIMEOUT_MS};
    const struct crowd_options options = {.on_start = on_start};
    char text[sizeof shop_format + 16];
    struct why why;

    (void)snprintf(text, sizeof text, shop_format, port);
    if (shop_parse(&shop, "null.shop", text, strlen(text), &why) != 0 ||
        flow_open(&flow, arg, &shop, &flow_options, 1, &why) != 0 ||
        crowd_open(&crowd, arg, flow, &shop, &plan, recorder, &options, &why) != 0 ||
        crowd_prepare(crowd, &why) != 0) {
        (void)fprintf(stderr, "bench_flows: %s\n", why.text);
        return; /* the process ends */
    }
    code = crowd_send(crowd);
    used_s = cpu_s() - begun_s;
    crowd_close(crowd);
    flow_close(flow, on_flow_closed, NULL);
}

static const char bare_request[] = "POST /orders HTTP/1.1\r\n"
                                   "Host: 127.0.0.1:8099\r\n"
                                   "Content-Type: application/json\r\n"
                                   "Idempotency-Key: 0190a5b0-0000-7000-8000-000000000000\r\n"
                                   "Content-Length: 17\r\n\r\n"
                                   "{\"product_id\":\"\"}";

struct bare {
    int epoll, timer;
    int free[CONNECTIONS]; /* idle connections; the last one is used next, as by the own client */
    size_t idle, next, answered;
    int64_t start_ns, armed_ns;
};

static int bare_watch(const struct bare *bare, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(bare->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int bare_open(struct bare *bare) {
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;

    bare->epoll = epoll_create1(0);
    bare->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    while (bare->idle < CONNECTIONS) {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at) != 0 ||
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
            bare_watch(bare, fd) != 0)
            return -1;
        bare->free[bare->idle++] = fd;
    }
    return bare_watch(bare, bare->timer);
}

static void bare_arm(struct bare *bare) {
    const int64_t at =
        bare->next < plan.count ? bare->start_ns + plan.arrivals[bare->next].due_ns : 0;
    const struct itimerspec when = {.it_value = {at / 1000000000, at % 1000000000}};

    if (at == bare->armed_ns)
        return;
    bare->armed_ns = at;
    (void)timerfd_settime(bare->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static int bare_read(struct bare *bare, int fd) {
    static char dropped[64 * 1024];

    if (fd == bare->timer)
        return 0;
    if (read(fd, dropped, sizeof dropped) <= 0)
        return -1;
    bare->free[bare->idle++] = fd;
    bare->answered++;
    return 0;
}

/* Without an idle connection, it waits for an answer. */
static int bare_send_due(struct bare *bare) {
    int64_t late_ns;

    for (; bare->next < plan.count && bare->idle > 0; bare->next++) {
        late_ns = clock_now_ns() - bare->start_ns - plan.arrivals[bare->next].due_ns;
        if (late_ns < 0)
            return 0;
        histogram_record(&recorder->lateness, late_ns);
        if (write(bare->free[--bare->idle], bare_request, sizeof bare_request - 1) !=
            sizeof bare_request - 1)
            return -1;
    }
    return 0;
}

static void send_bare(void) {
    static struct bare bare;
    struct epoll_event events[1024];
    int count;

    code = bare_open(&bare);
    on_start(NULL);
    bare.start_ns = clock_now_ns() + SENDER_LEAD_NS;
    while (code == 0 && bare.answered < plan.count) {
        bare_arm(&bare);
        count = epoll_wait(bare.epoll, events, 1024, -1);
        for (int i = 0; i < count && code == 0; i++)
            code = bare_read(&bare, events[i].data.fd);
        if (code == 0)
            code = bare_send_due(&bare);
    }
    used_s = cpu_s() - begun_s;
    recorder->by_outcome[RECORD_SOLD] = bare.answered;
}

/* Each planned request counts, also one that was not sent. */
static double within_percent(void) {
    const double sent = (double)recorder->lateness.count;

    return 100 * recorder_punctual(recorder, WITHIN_NS) * sent / (double)plan.count;
}

int main(int argc, char **argv) {
    const double rate = argc == 5 ? atof(argv[3]) : 0, seconds = argc == 5 ? atof(argv[4]) : 0;
    const struct plan_shape shape = {.count = (size_t)(rate * seconds),
                                     .stage_count = 1,
                                     .stages = {{(int64_t)(seconds * 1e9), rate, rate}},
                                     .arrival = PLAN_POISSON,
                                     .seed = 1,
                                     .items = 1};
    uv_loop_t *loop = uv_default_loop();

    if (shape.count == 0) {
        (void)fprintf(stderr, "Usage: bench_flows own|flows|bare PORT RATE SECONDS\n");
        return 64;
    }
    port = atoi(argv[2]);
    if (plan_make(&plan, &shape) != 0 || (recorder = recorder_make(plan.count)) == NULL)
        return 70;
    (void)punctual_start(true);
    if (strcmp(argv[1], "bare") == 0)
        send_bare();
    else if (fiber_start(strcmp(argv[1], "own") == 0 ? send_own : send_flows, loop) != 0)
        return 70;
    (void)uv_run(loop, UV_RUN_DEFAULT);
    (void)punctual_stop();
    if (code != 0 || recorder->by_outcome[RECORD_SOLD] != plan.count)
        return 70;
    (void)printf("%.3f %.1f %.0f\n", within_percent(), used_s / (double)plan.count * 1e6, ready_mb);
    return 0;
}
