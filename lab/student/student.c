/* Builds a student's file and loads its strategy. */
#include "student.h"

#include "clock.h"
#include "folder.h"
#include "gate.h"
#include "home.h"
#include "machine.h"
#include "utf8.h"

#include <assert.h>
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CPU_S         20
#define MEMORY        ((rlim_t)1 << 30)
#define MUCH          (256L << 20) /* the compilers take 25 to 95 MB for a strategy */
#define DISK          ((rlim_t)16 << 20)
#define FILES         64
#define LIMITED       125 /* the exit code of a child that cannot set its limits */
#define SHUT          124 /* the same: that cannot open its folder or /dev/null */
#define WARNINGS      5   /* at most, of a file */
#define KNOWN_OPTIONS (2 * TAKES_CART - 1)

/* Set the message, and return `end`. */
__attribute__((format(printf, 3, 4))) static enum student_end student_tell(
    struct student_file *file, enum student_end end, const char *format, ...) {
    va_list args;

    va_start(args, format);
    (void)vsnprintf(file->message, sizeof file->message, format, args);
    va_end(args);
    return end;
}

static enum student_end student_broken(struct student_file *file, const char *what) {
    return student_tell(file, STUDENT_BROKEN, "%s: %s", what, strerror(errno));
}

static void make_lines_printable(char *text) {
    char *end;

    for (; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        *end = '\0';
        utf8_make_printable(text);
        *end = '\n';
    }
    utf8_make_printable(text);
}

/* A message quotes the source, and goes to terminals and into JSON. */
static void student_clean(char message[static STUDENT_MESSAGE]) {
    static char room[UTF8_ROOM(STUDENT_MESSAGE)];
    size_t length;

    assert(strnlen(message, STUDENT_MESSAGE) < STUDENT_MESSAGE);
    (void)utf8_clean(room, message);
    length = strnlen(room, STUDENT_MESSAGE - 1);
    while (length > 0 && ((unsigned char)room[length] & 0xc0) == 0x80)
        length--;
    memcpy(message, room, length);
    message[length] = '\0';
    make_lines_printable(message);
}

/* Write it under its own name, so that the compiler's messages show that name. */
static enum student_end write_source(const struct gate_source *source, struct student_file *file) {
    char path[sizeof file->folder + sizeof file->name];
    FILE *to;
    bool is_written;

    (void)snprintf(path, sizeof path, "%s/%s", file->folder, file->name);
    to = fopen(path, "wx");
    if (to == NULL)
        return student_broken(file, "a temporary file");
    is_written = fwrite(source->text, 1, source->size, to) == source->size;
    return fclose(to) == 0 && is_written ? STUDENT_OK : student_broken(file, "a temporary file");
}

/* ---- the compiler: a child without a shell, with little of our environment, limited in time and
 * size */

/* It ends the child if the shell's own limit is lower, because only root can raise that. */
static void limit(__rlimit_resource_t what, rlim_t most) {
    if (setrlimit(what, &(struct rlimit){most, most}) != 0)
        _exit(LIMITED);
}

_Noreturn static void be_compiler(const char *const *arguments, const char *folder, int output) {
    char path[PATH_MAX], temporary[128], locale[] = "LC_ALL=C",
                                         *environment[] = {path, temporary, locale, NULL};
    const char *own = getenv("PATH");

    (void)snprintf(path, sizeof path, "PATH=%s", own != NULL ? own : "/usr/bin:/bin");
    (void)snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
    (void)signal(SIGXFSZ, SIG_DFL);
    limit(RLIMIT_CPU, CPU_S);
    limit(RLIMIT_AS, MEMORY);
    limit(RLIMIT_FSIZE, DISK);
    limit(RLIMIT_NOFILE, FILES);
    limit(RLIMIT_CORE, 0);
    if (chdir(folder) != 0 || dup2(open("/dev/null", O_RDONLY), STDIN_FILENO) < 0 ||
        dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
        _exit(SHUT);
    (void)execvpe(arguments[0], (char *const *)(uintptr_t)arguments, environment);
    _exit(127);
}

/* A line of the file, its column, and an error: the student's. A "fatal error" is about a header, a
 * disk or a program of the compiler, and collect2's error about the linker. */
#define DIAGNOSTIC ": error: "
#define PLACE      24 /* bytes of ":LINE:COLUMN" at most */

static bool has_diagnostic(const char *text) {
    for (const char *at = text; (at = strstr(at, DIAGNOSTIC)) != NULL; at++) {
        const char *digits = at;

        while (digits > text && isdigit((unsigned char)digits[-1]))
            digits--;
        if (digits < at && digits > text && digits[-1] == ':')
            return true;
    }
    return false;
}

/* Wait for bytes, or for the end of the compiler's output. False: the deadline has passed. */
static bool wait_for_output(int from, int64_t deadline_ms) {
    struct pollfd wanted = {.fd = from, .events = POLLIN};
    int64_t left_ms = deadline_ms - clock_now_ms();

    while (left_ms > 0 && poll(&wanted, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) <= 0)
        left_ms = deadline_ms - clock_now_ms();
    return left_ms > 0;
}

/* Keep the compiler's output up to the message's size. Read the rest, too, so that the compiler does
 * not block. Its end is the end of the compiler, unless the deadline passes first. True: a
 * diagnostic of the student's code is somewhere in it. */
static bool collect_message(int from, int64_t deadline_ms, struct student_file *file) {
    char text[4096 + 1];
    size_t have = 0, kept = 0;
    bool is_found = false;
    ssize_t got = 1;

    while (got != 0 && wait_for_output(from, deadline_ms)) {
        got = TEMP_FAILURE_RETRY(read(from, text + kept, sizeof text - 1 - kept));
        const size_t room = sizeof file->message - 1 - have;
        const size_t new = got > 0 ? (size_t)got : 0, take = new < room ? new : room;

        memcpy(file->message + have, text + kept, take);
        have += take;
        text[kept + new] = '\0';
        is_found = is_found || has_diagnostic(text);
        /* A diagnostic may be split between two reads. */
        kept = kept + new < PLACE + strlen(DIAGNOSTIC) ? kept + new : PLACE + strlen(DIAGNOSTIC);
        memmove(text, text + strlen(text) - kept, kept);
    }
    file->message[have] = '\0';
    return is_found;
}

/* The file itself needs more than CPU_S, DISK or MUCH, or makes the compiler crash. gcc writes this
 * about a program that it started. */
static bool is_too_much(const struct student_file *file, int status, const struct rusage *used) {
    static const char *const ends[] = {"CPU time limit exceeded", "File size limit exceeded",
                                       "Segmentation fault signal terminated program"};
    /* clang catches signals, and exits like a shell. */
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strstr(file->message, ends[i]) != NULL)
            return true;
    return used->ru_maxrss > MUCH / 1024 || signal == SIGXCPU || signal == SIGXFSZ ||
           signal == SIGSEGV;
}

/* All that is not certainly the file's fault is the machine's: too little memory, a full disk, a
 * header that is not there, a part of the compiler that was killed. */
static enum student_end student_tell_end(struct student_file *file, const char *compiler,
                                         int status, const struct rusage *used,
                                         bool has_diagnostic) {
    char said[200];
    size_t length;
    const char *reason = machine_reason(file->message, &length);

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return STUDENT_OK;
    if (WIFEXITED(status) && WEXITSTATUS(status) == LIMITED)
        return student_tell(file, STUDENT_BROKEN,
                            "%s: this shell's limits are too low for it; see ulimit -a", compiler);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SHUT)
        return student_tell(file, STUDENT_BROKEN,
                            "%s: /dev/null or the folder of temporary files cannot be opened",
                            compiler);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127))
        return student_tell(file, STUDENT_BROKEN,
                            "%s: this compiler could not be run, and your file is compiled with "
                            "it: install it (in Debian: apt-get install gcc libc6-dev), or set CC",
                            compiler);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
        return student_tell(file, STUDENT_BROKEN, "%s: stopped", compiler);
    if (is_too_much(file, status, used))
        return student_tell(file, STUDENT_REFUSED,
                            "%s: the compiler could not finish it: it crashed, or reached a limit",
                            file->name);
    if (has_diagnostic)
        return STUDENT_REFUSED;
    (void)snprintf(said, sizeof said, "%.*s", (int)length, reason);
    return student_tell(file, STUDENT_BROKEN,
                        "%s: the compiler could not do its work, and not because of this file: %s",
                        compiler,
                        WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                        : said[0] != '\0'   ? said
                                            : "it does not say why");
}

/* Run the compiler in file->folder, for CPU_S seconds and machine_wall_ms at most. Its output becomes
 * the message. */
static enum student_end compiler_run(const char *const *arguments, struct student_file *file) {
    const int64_t deadline_ms = clock_now_ms() + machine_wall_ms;
    int ends[2], status;
    struct rusage used;
    bool has_diagnostic = false, is_late;
    pid_t child;

    assert(file->folder[0] == '/'); /* by folder_make() */
    if (pipe2(ends, O_CLOEXEC) != 0)
        return student_broken(file, "pipe");
    child = fork();
    if (child == 0)
        be_compiler(arguments, file->folder, ends[1]);
    (void)close(ends[1]);
    if (child > 0)
        has_diagnostic = collect_message(ends[0], deadline_ms, file);
    (void)close(ends[0]);
    if (child < 0)
        return student_broken(file, "fork");
    is_late = clock_now_ms() >= deadline_ms;
    if (is_late)
        (void)kill(child, SIGKILL);
    if (TEMP_FAILURE_RETRY(wait4(child, &status, 0, &used)) < 0)
        return student_broken(file, "wait4");
    if (is_late && WIFSIGNALED(status))
        return student_tell(file, STUDENT_BROKEN, "%s: it did not end within %" PRId64 " s",
                            arguments[0], machine_wall_ms / 1000);
    return student_tell_end(file, arguments[0], status, &used, has_diagnostic);
}

/* Write "-I" and the path of a folder with headers. */
static int include_flag(char flag[static PATH_MAX + 2], const char *below) {
    memcpy(flag, "-I", 2);
    return home_path(flag + 2, below);
}

/* Expand its macros, check that, compile, check that, link. */
static enum student_end compile(const struct gate_source *source, struct gate_source *room,
                                struct student_file *file) {
    const char *compiler = getenv("CC");
    char seam[PATH_MAX + 2], redis[PATH_MAX + 2];
    const char *to_object[] = {compiler != NULL && compiler[0] != '\0' ? compiler : "gcc",
                               "-std=gnu11",
                               "-O1",
                               "-g1", /* lines, for student_line() */
                               "-fPIC",
                               "-U_FORTIFY_SOURCE", /* some compilers define it by themselves */
                               "-fno-common",
                               "-fno-asynchronous-unwind-tables",
                               "-fno-stack-protector",
                               "-ftrivial-auto-var-init=pattern",
                               "-Wall",
                               "-Wextra",
                               "-Wno-builtin-declaration-mismatch",
                               "-Werror=implicit-function-declaration",
                               "-Werror=incompatible-pointer-types",
                               "-Werror=int-conversion",
                               "-Werror=return-type",
                               "-fdiagnostics-color=never",
                               seam,
                               redis,
                               file->name,
                               "-E",
                               "-o",
                               "exercise.i",
                               NULL};
    const size_t last = sizeof to_object / sizeof *to_object - 1;
    /* The linker need not read the C library: the program that loads the object has it. */
    const char *const to_shared[] = {
        to_object[0],  "-shared",     "-nostartfiles", "-nolibc",    "-static-libgcc",
        "-Wl,-init,.", "-Wl,-fini,.", "-Wl,-z,relro",  "-Wl,-z,now", "-Wl,-z,noexecstack",
        "-o",          "exercise.so", "exercise.o",    NULL};
    char path[sizeof file->folder + 16];
    enum student_end end;

    if (include_flag(seam, "strategies/seam") != 0 || include_flag(redis, "strategies/redis") != 0)
        return student_broken(file, "strategies/seam/strategy.h, in a folder above this program");
    end = compiler_run(to_object, file);
    (void)snprintf(path, sizeof path, "%s/exercise.i", file->folder);
    if (end == STUDENT_OK)
        end = gate_check_expanded(path, room, file);
    to_object[last - 3] = "-c";
    to_object[last - 1] = "exercise.o";
    if (end == STUDENT_OK)
        end = compiler_run(to_object, file);
    memcpy(file->warnings, file->message, sizeof file->warnings);
    (void)snprintf(path, sizeof path, "%s/exercise.o", file->folder);
    if (end == STUDENT_OK)
        end = gate_check_object(path, source, file);
    return end == STUDENT_OK ? compiler_run(to_shared, file) : end;
}

int student_line(struct student_file *file, uintptr_t at) {
    char place[24];
    const char *const arguments[] = {"addr2line", "-e", "exercise.so", place, NULL};
    const char *colon;

    (void)snprintf(place, sizeof place, "0x%" PRIxPTR, at);
    if (at == 0 || compiler_run(arguments, file) != STUDENT_OK)
        return 0;
    colon = strrchr(file->message, ':');
    return colon != NULL ? atoi(colon + 1) : 0;
}

/* ---- the message */

void student_show_path(char shown[static PATH_MAX], const char *path) {
    (void)snprintf(shown, PATH_MAX, "%s", path);
    utf8_make_printable(shown);
}

/* A line with no place of an error in it, or with a header that the gate refuses. */
static bool is_idle(const char *line, size_t length) {
    static const char *const idle[] = {": In function ",
                                       ": At top level:", "some warnings being treated as errors",
                                       "unknown warning option", ": note: include '<"};

    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (memmem(line, length, idle[i], strlen(idle[i])) != NULL)
            return true;
    return false;
}

/* Leave out the idle lines, with the code that they quote, and begin each other line about the file
 * with its shown name. */
static void student_show(struct student_file *file, const char *shown) {
    char text[STUDENT_MESSAGE], path[PATH_MAX];
    const size_t name = strlen(file->name);
    size_t used = 0;
    bool was_idle = false;

    student_show_path(path, shown);
    memcpy(text, file->message, sizeof text);
    file->message[0] = '\0';
    for (const char *line = text; *line != '\0' && used < sizeof text - 1;) {
        const size_t length = strcspn(line, "\n"), whole = length + (line[length] == '\n');
        const bool is_own = strncmp(line, file->name, name) == 0 && line[name] == ':';
        const char *from = is_own ? line + name : line;

        was_idle = is_idle(line, length) || (was_idle && line[0] == ' ');
        if (!was_idle)
            used += (size_t)snprintf(file->message + used, sizeof text - used, "%s%.*s",
                                     is_own ? path : "", (int)(line + whole - from), from);
        line += whole;
    }
}

/* Of the compiler's output keep the first warnings, without the code that they quote, and begin each
 * with the file's shown name. */
static void student_keep_warnings(struct student_file *file, const char *shown) {
    char text[STUDENT_MESSAGE], path[PATH_MAX];
    const size_t name = strlen(file->name), room = sizeof file->warnings;
    size_t used = 0, length;
    int left = WARNINGS;

    student_show_path(path, shown);
    memcpy(text, file->warnings, sizeof text);
    file->warnings[0] = '\0';
    for (const char *line = text; *line != '\0' && left > 0 && used < room;
         line += length + (line[length] == '\n')) {
        length = strcspn(line, "\n");
        if (strncmp(line, file->name, name) != 0 || line[name] != ':' ||
            memmem(line, length, ": warning: ", 11) == NULL)
            continue;
        used += (size_t)snprintf(file->warnings + used, room - used, "%s%.*s\n", path,
                                 (int)(length - name), line + name);
        left--;
    }
}

/* ---- */

static enum student_end student_build_file(const char *path, struct gate_source sources[2],
                                           struct student_file *file) {
    struct gate_source *source = &sources[0];
    enum student_end end = gate_read(source, path, file);
    struct why why;

    assert(file->folder[0] == '\0'); /* one folder a file */
    if (end == STUDENT_OK && folder_make(file->folder, &file->lock, &why) != 0)
        end = student_tell(file, STUDENT_BROKEN, "%s", why.text);
    if (end == STUDENT_OK)
        end = write_source(source, file);
    return end == STUDENT_OK ? compile(source, &sources[1], file) : end;
}

enum student_end student_build(const char *path, const char *shown, struct student_file *file) {
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(name);
    struct gate_source *sources;
    enum student_end end;

    *file = (struct student_file){.message = ""};
    if (length < 3 || length >= sizeof file->name || strcmp(name + length - 2, ".c") != 0 ||
        name[0] == '-' || name[0] == '<' || !utf8_is_printable(name) || strchr(name, '"') != NULL) {
        (void)student_tell(file, STUDENT_REFUSED,
                           "%.200s: the name of a strategy's file must end with .c", name);
        utf8_make_printable(file->message);
        return STUDENT_REFUSED;
    }
    strcpy(file->name, name);
    sources = malloc(2 * sizeof *sources);
    if (sources == NULL)
        return student_broken(file, "memory");
    end = student_build_file(path, sources, file);
    free(sources);
    (void)snprintf(file->object, sizeof file->object, "%s/exercise.so", file->folder);
    if (end != STUDENT_OK)
        file->warnings[0] = '\0'; /* they are in the message, too */
    if (end == STUDENT_REFUSED)
        student_show(file, shown);
    else if (end == STUDENT_BROKEN)
        machine_advise(file->message, sizeof file->message);
    student_keep_warnings(file, shown);
    student_clean(file->message);
    student_clean(file->warnings);
    return end;
}

void student_remove(struct student_file *file) {
    if (file->folder[0] != '\0')
        folder_remove(file->folder, file->lock);
    file->folder[0] = '\0';
}

static bool is_whole(const struct strategy *strategy) {
    return strategy->name != NULL && strategy->family != NULL && strategy->summary != NULL &&
           strategy->promise != NULL && strategy->breaks != NULL && strategy->source != NULL &&
           strategy->sell != NULL;
}

/* dlopen() fails because of the machine, unless the file calls a function that is not there. */
static enum student_end fault_of_load(struct why *why) {
    const char *text = dlerror();

    (void)why_set(why, "%s", text != NULL ? text : "it cannot be loaded");
    return strstr(why->text, "undefined symbol") != NULL ? STUDENT_REFUSED : STUDENT_BROKEN;
}

enum student_end student_load(const char *object, const struct strategy **strategy,
                              struct why *why) {
    void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    const struct strategy *found;

    if (library == NULL)
        return fault_of_load(why);
    *strategy = found = dlsym(library, "strategy_exercise");
    if (found == NULL || !is_whole(found) || strcmp(found->name, "exercise") != 0) {
        (void)why_set(why, "strategy_exercise must have all its texts, .sell, and "
                           ".name = \"exercise\"");
        return STUDENT_REFUSED;
    }
    if ((found->takes & ~(unsigned)KNOWN_OPTIONS) != 0 || found->default_shards < 1 ||
        found->default_shards > 1000) {
        (void)why_set(why,
                      "strategy_exercise: .takes must consist of TAKES_..., and .default_shards "
                      "must be from 1 to 1000");
        return STUDENT_REFUSED;
    }
    return STUDENT_OK;
}
