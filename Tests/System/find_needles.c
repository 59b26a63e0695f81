/* Looks for thousands of byte strings at once in what may be hundreds of megabytes. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BITS = 24, KEY_BYTES = 3 };

static uint32_t key_of(const uint8_t *bytes) { return bytes[0] | bytes[1] << 8 | (uint32_t)bytes[2] << 16; }

/* Sets found[i] for each needle i that is in the data. The needles lie one behind the other; none is shorter than three
 * bytes. Returns 0 if there is no memory for that. */
int find_needles(
    const uint8_t *data, size_t size, const uint8_t *needles, const uint32_t *lengths, uint32_t count, uint8_t *found
) {
    /* Of each beginning the last needle that has it, and of each needle the one before; 0 is none. */
    uint32_t *last = calloc((size_t)1 << KEY_BITS, sizeof *last), *before = calloc(count + 1, sizeof *before);
    const uint8_t **starts = calloc(count + 1, sizeof *starts);
    int is_done = last && before && starts;
    for (uint32_t number = 1; is_done && number <= count; number++) {
        starts[number] = needles;
        needles += lengths[number - 1];
        before[number] = last[key_of(starts[number])];
        last[key_of(starts[number])] = number;
    }
    for (size_t at = 0; is_done && at + KEY_BYTES <= size; at++) {
        for (uint32_t number = last[key_of(data + at)]; number; number = before[number]) {
            uint32_t length = lengths[number - 1];
            if (length <= size - at && !memcmp(data + at, starts[number], length)) found[number - 1] = 1;
        }
    }
    free(last);
    free(before);
    free(starts);
    return is_done;
}
