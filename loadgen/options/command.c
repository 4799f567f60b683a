/* The table of commands. */
#include "command.h"

#include <string.h>

static const char about_fire[] =
    "loadgen: run a flash sale against the order service, and judge the ledger.\n"
    "Each request is sent at its planned time, however slow the answers are.\n"
    "\n"
    "  loadgen                  run the strategies and judge them\n"
    "  loadgen create           make one product and print its id\n"
    "  loadgen plan FILE        write a plan that many hosts send together\n"
    "  loadgen send DIR         send one part of a plan, and write its history\n"
    "  loadgen merge DIR...     make one run of the parts, and judge the ledger\n"
    "  loadgen check RUN        judge the history of a run, or of any load, again\n"
    "  loadgen diff A B         compare two runs\n"
    "  loadgen report DIR...    write the page of one run or of several runs\n"
    "  loadgen export RUN       write a history for a checker of other people\n"
    "  loadgen serve [DIR]      show the results folders in a browser, on loopback\n"
    "  loadgen claims [ID...]   show how locks fail, and that the cures hold\n"
    "  loadgen shop new NAME    write a file that describes a shop, to start from\n"
    "  loadgen shop order FILE  buy one unit as a shop file says, and show each step\n"
    "  loadgen shop check FILE  test a shop file before a run, one order after the other\n"
    "  loadgen COMMAND --help   print the settings and exit codes of a command\n"
    "\n"
    "A run proves nothing, is INCONCLUSIVE, and ends with 2 if\n"
    "  more than 5 % of the requests were sent later than --late, or any not at all;\n"
    "  fewer than 30 pairs of attempts overlapped in which one got a unit (a race\n"
    "  that strikes one pair in ten stays hidden in 30 with a chance of 4 %);\n"
    "  a request got no answer, and the ledger did not settle within --drain.\n"
    "Exit codes: 0 each verdict as expected, 1 a verdict not as expected,\n"
    "2 inconclusive, 64 bad usage, 69 target, database or host not reached,\n"
    "70 internal error, 99 only a --threshold missed, 130 interrupted.";

const struct command_words command_table[COMMAND_COUNT] = {
    [COMMAND_FIRE] = {"", 0, 0, "[COMMAND]", about_fire,
                      "jepsen round limit listen port class port-base run-dir keep part plan at"},
    [COMMAND_CREATE] =
        {"create", 0, 0, "create",
         "loadgen create: make one product under --strategy, and print its id. Attack it\n"
         "with loadgen --product ID.\n"
         "Exit codes: 0 made, 64 bad usage or a strategy that the target does not accept,\n"
         "69 target or database not reached, 70 internal error.",
         "strategy stock items work wait ttl name target output inventory-db"},
    [COMMAND_PLAN] =
        {"plan", 1, 1, "plan FILE",
         "loadgen plan: make the products of one round, and write its plan to FILE. Copy\n"
         "FILE to each host, and send its parts there.\n"
         "Exit codes: 0 written, 64 bad usage or a strategy that the target does not\n"
         "accept, 69 target or database not reached, 70 internal error.",
         "strategy rate duration requests stages arrival seed dup-rate keyless timeout connections "
         "max-in-flight target path stock items skew work wait ttl expect threshold drain late "
         "stuck-after no-judge name inventory-db"},
    [COMMAND_SEND] =
        {"send", 0, 1, "send --part I/N --plan FILE --at MOMENT DIR",
         "loadgen send: send one part of a plan, and write its history to DIR. Start one\n"
         "for each part, on any hosts, with one --at. --connections and --max-in-flight of\n"
         "the plan are limits of all parts together. Ctrl-C ends it, and keeps its history.\n"
         "A run with --hosts does all this by ssh.\n"
         "Exit codes: 0 written, 64 bad usage, 66 FILE cannot be read, 69 target not\n"
         "reached, 70 internal error, 130 interrupted.",
         "part plan at no-realtime no-tui no-progress json-progress inventory-db"},
    [COMMAND_MERGE] =
        {"merge", 1, 64, "merge DIR...",
         "loadgen merge: make one run of the parts that loadgen send wrote, read and judge\n"
         "the ledger, and write a results folder. A part that is missing or cut makes the\n"
         "run INCONCLUSIVE, unless the other parts prove a violation.\n"
         "Exit codes: those of a run; 66 no part is whole, or they do not belong together.",
         "output-format output results no-results junit markdown no-tui no-progress json-progress "
         "inventory-db orders-db"},
    [COMMAND_CHECK] =
        {"check", 1, 1, "check DIR|FILE",
         "loadgen check: judge the history of an earlier run again, without any server,\n"
         "and print each difference from its summary.json. DIR is a results folder, such\n"
         "as results/latest. FILE is one history: that of a run, or of a load that another\n"
         "program sent to any shop (docs/history.md has the lines to write).\n"
         "Exit codes: those of a run, and 2 if rounds are missing; 64 bad usage, 66 DIR\n"
         "or FILE does not exist or cannot be read, 70 internal error.",
         "output-format output junit markdown"},
    [COMMAND_DIFF] =
        {"diff", 2, 2, "diff A B",
         "loadgen diff: print two runs side by side, and the conditions that differ.\n"
         "A and B are results folders.\n"
         "\n"
         "A --limit is a metric, an operator and a value, like a --threshold. A value with\n"
         "a sign limits the change from A to B. A value without a sign limits B alone.\n"
         "  p(99)<+20%     p(99) of B is less than a fifth above that of A\n"
         "  p(99)<+50ms    p(99) of B is less than 50 ms above that of A\n"
         "  rate>-10%      the rate of B is less than a tenth below that of A\n"
         "  oversell==0    B has no OVERSELL\n"
         "Each strategy that both runs have must keep it. p(50), p(99) and rate are the\n"
         "medians of the rounds. Counts are sums over all rounds.\n"
         "Exit codes: 0 nothing became worse, 1 a verdict became worse or an anomaly\n"
         "appeared, 64 bad usage, 66 a folder does not exist, cannot be read or lacks the\n"
         "metric of a --limit, 70 internal error, 99 only a --limit was missed.",
         "limit output-format output markdown"},
    [COMMAND_REPORT] =
        {"report", 1, 16, "report DIR...",
         "loadgen report: write DIR/report.html again; or, with -o FILE, one page of up\n"
         "to 16 runs.\n"
         "Exit codes: 0 written, 64 bad usage, 66 a folder does not exist or cannot be\n"
         "read, 70 internal error.",
         "output"},
    [COMMAND_EXPORT] =
        {"export", 1, 1, "export --jepsen DIR|FILE",
         "loadgen export: write a round as a history of Jepsen, for a checker of other\n"
         "people, such as elle-cli or one on Porcupine. docs/history.md says what such a\n"
         "checker can find. DIR|FILE is as in loadgen check. --output-format is edn, the\n"
         "default, or json.\n"
         "Exit codes: 0 written, 64 bad usage, 66 DIR or FILE does not exist, cannot be\n"
         "read or lacks the round, 70 internal error.",
         "jepsen round output-format output"},
    [COMMAND_SERVE] =
        {"serve", 0, 1, "serve [DIR]",
         "loadgen serve: show the results folders of DIR, or of --results, in a browser,\n"
         "until Ctrl-C. It only reads. With --class it also serves a page that runs\n"
         "loadgen and lab, one at a time; only the printed address opens that page.\n"
         "Exit codes: 0 ended, 64 bad usage, 66 DIR does not exist or is no folder of\n"
         "results, 69 cannot listen on the port.",
         "class results listen port target"},
    [COMMAND_CLAIMS] =
        {"claims", 0, 64, "claims [ID...|all]",
         "loadgen claims: list the claims of the articles about locks.\n"
         "With IDs, show each claim by two runs, its failure and its cure, on a stack of\n"
         "their own that is stopped at the end. --output-format (text, json or markdown)\n"
         "is only for the list.\n"
         "Exit codes: 0 each failure appeared and each cure held, 1 one did not, 64 bad\n"
         "usage, 69 the stack does not start, 70 internal error, 130 interrupted.",
         "results output-format output port-base run-dir stack keep"},
    [COMMAND_SHOP] =
        {"shop", 2, 2, "shop new NAME|order FILE|check FILE",
         "loadgen shop new NAME: write the file NAME.shop to start from. A shop file says\n"
         "how to buy in a shop that somebody else wrote. A file that exists stays as it is.\n"
         "Exit codes: 0 written, 64 bad usage, or the file exists or cannot be written.\n"
         "\n"
         "loadgen shop order FILE: take one customer through the setup, prepare and order\n"
         "of a shop file. Show each request (>), each reply (<), the captures (=), and the\n"
         "rule that ended the order. Values of env, and captures with redact, are shown\n"
         "as ***. It buys things, so it connects to loopback and private addresses only.\n"
         "Exit codes: 0 sold, 1 soldout, busy or refused, or a step of another section\n"
         "failed, 2 unknown: no rule holds for the reply, or it did not come; 64 bad usage\n"
         "or an error in FILE, 66 FILE cannot be read, 69 the shop is not reached, 70\n"
         "internal error, 130 interrupted.\n"
         "\n"
         "loadgen shop check FILE: test a shop file before any load, because a wrong query\n"
         "accuses an innocent shop. Customers order one after the other: two for a stock of\n"
         "1, five for 3, and one with its key twice. Their replies, [Orders] and [Stock]\n"
         "must fit; a ledger that lags has --drain to settle. Then it says what a run can\n"
         "judge, what not and why, and how long an order takes.\n"
         "Exit codes: 0 each step is ok, 1 one is not, 64 bad usage or an error in FILE, 66\n"
         "FILE cannot be read, 69 the shop or its database is not reached, 70 internal\n"
         "error, 130 interrupted.",
         "stock timeout drain output-format output this-shop-is-mine"},
};

int command_find(const char *word, enum command *command) {
    for (size_t i = COMMAND_FIRE + 1; i < COMMAND_COUNT; i++)
        if (strcmp(word, command_table[i].word) == 0) {
            *command = (enum command)i;
            return 0;
        }
    return -1;
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
    return command_is_among(command_table[command].settings, setting) == (command != COMMAND_FIRE);
}
