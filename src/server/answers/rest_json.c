#include "server/answers/rest_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#define SECOND UINT64_C(1000000000)

void rest_json_field_time(struct json_writer *json, const char *key, uint64_t ns)
{
	json_key(json, key);
	json_object(json);
	json_field_u64(json, "secs", ns / SECOND);
	json_field_u64(json, "fract_nsecs", ns % SECOND);
	json_end(json);
}

void rest_json_field_moment(struct json_writer *json, const char *key, uint64_t since_start_ns,
			    const struct recording_facts *facts)
{
	char name[64];
	uint64_t run = facts->duration_ns;

	rest_json_field_time(json, key, facts->start_realtime_ns + since_start_ns);
	snprintf(name, sizeof(name), "%s_relative", key);
	rest_json_field_time(json, name, since_start_ns);
	snprintf(name, sizeof(name), "%s_relative_p", key);
	// Clients read it as a float, which holds six digits.
	json_key(json, name);
	json_decimal(json, run ? (double)since_start_ns / (double)run : 0, 6);
}

void rest_json_field_address(struct json_writer *json, const char *key, uint64_t address)
{
	char name[64], text[24];

	json_field_u64(json, key, address);
	snprintf(name, sizeof(name), "%s_s", key);
	snprintf(text, sizeof(text), "%016" PRIX64, address);
	json_field_text(json, name, text);
}

void rest_json_field_thread(struct json_writer *json, const struct recording *recording,
			    uint32_t thread)
{
	uint32_t count;
	const struct recorded_thread *threads = recording_threads(recording, &count);

	json_key(json, "thread");
	if (thread < count)
		json_u64(json, threads[thread].tid);
	else
		json_null(json);
}

void rest_json_field_column(struct json_writer *json, const char *key, const void *first,
			    size_t size, size_t count)
{
	json_key(json, key);
	json_array(json);
	for (size_t i = 0; i < count; i++)
		json_u64(json, *(const uint64_t *)((const char *)first + i * size));
	json_end(json);
}

void rest_json_field_access(struct json_writer *json, const struct mapping_operation *mapping)
{
	json_field_bool(json, "is_readable", mapping->protection & PROT_READ);
	json_field_bool(json, "is_writable", mapping->protection & PROT_WRITE);
	json_field_bool(json, "is_executable", mapping->protection & PROT_EXEC);
}
