/* Chooses between the two reports. */
#include "report.h"

#include "report_text.h"
#include "summary_json.h"

#include <string.h>

int report_print(const struct summary *summary, FILE *to) {
    return strcmp(summary->options->output_format, "json") == 0 ? summary_json_write(summary, to)
                                                                : report_text(summary, to);
}
