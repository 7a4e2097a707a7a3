#include "push/otlp.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/protobuf_writer.h"
#include "hosted/vec.h"
#include "trace/cursor.h"

#define TYPES_MAX 16

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* Fields of perftools.profiles.Profile, and of the messages in it. */
enum {
	TYPE = 1,
	SAMPLE = 2,
	MAPPING = 3,
	LOCATION = 4,
	FUNCTION = 5,
	STRING = 6,
	TIME = 9,
	DURATION = 10,
	PERIOD_TYPE = 11,
	PERIOD = 12
};

/* Fields of ProfilesDictionary. */
enum {
	TO_MAPPING = 1,
	TO_LOCATION = 2,
	TO_FUNCTION = 3,
	TO_LINK = 4,
	TO_STRING = 5,
	TO_ATTRIBUTE = 6,
	TO_STACK = 7
};

/* A field of a message. */
struct field {
	uint64_t number, value;
	struct cursor inner; /* of what has a length */
};

struct otlp {
	struct buf dictionary, message, inner;
	struct buf samples[TYPES_MAX]; /* of each kind of value */
	uint64_t types[TYPES_MAX][2];  /* strings: its name and unit */
	size_t type_count;
	uint64_t stacks, strings, attributes;
	VEC(uint64_t) numbers;    /* of a packed list */
	VEC(struct cursor) texts; /* the strings */
	uint64_t time, duration, period, period_type[2];
};

static void otlp_deinit(struct otlp *otlp)
{
	buf_deinit(&otlp->dictionary);
	buf_deinit(&otlp->message);
	buf_deinit(&otlp->inner);
	for (size_t i = 0; i < TYPES_MAX; i++)
		buf_deinit(&otlp->samples[i]);
	vec_deinit(&otlp->numbers);
	vec_deinit(&otlp->texts);
}

/* Takes the next field. false: there is none, or the message is damaged. */
static bool take_field(struct cursor *message, struct field *ret)
{
	uint64_t tag;

	if (!cursor_left(message))
		return false;
	tag = cursor_varint(message);
	*ret = (struct field){.number = tag >> 3, .value = cursor_varint(message)};
	if ((tag & 7) == WIRE_BYTES) {
		const uint8_t *bytes = cursor_bytes(message, ret->value);

		ret->inner = cursor_make(bytes, bytes ? ret->value : 0);
	} else if ((tag & 7) != WIRE_VARINT) {
		cursor_fail(message);
	}
	return !message->failed;
}

/* Reads the numbers of a small message: values[i] of field i + 1. Its messages are left out. */
static void take_numbers(struct cursor message, uint64_t *values, size_t count)
{
	struct field field;

	memset(values, 0, count * sizeof(*values));
	while (take_field(&message, &field))
		if (field.number >= 1 && field.number <= count && !field.inner.at)
			values[field.number - 1] = field.value;
}

static void put_to(struct otlp *otlp, uint32_t table)
{
	protobuf_message(&otlp->dictionary, table, &otlp->message);
}

/* Adds a string, and returns its number. */
static uint64_t put_string(struct otlp *otlp, const char *text)
{
	protobuf_text(&otlp->dictionary, TO_STRING, text);
	return otlp->strings++;
}

/* A build id is an attribute of its file. */
static void put_mapping(struct otlp *otlp, struct cursor message, uint64_t key)
{
	uint64_t from[6], attribute = 0;

	take_numbers(message, from, 6);
	if (from[5] && from[5] < otlp->texts.count) {
		const struct cursor *text = &otlp->texts.items[from[5]];

		protobuf_u64(&otlp->message, 1, key);
		buf_varint(&otlp->inner, 1 << 3 | WIRE_BYTES); // AnyValue.string_value
		buf_varint(&otlp->inner, cursor_left(text));
		buf_put(&otlp->inner, text->at, cursor_left(text));
		protobuf_message(&otlp->message, 2, &otlp->inner);
		put_to(otlp, TO_ATTRIBUTE);
		attribute = otlp->attributes++;
	}
	for (uint32_t i = 0; i < 4; i++) // start, limit, offset, file
		protobuf_u64(&otlp->message, i + 1, from[i + 1]);
	protobuf_packed(&otlp->message, 5, &attribute, attribute != 0);
	put_to(otlp, TO_MAPPING);
}

static void put_location(struct otlp *otlp, struct cursor message)
{
	struct field field;
	uint64_t from[3], line[3];

	take_numbers(message, from, 3);
	protobuf_u64(&otlp->message, 1, from[1]);
	protobuf_u64(&otlp->message, 2, from[2]);
	while (take_field(&message, &field)) {
		if (field.number != 4 || !field.inner.at)
			continue;
		take_numbers(field.inner, line, 3);
		for (uint32_t i = 0; i < 3; i++)
			protobuf_u64(&otlp->inner, i + 1, line[i]);
		protobuf_message(&otlp->message, 3, &otlp->inner);
	}
	put_to(otlp, TO_LOCATION);
}

static void put_function(struct otlp *otlp, struct cursor message)
{
	uint64_t from[5];

	take_numbers(message, from, 5);
	for (uint32_t i = 1; i < 5; i++) // name, system name, file, line
		protobuf_u64(&otlp->message, i, from[i]);
	put_to(otlp, TO_FUNCTION);
}

static bool take_packed(struct otlp *otlp, struct cursor list)
{
	otlp->numbers.count = 0;
	while (cursor_left(&list))
		if (!vec_push(&otlp->numbers, cursor_varint(&list)))
			return false;
	return true;
}

/* The stack goes into the dictionary, and each value that is not 0 to the samples of its kind. */
static struct err *put_sample(struct otlp *otlp, struct cursor message)
{
	struct field field;

	while (take_field(&message, &field)) {
		if (field.number > 2 || !field.inner.at)
			continue;
		if (!take_packed(otlp, field.inner))
			return err_no_memory();
		if (field.number == 1) {
			protobuf_packed(&otlp->message, 1, otlp->numbers.items,
					otlp->numbers.count);
			put_to(otlp, TO_STACK);
			otlp->stacks++;
			continue;
		}
		for (size_t i = 0; i < otlp->numbers.count && i < otlp->type_count; i++) {
			if (!otlp->numbers.items[i])
				continue;
			protobuf_u64(&otlp->message, 1, otlp->stacks);
			protobuf_packed(&otlp->message, 4, &otlp->numbers.items[i], 1);
			protobuf_message(&otlp->samples[i], 2, &otlp->message);
		}
	}
	return NULL;
}

/* Reads what others refer to by position: kinds of values, and strings. */
static struct err *read_lists(struct otlp *otlp, struct cursor message)
{
	struct field field;

	while (take_field(&message, &field)) {
		switch (field.number) {
		case TYPE:
			if (otlp->type_count < TYPES_MAX)
				take_numbers(field.inner, otlp->types[otlp->type_count++], 2);
			break;
		case STRING:
			if (!vec_push(&otlp->texts, field.inner))
				return err_no_memory();
			break;
		case PERIOD_TYPE:
			take_numbers(field.inner, otlp->period_type, 2);
			break;
		case TIME:
			otlp->time = field.value;
			break;
		case DURATION:
			otlp->duration = field.value;
			break;
		case PERIOD:
			otlp->period = field.value;
			break;
		default:
			break;
		}
	}
	return message.failed ? err_create("the profile is damaged") : NULL;
}

/* Entry 0 of each table stands for none; that of strings is pprof's own. */
static void put_nones(struct otlp *otlp)
{
	for (uint32_t table = TO_MAPPING; table <= TO_STACK; table++)
		if (table != TO_STRING)
			put_to(otlp, table);
	otlp->attributes = 1;
}

static struct err *put_tables(struct otlp *otlp, struct cursor message)
{
	struct field field;
	struct err *err = NULL;
	uint64_t key;

	put_nones(otlp);
	for (size_t i = 0; i < otlp->texts.count; i++) {
		const struct cursor *text = &otlp->texts.items[i];

		buf_put(&otlp->message, text->at, cursor_left(text));
		put_to(otlp, TO_STRING);
	}
	otlp->strings = otlp->texts.count;
	key = put_string(otlp, "process.executable.build_id.gnu");
	while (!err && take_field(&message, &field)) {
		if (field.number == MAPPING)
			put_mapping(otlp, field.inner, key);
		else if (field.number == LOCATION)
			put_location(otlp, field.inner);
		else if (field.number == FUNCTION)
			put_function(otlp, field.inner);
		else if (field.number == SAMPLE)
			err = put_sample(otlp, field.inner);
	}
	return err;
}

static void put_type(struct buf *buf, struct buf *scratch, uint32_t field, const uint64_t type[2])
{
	protobuf_u64(scratch, 1, type[0]);
	protobuf_u64(scratch, 2, type[1]);
	protobuf_message(buf, field, scratch);
}

/* Whether a kind of value is what came in a time, and not what there was at its end. */
static bool is_delta(const struct otlp *otlp, size_t type)
{
	const struct cursor *name = otlp->types[type][0] < otlp->texts.count
					    ? &otlp->texts.items[otlp->types[type][0]]
					    : NULL;

	return name && cursor_left(name) > 6 && !memcmp(name->at, "alloc_", 6);
}

/* One profile for each kind of value. */
static void put_profiles(struct otlp *otlp, struct buf *scope)
{
	for (size_t i = 0; i < otlp->type_count; i++) {
		struct buf *out = &otlp->samples[i];
		uint8_t id[16];

		put_type(out, &otlp->inner, 1, otlp->types[i]);
		protobuf_fixed64(out, 3, otlp->time);
		protobuf_u64(out, 4, is_delta(otlp, i) ? otlp->duration : 0);
		put_type(out, &otlp->inner, 5, otlp->period_type);
		protobuf_u64(out, 6, otlp->period);
		push_id(id);
		buf_put(&otlp->inner, id, sizeof(id));
		protobuf_message(out, 7, &otlp->inner);
		protobuf_message(scope, 2, out);
	}
}

/* What the semantic conventions call our labels. */
static const char *attribute_name(const char *label)
{
	static const char *const names[][2] = {{"service", "service.name"},
					       {"version", "service.version"},
					       {"host", "host.name"},
					       {"env", "deployment.environment.name"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i][0], label))
			return names[i][1];
	return label;
}

static void put_resource(struct otlp *otlp, const struct push_profile *profile, struct buf *out)
{
	cleanup(buf_deinit) struct buf resource = BUF_EMPTY;

	for (size_t i = 0; i < profile->label_count; i++) {
		protobuf_text(&otlp->message, 1, attribute_name(profile->labels[i].name));
		protobuf_text(&otlp->inner, 1, profile->labels[i].value);
		protobuf_message(&otlp->message, 2, &otlp->inner);
		protobuf_message(&resource, 1, &otlp->message);
	}
	protobuf_message(out, 1, &resource);
}

struct err *otlp_put(struct buf *buf, const struct push_profile *profile)
{
	const struct cursor pprof = cursor_make(profile->pprof, profile->size);
	cleanup(otlp_deinit) struct otlp otlp = {
		.dictionary = BUF_EMPTY, .message = BUF_EMPTY, .inner = BUF_EMPTY};
	cleanup(buf_deinit) struct buf scope = BUF_EMPTY;
	cleanup(buf_deinit) struct buf resource = BUF_EMPTY;
	struct err *err;

	for (size_t i = 0; i < TYPES_MAX; i++)
		buf_init(&otlp.samples[i]);
	err = read_lists(&otlp, pprof);
	if (!err)
		err = put_tables(&otlp, pprof);
	if (err)
		return err;
	put_profiles(&otlp, &scope);
	put_resource(&otlp, profile, &resource);
	protobuf_message(&resource, 2, &scope);
	protobuf_message(buf, 1, &resource);
	protobuf_message(buf, 2, &otlp.dictionary);
	return buf_finish(buf);
}
