/* lab check, lab grade: run the chapters' checks on a student's files. */
#include "command.h"

#include "command_class.h"
#include "complain.h"
#include "fiber.h"
#include "grading.h"
#include "home.h"
#include "settings.h"
#include "whole_file.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    int64_t chapter, seed, jobs;
    char *chapters, *results, *csv, *gradescope, *page, *keep;
    bool is_brief, is_first, is_live, is_class, has_names;
} set;

#define CHAPTERS_SETTING                                                                           \
    {                                                                                              \
        "chapters", 0, SETTING_TEXT, &set.chapters, "",                                            \
            "the folder with the chapters; default: lab's own", NULL                               \
    }

#define SEED_SETTING                                                                               \
    {                                                                                              \
        "seed", 0, SETTING_INT, &set.seed, "0",                                                    \
            "chooses each check's numbers within its ranges; 0: the file's text chooses",          \
            "0..2147483647"                                                                        \
    }

static const struct setting check_table[] = {
    {"chapter", 0, SETTING_INT, &set.chapter, "0",
     "number of the chapter; 0: the number that the file's name begins with, such as 03.c",
     "0..99"},
    CHAPTERS_SETTING,
    SEED_SETTING,
    {"brief", 0, SETTING_FLAG, &set.is_brief, NULL, "do not print the failing schedules", NULL},
    {"first", 0, SETTING_FLAG, &set.is_first, NULL, "end with the first check that fails", NULL},
    {.name = NULL}};

static const struct settings_program check_program = {
    .about = "lab check: run a chapter's checks on a student's file\n"
             "\nExits with 0 if the file gets all points, otherwise with 1.",
    .prefix = "LAB",
    .name = "lab check",
    .rest = "FILE.c"};
const struct reference_command reference_check = {"check", &check_program, check_table};

static const struct setting grade_table[] = {
    {"chapter", 0, SETTING_INT, &set.chapter, "0", "grade only this chapter; 0: all", "0..99"},
    CHAPTERS_SETTING,
    SEED_SETTING,
    {"results", 0, SETTING_TEXT, &set.results, "", "write Gradescope's results.json here", NULL},
    {"live", 0, SETTING_FLAG, &set.is_live, NULL,
     "also sell with each file on real servers, outside the sandbox; this never changes the points",
     NULL},
    {"class", 0, SETTING_FLAG, &set.is_class, NULL,
     "DIR has a folder for each student: grade them all, and print a table", NULL},
    {"jobs", 'j', SETTING_INT, &set.jobs, "0",
     "of a class: files to grade at a time; 0: one for each processor", "0..256"},
    {"csv", 0, SETTING_TEXT, &set.csv, "", "of a class: write the table here, as CSV", NULL},
    {"gradescope", 0, SETTING_TEXT, &set.gradescope, "",
     "of a class: a folder for STUDENT/results.json, in Gradescope's format", NULL},
    {"page", 0, SETTING_TEXT, &set.page, "",
     "of a class: write a page here for the projector: what most got wrong", NULL},
    {"keep", 0, SETTING_TEXT, &set.keep, "",
     "of a class: a file of results; a second run grades only the files without one", NULL},
    {"names", 0, SETTING_FLAG, &set.has_names, NULL, "of a class: the page also names the students",
     NULL},
    {.name = NULL}};

static const struct settings_program grade_program = {
    .about =
        "lab grade: grade the files 01.c, 02.c, ... of a folder, or of each student of a class\n"
        "\nThe same file gets the same points each time. Exits with 0 if it graded every file, also if a file got no points.",
    .prefix = "LAB",
    .name = "lab grade",
    .rest = "DIR"};
const struct reference_command reference_grade = {"grade", &grade_program, grade_table};

static volatile bool is_interrupted;

static void command_grade_on_interrupt(int number) {
    (void)number;
    is_interrupted = true;
}

static int command_grade_refuse(const char *command, const char *why) {
    complain(command, "%s", why);
    return EXIT_USAGE;
}

/* With a random memory layout a wrong pointer does something else in each run. So start again
 * without it. Where that is not allowed, go on with the random layout. */
static void begin_again_without_chance(int argc, char **argv) {
    char *arguments[32];
    const int persona = personality(0xffffffff);

    assert(argv[argc] == NULL);
    if (persona < 0 || (persona & ADDR_NO_RANDOMIZE) != 0 || argc + 2 > 32 ||
        personality((unsigned long)persona | ADDR_NO_RANDOMIZE) < 0)
        return;
    arguments[0] = (char[]){"lab"};
    for (int i = 0; i <= argc; i++)
        arguments[i + 1] = argv[i];
    (void)execv("/proc/self/exe", arguments);
}

/* glibc moves large blocks into the heap after the first one is freed. Then calloc() touches all of
 * them, and each of some 10,000 forks of a grading copies their page tables. */
static void keep_the_heap_small(void) {
    (void)mallopt(M_MMAP_THRESHOLD, 65536);
}

/* An ignored SIGHUP stays ignored, for nohup(1). */
static void catch_interrupts(void) {
    const struct sigaction action = {.sa_handler = command_grade_on_interrupt};
    struct sigaction before;

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGQUIT, &action, NULL);
    if (sigaction(SIGHUP, &action, &before) == 0 && before.sa_handler == SIG_IGN)
        (void)sigaction(SIGHUP, &before, NULL);
}

/* An exit code, or 0 if there is a grade. */
static int command_grade_code_of(const struct grading *grading) {
    if (grading->file == GRADING_STOPPED)
        return EXIT_INTERRUPTED;
    if (grading->file != GRADING_BROKEN)
        return 0;
    complain("lab", "%s: %s", grading->name, grading->why);
    return EXIT_INTERNAL;
}

/* ---- check */

static int command_grade_number_of(const char *path) {
    const char *slash = strrchr(path, '/');

    return set.chapter > 0 ? (int)set.chapter : atoi(slash != NULL ? slash + 1 : path);
}

/* The folder of --chapters, or the lab's own in `own`. NULL after it has printed the reason: a part
 * of the installation is not there. */
static const char *chapters_folder(const char *command, char own[static PATH_MAX]) {
    if (set.chapters[0] != '\0')
        return set.chapters;
    if (home_path(own, "lab") == 0)
        return own;
    complain(command, "the chapters: %s: name their folder with --chapters", strerror(errno));
    return NULL;
}

/* 0, or an exit code after it has printed the reason. */
static int command_grade_read(const char *command, struct chapter *chapter, int number) {
    char own[PATH_MAX];
    const char *folder = chapters_folder(command, own);
    struct why why;

    if (folder == NULL)
        return EXIT_INTERNAL;
    return chapter_read(chapter, folder, number, &why) == 0
               ? 0
               : command_grade_refuse(command, why.text);
}

static int command_grade_check(const char *path) {
    struct grading *grading;
    const int number = command_grade_number_of(path);
    int code;

    if (number == 0) {
        complain("lab check",
                 "%.200s: its name does not begin with the number of a chapter: name the chapter "
                 "with --chapter",
                 path);
        return EXIT_USAGE;
    }
    grading = calloc(1, sizeof *grading);
    if (grading == NULL)
        return EXIT_INTERNAL;
    (void)snprintf(grading->name, sizeof grading->name, "%s", path);
    grading->seed = (uint64_t)set.seed;
    grading->is_first = set.is_first;
    code = command_grade_read("lab check", &grading->chapter, number);
    if (code == 0) {
        grading_make(grading, path, &is_interrupted);
        code = command_grade_code_of(grading);
        if (code == 0) {
            grading_print(grading, stdout, !set.is_brief);
            code = grading_points(grading) == 100 ? EXIT_HOLDS : EXIT_VIOLATED;
        }
    }
    free(grading);
    return code;
}

/* ---- a sale on real servers with the student's file; it never changes the points */

/* Run `scripts/lab run` with the file of chapter `number` in `folder`. Its output is ours. The
 * student's code runs in an inventory-svc of this user, not in the sandbox. False: the script could
 * not be run, or was interrupted. */
static bool live_run(const char *folder, int number) {
    char path[PATH_MAX], script[PATH_MAX], chapter[16];
    char *arguments[] = {(char[]){"lab"}, (char[]){"run"}, chapter, NULL};
    int status, err;
    pid_t child;

    (void)snprintf(chapter, sizeof chapter, "%d", number);
    if (realpath(folder, path) == NULL || setenv("LAB_WORK", path, 1) != 0 ||
        home_path(script, "scripts/lab") != 0)
        return false;
    printf("Live, chapter %d (shown, not scored):\n", number);
    (void)fflush(NULL);
    err = posix_spawn(&child, script, NULL, NULL, arguments, environ);
    if (err != 0)
        fprintf(stderr, "lab grade: --live: %s: %s\n", script, strerror(err));
    /* Ctrl-C reaches the script, too, and the script cleans up. */
    return err == 0 && TEMP_FAILURE_RETRY(waitpid(child, &status, 0)) == child &&
           WIFEXITED(status) && WEXITSTATUS(status) < 126;
}

/* ---- grade */

struct all_gradings {
    const struct grading *gradings;
    size_t count;
};

static int command_grade_write(const void *data, FILE *to) {
    const struct all_gradings *all = data;
    json_t *tests = json_array();

    for (size_t i = 0; i < all->count && tests != NULL; i++) {
        json_t *some = grading_tests(&all->gradings[i]);

        if (some == NULL || json_array_extend(tests, some) != 0) {
            json_decref(tests);
            tests = NULL;
        }
        json_decref(some);
    }
    return grading_write_results(tests, to);
}

static int write_results(const struct grading *gradings, size_t count) {
    const struct all_gradings all = {gradings, count};

    if (whole_file_write(set.results, command_grade_write, &all) == 0)
        return 0;
    complain("lab grade", "--results %s: %s", set.results, strerror(errno));
    return EXIT_INTERNAL;
}

static int grade_one(struct grading *grading, const char *folder) {
    char path[2 * CHAPTER_PATH];
    int code;

    (void)snprintf(grading->name, sizeof grading->name, "%02d.c", grading->chapter.number);
    (void)snprintf(path, sizeof path, "%s/%s", folder, grading->name);
    grading->seed = (uint64_t)set.seed;
    grading_make(grading, path, &is_interrupted);
    code = command_grade_code_of(grading);
    if (code == 0)
        grading_print(grading, stdout, false);
    if (code == 0 && set.is_live && grading->file == GRADING_CHECKED &&
        !live_run(folder, grading->chapter.number))
        code = is_interrupted ? EXIT_INTERRUPTED : EXIT_INTERNAL;
    return code;
}

static int grade_all(struct grading *gradings, const char *folder) {
    const int first = set.chapter > 0 ? (int)set.chapter : 1;
    const int last = set.chapter > 0 ? first : CHAPTERS;
    size_t count = 0;
    int points = 0, code = 0;

    for (int number = first; number <= last && code == 0; number++) {
        if (number == CHAPTER_SHOP && set.chapter == 0)
            continue;
        assert(count < CHAPTERS);
        code = command_grade_read("lab grade", &gradings[count].chapter, number);
        if (code != 0)
            return code;
        code = grade_one(&gradings[count], folder);
        points += grading_points(&gradings[count++]);
    }
    if (code != 0)
        return code;
    printf("%d of %zu points\n", points, 100 * count);
    return set.results[0] != '\0' ? write_results(gradings, count) : 0;
}

static int grade_class(const char *folder) {
    char own[PATH_MAX];
    const struct command_class class = {.folder = folder,
                                        .chapters = chapters_folder("lab grade", own),
                                        .csv = set.csv,
                                        .gradescope = set.gradescope,
                                        .page = set.page,
                                        .keep = set.keep,
                                        .processes = set.jobs,
                                        .chapter = set.chapter,
                                        .seed = set.seed,
                                        .has_names = set.has_names,
                                        .is_interrupted = &is_interrupted};

    if (set.results[0] != '\0' || set.is_live)
        return command_grade_refuse("lab grade",
                                    "--results and --live are for one student; a class has "
                                    "--gradescope");
    return class.chapters != NULL ? command_class(&class) : EXIT_INTERNAL;
}

static int grade(const char *folder) {
    struct grading *gradings;
    int code = EXIT_INTERNAL;

    if (set.is_class)
        return grade_class(folder);
    if (set.csv[0] != '\0' || set.gradescope[0] != '\0' || set.page[0] != '\0' ||
        set.keep[0] != '\0')
        return command_grade_refuse("lab grade",
                                    "--csv, --gradescope, --page and --keep need --class");
    gradings = calloc(CHAPTERS, sizeof *gradings);
    if (access(folder, R_OK | X_OK) != 0)
        code = command_grade_refuse("lab grade", strerror(errno));
    else if (gradings != NULL)
        code = grade_all(gradings, folder);
    free(gradings);
    return code;
}

static int command_grade_run(int argc, char **argv, const struct setting *table,
                             const struct settings_program *program,
                             int (*command)(const char *path)) {
    const char *name = argv[0];
    enum settings_result result;
    int code;

    begin_again_without_chance(argc, argv);
    keep_the_heap_small();
    result = settings_read(table, program, &argc, argv, NULL);
    code = result == SETTINGS_HELP ? 0 : EXIT_USAGE;
    catch_interrupts();
    if (result == SETTINGS_OK)
        code = argc == 2 ? command(argv[1])
                         : command_grade_refuse(name, "name one file or folder; see --help");
    fiber_cleanup();
    settings_free(table);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    complain("lab", "standard output: %s", strerror(errno));
    return EXIT_INTERNAL;
}

int command_check(int argc, char **argv) {
    return command_grade_run(argc, argv, check_table, &check_program, command_grade_check);
}

int command_grade(int argc, char **argv) {
    return command_grade_run(argc, argv, grade_table, &grade_program, grade);
}
