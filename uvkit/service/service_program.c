/* The life of a service's process, from its arguments to its exit code. */
#include "service_program.h"

#include "log.h"
#include "service_metrics.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <sysexits.h>

/* More than the connections that the HTTP server takes, so a request always finds its place. */
#define QUEUE_MOST 16384

/* One service per process. */
static struct {
    const struct service_program *program;
    struct pg_pool *pool;
    bool is_closing;
} life;

int service_fail(int code, const char *format, ...) {
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fprintf(stderr, "%s: %s\n", life.program->service.name, text);
    return code;
}

static int check(void) {
    enum log_level level;
    int code = 0;

    if (log_level_parse(life.program->set->log_level, &level) != 0)
        return service_fail(EX_USAGE, "--log-level must be debug, info, warn or error");
    if (life.program->check != NULL)
        code = life.program->check();
    if (code == 0)
        log_init(life.program->instance, level);
    return code;
}

static int open_pool(uv_loop_t *loop) {
    const struct service_program *program = life.program;
    const struct pg_pool_options options = {.conninfo = program->set->db,
                                            .name = program->instance,
                                            .connections = (unsigned)program->set->db_connections,
                                            .queue = QUEUE_MOST};
    int err = pg_pool_open(&life.pool, loop, &options);

    if (err != 0)
        return service_fail(err == UV_EINVAL ? EX_USAGE : EX_SOFTWARE, "%s_DB: %s",
                            program->variables,
                            err == UV_EINVAL ? "not a libpq connection string" : uv_strerror(err));
    service_metrics_watch_pool(life.pool, program->metrics);
    return 0;
}

static void on_pool_closed(void *data) {
    (void)data;
}

void service_close_pool(void) {
    assert(life.is_closing && life.pool != NULL);
    pg_pool_close(life.pool, on_pool_closed, NULL);
    life.pool = NULL;
}

/* After the drain; or at once, when it never served. */
static void close_all(void *data) {
    (void)data;
    if (!life.is_closing) {
        life.is_closing = true;
        life.program->close();
    }
}

static int serve(uv_loop_t *loop) {
    struct service service = life.program->service;

    service.listen = life.program->set->listen;
    service.port = (int)life.program->set->port;
    service.drain_ms = (uint64_t)life.program->set->drain_ns / 1000000;
    service.on_drained = close_all;
    return service_run(loop, &service);
}

static int live(void) {
    uv_loop_t loop;
    int code;

    if (uv_loop_init(&loop) != 0)
        return service_fail(EX_SOFTWARE, "out of memory");
    code = open_pool(&loop);
    if (code == 0) {
        code = life.program->open(&loop, life.pool);
        if (code == 0)
            code = serve(&loop);
        close_all(NULL);
        (void)uv_run(&loop, UV_RUN_DEFAULT);
        assert(life.pool == NULL);
    }
    if (uv_loop_close(&loop) != 0 && code == 0)
        return service_fail(EX_SOFTWARE, "something was left open");
    return code;
}

int service_main(const struct service_program *program, int argc, char **argv) {
    int code;

    life.program = program;
    switch (settings_read(program->table, program->about, program->variables, NULL, &argc, argv)) {
    case SETTINGS_HELP:
        return 0;
    case SETTINGS_ERROR:
        return EX_USAGE;
    case SETTINGS_OK:
        break;
    }
    code = check();
    if (code == 0)
        code = live();
    settings_free(program->table);
    return code;
}
