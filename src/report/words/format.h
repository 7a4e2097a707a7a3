/*
 * Formats numbers for people, for all views. Results are values, so they can be used in an argument
 * list: buf_text(buf, format_bytes(n, false).text).
 */
#ifndef MALLOW_REPORT_WORDS_FORMAT_H
#define MALLOW_REPORT_WORDS_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

struct formatted {
	char text[48];
};

/* Three digits and a decimal unit, 1 KB = 1000 bytes: "1.23 MB"; exact: "1,234,567 B". */
struct formatted format_bytes(uint64_t bytes, bool exact);

/* Three digits behind the point, the rest cut off: "999 bytes", "22.704 KB", "1.005 MB", … "GB". */
struct formatted format_bytes_fine(uint64_t bytes);

/* A change, with its sign: "+1.23 MB", "-12 B", "0 B"; without bytes as format_count() says it. */
struct formatted format_change(int64_t change, bool bytes, bool exact);

/* "12,345"; from ten millions on "12.3 M", unless exact. */
struct formatted format_count(uint64_t count, bool exact);

/* "812 ns", "12.3 us", "199 ms", "1.23 s", "2m05s", "1h02m03s". */
struct formatted format_time(uint64_t ns);

/* "812 ns", "6.236 ms", "12.050 secs", "2 mins 5 secs", "1 hours 2 mins"; the rest cut off. */
struct formatted format_age(uint64_t ns);

/* "51.2 %", "100 %", "<0.1 %"; "-" if part is 0. */
struct formatted format_percent(uint64_t part, uint64_t whole);

/* A word instead of a number, cut to 47 bytes. */
struct formatted format_word(const char *word);

/* A count and its noun, which gets an s if needed: "1 block", "12 blocks". */
struct formatted format_counted(uint64_t count, const char *noun, bool exact);

/*
 * A class of sizes (scale.h): "9 B", "17–32 B", "1–2 KiB". The last means above 1 KiB and up to 2
 * KiB. Units are of 1024 because classes are.
 */
struct formatted format_size_class(uint64_t smallest, uint64_t largest);

/* A class of times: "up to 1 ns", "512 ns–1 us", "1–2 us". */
struct formatted format_time_class(uint64_t shortest, uint64_t longest);

#endif
