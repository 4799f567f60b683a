/* Sends the same requests by loadgen's own client, or by the flows of a shop file through libcurl.
 *
 *     bench_flows own|flows PORT RATE SECONDS      against bench_null_server
 *
 * Prints the percentage of the planned requests that left within 2 ms of plan, the CPU microseconds
 * of this process for a request, and the resident MB when all customers are prepared. */
#include "crowd.h"
#include "punctual.h"
#include "sender.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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
        (void)fprintf(stderr, "Usage: bench_flows own|flows PORT RATE SECONDS\n");
        return 64;
    }
    port = atoi(argv[2]);
    if (plan_make(&plan, &shape) != 0 || (recorder = recorder_make(plan.count)) == NULL)
        return 70;
    (void)punctual_start(true);
    if (fiber_start(strcmp(argv[1], "own") == 0 ? send_own : send_flows, loop) != 0)
        return 70;
    (void)uv_run(loop, UV_RUN_DEFAULT);
    (void)punctual_stop();
    if (code != 0 || recorder->by_outcome[RECORD_SOLD] != plan.count)
        return 70;
    (void)printf("%.3f %.1f %.0f\n", within_percent(), used_s / (double)plan.count * 1e6, ready_mb);
    return 0;
}
