#include "planted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(word) (1U << ORACLE_##word)

static const struct planted planted[] = {
    /* ---- locks that are right */
    {"Two workers take turns.",
     "1 0..5 acquire held 1; 1 10..11 check held; 1 12 write landed 1; 2 3..40 acquire held 2;"
     "1 20..21 release released; 2 50..51 check held; 2 52 write landed 2; 2 60..61 release "
     "released",
     0, ORACLE_SAFE},
    {"A holder is stopped past its TTL, and knows when it wakes.",
     "1 0..5 acquire held -; 1 6..7 check held; 1 10..2600 fault stops; 2 2000..2500 acquire held "
     "-; 2 2501..2502 check held; 2 2503 write landed; 1 2550..2610 check lost; 2 2700..2701 "
     "check held",
     0, ORACLE_SAFE},
    {"It is stopped between its check and its write; the fence refuses the write.",
     "1 0..5 acquire held 1; 1 6..7 check held; 1 10..2600 fault stops; 2 2000..2500 acquire held "
     "2; 2 2501..2502 check held; 2 2503 write landed 2; 1 2601 write refused 1; 1 2602..2603 "
     "check lost; 2 2700..2701 check held",
     BIT(STALE_WRITE), ORACLE_FENCED},
    {"A request that was answered with an error has got the lock unseen.",
     "1 0..5 acquire held -; 1 10..11 release released; 2 20..4000 acquire error;"
     "3 4001..4501 acquire busy",
     0, ORACLE_SAFE},
    {"A waiter that is stopped has got the lock unseen, and gave up.",
     "1 0..5 acquire held -; 2 1..3900 acquire busy; 1 10..11 release released;"
     "2 8..3900 fault stops; 3 4001..4501 acquire busy",
     0, ORACLE_SAFE},
    {"A lock without TTL is kept while its holder is stopped.",
     "1 0..5 acquire held -; 1 10..3000 fault stops; 2 20..3000 acquire busy; 1 3001..3002 check "
     "held; 1 3003 write landed; 1 3010..3011 release released",
     0, ORACLE_SAFE},
    {"A dead holder's lock is free after its TTL.",
     "1 0..5 acquire held -; 1 10..10 fault kills; 1 11 death; 2 20..520 acquire busy; 2 521..2100 "
     "acquire held -",
     0, ORACLE_SAFE},
    {"A waiter that is stopped gets its grant late, and says that it was lost.",
     "1 0..5 acquire held 1; 2 6..2600 acquire held 2; 2 10..2590 fault stops; 1 20..21 release "
     "released; 3 2100..2110 acquire held 3; 2 2601..2602 check lost; 3 2603..2604 check held",
     0, ORACLE_SAFE},
    {"A holder releases what it lost; its successor keeps the lock.",
     "1 0..5 acquire held -; 1 10..2550 fault stops; 2 2400..2500 acquire held -; 1 2500..2560 "
     "release lost; 3 2510..3010 acquire busy; 2 3100..3101 check held; 2 3110..3111 release "
     "released; 3 3050..3120 acquire held -",
     0, ORACLE_SAFE},
    {"A server that is gone is an error, not busy.",
     "1 0..5 acquire held -; 1 10..11 release released; 2 100..5000 fault away; 2 150..700 acquire "
     "error",
     0, ORACLE_SAFE},
    {"A server that begins to go still says that a dead holder has the lock.",
     "1 0..5 acquire held -; 1 6 death; 2 10..5000 fault away 100; 2 15..265 acquire busy; 3 "
     "4950..5200 acquire held -",
     0, ORACLE_SAFE},
    {"The answer to a check is late, but the check was sent before the next grant.",
     "1 0..5 acquire held -; 1 1990..2600 check held; 2 1900..2100 acquire held -; 1 2601..2602 "
     "check lost; 2 2700..2701 check held",
     0, ORACLE_SAFE},
    {"A holder forks, and the child knows that the lock is not its own.",
     "1 0..5 acquire held 1; 1 6..7 check held; 3 20..25 fork; 3 26..27 check lost; 1 28..29 check "
     "held; 3 30..31 release lost; 3 40 death; 1 50..51 check held; 1 60..61 release released",
     0, ORACLE_SAFE},
    {"The machine stalls between a check and its write, and there is no fence.",
     "1 0..5 acquire held -; 1 1990..2600 check held; 2 1900..2100 acquire held -; 2 2101..2102 "
     "check held; 2 2103 write landed; 1 2601 write landed; 1 2602..2603 check lost",
     0, ORACLE_SAFE},
    {"The answer to an old grant is late, after a release that freed nothing.",
     "1 0..5 acquire held -; 1 10..4100 fault stops; 3 1900..4500 acquire held -; 2 4000..4010 "
     "acquire held -; 1 4101..4102 release lost; 3 4501..4502 check lost; 2 5000..5001 check held",
     0, ORACLE_SAFE},
    {"A server forgets its locks, and the next holder has a lower fence.",
     "1 0..5 acquire held 3; 2 3..100 acquire held 1; 1 8 write landed 3; 1 50..1850 fault forgets; "
     "1 90..95 check lost; 2 101..102 check held; 2 103 write refused 1",
     0, ORACLE_SAFE},
    {"The machine keeps a worker from renewing.",
     "1 0..5 acquire held -; 1 6..3000 fault works; 1 20..2100 check lost", 0, ORACLE_SAFE},
    {"A server takes long to restart.",
     "1 0..5 acquire held -; 1 10..9000 fault restarts; 1 2010 told lost; 2 8500..9010 acquire busy",
     0, ORACLE_SAFE},
    {"A holder is stopped while its client asks for many others.",
     "1 0..5 acquire held -; 1 6..3000 fault loads; 1 500..2600 fault stops; 2 1900..2100 acquire "
     "held -; 1 2601..2602 check lost",
     0, ORACLE_SAFE},
    {"The machine keeps a worker from the processor while its client asks for many others.",
     "1 0..5 acquire held -; 1 6..3000 fault loads; 1 7..900 stall; 1 2010..2011 check lost", 0,
     ORACLE_SAFE},
    {"A server forgets the lock of a holder that works.",
     "1 0..5 acquire held -; 1 6..3000 fault works; 1 500..600 fault forgets; 1 700..701 check lost",
     0, ORACLE_SAFE},
    /* ---- locks that are wrong */
    {"A stopped holder goes on for ever.",
     "1 0..5 acquire held -; 1 6..7 check held; 1 10..2600 fault stops; 2 2000..2500 acquire held "
     "-; 2 2501..2502 check held; 2 2503 write landed; 1 2601..2602 check held; 1 2603 write "
     "landed; 2 2650..2651 check held; 1 2700..2701 release released",
     BIT(TWIN_UNAWARE) | BIT(STALE_WRITE) | BIT(NO_FENCE), ORACLE_UNTOLD},
    {"It is told 10 ms later.",
     "1 0..5 acquire held -; 1 10..2600 fault stops; 2 2000..2500 acquire held -; 2 2501..2502 "
     "check held; 2 2503 write landed; 1 2601..2602 check held; 1 2603 write landed; 1 2611 told "
     "lost; 2 2650..2651 check held",
     BIT(TWIN_UNAWARE) | BIT(STALE_WRITE) | BIT(NO_FENCE) | BIT(LATE_TOLD), ORACLE_TOLD},
    {"Its fence stops its writes, but nothing tells it.",
     "1 0..5 acquire held 1; 1 10..2600 fault stops; 2 2000..2500 acquire held 2; 2 2503 write "
     "landed 2; 1 2601..2602 check held; 1 2603 write refused 1; 2 2650..2651 check held",
     BIT(TWIN_UNAWARE) | BIT(STALE_WRITE), ORACLE_UNTOLD},
    {"A write that was on its way lands, and there is no fence.",
     "1 0..5 acquire held -; 1 6..7 check held; 1 10..2600 fault stops; 2 2000..2500 acquire held "
     "-; 2 2501..2502 check held; 2 2503 write landed; 1 2601 write landed; 1 2602..2603 check "
     "lost; 2 2700..2701 check held",
     BIT(STALE_WRITE) | BIT(NO_FENCE), ORACLE_TOLD},
    {"It wakes when its successor has already released, and believes and writes.",
     "1 0..5 acquire held -; 1 10..2600 fault stops; 2 2000..2500 acquire held -; 2 2503 write "
     "landed; 2 2510..2511 release released; 1 2601..2602 check held; 1 2603 write landed",
     BIT(STALE_WRITE) | BIT(NO_FENCE), ORACLE_UNTOLD},
    {"A waiter is granted what another holds.",
     "1 0..5 acquire held -; 2 1..9 acquire held -; 1 20..21 check held; 2 22..23 check held",
     BIT(TWIN_UNAWARE), ORACLE_UNTOLD},
    {"A release of a lost lock frees the lock of its successor.",
     "1 0..5 acquire held -; 1 10..2550 fault stops; 2 2400..2500 acquire held -; 1 2500..2560 "
     "release released; 3 2510..2570 acquire held -; 2 2600..2601 check held; 3 2590..2591 check "
     "held; 3 2592 write landed; 2 2602 write landed",
     BIT(TWIN_UNAWARE) | BIT(FREES_ANOTHERS) | BIT(STALE_WRITE) | BIT(NO_FENCE), ORACLE_UNTOLD},
    {"A fence begins again.",
     "1 0..5 acquire held 9; 1 10..11 release released; 2 20..25 acquire held 1", BIT(FENCE_FALLS),
     ORACLE_SAFE},
    {"A fence repeats.",
     "1 0..5 acquire held 9; 1 10..11 release released; 2 20..25 acquire held 9", BIT(FENCE_FALLS),
     ORACLE_SAFE},
    {"A dead holder's lock is never free.",
     "1 0..5 acquire held -; 1 10..10 fault kills; 1 11 death; 2 20..520 acquire busy; 2 3100..3600 "
     "acquire busy",
     BIT(STUCK), ORACLE_SAFE},
    {"A holder that works loses its lock, and is told.",
     "1 0..5 acquire held -; 1 6..3000 fault works; 1 2010..2011 check lost", BIT(NO_RENEWAL),
     ORACLE_SAFE},
    {"A holder that works loses its lock to another.",
     "1 0..5 acquire held -; 1 6..3000 fault works; 2 1900..2010 acquire held -; 1 2500..2501 check "
     "held; 2 2600..2601 check held",
     BIT(NO_RENEWAL) | BIT(TWIN_UNAWARE), ORACLE_UNTOLD},
    {"A lease is lost under load.",
     "1 0..5 acquire held -; 1 6..3000 fault loads; 1 2010..2011 check lost", BIT(LOST_UNDER_LOAD),
     ORACLE_SAFE},
    {"A lease is lost under load on a machine that is not busy.",
     "1 0..5 acquire held -; 1 6..3000 fault loads; 1 7..200 stall; 1 2010..2011 check lost",
     BIT(LOST_UNDER_LOAD), ORACLE_SAFE},
    {"A lease is lost under load before another worker is stopped.",
     "1 0..5 acquire held -; 1 6..3000 fault loads; 1 1000..1001 check lost; 2 1100..2000 fault "
     "stops; 1 1200..2900 fault stops",
     BIT(LOST_UNDER_LOAD), ORACLE_SAFE},
    {"A holder forks, and both believe that they hold the lock.",
     "1 0..5 acquire held -; 1 6..7 check held; 3 20..25 fork; 3 26..27 check held; 1 28..29 check "
     "held; 3 30..31 check held; 3 40 death; 1 50..51 check held",
     BIT(TWIN_UNAWARE), ORACLE_UNTOLD},
    {"The end of a child frees the lock of its parent.",
     "1 0..5 acquire held -; 3 20..25 fork; 3 26..27 check lost; 3 40 death; 2 30..50 acquire held "
     "-; 1 51..52 check held; 2 53..54 check held",
     BIT(TWIN_UNAWARE), ORACLE_UNTOLD},
    {"A server that is gone is called busy.",
     "1 0..5 acquire held -; 1 10..11 release released; 2 100..5000 fault away; 2 150..700 acquire "
     "busy",
     BIT(ERROR_AS_BUSY), ORACLE_SAFE},
};

const struct planted *planted_at(size_t index) {
    return index < sizeof planted / sizeof *planted ? &planted[index] : NULL;
}

int planted_judge(const struct planted *one, struct oracle *oracle) {
    struct history history = {NULL, 0, 0};
    int code = planted_read(one->text, &history);

    if (code == 0)
        code = oracle_judge(&history, PLANTED_SLACK_MS, oracle);
    history_free(&history);
    for (unsigned i = 0; code == 0 && i < ORACLE_WORD_COUNT; i++)
        if ((oracle->findings[i].count > 0) != ((one->words >> i & 1) != 0))
            return 1;
    return code != 0 ? -1 : oracle->verdict != one->verdict;
}
