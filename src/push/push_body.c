#include "push/push_body.h"

#include <string.h>
#include <sys/random.h>

#include "hosted/cleanup.h"
#include "hosted/compressor.h"
#include "hosted/encode.h"
#include "hosted/json_writer.h"
#include "push/otlp.h"

void push_id(uint8_t ret[16])
{
	// It does not fail for so few bytes (getrandom(2)).
	if (getrandom(ret, 16, 0) < 0)
		memset(ret, 0, 16);
}

/* The metric's name in both stores, which Go's heap profiles have, too. */
#define METRIC "memory"

static void put_label(struct json_writer *json, const char *name, const char *value)
{
	json_object(json);
	json_field_text(json, "name", name);
	json_field_text(json, "value", value);
	json_end(json);
}

static void put_labels(struct json_writer *json, const struct push_profile *profile)
{
	json_key(json, "labels");
	json_array(json);
	put_label(json, "__name__", METRIC);
	for (size_t i = 0; i < profile->label_count; i++) {
		const struct push_label *label = &profile->labels[i];

		put_label(json, strcmp(label->name, "service") ? label->name : "service_name",
			  label->value);
	}
	json_end(json);
}

/* The profile as such messages have it: gzip in base64. */
static struct err *put_raw(struct json_writer *json, const struct push_profile *profile)
{
	cleanup(buf_deinit) struct buf packed = BUF_EMPTY;
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct err *err = gzip_put(&packed, profile->pprof, profile->size, GZIP_USUAL);

	if (err)
		return err;
	base64_put(&text, packed.data, packed.size);
	if (!buf_string(&text))
		return err_no_memory();
	json_field_text(json, "rawProfile", buf_string(&text));
	return NULL;
}

/* A random UUID (RFC 9562, version 4). */
static void put_id(struct json_writer *json)
{
	uint8_t id[16];
	char text[37];
	size_t at = 0;

	push_id(id);
	for (size_t i = 0; i < 16; i++) {
		uint8_t byte = i == 6   ? (id[i] & 0x0f) | 0x40
			       : i == 8 ? (id[i] & 0x3f) | 0x80
					: id[i];

		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%02x", byte);
	}
	json_field_text(json, "ID", text);
}

/*
 * push.v1.PushRequest and parca.profilestore.v1alpha1.WriteRawRequest in JSON. Parca has its list
 * of labels in a message of its own.
 */
static struct err *put_series(struct buf *buf, enum push_store store,
			      const struct push_profile *profile)
{
	struct json_writer json;
	struct err *err;

	json_init(&json, buf, false);
	json_object(&json);
	json_key(&json, "series");
	json_array(&json);
	json_object(&json);
	if (store == PUSH_PARCA) {
		json_key(&json, "labels");
		json_object(&json);
	}
	put_labels(&json, profile);
	if (store == PUSH_PARCA)
		json_end(&json);
	json_key(&json, "samples");
	json_array(&json);
	json_object(&json);
	if (store == PUSH_PYROSCOPE)
		put_id(&json);
	err = put_raw(&json, profile);
	if (err)
		return err;
	for (int i = 0; i < 5; i++)
		json_end(&json);
	return NULL;
}

struct err *push_body_put(struct buf *buf, enum push_store store,
			  const struct push_profile *profile)
{
	return store == PUSH_OTLP ? otlp_put(buf, profile) : put_series(buf, store, profile);
}

const char *push_body_type(enum push_store store)
{
	return store == PUSH_OTLP ? "application/x-protobuf" : "application/json";
}
