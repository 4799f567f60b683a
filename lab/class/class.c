/* Groups files with the same bytes, and grades each group in a process. */
#include "class.h"

#include "json_read.h"
#include "json_text.h"
#include "pool.h"
#include "utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct roster_file *file_of(const struct class *class, size_t student,
                                         size_t chapter) {
    const int number = class->chapters[chapter].number;

    assert(number >= 1 && number <= CHAPTERS);
    return &class->roster.students[student].files[number - 1];
}

static bool class_is_missing(const struct roster_file *file) {
    return file->path == NULL && file->why == NULL;
}

/* A file that was not read has an explanation of its own. */
static bool is_same(const struct roster_file *a, const struct roster_file *b) {
    if (class_is_missing(a) || class_is_missing(b))
        return class_is_missing(a) && class_is_missing(b);
    return a->why == NULL && b->why == NULL && a->bytes != NULL && b->bytes != NULL &&
           a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static size_t find_unit(const struct class *class, const struct roster_file *file, size_t chapter) {
    size_t i = 0;

    while (i < class->unit_count &&
           (class->units[i].chapter != chapter ||
            !is_same(file_of(class, class->units[i].student, chapter), file)))
        i++;
    return i;
}

static int make_units(struct class *class, struct why *why) {
    const size_t most = class->roster.count * class->chapter_count;

    class->units = calloc(most, sizeof *class->units);
    class->unit_of = calloc(most, sizeof *class->unit_of);
    if (class->units == NULL || class->unit_of == NULL)
        return why_set(why, "out of memory");
    for (size_t i = 0; i < class->roster.count; i++)
        for (size_t j = 0; j < class->chapter_count; j++) {
            const size_t unit = find_unit(class, file_of(class, i, j), j);

            class->unit_of[i * class->chapter_count + j] = unit;
            if (unit == class->unit_count)
                class->units[class->unit_count++] = (struct class_unit){i, j, {0}};
        }
    return 0;
}

int class_read(struct class *class, const char *folder, const char *lab, int chapter,
               struct why *why) {
    const int first = chapter > 0 ? chapter : 1, last = chapter > 0 ? chapter : CHAPTERS;

    *class = (struct class){0};
    if (last > CHAPTERS)
        return why_set(why, "--class grades chapters 1 to %d", CHAPTERS);
    for (int i = first; i <= last; i++)
        if ((i != CHAPTER_SHOP || chapter > 0) &&
            chapter_read(&class->chapters[class->chapter_count++], lab, i, why) != 0)
            return -1;
    return roster_read(&class->roster, folder, why) == 0 ? make_units(class, why) : -1;
}

/* ---- in the process of a unit */

static struct grading *grading_of(const struct class *class, const struct class_unit *unit) {
    static struct grading grading;

    grading.chapter = class->chapters[unit->chapter];
    grading.seed = class->seed;
    grading.attempted = 0;
    grading.why[0] = '\0';
    (void)snprintf(grading.name, sizeof grading.name, "%02d.c", grading.chapter.number);
    return &grading;
}

struct jobs {
    struct class *class;
    size_t *units; /* of each job */
    const volatile bool *is_interrupted;
    void (*tell)(size_t ended, size_t files);
    size_t count;
};

static void class_run(void *data, size_t job, FILE *to) {
    const struct jobs *jobs = data;
    const struct class_unit *unit = &jobs->class->units[jobs->units[job]];
    struct grading *grading = grading_of(jobs->class, unit);
    json_t *result;

    grading_make(grading, file_of(jobs->class, unit->student, unit->chapter)->path,
                 jobs->is_interrupted);
    result = JSON_TEXT_OBJECT({"file", json_integer(grading->file)},
                              {"points", json_integer(grading_points(grading))},
                              {"why", json_text(grading->why)}, {"tests", grading_tests(grading)});
    if (json_text_print(result, to) != 0)
        exit(1);
}

/* ---- in the pool's process */

static void unit_end(struct class_unit *unit, enum grading_file file, const char *why) {
    unit->result = (struct class_result){.file = file, .why = strdup(why)};
    if (unit->result.why != NULL) {
        unit->result.why[strcspn(unit->result.why, "\n")] = '\0';
        utf8_make_printable(unit->result.why);
    }
}

/* Take a result of class_run(). */
static void unit_take(struct class_unit *unit, const json_t *from) {
    unit_end(unit, (enum grading_file)json_integer_value(json_object_get(from, "file")),
             json_string_value(json_object_get(from, "why")));
    if (unit->result.file != GRADING_BROKEN && unit->result.file != GRADING_STOPPED) {
        unit->result.points = (int)json_integer_value(json_object_get(from, "points"));
        unit->result.tests = json_incref(json_object_get(from, "tests"));
    }
}

static void class_on_ended(void *data, size_t job, const char *bytes, size_t size,
                           const char *why) {
    const struct jobs *jobs = data;
    struct class_unit *unit = &jobs->class->units[jobs->units[job]];
    const struct roster_file *file = file_of(jobs->class, unit->student, unit->chapter);
    json_t *from = why == NULL ? json_read_as_is(bytes, size, NULL) : NULL;

    if (from == NULL) {
        unit_end(unit, GRADING_BROKEN, why != NULL ? why : "its grader had too little memory");
        return;
    }
    unit_take(unit, from);
    if (unit->result.tests != NULL && file->bytes != NULL)
        kept_add(&jobs->class->kept, &jobs->class->chapters[unit->chapter], jobs->class->seed,
                 file->bytes, file->size, from);
    json_decref(from);
}

static void class_on_wait(void *data, size_t ended) {
    const struct jobs *jobs = data;

    jobs->tell(ended, jobs->count);
}

/* A result that needs no process: there is no file, or none that can be graded. */
static void unit_refuse(const struct class *class, struct class_unit *unit, const char *why) {
    const struct roster_file *file = file_of(class, unit->student, unit->chapter);
    struct grading *grading = grading_of(class, unit);

    (void)snprintf(grading->why, sizeof grading->why, "%s", why);
    attempt_make_plain(grading->why);
    unit_end(unit,
             class_is_missing(file) ? GRADING_MISSING
             : file->is_machine     ? GRADING_BROKEN
                                    : GRADING_REFUSED,
             grading->why);
    unit->result.tests = file->is_machine ? NULL : grading_tests(grading);
}

/* True if its result needs no process. */
static bool unit_is_settled(const struct class *class, struct class_unit *unit) {
    const struct roster_file *file = file_of(class, unit->student, unit->chapter);
    const json_t *kept;

    if (file->path == NULL || file->why != NULL) {
        unit_refuse(class, unit, file->why != NULL ? file->why : "this file was not handed in");
        return true;
    }
    kept = file->bytes != NULL ? kept_find(&class->kept, &class->chapters[unit->chapter],
                                           class->seed, file->bytes, file->size)
                               : NULL;
    if (kept != NULL)
        unit_take(unit, kept);
    else
        unit->result.file = GRADING_STOPPED; /* until it ends */
    return kept != NULL;
}

void class_grade(struct class *class, size_t processes, const volatile bool *is_interrupted,
                 void (*tell)(size_t ended, size_t files)) {
    struct jobs jobs = {class, calloc(class->unit_count, sizeof *jobs.units), is_interrupted, tell,
                        0};
    struct pool pool = {.processes = processes,
                        .run = class_run,
                        .ended = class_on_ended,
                        .wait = class_on_wait,
                        .data = &jobs,
                        .is_interrupted = is_interrupted};

    for (size_t i = 0; i < class->unit_count; i++)
        if (jobs.units == NULL)
            unit_end(&class->units[i], GRADING_BROKEN, "out of memory");
        else if (!unit_is_settled(class, &class->units[i]))
            jobs.units[jobs.count++] = i;
    pool.jobs = jobs.count;
    if (jobs.units != NULL)
        pool_run(&pool);
    free(jobs.units);
}

/* ---- the results */

const struct class_result *class_result_of(const struct class *class, size_t student,
                                           size_t chapter) {
    return &class->units[class->unit_of[student * class->chapter_count + chapter]].result;
}

int class_points(const struct class *class, size_t student) {
    int points = 0;

    for (size_t i = 0; i < class->chapter_count; i++)
        points += class_result_of(class, student, i)->points;
    return points;
}

size_t class_ungraded(const struct class *class, size_t student) {
    size_t count = 0;

    for (size_t i = 0; i < class->chapter_count; i++)
        count += class_result_of(class, student, i)->tests == NULL;
    return count;
}

void class_free(struct class *class) {
    for (size_t i = 0; i < class->unit_count; i++) {
        free(class->units[i].result.why);
        json_decref(class->units[i].result.tests);
    }
    free(class->units);
    free(class->unit_of);
    roster_free(&class->roster);
    kept_close(&class->kept);
    *class = (struct class){0};
}
