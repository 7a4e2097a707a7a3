/* Recordings built byte by byte, and every sum that the analysis makes of them. */
#include <string.h>

#include "analysis/filter/moment.h"
#include "analysis/recording.h"
#include "analysis/recording_memory.h"
#include "check.h"
#include "trace_writer.h"

static struct recording *open_written(struct trace_writer *writer)
{
	struct recording *recording = NULL;

	assert_ok(recording_open_memory("test.mallow", writer->data, writer->size, RECORDING_BLOCKS,
					&recording));
	return recording;
}

static const struct site *site_at(struct recording *recording, uint32_t index)
{
	uint32_t count;
	const struct site *sites = recording_sites(recording, &count);

	assert_true(index < count);
	return &sites[index];
}

/* The pcs of a stack as a number: 0x1 under 0x2 is 0x12. */
static uint64_t stack_pcs(struct recording *recording, uint32_t stack)
{
	uint32_t count;
	const struct recorded_frame *frames = recording_frames(recording, &count);
	const struct stack_node *nodes = recording_stacks(recording, &count);
	uint64_t value = 0, unit = 1;

	for (; stack != RECORDING_NONE; stack = nodes[stack].parent, unit *= 256)
		value += frames[nodes[stack].frame].pc * unit;
	return value;
}

static void empty(void **state)
{
	struct trace_writer writer;
	struct recording *recording;
	uint32_t count;

	trace_writer_init(&writer);
	recording = open_written(&writer);
	assert_string_equal(recording_facts(recording)->id, "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
	assert_string_equal(recording_facts(recording)->parent_id, "");
	assert_int_equal(recording_facts(recording)->pid, 1234567);
	assert_int_equal(recording_facts(recording)->parent_pid, 1);
	assert_int_equal(recording_facts(recording)->allocator, TRACE_ALLOCATOR_GLIBC);
	assert_true(recording_facts(recording)->ended);
	assert_false(recording_facts(recording)->writing);
	// The end record is missing: something was cut off.
	assert_false(recording_facts(recording)->complete);
	assert_string_equal(recording_facts(recording)->program, "");
	assert_null(recording_facts(recording)->arguments[0]);
	assert_int_equal(recording_facts(recording)->file_size, 4096);
	recording_sites(recording, &count);
	assert_int_equal(count, 0);
	assert_int_equal(recording_summary(recording)->peak_bytes, 0);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/*
 * Two sites of one thread. Live bytes after each event: A 100, 300 (peak of A: 300), B 1300 (the
 * peak), A 1100 …, A again temporary.
 */
static void write_two_sites(struct trace_writer *writer)
{
	trace_writer_init(writer);
	trace_writer_chunk(writer, 7, 0, TRACE_WRITER_SEALED);
	trace_writer_record(writer, 0x84, "sut", INT64_C(0), UINT64_C(4711), "worker");
	for (uint64_t i = 1; i <= 4; i++)
		trace_writer_frame(writer, i, i, 0);
	trace_writer_push(writer, 0, 2, 1, 2);
	trace_writer_allocate(writer, 1, 100, 0x10000, 100); // A, ticks 1100
	trace_writer_allocate(writer, 1, 100, 0x20008, 200); // A
	trace_writer_push(writer, 1, 2, 3, 4);
	trace_writer_allocate_extra(writer, 10, 100, 0x30000, 1000, 50 << 2 | 1); // B, 1300
	trace_writer_free(writer, 20, 100, 0x20008);
	trace_writer_push(writer, 2, 1, 2);
	trace_writer_allocate(writer, 2, 100, 0x20008, 10); // A, temporary
	trace_writer_free(writer, 20, 100, 0x20008);
	trace_writer_free(writer, 21, 100, 0x30000);
	trace_writer_free(writer, 20, 100, 0xdead0); // unknown
	trace_writer_record(writer, 0x92, "suu", INT64_C(800), UINT64_C(1), UINT64_C(1) << 60);
	// 2000 ticks in 1000 ns.
	trace_writer_end(writer, 3000, 5001000);
	trace_writer_seal(writer);
}

static void sums(void **state)
{
	struct trace_writer writer;
	struct recording *recording;

	write_two_sites(&writer);
	recording = open_written(&writer);

	const struct recording_summary *summary = recording_summary(recording);
	const struct recording_facts *facts = recording_facts(recording);
	const struct site *a = site_at(recording, 0), *b = site_at(recording, 1);

	assert_int_equal(summary->calls, 4);
	assert_int_equal(summary->total_bytes, 1310);
	assert_int_equal(summary->peak_bytes, 1300);
	assert_int_equal(summary->peak_blocks, 3);
	assert_int_equal(summary->peak_time_ns, 150);
	assert_int_equal(summary->leaked_bytes, 100);
	assert_int_equal(summary->leaked_blocks, 1);
	assert_int_equal(summary->live_bytes, 100);
	assert_int_equal(summary->temporary, 1);
	assert_int_equal(facts->allocations, 4);
	assert_int_equal(facts->frees, 3);
	assert_int_equal(facts->unknown_frees, 1);
	assert_int_equal(facts->implicit_frees, 0);
	assert_int_equal(facts->failed_allocations, 1);
	assert_int_equal(facts->events, 8);
	assert_int_equal(facts->duration_ns, 1000);
	assert_true(facts->complete);
	assert_int_equal(stack_pcs(recording, a->stack), 0x0102);
	assert_int_equal(stack_pcs(recording, b->stack), 0x010304);
	assert_int_equal(a->calls, 3);
	assert_int_equal(a->total_bytes, 310);
	assert_int_equal(a->peak_bytes, 300);
	assert_int_equal(a->peak_blocks, 2);
	assert_int_equal(a->own_peak_bytes, 300);
	assert_int_equal(a->leaked_bytes, 100);
	assert_int_equal(a->leaked_blocks, 1);
	assert_int_equal(a->temporary, 1);
	assert_int_equal(b->calls, 1);
	assert_int_equal(b->peak_bytes, 1000);
	assert_int_equal(b->own_peak_bytes, 1000);
	assert_int_equal(b->leaked_blocks, 0);
	assert_int_equal(b->temporary, 0);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

static void columns(void **state)
{
	struct trace_writer writer;
	struct recording *recording;
	uint32_t count;

	write_two_sites(&writer);
	recording = open_written(&writer);

	const struct block_columns *blocks = recording_blocks(recording);
	const struct recorded_thread *threads = recording_threads(recording, &count);

	assert_int_equal(count, 1);
	assert_int_equal(threads[0].stream, 7);
	assert_int_equal(threads[0].tid, 4711);
	assert_string_equal(threads[0].name, "worker");
	assert_int_equal(threads[0].first_ns, 0);
	assert_int_equal(threads[0].events, 8);
	assert_int_equal(blocks->count, 4);
	assert_int_equal(blocks->allocated_ns[0], 50);
	assert_int_equal(blocks->freed_ns[0], TIME_NEVER);
	assert_int_equal(blocks->free_thread[0], RECORDING_NONE);
	assert_int_equal(blocks->freed_ns[1], 200);
	assert_int_equal(blocks->free_thread[1], 0);
	assert_int_equal(blocks->address[1], 0x20008);
	assert_int_equal(blocks->slack[0], 4);
	assert_int_equal(blocks->slack[2], 50);
	assert_int_equal(blocks->slack[3], 24 - blocks->size[3]);
	assert_int_equal(blocks->heap_flags[1], 0);
	assert_int_equal(blocks->heap_flags[2], TRACE_HEAP_MMAPPED);
	assert_int_equal(blocks->heap_flags[3], TRACE_HEAP_MMAPPED);
	assert_int_equal(blocks->entry[2], TRACE_OP_NEW);
	assert_int_equal(blocks->entry[3], TRACE_OP_CALLOC);
	assert_int_equal(blocks->site[3], 0);
	assert_int_equal(blocks->successor[0], RECORDING_NONE);
	assert_null(blocks->tag); // nobody set one
	recording_close(recording);
	trace_writer_deinit(&writer);
}

static void reallocs(void **state)
{
	struct trace_writer writer;
	struct recording *recording;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_allocate(&writer, 1, 10, 0x1000, 50);
	trace_writer_realloc(&writer, 18, 10, 5, 0x1000, 0x2000, 80);
	trace_writer_realloc(&writer, 19, 10, 5, 0x2000, 0x2000, 90);
	trace_writer_realloc(&writer, 18, 10, 5, 0x9000, 0x9100, 7); // of an unknown block
	trace_writer_seal(&writer);
	recording = open_written(&writer);

	const struct block_columns *blocks = recording_blocks(recording);
	const struct recording_facts *facts = recording_facts(recording);

	assert_int_equal(blocks->count, 4);
	assert_int_equal(blocks->successor[0], 1);
	assert_int_equal(blocks->successor[1], 2);
	assert_int_equal(blocks->successor[2], RECORDING_NONE);
	assert_int_equal(blocks->freed_ns[0], 20);
	assert_int_equal(blocks->allocated_ns[1], 25);
	assert_int_equal(blocks->freed_ns[1], 35);
	assert_int_equal(blocks->allocated_ns[2], 40);
	assert_int_equal(facts->events, 4);
	assert_int_equal(facts->reallocs, 3);
	assert_int_equal(facts->allocations, 4);
	assert_int_equal(facts->frees, 2);
	assert_int_equal(facts->unknown_frees, 1);
	assert_int_equal(recording_summary(recording)->peak_bytes, 97);
	// Each was freed by its realloc with nothing allocated in between.
	assert_int_equal(recording_summary(recording)->temporary, 2);
	// A site without a stack.
	assert_int_equal(site_at(recording, 0)->stack, RECORDING_NONE);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/* Thread 1 frees what thread 0 allocated, while thread 0's slot is read before its chunk 1. */
static void threads_are_merged(void **state)
{
	struct trace_writer writer;
	struct recording *recording;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 1, TRACE_WRITER_SLOT);
	trace_writer_base(&writer, 1300);
	trace_writer_allocate(&writer, 1, 0, 0x1000, 1); // 1300, after the free at 1200
	trace_writer_seal(&writer);
	trace_writer_chunk(&writer, 1, 0, TRACE_WRITER_SLOT);
	trace_writer_free(&writer, 20, 200, 0x1000);
	trace_writer_free(&writer, 20, 200, 0x1000); // 1400
	trace_writer_seal(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_allocate(&writer, 1, 100, 0x1000, 2);
	trace_writer_seal(&writer);
	recording = open_written(&writer);
	assert_int_equal(recording_facts(recording)->frees, 2);
	assert_int_equal(recording_facts(recording)->implicit_frees, 0);
	assert_int_equal(recording_summary(recording)->leaked_blocks, 0);
	assert_int_equal(recording_blocks(recording)->freed_ns[0], 200);
	assert_int_equal(recording_blocks(recording)->free_thread[0], 1);
	// By another thread, but its own has allocated nothing else.
	assert_int_equal(recording_summary(recording)->temporary, 2);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/* late: when thread 1 frees the block whose address thread 0 gets at 1200. */
static void check_late(uint64_t late, uint64_t implicit)
{
	struct trace_writer writer;
	struct recording *recording;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_allocate(&writer, 1, 100, 0x1000, 16);
	trace_writer_allocate(&writer, 1, 100, 0x1000, 32);
	trace_writer_seal(&writer);
	trace_writer_chunk(&writer, 1, 0, TRACE_WRITER_SEALED);
	trace_writer_free(&writer, 20, late - 1000, 0x1000);
	trace_writer_seal(&writer);
	recording = open_written(&writer);
	assert_int_equal(recording_facts(recording)->implicit_frees, implicit);
	assert_int_equal(recording_facts(recording)->unknown_frees, 0);
	assert_int_equal(recording_summary(recording)->leaked_blocks, implicit ? 0 : 1);
	assert_int_equal(recording_summary(recording)->peak_bytes, 32);
	assert_int_equal(recording_blocks(recording)->freed_ns[0], 200);
	assert_int_equal(recording_blocks(recording)->free_thread[0],
			 implicit ? RECORDING_NONE : 1);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

static void late_frees(void **state)
{
	check_late(1201, 0);
	check_late(11200, 0);
	check_late(11201, 1);
}

/* A free by the thread that got the address is in order: it cannot be the late one. */
static void own_free_is_not_late(void **state)
{
	struct trace_writer writer;
	struct recording *recording;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_allocate(&writer, 1, 100, 0x1000, 16);
	trace_writer_allocate(&writer, 1, 100, 0x1000, 32);
	trace_writer_free(&writer, 20, 10, 0x1000);
	trace_writer_seal(&writer);
	recording = open_written(&writer);
	assert_int_equal(recording_facts(recording)->implicit_frees, 1);
	assert_int_equal(recording_facts(recording)->frees, 1);
	assert_int_equal(recording_summary(recording)->leaked_blocks, 0);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

static void carried_stacks(void **state)
{
	struct trace_writer writer;
	struct recording *recording;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	for (uint64_t i = 1; i <= 3; i++)
		trace_writer_frame(&writer, i, i, 0);
	trace_writer_push(&writer, 0, 3, 1, 2, 3);
	trace_writer_stack(&writer);
	trace_writer_seal(&writer);
	trace_writer_chunk(&writer, 0, 1, TRACE_WRITER_SEALED);
	trace_writer_carried(&writer, 2);
	trace_writer_push(&writer, 0, 1, 1);
	trace_writer_allocate(&writer, 1, 1, 0x1000, 1);
	trace_writer_time(&writer, 25, 1500);
	trace_writer_push(&writer, 0, 1, 2);
	trace_writer_allocate(&writer, 1, 1, 0x2000, 1);
	trace_writer_seal(&writer);
	trace_writer_chunk(&writer, 0, 3, TRACE_WRITER_SEALED); // 2 is missing
	trace_writer_base(&writer, 1600);
	trace_writer_carried(&writer, 2);
	trace_writer_push(&writer, 1, 1, 1);
	trace_writer_allocate(&writer, 1, 1, 0x3000, 1);
	trace_writer_seal(&writer);
	recording = open_written(&writer);
	assert_int_equal(stack_pcs(recording, site_at(recording, 0)->stack), 0x010201);
	assert_int_equal(stack_pcs(recording, site_at(recording, 1)->stack), 0x02);
	assert_int_equal(stack_pcs(recording, site_at(recording, 2)->stack), 0x0301);
	assert_int_equal(recording_facts(recording)->missing_chunks, 1);
	assert_int_equal(recording_blocks(recording)->allocated_ns[1], 501);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/* Frame ids that name the same place, and an id that is defined in another stream and later. */
static void frames_become_unique(void **state)
{
	struct trace_writer writer;
	struct recording *recording;
	uint32_t count;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_frame(&writer, 900000000000ull, 0x51, 0);
	trace_writer_push(&writer, 0, 1, 5);
	trace_writer_allocate(&writer, 1, 1, 0x1000, 1);
	trace_writer_push(&writer, 1, 1, 6);
	trace_writer_allocate(&writer, 1, 1, 0x2000, 1);
	trace_writer_push_pcs(&writer, 1, 1, 0x55);
	trace_writer_allocate(&writer, 1, 1, 0x3000, 1);
	trace_writer_push(&writer, 1, 1, 77); // never defined
	trace_writer_allocate(&writer, 1, 1, 0x4000, 1);
	trace_writer_seal(&writer);
	trace_writer_chunk(&writer, 1, 0, TRACE_WRITER_SEALED);
	trace_writer_free(&writer, 20, 100, 0x1000);
	trace_writer_frame(&writer, 5, 0x55, 0);
	trace_writer_frame(&writer, 6, 0x55, 0);
	trace_writer_free(&writer, 20, 100, 0x2000);
	trace_writer_seal(&writer);
	recording = open_written(&writer);
	recording_sites(recording, &count);
	assert_int_equal(count, 2);
	assert_int_equal(stack_pcs(recording, site_at(recording, 0)->stack), 0x55);
	assert_int_equal(site_at(recording, 0)->calls, 3);
	assert_int_equal(site_at(recording, 0)->own_peak_bytes, 3);
	assert_int_equal(site_at(recording, 0)->leaked_blocks, 1);
	assert_int_equal(stack_pcs(recording, site_at(recording, 1)->stack), TRACE_PC_LOST);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

static uint32_t module_of_site(struct recording *recording, uint32_t site)
{
	uint32_t count;
	const struct stack_node *nodes = recording_stacks(recording, &count);
	const struct recorded_frame *frames = recording_frames(recording, &count);

	return frames[nodes[site_at(recording, site)->stack].frame].module;
}

/* One library is unloaded, another takes its place: equal pcs are different frames. */
static void modules_by_time(void **state)
{
	struct trace_writer writer;
	struct recording *recording;
	uint32_t count;

	trace_writer_init(&writer);
	trace_writer_chunk(&writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_push_pcs(&writer, 0, 1, 0x5001); // 1050: its module is recorded at 1060
	trace_writer_allocate(&writer, 1, 50, 0x1000, 1);
	trace_writer_module(&writer, 1060, 1, 0x4000, 0x5000, 0x6000, "/lib/one.so");
	trace_writer_push_pcs(&writer, 1, 1, 0x5001);
	trace_writer_allocate(&writer, 1, 50, 0x2000, 1); // 1100
	trace_writer_record(&writer, 0x83, "su", INT64_C(150), UINT64_C(1));
	trace_writer_module(&writer, 1160, 2, 0x4000, 0x5000, 0x6000, "/lib/two.so");
	trace_writer_push_pcs(&writer, 1, 1, 0x5001);
	trace_writer_allocate(&writer, 1, 100, 0x3000, 1); // 1200
	trace_writer_push_pcs(&writer, 1, 1, 0x5000);      // the byte before it is no module's
	trace_writer_allocate(&writer, 1, 100, 0x4000, 1);
	trace_writer_push_pcs(&writer, 1, 1, 0x6000); // the call is the last instruction
	trace_writer_allocate(&writer, 1, 100, 0x5000, 1);
	trace_writer_seal(&writer);
	recording = open_written(&writer);

	const struct recorded_module *modules = recording_modules(recording, &count);

	assert_int_equal(count, 2);
	assert_string_equal(modules[0].path, "/lib/one.so");
	assert_int_equal(modules[0].build_id_size, 4);
	assert_memory_equal(modules[0].build_id, "\1\2\3\4", 4);
	assert_int_equal(modules[0].gone_ns, 150);
	assert_int_equal(modules[1].loaded_ns, 160);
	assert_int_equal(modules[1].gone_ns, TIME_NEVER);
	assert_int_equal(module_of_site(recording, 0), 0);
	assert_int_equal(site_at(recording, 0)->calls, 2);
	assert_int_equal(module_of_site(recording, 1), 1);
	assert_int_equal(module_of_site(recording, 2), RECORDING_NONE);
	assert_int_equal(module_of_site(recording, 3), 1);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

static void write_other_records(struct trace_writer *writer)
{
	static const uint8_t arguments[] = {2, 'a', 0, 0, 'b', 'c', 0};

	trace_writer_init(writer);
	trace_writer_chunk(writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_record(writer, 0x87, "ut", UINT64_C(1), "/usr/bin/toy");
	trace_writer_byte(writer, 0x87);
	trace_writer_byte(writer, 7);
	for (size_t i = 0; i < sizeof(arguments); i++)
		trace_writer_byte(writer, arguments[i]);
	trace_writer_record(writer, 0x87, "ut", UINT64_C(5), "host");
	trace_writer_record(writer, 0xfe, "t", "a record of the future");
	trace_writer_push_pcs(writer, 0, 1, 0x99);
	trace_writer_stack(writer);
	trace_writer_record(writer, 0x8d, "st", INT64_C(500), "later");
	trace_writer_record(writer, 0x8d, "st", INT64_C(400), "earlier");
	trace_writer_record(writer, 0x88, "suuuuusu", INT64_C(10), UINT64_C(0), UINT64_C(0x7000),
			    UINT64_C(4096), UINT64_C(3), UINT64_C(0x22), INT64_C(-1), UINT64_C(0));
	trace_writer_record(writer, 0x8a, "suuuuu", INT64_C(20), UINT64_C(0x7000), UINT64_C(4096),
			    UINT64_C(0x9000), UINT64_C(8192), UINT64_C(1));
	trace_writer_record(writer, 0x89, "suu", INT64_C(30), UINT64_C(0x9000), UINT64_C(8192));
	trace_writer_record(writer, 0x8b, "ssu", INT64_C(40), INT64_C(-4096), UINT64_C(0x5000));
	trace_writer_record(writer, 0x8c, "ssss", INT64_C(50), INT64_C(-8), INT64_C(2), INT64_C(1));
	trace_writer_record(writer, 0x8e, "suuuuuu", INT64_C(60), UINT64_C(1), UINT64_C(2),
			    UINT64_C(3), UINT64_C(4), UINT64_C(5), UINT64_C(6));
	trace_writer_record(writer, 0x85, "st", INT64_C(70), "renamed");
	trace_writer_seal(writer);
}

static void other_records(void **state)
{
	struct trace_writer writer;
	struct recording *recording;
	uint32_t count;

	write_other_records(&writer);
	recording = open_written(&writer);

	const struct recording_facts *facts = recording_facts(recording);

	assert_string_equal(facts->program, "/usr/bin/toy");
	assert_string_equal(facts->arguments[0], "a");
	assert_string_equal(facts->arguments[1], "");
	assert_string_equal(facts->arguments[2], "bc");
	assert_null(facts->arguments[3]);
	assert_string_equal(facts->host, "host");
	assert_string_equal(facts->directory, "");
	assert_int_equal(facts->damaged_chunks, 0);
	assert_int_equal(facts->events, 7);

	const struct recorded_mark *marks = recording_marks(recording, &count);

	assert_int_equal(count, 2);
	assert_string_equal(marks[0].name, "earlier");
	assert_int_equal(marks[0].time_ns, 400);
	assert_string_equal(marks[1].name, "later");

	const struct mapping_operation *mappings = recording_mappings(recording, &count);

	assert_int_equal(count, 4);
	assert_int_equal(mappings[0].kind, TRACE_RECORD_MMAP);
	assert_int_equal(mappings[0].address, 0x7000);
	assert_int_equal(mappings[0].fd, -1);
	assert_int_equal(mappings[0].flags, 0x22);
	assert_int_equal(stack_pcs(recording, mappings[0].stack), 0x99);
	assert_int_equal(mappings[1].old_length, 4096);
	assert_int_equal(mappings[1].address, 0x9000);
	assert_int_equal(mappings[1].length, 8192);
	assert_int_equal(mappings[2].length, 8192);
	assert_int_equal(mappings[3].increment, -4096);
	assert_int_equal(mappings[3].address, 0x5000);

	const struct mallopt_operation *mallopts = recording_mallopts(recording, &count);

	assert_int_equal(count, 1);
	assert_int_equal(mallopts[0].parameter, -8);
	assert_int_equal(mallopts[0].result, 1);

	const struct memory_sample *samples = recording_memory(recording, &count);

	assert_int_equal(count, 1);
	assert_int_equal(samples[0].time_ns, 60);
	assert_int_equal(samples[0].swap, 6);
	assert_string_equal(recording_threads(recording, &count)[0].name, "renamed");
	recording_close(recording);
	trace_writer_deinit(&writer);
}

static void refusals(void **state)
{
	struct trace_writer writer;
	struct recording *recording = NULL;

	assert_err(recording_open("/nonexistent/x.mallow", 0, NULL, NULL, &recording),
		   "No such file");
	assert_err(recording_open("/tmp", 0, NULL, NULL, &recording), "Is a directory");
	assert_err(recording_open("/dev/null", 0, NULL, NULL, &recording), "not a regular file");
	assert_err(recording_open_memory("x", "", 0, 0, &recording), "empty");
	assert_err(recording_open_memory("x", "\177ELF", 4, 0, &recording), "7f 45 4c 46");
	trace_writer_init(&writer);
	assert_err(recording_open_memory("x", writer.data, 200, 0, &recording), "offset 200");
	trace_writer_poke(&writer, 8, 2, 2);
	assert_err(recording_open_memory("x", writer.data, writer.size, 0, &recording),
		   "version 2.0");
	assert_null(recording);
	trace_writer_deinit(&writer);
}

static void losses(void **state)
{
	struct trace_writer writer;
	struct recording *recording;

	write_two_sites(&writer);
	trace_writer_poke(&writer, 128, 5, 8);
	trace_writer_poke(&writer, 128 + 8 * 6, 7, 8);
	trace_writer_poke(&writer, 128 + 8 * 7, 100, 8); // truncated stacks are no lost events
	recording = open_written(&writer);
	assert_int_equal(recording_facts(recording)->lost, 12);
	assert_int_equal(recording_facts(recording)->losses[TRACE_LOSS_TRUNCATED_STACKS], 100);
	assert_false(recording_facts(recording)->complete);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/* Two frees with one stack, of which the second has no stack change, and a realloc's. */
static void write_free_stacks(struct trace_writer *writer, uint64_t last_pc)
{
	trace_writer_init(writer);
	trace_writer_chunk(writer, 0, 0, TRACE_WRITER_SEALED);
	for (uint64_t i = 1; i <= 4; i++)
		trace_writer_frame(writer, i, i < 4 ? i : last_pc, 0);
	trace_writer_push(writer, 0, 2, 1, 2);
	trace_writer_allocate(writer, 1, 100, 0x1000, 10);
	trace_writer_allocate(writer, 1, 100, 0x2000, 20);
	trace_writer_allocate(writer, 1, 100, 0x3000, 30);
	trace_writer_push(writer, 1, 1, 3);
	trace_writer_free(writer, 20, 100, 0x1000);
	trace_writer_free(writer, 21, 100, 0x2000);
	trace_writer_push(writer, 1, 1, 4);
	trace_writer_realloc(writer, 18, 100, 10, 0x3000, 0x4000, 40);
	trace_writer_seal(writer);
}

static void free_stacks(void **state)
{
	const struct block_columns *blocks;
	struct trace_writer writer;
	struct recording *recording;

	write_free_stacks(&writer, 4);
	recording = open_written(&writer);
	assert_false(recording_facts(recording)->free_stacks);
	assert_null(recording_blocks(recording)->free_stack);
	recording_close(recording);

	trace_writer_poke(&writer, 72, 8, 4); // the header's flag
	recording = open_written(&writer);
	assert_true(recording_facts(recording)->free_stacks);
	blocks = recording_blocks(recording);
	assert_int_equal(blocks->count, 4);
	assert_int_equal(stack_pcs(recording, blocks->free_stack[0]), 0x0103);
	assert_int_equal(blocks->free_stack[1], blocks->free_stack[0]);
	assert_int_equal(stack_pcs(recording, blocks->free_stack[2]), 0x0104);
	assert_int_equal(blocks->free_stack[3], RECORDING_NONE);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/* Of a recording that is read twice, since two ids turn out to name one frame. */
static void free_stacks_read_twice(void **state)
{
	const struct block_columns *blocks;
	struct trace_writer writer;
	struct recording *recording;

	write_free_stacks(&writer, 3);
	trace_writer_poke(&writer, 72, 8, 4);
	recording = open_written(&writer);
	blocks = recording_blocks(recording);
	assert_non_null(blocks->free_stack);
	assert_int_equal(stack_pcs(recording, blocks->free_stack[0]), 0x0103);
	assert_int_equal(blocks->free_stack[2], blocks->free_stack[0]);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

/* Off from tick 1100 to 1300, and from 1600 to the end at 2000. */
static void write_switches(struct trace_writer *writer)
{
	trace_writer_init(writer);
	trace_writer_chunk(writer, 7, 0, TRACE_WRITER_SEALED);
	trace_writer_allocate(writer, TRACE_OP_MALLOC, 10, 0x1000, 100);
	trace_writer_record(writer, TRACE_RECORD_TAG, "su", INT64_C(11), UINT64_C(42));
	trace_writer_allocate(writer, TRACE_OP_MALLOC, 10, 0x2000, 200);
	trace_writer_record(writer, TRACE_RECORD_OFF, "s", INT64_C(100));
	trace_writer_free(writer, TRACE_OP_FREE, 100, 0x1000);
	trace_writer_record(writer, TRACE_RECORD_ON, "s", INT64_C(300));
	trace_writer_allocate(writer, TRACE_OP_MALLOC, 300, 0x3000, 300);
	trace_writer_seal(writer);
	trace_writer_chunk(writer, 7, 1, TRACE_WRITER_SEALED);
	trace_writer_allocate(writer, TRACE_OP_MALLOC, 500, 0x4000, 400);
	trace_writer_record(writer, TRACE_RECORD_OFF, "s", INT64_C(600));
	trace_writer_end(writer, 2000, 5001000);
	trace_writer_seal(writer);
	trace_writer_poke(writer, 72, TRACE_BEGUN_BY_START, 4);
}

static int64_t time_of(const struct recording *recording, const char *text)
{
	struct moment moment;
	int64_t ns = -1;
	struct err *err;

	assert_true(moment_parse(text, &moment));
	err = moment_resolve(&moment, recording, false, &ns);
	if (err) {
		assert_non_null(strstr(err_message(err), "the recording was on 2 times"));
		err_destroy(err);
	}
	return ns;
}

static void switches_and_tags(void **state)
{
	const struct recorded_switch *switches;
	const struct recording_facts *facts;
	const struct block_columns *blocks;
	struct trace_writer writer;
	struct recording *recording;
	uint32_t count;

	write_switches(&writer);
	recording = open_written(&writer);
	facts = recording_facts(recording);
	assert_true(facts->begun_by_start);
	assert_int_equal(facts->duration_ns, 1000);
	assert_int_equal(facts->off_periods, 2);
	assert_int_equal(facts->off_ns, 200 + 400);
	switches = recording_switches(recording, &count);
	assert_int_equal(count, 3);
	assert_false(switches[0].on);
	assert_true(switches[1].on);
	assert_int_equal(switches[1].time_ns, 300);
	assert_int_equal(time_of(recording, "on#1"), 0);
	assert_int_equal(time_of(recording, "off#1"), 100);
	assert_int_equal(time_of(recording, "on#2"), 300);
	assert_int_equal(time_of(recording, "off#2"), 600);
	assert_int_equal(time_of(recording, "on#3"), -1);
	assert_int_equal(time_of(recording, "off#3"), -1);
	blocks = recording_blocks(recording);
	assert_int_equal(blocks->count, 4);
	assert_int_equal(blocks->tag[0], 0);
	for (int i = 1; i < 4; i++)
		assert_int_equal(blocks->tag[i], 42);
	recording_close(recording);
	trace_writer_deinit(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(sums),
		cmocka_unit_test(columns),
		cmocka_unit_test(reallocs),
		cmocka_unit_test(threads_are_merged),
		cmocka_unit_test(late_frees),
		cmocka_unit_test(own_free_is_not_late),
		cmocka_unit_test(carried_stacks),
		cmocka_unit_test(frames_become_unique),
		cmocka_unit_test(modules_by_time),
		cmocka_unit_test(other_records),
		cmocka_unit_test(refusals),
		cmocka_unit_test(losses),
		cmocka_unit_test(free_stacks),
		cmocka_unit_test(free_stacks_read_twice),
		cmocka_unit_test(switches_and_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
