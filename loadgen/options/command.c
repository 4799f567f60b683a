/* The commands: their arguments, their settings, and their --help. */
#include "command.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const char about_fire[] =
    "loadgen: fire a flash sale at the order service, on time whatever the answers,\n"
    "and judge the ledger.\n"
    "\n"
    "  loadgen                  run the strategies and judge them\n"
    "  loadgen create           make one product and print its id\n"
    "  loadgen check DIR        judge the history of an earlier run again\n"
    "  loadgen diff A B         compare two runs\n"
    "  loadgen report DIR...    write the page of one run, or of several on one page\n"
    "  loadgen serve [DIR]      show the results folder in a browser, on loopback\n"
    "  loadgen claims [ID...]   show that locks fail as the articles say, and the cures\n"
    "  loadgen COMMAND --help   the settings and exit codes of a command\n"
    "\n"
    "A run is INCONCLUSIVE, and ends with 2, when it proves nothing:\n"
    "  more than 5 % of the requests were sent later than --late, or any not at all;\n"
    "  fewer than 30 pairs of attempts overlapped in which one got a unit (a race\n"
    "  that strikes one pair in ten hides in 30 with a chance of 4 %);\n"
    "  requests were not answered, and the ledger did not settle within --drain.\n"
    "Exit codes: 0 each verdict as expected, 1 not so, 2 inconclusive, 64 bad usage,\n"
    "69 target or database not reached, 70 internal, 99 only a --threshold missed,\n"
    "130 interrupted.";

static const struct command_words commands[] = {
    [COMMAND_FIRE] = {"", 0, 0, "[COMMAND]", about_fire,
                      "listen port class port-base run-dir keep"},
    [COMMAND_CREATE] =
        {"create", 0, 0, "create",
         "loadgen create: make one product under --strategy, and print its id, for\n"
         "loadgen --product ID.\n"
         "Exit codes: 0 made, 64 bad usage or a strategy that the target does not take,\n"
         "69 target or database not reached, 70 internal.",
         "strategy stock items work wait ttl name target output inventory-db"},
    [COMMAND_CHECK] =
        {"check", 1, 1, "check DIR",
         "loadgen check: judge the history of an earlier run again, without any server,\n"
         "and say where the verdict differs from the one in its summary.json. DIR is a\n"
         "results folder, such as results/latest.\n"
         "Exit codes: as of a run, and 2 when rounds are missing; 64 bad usage, 66 DIR is\n"
         "not there or cannot be read, 70 internal.",
         "output-format output"},
    [COMMAND_DIFF] =
        {"diff", 2, 2, "diff A B",
         "loadgen diff: put two runs side by side, and name the conditions that differ.\n"
         "A and B are results folders.\n"
         "Exit codes: 0; 1 a verdict became worse, or an anomaly appeared; 64 bad usage,\n"
         "66 a folder is not there or cannot be read, 70 internal.",
         "output-format output"},
    [COMMAND_REPORT] =
        {"report", 1, 16, "report DIR...",
         "loadgen report: write DIR/report.html again; or, with -o FILE, the page of one\n"
         "run or of up to 16 on one page.\n"
         "Exit codes: 0 written, 64 bad usage, 66 a folder is not there or cannot be\n"
         "read, 70 internal.",
         "output"},
    [COMMAND_SERVE] =
        {"serve", 0, 1, "serve [DIR]",
         "loadgen serve: show the results folders of DIR, or of --results, in a browser,\n"
         "until Ctrl-C. It reads only; with --class it also has a page that runs loadgen and\n"
         "lab, one at a time, for whoever has the address that is printed.\n"
         "Exit codes: 0 ended, 64 bad usage, 66 DIR is not there or no folder of results,\n"
         "69 the port cannot be listened on.",
         "class results listen port target"},
    [COMMAND_CLAIMS] =
        {"claims", 0, 64, "claims [ID...|all]",
         "loadgen claims: list what the articles claim of locks; or show the claims that\n"
         "are named, each by a run that fails and one that is cured, on a stack of its own\n"
         "that is stopped at the end. --output-format, text, json or markdown, is for the\n"
         "list alone.\n"
         "Exit codes: 0 each failure appeared and each cure held, 1 not so, 64 bad usage,\n"
         "69 the stack does not start, 70 internal, 130 interrupted.",
         "results output-format output port-base run-dir stack keep"},
};

#define COMMANDS (sizeof commands / sizeof commands[0])

int command_find(const char *word, enum command *command) {
    for (size_t i = COMMAND_FIRE + 1; i < COMMANDS; i++)
        if (strcmp(word, commands[i].word) == 0) {
            *command = (enum command)i;
            return 0;
        }
    return -1;
}

const struct command_words *command_words(enum command command) {
    assert(command < COMMANDS);
    return &commands[command];
}

static bool command_is_among(const char *words, const char *word) {
    const size_t length = strlen(word);

    for (const char *at = words; *at != '\0'; at += strspn(at, " ")) {
        size_t next = strcspn(at, " ");

        if (next == length && memcmp(at, word, length) == 0)
            return true;
        at += next;
    }
    return false;
}

bool command_has(enum command command, const char *setting) {
    return command_is_among(command_words(command)->settings, setting) == (command != COMMAND_FIRE);
}
