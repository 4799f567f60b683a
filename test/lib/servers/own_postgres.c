/* Starts postgres on a folder of its own. It refuses to run as root; then it runs as the user
 * postgres. */
#include "own_postgres.h"

#include "own_folder.h"
#include "own_port.h"
#include "own_process.h"
#include "process_end.h"
#include "test.h"

#include <glob.h>
#include <libpq-fe.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000

/* The path of the newest installed program. */
static const char *program(const char *name) {
    static char path[200];
    char pattern[100];
    glob_t found;

    (void)snprintf(pattern, sizeof pattern, "/usr/lib/postgresql/*/bin/%s", name);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    (void)snprintf(path, sizeof path, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    return path;
}

void own_postgres_start_again(struct own_postgres *own) {
    char port[12];

    (void)snprintf(port, sizeof port, "%d", own->port);
    own->pid = own_process_start("/dev/null", own_process_postgres(), SIGQUIT, program("postgres"),
                                 "-D", own->folder, "-p", port, "-c", "listen_addresses=127.0.0.1",
                                 "-c", "unix_socket_directories=", (char *)NULL);
    for (int waited_ms = 0; PQping(own->url) != PQPING_OK; waited_ms += 20) {
        if (waited_ms >= PATIENCE_MS || waitpid(own->pid, NULL, WNOHANG) != 0)
            fail_msg("postgres did not start on port %d", own->port);
        (void)usleep(20000);
    }
}

void own_postgres_start(struct own_postgres *own) {
    const struct passwd *as = own_process_postgres();
    int status;
    pid_t init;

    own->port = own_port();
    own_folder_make(own->folder, sizeof own->folder, "own-postgres");
    (void)snprintf(own->url, sizeof own->url, "postgres://postgres@127.0.0.1:%d/postgres",
                   own->port);
    if (as != NULL)
        assert_int_equal(chown(own->folder, as->pw_uid, as->pw_gid), 0);
    /* Call it by its path: it looks for postgres beside itself. */
    init =
        own_process_start("/dev/null", as, SIGQUIT, program("initdb"), "-D", own->folder, "-A",
                          "trust", "-U", "postgres", "-E", "UTF8", "--locale", "C", (char *)NULL);
    assert_int_equal(waitpid(init, &status, 0) > 0 && status == 0, 1);
    own_postgres_start_again(own);
}

void own_postgres_crash(struct own_postgres *own) {
    process_end(&own->pid, SIGQUIT);
}

void own_postgres_stop(struct own_postgres *own) {
    own_postgres_crash(own);
    own_folder_remove(own->folder);
}
