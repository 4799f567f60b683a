/* lockctl holders and lockctl break: who holds a lock; and, when that one is known to be dead or
 * stuck, nobody any more. */
#include "inspection.h"
#include "lockctl.h"

#include <assert.h>
#include <stdio.h>

static struct {
    int64_t reply_ns;
    bool is_json, is_verbose;
} set;

static struct {
    struct session session;
    const char *name, *owner;
    int code;
} asked;

static void holders_finish(int code) {
    assert(asked.session.client != NULL);
    asked.code = code;
    lk_client_close(asked.session.client, NULL, NULL);
    asked.session.client = NULL;
}

/* Ask, by `start`, and run until the answer is here. */
static int holders_ask(const char *url, enum lk_status (*start)(void)) {
    const struct lk_client_options client = {.size = sizeof client,
                                             .reply_ms = (uint32_t)(set.reply_ns / 1000000)};
    enum lk_status status;
    int code;

    if (set.is_verbose)
        be_verbose();
    code = session_open(&asked.session, url, asked.name, &client, NULL);
    if (code != 0)
        return code;
    status = start();
    if (status != LK_OK)
        holders_finish(fail_status(asked.name, status));
    session_end(&asked.session);
    return asked.code;
}

/* ---- holders */

static void holders_on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                                 void *data) {
    int code = EX_OK;

    (void)data;
    if (status != LK_OK)
        code = fail_status(asked.name, status);
    else if (!set.is_json)
        inspection_print(inspection);
    else if (json_print(inspection_json(asked.name, inspection)) != 0)
        code = fail(EX_SOFTWARE, "the JSON cannot be made or written");
    holders_finish(code);
}

static enum lk_status start_inspect(void) {
    return lk_inspect(asked.session.lock, holders_on_inspected, NULL);
}

int holders_main(int argc, char **argv) {
    static const char about[] =
        "lockctl holders: who holds a lock, and, where the backend knows it, who waits\n"
        "for it, in the order of the line. As JSON: name, holders and waiters, each with\n"
        "owner, label, fence, remaining_ms, mode and permits; null: not known.\n"
        "Exit codes: 0 it is known, also when nobody holds it; 64 bad usage, 69 the\n"
        "server cannot be reached or refuses, 70 internal.";
    static const struct setting table[] = {JSON_SETTING(set.is_json),
                                           REPLY_SETTING(set.reply_ns),
                                           VERBOSE_SETTING(set.is_verbose),
                                           {.name = NULL}};
    int code = read_arguments(table, about, "URL NAME", 2, 2, &argc, argv);

    if (code >= 0)
        return code;
    asked.name = argv[2];
    return holders_ask(argv[1], start_inspect);
}

/* ---- break */

static void holders_on_broken(enum lk_status status, void *data) {
    (void)data;
    if (status == LK_OK)
        say("%s: taken from its holder", asked.name);
    if (status == LK_LOST)
        holders_finish(
            fail(EXIT_NOBODY, "%s: %s", asked.name,
                 asked.owner != NULL ? "that owner does not hold it" : "nobody holds it"));
    else
        holders_finish(status == LK_OK ? EX_OK : fail_status(asked.name, status));
}

static enum lk_status start_break(void) {
    return lk_break(asked.session.lock, asked.owner, holders_on_broken, NULL);
}

int break_main(int argc, char **argv) {
    static const char about[] =
        "lockctl break: take a lock from its holder, or only from OWNER, as lockctl\n"
        "holders prints it, when the holder is known to be dead or stuck. It may still\n"
        "write: only its fencing token, when the resource checks that, stops it then.\n"
        "Exit codes: 0 taken, 1 nobody such holds it; 64 bad usage, or a backend that\n"
        "cannot do it; 69 the server cannot be reached or refuses, 70 internal.";
    static const struct setting table[] = {
        REPLY_SETTING(set.reply_ns), VERBOSE_SETTING(set.is_verbose), {.name = NULL}};
    int code = read_arguments(table, about, "URL NAME [OWNER]", 2, 3, &argc, argv);

    if (code >= 0)
        return code;
    asked.name = argv[2];
    asked.owner = argv[3];
    return holders_ask(argv[1], start_break);
}
