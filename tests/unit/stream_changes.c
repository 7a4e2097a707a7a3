/*
 * What changes.h puts, in its order: a replica that applies the puts is a valid recording after
 * each of them, and equals the writer's file after the last. The writer goes on between any two
 * reads of a look.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/chunks/chunk_index.h"
#include "base/random.h"
#include "check.h"
#include "random_recording.h"
#include "stream/sender/changes.h"
#include "write/recording_file.h"

#define ROUNDS      100 /* random recordings */
#define STRAY_PAGES 3
#define TABLE_PAGES 700
#define TABLE_LOOKS 60
#define SEALED_MOST 4096
#define NO_CUT      SIZE_MAX
#define CUT_MESSAGE "the test cuts here"
#define ALL_CUTS    1 /* recordings of which each put is once the last one of its link */

/* How the writer's file looks while a sealed copy is being written. */
enum part_look {
	PART_HALF, /* its header and its first half are there */
	PART_HOLE, /* its place is reserved, and empty */
	PART_CUT,  /* the file ends in the middle of it */
	PART_LOOKS
};

struct world {
	struct random_recording random;
	uint64_t draws;
	enum part_look part_look;
	bool stray;  /* pages that are no chunk get into the file now and then */
	bool moving; /* the writer goes on while a look reads */
	bool over;   /* it has written all */
	int fd;
	uint8_t *shown; /* what the file at fd holds */
	size_t shown_size;
	uint8_t *scratch; /* for show() */
	size_t scratch_room;

	uint8_t *replica;
	size_t replica_size, replica_room;
	size_t puts, cut; /* the put that fails */
	bool unchecked;   /* puts before the cut: other runs check them */
	uint64_t sealed[SEALED_MOST];
	size_t sealed_count;
};

static struct world *moved; /* by byte_source_read(); NULL: nobody */

struct err *__real_byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
				    size_t size, size_t *ret);
struct err *__wrap_byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
				    size_t size, size_t *ret);

static uint64_t draw(struct world *world, uint64_t below)
{
	return random_next(&world->draws) % below;
}

static void write_page(const struct world *world, size_t at, const uint8_t *bytes, size_t size)
{
	assert_int_equal(pwrite(world->fd, bytes, size, (off_t)at), size);
}

/* The size of the sealed chunk at `at` that is not whole yet. 0: it is whole, or there is none. */
static size_t part_size(const struct random_recording *random, size_t at)
{
	struct trace_chunk header;
	const char *expected;

	if (!at || at + sizeof(header) > random->size ||
	    chunk_check(random->file + at, &header, &expected) != CHUNK_VALID ||
	    header.flags & TRACE_CHUNK_SLOT || header.size > random->size - at ||
	    chunk_check_trailer(random->file + at, header.size))
		return 0;
	return header.size;
}

/* Shows the random recording in the file, but for parts of chunks that are being written. */
static void show(struct world *world)
{
	const struct random_recording *random = &world->random;
	size_t size = random->size;
	uint8_t *now;

	if (size > world->scratch_room) {
		world->scratch_room = 2 * size;
		free(world->scratch);
		world->scratch = malloc(world->scratch_room);
		assert_non_null(world->scratch);
	}
	now = world->scratch;
	memcpy(now, random->file, size);
	for (uint32_t i = 0; i < RANDOM_STREAMS && world->part_look != PART_HALF; i++) {
		size_t at = random->streams[i].part, part = part_size(random, at);

		if (part && world->part_look == PART_HOLE)
			memset(now + at, 0, part);
		else if (part && at + part == size && size - part / 3 >= world->shown_size)
			size -= part / 3;
	}
	if (size < world->shown_size)
		size = world->shown_size;
	if (size > world->shown_size) {
		world->shown = realloc(world->shown, size);
		assert_non_null(world->shown);
		memset(world->shown + world->shown_size, 0, size - world->shown_size);
		assert_int_equal(ftruncate(world->fd, (off_t)size), 0);
		world->shown_size = size;
	}
	for (size_t at = 0; at < size; at += TRACE_PAGE) {
		size_t page = size - at < TRACE_PAGE ? size - at : TRACE_PAGE;

		if (memcmp(world->shown + at, now + at, page) == 0)
			continue;
		memcpy(world->shown + at, now + at, page);
		write_page(world, at, now + at, page);
	}
}

/* Bytes at the file's end that are no chunk, as a writer leaves them that reserved too much. */
static void add_stray(struct world *world)
{
	struct random_recording *random = &world->random;
	size_t size = (1 + draw(world, STRAY_PAGES)) * TRACE_PAGE, at = random->size;

	random->file = realloc(random->file, at + size);
	assert_non_null(random->file);
	memset(random->file + at, 0, size);
	memset(random->file + at + draw(world, TRACE_PAGE / 2), 's', draw(world, TRACE_PAGE / 2));
	random->size += size;
}

static void go_on(struct world *world, size_t items)
{
	if (world->stray && !draw(world, 40))
		add_stray(world);
	world->over = !random_recording_go_on(&world->random, items);
	show(world);
}

struct err *__wrap_byte_source_read(const struct byte_source *source, uint64_t offset, void *buffer,
				    size_t size, size_t *ret)
{
	struct world *world = moved;

	if (world && !source->data && source->fd == world->fd && !world->over && !draw(world, 3))
		go_on(world, 1 + draw(world, draw(world, 10) ? 3 : 40));
	return __real_byte_source_read(source, offset, buffer, size, ret);
}

/* A recording as bytes. */
struct view {
	const uint8_t *data;
	struct chunk_index index;
	struct damage damage;
};

static void look_at(struct view *view, const uint8_t *data, size_t size)
{
	const struct byte_source source = byte_source_memory("bytes", data, size);

	*view = (struct view){.data = data};
	assert_ok(chunk_index_build(&source, &view->damage, &view->index));
}

static const uint8_t *payload_of(const struct view *view, const struct indexed_chunk *chunk)
{
	return chunk->copy ? chunk->copy : view->data + chunk->offset + sizeof(struct trace_chunk);
}

/*
 * All that the replica has, the writer has, too; and of each stream it has all from the beginning
 * to somewhere.
 */
static void compare(const struct view *replica, const struct view *writer)
{
	size_t at = 0;

	if (replica->damage.chunks)
		fail_msg("damaged at %#lx: no %s", (unsigned long)replica->damage.first_offset,
			 replica->damage.first_text);
	assert_int_equal(replica->index.missing, 0);
	for (size_t i = 0; i < replica->index.chunks.count; i++) {
		const struct indexed_chunk *has = &replica->index.chunks.items[i], *there;
		bool last = i + 1 == replica->index.chunks.count ||
			    has[1].header.stream != has->header.stream;
		uint32_t committed = chunk_committed(&has->header);

		for (;; at++) {
			assert_true(at < writer->index.chunks.count);
			there = &writer->index.chunks.items[at];
			if (there->header.stream == has->header.stream &&
			    chunk_sequence(&there->header) == chunk_sequence(&has->header))
				break;
		}
		assert_true(committed <= chunk_committed(&there->header));
		if (!last)
			assert_int_equal(committed, chunk_committed(&there->header));
		// A writer begins a chunk by its commit word, and then stores the other fields.
		if (committed)
			assert_int_equal(has->header.base_ticks, there->header.base_ticks);
		assert_memory_equal(payload_of(replica, has), payload_of(writer, there), committed);
	}
}

static void check_bytes(const uint8_t *replica, size_t replica_size, const uint8_t *writer,
			size_t writer_size)
{
	struct view has, there;

	look_at(&has, replica, replica_size);
	look_at(&there, writer, writer_size);
	compare(&has, &there);
	chunk_index_deinit(&has.index);
	chunk_index_deinit(&there.index);
}

static void apply(struct world *world, uint64_t offset, const void *data, size_t size)
{
	if (offset + size > world->replica_room) {
		world->replica_room = (offset + size) * 2;
		world->replica = realloc(world->replica, world->replica_room);
		assert_non_null(world->replica);
	}
	if (offset + size > world->replica_size) {
		memset(world->replica + world->replica_size, 0,
		       offset + size - world->replica_size);
		world->replica_size = offset + size;
	}
	memcpy(world->replica + offset, data, size);
}

static struct err *put(void *argument, uint64_t offset, const void *data, size_t size)
{
	struct world *world = argument;

	assert_true(size > 0 && size <= 1u << 20);
	if (world->puts++ == world->cut)
		return err_create(CUT_MESSAGE);
	apply(world, offset, data, size);
	if (!world->unchecked)
		check_bytes(world->replica, world->replica_size, world->random.file,
			    world->random.size);
	return NULL;
}

static struct err *sealed(void *argument, uint64_t offset, uint64_t size)
{
	struct world *world = argument;

	assert_true(world->sealed_count < SEALED_MOST);
	// It is there as a whole.
	assert_true(offset + size <= world->replica_size);
	assert_true(chunk_check_trailer(world->replica + offset, size));
	assert_memory_equal(world->replica + offset, world->random.file + offset, size);
	world->sealed[world->sealed_count++] = offset;
	return NULL;
}

static const struct changes_sink *sink_of(struct world *world, struct changes_sink *sink)
{
	*sink = (struct changes_sink){.put = put, .sealed = sealed, .argument = world};
	return sink;
}

static void begin(struct world *world, uint64_t seed)
{
	*world = (struct world){.draws = seed, .cut = NO_CUT};
	random_recording_init(&world->random, seed);
	world->part_look = (enum part_look)draw(world, PART_LOOKS);
	world->stray = draw(world, 2);
	world->moving = draw(world, 4);
	world->fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(world->fd >= 0);
	go_on(world, draw(world, 3) * draw(world, 500));
}

static void end(struct world *world)
{
	random_recording_deinit(&world->random);
	free(world->shown);
	free(world->scratch);
	free(world->replica);
	close(world->fd);
}

/* A new link: what its sender puts, and what its receiver says that it has. */
static struct changes *connect_to(struct world *world)
{
	struct changes *changes;
	const char *expected;

	assert_ok(changes_create(world->fd, "recording", &changes));
	if (!world->replica_size)
		apply(world, 0, changes_header(changes), TRACE_PAGE);
	for (uint64_t at = TRACE_PAGE; at + TRACE_PAGE <= world->replica_size;) {
		struct trace_chunk header;

		if (chunk_check(world->replica + at, &header, &expected) != CHUNK_VALID) {
			at += TRACE_PAGE;
			continue;
		}
		if (header.flags & TRACE_CHUNK_SEALED && header.size <= world->replica_size - at)
			assert_ok(changes_skip(changes, at, header.size));
		at += header.size;
	}
	world->sealed_count = 0;
	return changes;
}

static int compare_offsets(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Each sealed chunk of the file was told once. */
static void check_sealed(struct world *world)
{
	const struct random_recording *random = &world->random;
	size_t told = 0;

	qsort(world->sealed, world->sealed_count, sizeof(*world->sealed), compare_offsets);
	for (size_t at = TRACE_PAGE; at + TRACE_PAGE <= random->size;) {
		struct trace_chunk header;
		const char *expected;

		if (chunk_check(random->file + at, &header, &expected) != CHUNK_VALID) {
			at += TRACE_PAGE;
			continue;
		}
		if (header.flags & TRACE_CHUNK_SEALED) {
			assert_true(told < world->sealed_count);
			assert_int_equal(world->sealed[told++], at);
		}
		at += header.size;
	}
	assert_int_equal(told, world->sealed_count);
}

/* Looks until the cut, or the end. false: it was cut. */
static bool follow(struct world *world, struct changes *changes)
{
	struct changes_sink sink;
	enum changes_look which = CHANGES_NOW;
	struct err *err = NULL;
	bool changed;

	while (!err && which == CHANGES_NOW) {
		which = world->over ? CHANGES_LAST : CHANGES_NOW;
		moved = world->moving ? world : NULL;
		err = changes_look(changes, which, sink_of(world, &sink), &changed);
		moved = NULL;
		if (!world->over)
			go_on(world, 1 + draw(world, 200));
	}
	if (err)
		assert_string_equal(err_message(err), CUT_MESSAGE);
	err_destroy(err);
	return !err;
}

static void check_end(struct world *world, const struct changes *changes)
{
	assert_int_equal(changes_size(changes), world->random.size);
	// The receiver gives the file its size.
	if (world->replica_size < world->random.size)
		apply(world, world->random.size - 1, "", 1);
	assert_int_equal(world->replica_size, world->random.size);
	assert_memory_equal(world->replica, world->random.file, world->random.size);
	check_sealed(world);
}

/* One recording; the link is cut at that put, and another one goes on. Returns how many puts. */
static size_t run_checked(uint64_t seed, size_t cut, bool unchecked_before, bool checked_after)
{
	struct world world;
	struct changes *changes;
	size_t puts;

	begin(&world, seed);
	world.cut = cut;
	world.unchecked = unchecked_before;
	changes = connect_to(&world);
	if (!follow(&world, changes)) {
		changes_destroy(changes);
		world.cut = NO_CUT;
		world.unchecked = !checked_after;
		go_on(&world, draw(&world, 100));
		changes = connect_to(&world);
		assert_true(follow(&world, changes));
	}
	check_end(&world, changes);
	puts = world.puts;
	changes_destroy(changes);
	end(&world);
	return puts;
}

static size_t run(uint64_t seed, size_t cut, bool unchecked)
{
	return run_checked(seed, cut, unchecked, true);
}

static void test_valid_after_each_put(void **state)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		run(seed, NO_CUT, false);
}

static void test_link_breaks(void **state)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		run(seed, random_mix(seed) % 100, true);
}

/* At every put of some recordings. */
static void test_link_breaks_anywhere(void **state)
{
	for (uint64_t seed = 1; seed <= ALL_CUTS; seed++) {
		size_t puts = run(seed, NO_CUT, true);

		// What follows a cut is checked in steps, for time.
		for (size_t cut = 0; cut < puts; cut++)
			run_checked(seed, cut, true, cut % 16 == 0);
	}
}

/* One look at a file of which the test knows what was put. */
static void look_once(struct world *world, struct changes *changes, enum changes_look which)
{
	struct changes_sink sink;
	bool changed;

	assert_ok(changes_look(changes, which, sink_of(world, &sink), &changed));
}

/* The fields of a slot whose commit word stays as it was: a chunk that begins, and gets nothing. */
static void test_fields_alone(void **state)
{
	struct trace_chunk slot = {0};
	struct changes *changes;
	struct world world;
	size_t at = 0;

	begin(&world, 1);
	world.unchecked = true;
	go_on(&world, 20);
	while (slot.magic != TRACE_CHUNK_MAGIC || slot.flags != TRACE_CHUNK_SLOT) {
		at += TRACE_PAGE;
		assert_true(at + sizeof(slot) <= world.shown_size);
		memcpy(&slot, world.shown + at, sizeof(slot));
	}
	changes = connect_to(&world);
	look_once(&world, changes, CHANGES_NOW);
	slot.open_ticks += 7;
	write_page(&world, at, (const uint8_t *)&slot, sizeof(slot));
	look_once(&world, changes, CHANGES_LAST);
	assert_memory_equal(world.replica + at, &slot, sizeof(slot));
	changes_destroy(changes);
	end(&world);
}

/* A live table: pages change, get holes, and are appended. */
static void change_table(struct world *world, size_t *pages)
{
	uint8_t page[TRACE_PAGE];

	*pages += draw(world, 3) ? 0 : draw(world, TABLE_PAGES / 8);
	assert_int_equal(ftruncate(world->fd, (off_t)(*pages * TRACE_PAGE)), 0);
	for (size_t i = draw(world, 20); i; i--) {
		size_t at = (1 + draw(world, *pages - 1)) * TRACE_PAGE;

		memset(page, draw(world, 4) ? (int)draw(world, 256) : 0, sizeof(page));
		if (draw(world, 3))
			write_page(world, at, page, sizeof(page));
		else
			fallocate(world->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
				  TRACE_PAGE);
	}
}

static void check_table(struct world *world, size_t pages)
{
	uint8_t *file = malloc(pages * TRACE_PAGE);

	assert_non_null(file);
	assert_int_equal(pread(world->fd, file, pages * TRACE_PAGE, 0), pages * TRACE_PAGE);
	if (world->replica_size < pages * TRACE_PAGE)
		apply(world, pages * TRACE_PAGE - 1, "", 1);
	assert_int_equal(world->replica_size, pages * TRACE_PAGE);
	assert_memory_equal(world->replica, file, pages * TRACE_PAGE);
	free(file);
}

static void test_live_table(void **state)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct trace_header header = {.magic = TRACE_MAGIC,
					      .version_major = TRACE_VERSION_MAJOR,
					      .header_size = TRACE_PAGE,
					      .pointer_size = 8,
					      .clock = TRACE_CLOCK_TSC,
					      .flags = TRACE_LIVE};
		struct world world = {.draws = seed, .cut = NO_CUT, .unchecked = true};
		size_t pages = 2;
		struct changes *changes;

		world.fd = memfd_create("table", MFD_CLOEXEC);
		assert_true(world.fd >= 0);
		change_table(&world, &pages);
		write_page(&world, 0, (const uint8_t *)&header, sizeof(header));
		changes = connect_to(&world);
		for (int look = 0; look < TABLE_LOOKS; look++) {
			change_table(&world, &pages);
			look_once(&world, changes,
				  look == TABLE_LOOKS - 1 ? CHANGES_LAST : CHANGES_NOW);
			check_table(&world, pages);
		}
		assert_int_equal(world.sealed_count, 0);
		changes_destroy(changes);
		free(world.replica);
		close(world.fd);
	}
}

/* The file that the test's writer has written. */
static void show_file(struct world *world)
{
	off_t size = lseek(world->fd, 0, SEEK_END);

	assert_true(size > 0);
	if (world->random.file)
		munmap(world->random.file, world->random.size);
	world->random.size = (size_t)size;
	world->random.file = mmap(NULL, world->random.size, PROT_READ, MAP_SHARED, world->fd, 0);
	assert_ptr_not_equal(world->random.file, MAP_FAILED);
}

/* So many allocations in each of the streams, whose times go on. */
static void record(struct recording_file *file, uint32_t streams, size_t count, uint64_t *ticks)
{
	for (; count; count--)
		for (uint32_t i = 0; i < streams; i++) {
			const struct trace_event event = {.operation = TRACE_OP_MALLOC,
							  .ticks = ++*ticks,
							  .address = random_mix(*ticks) >> 16,
							  .size = 40};

			recording_file_event(file, i, &event, NULL, 0);
		}
}

/* The other writer: its slots are sealed where they stand, some between two looks. */
static void test_recording_file(void **state)
{
	static const uint64_t losses[TRACE_LOSS_COUNTERS];
	const struct trace_header header = {.pid = 1, .pointer_size = 8, .machine = 62};
	struct world world = {.draws = 5, .cut = NO_CUT};
	struct recording_file *file;
	struct changes *changes = NULL;
	uint64_t ticks = 2000;

	world.fd = memfd_create("recording", MFD_CLOEXEC);
	assert_true(world.fd >= 0);
	assert_ok(recording_file_adopt(dup(world.fd), &header, NULL, &file));
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(recording_file_add_stream(file, 1000), i);
	for (int look = 0; look < 12; look++) {
		record(file, 1 + (uint32_t)draw(&world, 3), draw(&world, 60000), &ticks);
		if (look == 11)
			assert_ok(recording_file_end(file, ticks, TRACE_END_DETACHED, 0));
		else
			assert_ok(recording_file_flush(file, losses));
		show_file(&world);
		// The third link goes on with what the second one brought.
		if (look % 5 == 0) {
			changes_destroy(changes);
			changes = connect_to(&world);
		}
		look_once(&world, changes, look == 11 ? CHANGES_LAST : CHANGES_NOW);
	}
	check_end(&world, changes);
	assert_true(world.sealed_count > 3);
	changes_destroy(changes);
	recording_file_close(file);
	munmap(world.random.file, world.random.size);
	free(world.replica);
	close(world.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid_after_each_put), cmocka_unit_test(test_link_breaks),
		cmocka_unit_test(test_link_breaks_anywhere), cmocka_unit_test(test_fields_alone),
		cmocka_unit_test(test_live_table),           cmocka_unit_test(test_recording_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
