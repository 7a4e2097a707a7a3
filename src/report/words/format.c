#include "report/words/format.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

/* "1234567" as "1,234,567" */
static struct formatted separated(uint64_t value)
{
	char digits[24];
	struct formatted result = {0};
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%ju", (uintmax_t)value);
	char *out = result.text;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = 0;
	return result;
}

/*
 * Three significant digits. Each unit is 1000 of the one before; the largest in which the rounded
 * number is at least 1 is taken: 999,600 is "1.00 M" and not "1000 K".
 */
static struct formatted scaled(double value, const char *const *units, size_t count)
{
	struct formatted result = {0};
	size_t unit = 0;

	while (unit + 1 < count && value >= 999.5) {
		value /= 1000;
		unit++;
	}
	if (unit == 0)
		snprintf(result.text, sizeof(result.text), "%.0f%s", value, units[0]);
	else
		snprintf(result.text, sizeof(result.text), "%.*f%s",
			 value < 9.995   ? 2
			 : value < 99.95 ? 1
					 : 0,
			 value, units[unit]);
	return result;
}

struct formatted format_bytes(uint64_t bytes, bool exact)
{
	static const char *const units[] = {" B", " KB", " MB", " GB", " TB", " PB", " EB"};
	struct formatted result = {0};

	if (!exact)
		return scaled((double)bytes, units, ARRAY_COUNT(units));
	result = separated(bytes);
	strcat(result.text, " B");
	return result;
}

struct formatted format_count(uint64_t count, bool exact)
{
	static const char *const units[] = {"", " K", " M", " G", " T", " P", " E"};

	if (exact || count < 10000000)
		return separated(count);
	return scaled((double)count, units, ARRAY_COUNT(units));
}

struct formatted format_change(int64_t change, bool bytes, bool exact)
{
	struct formatted result = {0};
	uint64_t size = change < 0 ? 0 - (uint64_t)change : (uint64_t)change;

	snprintf(result.text, sizeof(result.text), "%s%.40s",
		 change < 0   ? "-"
		 : change > 0 ? "+"
			      : "",
		 (bytes ? format_bytes(size, exact) : format_count(size, exact)).text);
	return result;
}

struct formatted format_time(uint64_t ns)
{
	static const char *const units[] = {" ns", " us", " ms", " s"};
	struct formatted result = {0};
	uint64_t seconds = ns / 1000000000 + (ns % 1000000000 >= 500000000);

	if (ns < 59995000000)
		return scaled((double)ns, units, ARRAY_COUNT(units));
	if (seconds < 3600)
		snprintf(result.text, sizeof(result.text), "%jum%02jus", (uintmax_t)(seconds / 60),
			 (uintmax_t)(seconds % 60));
	else
		snprintf(result.text, sizeof(result.text), "%juh%02jum%02jus",
			 (uintmax_t)(seconds / 3600), (uintmax_t)(seconds / 60 % 60),
			 (uintmax_t)(seconds % 60));
	return result;
}

/*
 * value with three digits behind the point, in the largest unit of which it has at least one. Each
 * unit is 1000 of the one before.
 */
static struct formatted thousandths(uint64_t value, const char *const *units, size_t count)
{
	struct formatted result = {0};
	uint64_t rest = 0;
	size_t unit = 0;

	for (; unit + 1 < count && value >= 1000; unit++) {
		rest = value % 1000;
		value /= 1000;
	}
	if (unit)
		snprintf(result.text, sizeof(result.text), "%ju.%03ju %s", (uintmax_t)value,
			 (uintmax_t)rest, units[unit]);
	else
		snprintf(result.text, sizeof(result.text), "%ju %s", (uintmax_t)value, units[0]);
	return result;
}

struct formatted format_bytes_fine(uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KB", "MB", "GB"};

	return thousandths(bytes, units, ARRAY_COUNT(units));
}

struct formatted format_age(uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "secs"};
	struct formatted result = {0};
	uint64_t seconds = ns / 1000000000;

	if (seconds < 60)
		return thousandths(ns, units, ARRAY_COUNT(units));
	if (seconds < 3600)
		snprintf(result.text, sizeof(result.text), "%ju mins %ju secs",
			 (uintmax_t)(seconds / 60), (uintmax_t)(seconds % 60));
	else
		snprintf(result.text, sizeof(result.text), "%ju hours %ju mins",
			 (uintmax_t)(seconds / 3600), (uintmax_t)(seconds / 60 % 60));
	return result;
}

struct formatted format_percent(uint64_t part, uint64_t whole)
{
	struct formatted result = {0};
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!whole)
		snprintf(result.text, sizeof(result.text), "-");
	else if (part && percent < 0.05)
		snprintf(result.text, sizeof(result.text), "<0.1 %%");
	else if (percent >= 99.95)
		snprintf(result.text, sizeof(result.text), "%.0f %%", percent);
	else
		snprintf(result.text, sizeof(result.text), "%.1f %%", percent);
	return result;
}

struct formatted format_word(const char *word)
{
	struct formatted result = {0};

	snprintf(result.text, sizeof(result.text), "%s", word);
	return result;
}

struct formatted format_counted(uint64_t count, const char *noun, bool exact)
{
	struct formatted result = {0};

	snprintf(result.text, sizeof(result.text), "%.26s %.16s%s", format_count(count, exact).text,
		 noun, count == 1 ? "" : "s");
	return result;
}

#define DASH "\xe2\x80\x93"

struct unit {
	uint64_t size;
	const char *name;
};

/* The largest unit of which value has at least one. units: in ascending order. */
static const struct unit *unit_of(uint64_t value, const struct unit *units, size_t count)
{
	while (--count && units[count].size > value)
		;
	return &units[count];
}

/* A range, each bound in its unit. A unit that both share is named once. */
static struct formatted between(uint64_t low, uint64_t high, const struct unit *units, size_t count)
{
	const struct unit *unit_low = unit_of(low, units, count);
	const struct unit *unit_high = unit_of(high, units, count);
	struct formatted result = {0};

	snprintf(result.text, sizeof(result.text), "%ju%s" DASH "%ju%s",
		 (uintmax_t)(low / unit_low->size), unit_low == unit_high ? "" : unit_low->name,
		 (uintmax_t)(high / unit_high->size), unit_high->name);
	return result;
}

struct formatted format_size_class(uint64_t smallest, uint64_t largest)
{
	static const struct unit units[] = {
		{1, " B"},
		{UINT64_C(1) << 10, " KiB"},
		{UINT64_C(1) << 20, " MiB"},
		{UINT64_C(1) << 30, " GiB"},
		{UINT64_C(1) << 40, " TiB"},
		{UINT64_C(1) << 50, " PiB"},
		{UINT64_C(1) << 60, " EiB"},
	};
	struct formatted result = {0};

	if (smallest == largest)
		return format_bytes(smallest, true);
	if (largest < UINT64_MAX)
		return between(smallest > 1024 ? smallest - 1 : smallest, largest, units,
			       ARRAY_COUNT(units));
	snprintf(result.text, sizeof(result.text), "above 8 EiB");
	return result;
}

struct formatted format_time_class(uint64_t shortest, uint64_t longest)
{
	static const struct unit units[] = {
		{1, " ns"}, {1000, " us"}, {1000000, " ms"}, {1000000000, " s"}};
	struct formatted result = {0};

	if (!shortest)
		snprintf(result.text, sizeof(result.text), "up to %ju ns", (uintmax_t)longest);
	else if (longest < UINT64_MAX)
		return between(shortest - 1, longest, units, ARRAY_COUNT(units));
	else
		snprintf(result.text, sizeof(result.text), "above %ju s",
			 (uintmax_t)((shortest - 1) / 1000000000));
	return result;
}
