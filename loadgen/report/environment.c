/* Asks the system and the libraries for their names and versions. */
#include "environment.h"

#include "json_text.h"
#include "version.h"

#include <hiredis/hiredis.h>
#include <libpq-fe.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>
#include <zlib.h>

static json_t *cpu_model(void) {
    uv_cpu_info_t *infos;
    int count;
    json_t *json;

    if (uv_cpu_info(&infos, &count) != 0)
        return json_null();
    json = count > 0 ? json_text(infos[0].model) : json_null();
    uv_free_cpu_info(infos, count);
    return json;
}

static json_t *machine(void) {
    uv_utsname_t name = {.sysname = ""};

    (void)uv_os_uname(&name);
    return JSON_TEXT_OBJECT({"kernel", json_text(name.release)},
                            {"system", json_text(name.sysname)},
                            {"architecture", json_text(name.machine)}, {"cpu", cpu_model()},
                            {"cores", json_integer(sysconf(_SC_NPROCESSORS_ONLN))},
                            {"memory_bytes", json_integer((json_int_t)uv_get_total_memory())});
}

static json_t *version_of(int version) { /* 150014: 15.14 */
    return version != 0 ? json_sprintf("%d.%d", version / 10000, version % 10000) : json_null();
}

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static json_t *versions(const struct summary *summary) {
    return JSON_TEXT_OBJECT(
        {"compiler", json_text(COMPILER)}, {"libuv", json_text(uv_version_string())},
        {"jansson", json_text(jansson_version_str())},
        {"hiredis", json_sprintf("%d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH)},
        {"libpq", version_of(PQlibVersion())}, {"zlib", json_text(zlibVersion())},
        {"postgres", version_of(summary->postgres_version)});
}

static json_t *revision(void) {
    const char *git = version_revision();
    size_t length = strcspn(git, "-");

    return json_pack("{s:s#, s:b}", "git", git, (int)length, "is_dirty", git[length] != '\0');
}

json_t *environment_json(const struct summary *summary) {
    const struct options *options = summary->options;

    return JSON_TEXT_OBJECT(
        {"command", json_text(options->command_line != NULL ? options->command_line : "")},
        {"seed", json_integer(options->seed)}, {"started_at", json_text_time(summary->started_us)},
        {"ended_at", json_text_time(summary->ended_us)}, {"revision", revision()},
        {"machine", machine()}, {"versions", versions(summary)});
}

int environment_write(const struct summary *summary, FILE *to) {
    return json_text_print(environment_json(summary), to);
}
