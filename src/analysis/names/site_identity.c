#include "analysis/names/site_identity.h"

#include <inttypes.h>
#include <stdlib.h>

#include "hosted/buf.h"
#include "trace/checksum.h"

struct site_identity_node {
	struct site_identity identity;
	bool known;
};

struct site_identity_frame {
	uint64_t place;     /* the hash of where it is */
	uint32_t functions; /* the first of its functions' hashes, outermost first … */
	uint32_t count;     /* … and how many there are; 0: the frame is not known yet */
	bool weak;
};

void site_identities_deinit(struct site_identities *identities)
{
	free(identities->nodes);
	free(identities->frames);
	vec_deinit(&identities->functions);
	vec_deinit(&identities->path);
}

/* The bytes of a number, the highest first, as xxHash writes its hashes. */
static XXH64_canonical_t number_bytes(uint64_t number)
{
	XXH64_canonical_t bytes;

	XXH64_canonicalFromHash(&bytes, number);
	return bytes;
}

struct site_identity_text site_identity_text(uint64_t number)
{
	const XXH64_canonical_t bytes = number_bytes(number);
	struct site_identity_text text = {""};

	hex_put(text.digits, bytes.digest, sizeof(bytes.digest));
	return text;
}

/* The number of a frame or function, by that of its caller and its own hash. */
static uint64_t number_below(uint64_t caller, uint64_t hash)
{
	XXH64_canonical_t bytes = number_bytes(hash);

	return XXH64(&bytes, sizeof(bytes), caller);
}

/* Writes what a function is called: without a name, by its file alone, which has no address. */
static void put_function(struct buf *text, const struct named_frame *line)
{
	if (line->has_symbol || (!line->module && !line->address))
		buf_text(text, line->function); // such as "[truncated]", if there is no address
	else
		buf_printf(text, "[%s]", line->module ? line->module_name : "no module");
}

/* Writes where a frame is. line: of its outermost function. */
static void put_place(struct buf *text, const struct recorded_frame *frame,
		      const struct recorded_module *module, const struct named_frame *line)
{
	char build_id[HEX_ROOM(64)];

	if (!module) {
		put_function(text, line);
	} else if (line->script) {
		buf_printf(text, "%s:%" PRIu32 ":%s", file_name(line->module), line->line,
			   line->function);
	} else {
		hex_put(build_id, module->build_id,
			module->build_id_size < 64 ? module->build_id_size : 64);
		buf_printf(text, "%s+%" PRIx64, *build_id ? build_id : line->module_name,
			   frame->pc - 1 - module->bias);
	}
}

/* *ret: the hash of a text, which becomes empty. */
static struct err *hash_text(struct buf *text, uint64_t *ret)
{
	if (text->failure)
		return buf_finish(text);
	*ret = XXH64(text->data, text->size, 0);
	text->size = 0;
	return NULL;
}

static struct err *make_frame(struct site_identities *identities, struct symbolized *symbolized,
			      uint32_t index, struct site_identity_frame *ret)
{
	const struct recording *recording = symbolized_recording(symbolized);
	const struct recorded_frame *frame = &recording_frames(recording, NULL)[index];
	const struct recorded_module *module =
		frame->module == RECORDING_NONE
			? NULL
			: &recording_modules(recording, NULL)[frame->module];
	cleanup(buf_deinit) struct buf text = BUF_EMPTY;
	struct site_identity_frame made = {.functions = (uint32_t)identities->functions.count};
	const struct named_frame *lines;
	size_t count;
	uint64_t hash = 0;
	struct err *err = symbolized_frame(symbolized, index, &lines, &count);

	if (err)
		return err;
	put_place(&text, frame, module, &lines[count - 1]);
	err = hash_text(&text, &made.place);
	for (size_t i = count; !err && i-- > 0;) {
		put_function(&text, &lines[i]);
		err = hash_text(&text, &hash);
		if (!err && !vec_push(&identities->functions, hash))
			err = err_no_memory();
	}
	if (err)
		return err;
	made.weak = !module || (!module->build_id_size && !lines[count - 1].script);
	made.count = (uint32_t)count;
	*ret = made;
	return NULL;
}

static struct err *make_node(struct site_identities *identities, struct symbolized *symbolized,
			     const struct site_identity *caller, uint32_t frame,
			     struct site_identity_node *ret)
{
	struct site_identity_frame *known = &identities->frames[frame];
	struct err *err = known->count ? NULL : make_frame(identities, symbolized, frame, known);

	if (err)
		return err;
	ret->identity = (struct site_identity){
		.site = number_below(caller->site, known->place),
		.shape = caller->shape,
		.weak = caller->weak || known->weak,
	};
	for (uint32_t i = 0; i < known->count; i++)
		ret->identity.shape = number_below(
			ret->identity.shape, identities->functions.items[known->functions + i]);
	ret->known = true;
	return NULL;
}

static struct err *make_tables(struct site_identities *identities,
			       const struct recording *recording)
{
	uint32_t nodes, frames;

	if (identities->frames)
		return NULL;
	recording_stacks(recording, &nodes);
	recording_frames(recording, &frames);
	identities->nodes = calloc((size_t)nodes + 1, sizeof(*identities->nodes));
	identities->frames = calloc((size_t)frames + 1, sizeof(*identities->frames));
	return identities->nodes && identities->frames ? NULL : err_no_memory();
}

struct err *site_identities_find(struct site_identities *identities, struct symbolized *symbolized,
				 uint32_t node, struct site_identity *ret)
{
	const struct stack_node *stacks = recording_stacks(symbolized_recording(symbolized), NULL);
	struct site_identity found = {0};
	struct err *err = make_tables(identities, symbolized_recording(symbolized));

	identities->path.count = 0;
	for (; !err && node != RECORDING_NONE; node = stacks[node].parent) {
		if (identities->nodes[node].known) {
			found = identities->nodes[node].identity;
			break;
		}
		if (!vec_push(&identities->path, node))
			err = err_no_memory();
	}
	if (!err && node == RECORDING_NONE && !identities->path.count)
		found.weak = true;
	for (size_t i = identities->path.count; !err && i-- > 0;) {
		struct site_identity_node *at = &identities->nodes[identities->path.items[i]];

		err = make_node(identities, symbolized, &found,
				stacks[identities->path.items[i]].frame, at);
		found = at->identity;
	}
	if (!err)
		*ret = found;
	return err;
}
