#include "sample_recordings.h"

/* Pools with and without a name, each way in which their blocks end, and what is odd. */
static void write_pools(struct trace_writer *writer)
{
	const uint64_t named = 0x70000, unnamed = 0x71000;

	trace_writer_record(writer, 0x99, "sut", INT64_C(8200), named, "arena");
	trace_writer_record(writer, 0x99, "sut", INT64_C(8201), named + 1, "arena");
	for (int64_t i = 0; i < 4; i++)
		trace_writer_record(writer, 0x96, "susu", 8202 + i, named, 16 * i, UINT64_C(16));
	trace_writer_record(writer, 0x96, "susu", INT64_C(8210), named + 1, INT64_C(-8),
			    UINT64_C(8));
	trace_writer_record(writer, 0x97, "sus", INT64_C(8220), named, INT64_C(0));
	trace_writer_record(writer, 0x97, "sus", INT64_C(8221), named, INT64_C(0));
	trace_writer_record(writer, 0x96, "susu", INT64_C(8222), named, INT64_C(16), UINT64_C(9));
	trace_writer_record(writer, 0x98, "su", INT64_C(8223), named);
	trace_writer_record(writer, 0x98, "su", INT64_C(8224), unnamed);
	trace_writer_record(writer, 0x96, "susu", INT64_C(8225), unnamed, INT64_C(1), UINT64_C(1));
	trace_writer_record(writer, 0x99, "sut", INT64_C(8226), unnamed, "");
}

/* Every operation on blocks, each form of stack change, and a mark. */
static void write_operations(struct trace_writer *writer)
{
	trace_writer_init(writer);
	trace_writer_chunk(writer, 0, 0, TRACE_WRITER_SEALED);
	trace_writer_record(writer, 0x84, "sut", INT64_C(0), UINT64_C(10), "main");
	trace_writer_module(writer, 1000, 1, 0x400000, 0x400000, 0x500000, "/usr/bin/toy");
	for (uint64_t i = 1; i <= 20; i++)
		trace_writer_frame(writer, i, 0x400000 + 16 * i, 1);
	trace_writer_push(writer, 0, 18, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
			  18);
	for (uint8_t operation = 1; operation <= 17; operation++) {
		uint64_t address = 0x10000 + operation * 48u;

		if ((operation >= 5 && operation <= 7) || operation >= 14)
			trace_writer_allocate_aligned(writer, operation, 5, address, 40, 64);
		else
			trace_writer_allocate(writer, operation, 5, address, 30);
	}
	trace_writer_push(writer, 16, 1, 19);
	trace_writer_allocate_extra(writer, 1, 300, 0x7fff00000010, 1 << 20, 4000 << 2 | 1);
	trace_writer_push_pcs(writer, 1, 2, 0x401234, 0x909090);
	trace_writer_realloc(writer, 18, 5, 9, 0x10030, 0x20000, 99);
	trace_writer_realloc(writer, 19, 5, 9, 0x20000, 0x20008, 120);
	trace_writer_free(writer, 20, 3, 0x10060);
	trace_writer_free(writer, 21, 3, 0x10090);
	trace_writer_free(writer, 22, 3, 0x123450);
	trace_writer_allocate(writer, 1, 1, 0x100c0, 8); // that address is live
	trace_writer_record(writer, 0x8d, "st", INT64_C(8150), "half");
	trace_writer_time(writer, 24, 9000);
	trace_writer_time(writer, 25, 9100);
	trace_writer_allocate(writer, 2, 1, 0x60000, 8);
	write_pools(writer);
	trace_writer_end(writer, 10000, 5004500);
	trace_writer_seal(writer);
}

/* Two streams, slots and their copies, carried stacks, a hole, an unknown kind of chunk. */
static void write_chunks(struct trace_writer *writer)
{
	trace_writer_init(writer);
	trace_writer_poke(writer, 76, 0, 4);
	trace_writer_chunk(writer, 0, 2, TRACE_WRITER_SLOT);
	trace_writer_base(writer, 3000);
	trace_writer_carried(writer, 2);
	trace_writer_free(writer, 20, 5, 0x1000);
	trace_writer_push(writer, 1, 1, 3);
	trace_writer_allocate(writer, 1, 5, 0x3000, 300);
	trace_writer_seal(writer);
	trace_writer_chunk(writer, 1, 0, TRACE_WRITER_SLOT);
	trace_writer_push_pcs(writer, 0, 1, 2);
	trace_writer_allocate(writer, 10, 2500, 0x9000, 64);
	trace_writer_seal(writer);
	for (int i = 0; i < 4096; i++)
		trace_writer_byte(writer, 0);
	trace_writer_chunk(writer, 0, 0, TRACE_WRITER_SEALED);
	for (uint64_t i = 1; i <= 3; i++)
		trace_writer_frame(writer, i, 0x1000 + i, 0);
	trace_writer_push(writer, 0, 2, 1, 2);
	trace_writer_allocate(writer, 1, 100, 0x1000, 100);
	trace_writer_seal(writer);
	trace_writer_chunk(writer, 0, 1, TRACE_WRITER_SEALED);
	trace_writer_base(writer, 2000);
	trace_writer_clock(writer, 2000, 5000400);
	trace_writer_carried(writer, 2);
	trace_writer_allocate(writer, 1, 100, 0x2000, 200);
	trace_writer_seal(writer);
	trace_writer_chunk(writer, 0, 2, TRACE_WRITER_SEALED); // the slot's copy, half done
	trace_writer_carried(writer, 2);
	trace_writer_free(writer, 20, 5, 0x1000);
	trace_writer_seal(writer);
	trace_writer_poke(writer, writer->chunk + 100, 0x55, 1);
	trace_writer_chunk(writer, 5, 0, TRACE_WRITER_SEALED);
	trace_writer_seal(writer);
	trace_writer_poke(writer, writer->chunk + 8, 77, 4);
}

/* All records of section 4.2. */
static void write_records(struct trace_writer *writer)
{
	trace_writer_init(writer);
	trace_writer_chunk(writer, 3, 0, TRACE_WRITER_SEALED);
	trace_writer_record(writer, 0x84, "sut", INT64_C(1), UINT64_C(10), "main");
	for (uint64_t field = 1; field <= 8; field++)
		trace_writer_record(writer, 0x87, "ut", field, "/some/text");
	trace_writer_module(writer, 1000, 4, 0x400000, 0x400000, 0x500000, "/usr/lib/libtoy.so");
	trace_writer_frame(writer, 200, 0x400123, 4);
	trace_writer_push(writer, 0, 1, 200);
	trace_writer_stack(writer);
	trace_writer_record(writer, 0x88, "suuuuusu", INT64_C(10), UINT64_C(0), UINT64_C(0x7000),
			    UINT64_C(4096), UINT64_C(3), UINT64_C(34), INT64_C(-1), UINT64_C(0));
	trace_writer_record(writer, 0x89, "suu", INT64_C(30), UINT64_C(0x9000), UINT64_C(8192));
	trace_writer_record(writer, 0x8a, "suuuuu", INT64_C(20), UINT64_C(0x7000), UINT64_C(4096),
			    UINT64_C(0x9000), UINT64_C(8192), UINT64_C(1));
	trace_writer_record(writer, 0x8b, "ssu", INT64_C(40), INT64_C(-4096), UINT64_C(0x5000));
	trace_writer_record(writer, 0x8c, "ssss", INT64_C(50), INT64_C(-8), INT64_C(2), INT64_C(1));
	trace_writer_record(writer, 0x8d, "st", INT64_C(-500), "mark");
	trace_writer_record(writer, 0x8e, "suuuuuu", INT64_C(60), UINT64_C(1), UINT64_C(2),
			    UINT64_C(3), UINT64_C(4), UINT64_C(5), UINT64_C(6));
	trace_writer_record(writer, 0x8f, "su", INT64_C(61), UINT64_C(4321));
	trace_writer_record(writer, 0x90, "st", INT64_C(62), "/bin/true");
	trace_writer_record(writer, 0x92, "suu", INT64_C(63), UINT64_C(1), UINT64_C(1) << 62);
	trace_writer_record(writer, 0x9a, "suut", INT64_C(64), UINT64_C(2), UINT64_C(4096),
			    "/lib/x.so");
	trace_writer_record(writer, 0x85, "st", INT64_C(70), "renamed");
	trace_writer_record(writer, 0x83, "su", INT64_C(71), UINT64_C(4));
	trace_writer_record(writer, 0xc3, "uu", UINT64_C(1), UINT64_C(2));
	trace_writer_record(writer, 0x86, "s", INT64_C(80));
	trace_writer_end(writer, 2000, 5001000);
	trace_writer_seal(writer);
}

const struct sample_recording sample_recordings[] = {
	{"empty", trace_writer_init},
	{"operations", write_operations},
	{"chunks", write_chunks},
	{"records", write_records},
};

const unsigned int sample_recording_count =
	sizeof(sample_recordings) / sizeof(sample_recordings[0]);
