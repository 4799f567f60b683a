/* Asks the machine and the libraries what they are. */
#include "environment.h"

#include "iso_time.h"
#include "json_text.h"

#include <hiredis/hiredis.h>
#include <jansson.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <uv.h>
#include <zlib.h>

#ifndef REVISION /* the Makefile's, from git */
#define REVISION "unknown"
#endif

/* The value of "key : value" in a file of /proc, or NULL; free() it. */
static char *read_value(const char *path, const char *key) {
    FILE *from = fopen(path, "re");
    char *line = NULL, *value = NULL;
    size_t size = 0;

    while (from != NULL && value == NULL && getline(&line, &size, from) > 0) {
        char *colon = strchr(line, ':');

        if (colon == NULL || strncmp(line, key, strlen(key)) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        value = strdup(colon);
    }
    free(line);
    if (from != NULL)
        (void)fclose(from);
    return value;
}

static json_t *cpu_model(void) {
    char *model = read_value("/proc/cpuinfo", "model name");
    json_t *json = model != NULL ? json_text(model) : json_null();

    free(model);
    return json;
}

static json_t *machine(void) {
    struct utsname name = {.sysname = ""};

    (void)uname(&name);
    return json_pack("{s:o, s:s, s:s, s:o, s:I, s:I}", "kernel", json_text(name.release), "system",
                     name.sysname, "architecture", name.machine, "cpu", cpu_model(), "cores",
                     (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "memory_bytes",
                     (json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
}

static json_t *version_of(int version) { /* 150014: 15.14 */
    char text[32];

    if (version == 0)
        return json_null();
    snprintf(text, sizeof text, "%d.%d", version / 10000, version % 10000);
    return json_string(text);
}

#define STRING(x)  STRING_(x)
#define STRING_(x) #x

static json_t *versions(const struct report *report) {
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:o}", "compiler",
#ifdef __clang__
                     "clang " __clang_version__,
#else
                     "gcc " __VERSION__,
#endif
                     "libuv", uv_version_string(), "jansson", jansson_version_str(), "hiredis",
                     STRING(HIREDIS_MAJOR) "." STRING(HIREDIS_MINOR) "." STRING(HIREDIS_PATCH),
                     "libpq", version_of(PQlibVersion()), "zlib", zlibVersion(), "postgres",
                     version_of(report->postgres_version));
}

/* "5a80df8..." or "5a80df8...-dirty" */
static json_t *revision(void) {
    static const char mark[] = "-dirty";
    const char *dirty = strstr(REVISION, mark);
    size_t length = dirty != NULL ? (size_t)(dirty - REVISION) : strlen(REVISION);

    return json_pack("{s:s#, s:b}", "git", REVISION, (int)length, "is_dirty", dirty != NULL);
}

static json_t *moment(int64_t us) {
    char text[ISO_TIME];

    return json_string(iso_time(text, us));
}

json_t *environment_json(const struct report *report) {
    const struct options *options = report->options;

    return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "command",
                     json_text(options->command_line != NULL ? options->command_line : ""), "seed",
                     (json_int_t)options->seed, "started_at", moment(report->started_us),
                     "ended_at", moment(report->ended_us), "revision", revision(), "machine",
                     machine(), "versions", versions(report));
}

int environment_write(const struct report *report, FILE *to) {
    json_t *json = environment_json(report);
    int rc = json_dumpf(json, to, JSON_INDENT(2));

    json_decref(json);
    return rc == 0 && fputc('\n', to) != EOF && fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
