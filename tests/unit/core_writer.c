#include "core_writer.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "live_writer.h"
#include "trace/checksum.h"

static void put_place(struct trace_writer *writer)
{
	static const uint8_t id[TRACE_PLACE_ID] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct live_place place = {.offset = writer->chunk,
				   .address = CORE_WRITER_ADDRESS + writer->chunk};
	uint8_t *chunk = writer->data + writer->chunk;

	memcpy(place.id, id, sizeof(id));
	memcpy(chunk + LIVE_PLACE_OFFSET, &place, sizeof(place));
	place.checksum = live_place_checksum(chunk, chunk + LIVE_CHUNK_OFFSET);
	memcpy(chunk + LIVE_PLACE_OFFSET, &place, sizeof(place));
}

/* A copy of the header's begin, with the bits of its magic number turned. */
static void put_copy(struct trace_writer *writer)
{
	uint8_t *copy = writer->data + writer->chunk + LIVE_COPY_OFFSET;

	memcpy(copy, writer->data, LIVE_COPY_SIZE);
	for (int i = 0; i < 8; i++)
		copy[i] = (uint8_t)~copy[i];
}

static void put_part(struct trace_writer *writer, uint32_t part, uint32_t entry_size,
		     const void *entries, size_t count)
{
	live_writer_chunk(writer, part, entry_size, 0, count);
	live_writer_bytes(writer, entries, count * entry_size);
	live_writer_close(writer);
	put_copy(writer);
	put_place(writer);
}

/* id: the 8 bytes as a number. */
static void put_events(struct trace_writer *writer)
{
	trace_writer_chunk(writer, 0, 0, TRACE_WRITER_SLOT);
	trace_writer_byte(writer, TRACE_RECORD_PLACE);
	// Two bytes of offset, seven of the address, and the id.
	trace_writer_byte(writer, 2 + 7 + TRACE_PLACE_ID);
	trace_writer_varint(writer, writer->chunk);
	trace_writer_varint(writer, CORE_WRITER_ADDRESS + writer->chunk);
	for (uint8_t i = 1; i <= TRACE_PLACE_ID; i++)
		trace_writer_byte(writer, i);
	trace_writer_record(writer, TRACE_RECORD_PROCESS, "ut", (uint64_t)1, "/bin/made");
	trace_writer_module(writer, 1000, 1, 0, 0x1000, 0x9000, "/bin/made");
	trace_writer_frame(writer, 1, 0x1100, 1);
	trace_writer_frame(writer, 2, 0x2100, 1);
	trace_writer_seal(writer);
}

static void put_table(struct trace_writer *writer)
{
	static const struct live_node nodes[] = {{0}, {.frame = 1}, {.parent = 1, .frame = 2}};
	static const struct live_site sites[] = {
		{0},
		{0},
		{.calls = 2, .bytes = 300, .peak_calls = 2, .peak_bytes = 300, .node = 2},
		{.calls = 1, .bytes = 3000, .peak_calls = 1, .peak_bytes = 3000, .node = 1},
	};
	static const struct live_thread threads[] = {
		{.name = "(others)"},
		{.calls = 3, .bytes = 3300, .tid = 7, .state = LIVE_THREAD_RUNS, .name = "made"},
	};
	const uint64_t two = UINT64_C(2) << 42 | UINT64_C(1) << 32;
	const uint64_t three = UINT64_C(3) << 42 | UINT64_C(1) << 32;
	const struct live_listed_block blocks[] = {{0x10000, two | 1u << 5, 100},
						   {0},
						   {0x20000, two | 2u << 5, 200},
						   {0x30000, three | 3u << 5, 3000}};

	trace_writer_init(writer);
	for (uint8_t i = 1; i <= TRACE_PLACE_ID; i++)
		writer->data[15 + i] = i;
	trace_writer_poke(writer, 48, CORE_WRITER_PID, 4);
	trace_writer_poke(writer, 10, TRACE_VERSION_MINOR, 2);
	trace_writer_poke(writer, 72, TRACE_LIVE, 4);
	trace_writer_poke(writer, 76, 0, 8);
	put_events(writer);
	put_part(writer, LIVE_PART_NODES, sizeof(*nodes), nodes, 3);
	put_part(writer, LIVE_PART_SITES, sizeof(*sites), sites, 4);
	put_part(writer, LIVE_PART_THREADS, sizeof(*threads), threads, 2);
	put_part(writer, LIVE_PART_BLOCKS, sizeof(*blocks), blocks, 4);
	live_writer_header(writer, 3, 4, 2);
	trace_writer_poke(writer, 10, TRACE_VERSION_MINOR, 2);
	trace_writer_poke(writer, 76, 0, 8);
}

/* A buffer that is filled from its begin. */
struct out {
	uint8_t *data;
	size_t size;
	size_t files_from;
};

static void put(struct out *out, const void *data, size_t size)
{
	memcpy(out->data + out->size, data, size);
	out->size += size;
}

static void put_note(struct out *out, uint32_t type, const void *data, size_t size)
{
	const Elf64_Nhdr header = {sizeof("CORE"), (uint32_t)size, type};

	put(out, &header, sizeof(header));
	put(out, "CORE\0\0\0", 8);
	put(out, data, size);
	out->size = (out->size + 3) & ~(size_t)3;
}

static void put_notes(struct out *out, unsigned int flags, size_t table)
{
	uint32_t status[84] = {0};
	uint8_t info[136] = {0};
	const uint32_t pid = CORE_WRITER_PID;
	uint8_t files[128] = {0};
	const uint64_t words[] = {1, 4096, CORE_WRITER_ADDRESS, CORE_WRITER_ADDRESS + table, 0};
	const char name[] = "/memfd:mallow-live:4711 (deleted)";

	status[3] = 11;
	put_note(out, NT_PRSTATUS, status, sizeof(status));
	memcpy(info + 24, &pid, sizeof(pid));
	put_note(out, NT_PRPSINFO, info, sizeof(info));
	memcpy(files, words, sizeof(words));
	memcpy(files + sizeof(words), name, sizeof(name));
	out->files_from = out->size + sizeof(Elf64_Nhdr) + 8;
	if (flags & CORE_WRITER_FILES)
		put_note(out, NT_FILE, files, sizeof(words) + sizeof(name));
}

static Elf64_Phdr segment(uint64_t address, uint64_t offset, uint64_t size)
{
	return (Elf64_Phdr){.p_type = PT_LOAD,
			    .p_flags = PF_R | PF_W,
			    .p_offset = offset,
			    .p_vaddr = address,
			    .p_filesz = size,
			    .p_memsz = size,
			    .p_align = 4096};
}

void core_writer_make(struct core_writer *core, unsigned int flags)
{
	struct trace_writer table;
	struct out out, notes;
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_CORE,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_phoff = sizeof(header),
			     .e_ehsize = sizeof(header),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 3};
	Elf64_Phdr programs[3] = {
		{.p_type = PT_NOTE, .p_offset = sizeof(header) + sizeof(programs)}};
	size_t half, first, second;

	put_table(&table);
	half = 2 * 4096; // the header, and the events
	out = (struct out){.data = calloc(1, table.size + 8192)};
	notes = (struct out){.data = calloc(1, 4096)};
	if (!out.data || !notes.data)
		abort();
	*core = (struct core_writer){.data = out.data, .table = table.size};
	if (!(flags & CORE_WRITER_RAW)) {
		put_notes(&notes, flags, table.size);
		programs[0].p_filesz = notes.size;
		first = flags & CORE_WRITER_APART ? 4096 + (table.size - half) : 4096;
		second = flags & CORE_WRITER_APART ? 4096 : 4096 + half;
		programs[1] = segment(CORE_WRITER_ADDRESS, first, half);
		programs[2] = segment(CORE_WRITER_ADDRESS + half, second, table.size - half);
		put(&out, &header, sizeof(header));
		put(&out, programs, sizeof(programs));
		put(&out, notes.data, notes.size);
		out.size = 4096;
	} else {
		first = 0;
		second = half;
	}
	memcpy(out.data + first, table.data, half);
	memcpy(out.data + second, table.data + half, table.size - half);
	core->size = out.size + table.size;
	core->table_from = first;
	if ((flags & (CORE_WRITER_FILES | CORE_WRITER_RAW)) == CORE_WRITER_FILES)
		core->files_from = programs[0].p_offset + notes.files_from;
	free(notes.data);
	trace_writer_deinit(&table);
}

void core_writer_deinit(struct core_writer *core)
{
	free(core->data);
	*core = (struct core_writer){0};
}
