/* The names of faults, read and written. */
#include "model.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

int model_faults_read(const char *text, unsigned *faults) {
    *faults = 0;
    if (strcmp(text, "none") == 0)
        return 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        int fault = 0;

        while (fault < FAULT_COUNT &&
               (strlen(sale_fault_name((enum sale_fault)fault)) != length ||
                strncmp(sale_fault_name((enum sale_fault)fault), text, length) != 0))
            fault++;
        if (fault == FAULT_COUNT)
            return -1;
        *faults |= 1U << fault;
        text += length + (text[length] == ',');
    }
    return 0;
}

char *model_faults_write(unsigned faults, const char *between, char text[MODEL_FAULTS_TEXT]) {
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < FAULT_COUNT; i++)
        if ((faults >> i & 1U) != 0)
            used += (size_t)snprintf(text + used, MODEL_FAULTS_TEXT - used, "%s%s",
                                     used > 0 ? between : "", sale_fault_name((enum sale_fault)i));
    assert(used < MODEL_FAULTS_TEXT);
    return text;
}
