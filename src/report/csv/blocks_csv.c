#include "report/csv/blocks_csv.h"

#include "analysis/blocks/block_bits.h"
#include "hosted/cleanup.h"
#include "trace/operation.h"

static void put_thread(struct csv_writer *csv, const struct recording *recording, uint32_t thread)
{
	uint32_t count;
	const struct recorded_thread *threads = recording_threads(recording, &count);

	if (thread < count)
		csv_u64(csv, threads[thread].tid);
	else
		csv_empty(csv);
}

uint32_t blocks_csv_put(struct csv_writer *csv, const struct report_subject *subject,
			const uint32_t *chains, uint64_t block)
{
	const struct recording *recording = subject->recording;
	const struct block_columns *blocks = recording_blocks(recording);
	uint32_t stack = recording_sites(recording, NULL)[blocks->site[block]].stack;

	csv_u64(csv, block);
	csv_u64(csv, blocks->address[block]);
	csv_u64(csv, blocks->size[block]);
	csv_u64(csv, blocks->slack[block]);
	csv_u64(csv, blocks->allocated_ns[block]);
	if (blocks->freed_ns[block] == TIME_NEVER)
		csv_empty(csv);
	else
		csv_u64(csv, blocks->freed_ns[block]);
	put_thread(csv, recording, blocks->thread[block]);
	put_thread(csv, recording, blocks->free_thread[block]);
	csv_u64(csv, blocks->tag ? blocks->tag[block] : 0);
	csv_text(csv,
		 recording_facts(recording)->live ? NULL : operation_name(blocks->entry[block]));
	if (chains)
		csv_u64(csv, chains[block]);
	else
		csv_empty(csv);
	csv_u64(csv, stack);
	return stack;
}

struct err *blocks_csv_write(struct buf *buf, const struct report_subject *subject,
			     const uint64_t *bits)
{
	const struct recording *recording = subject->recording;
	cleanup(csv_frames_deinit) struct csv_frames frames = {0};
	struct csv_writer csv = {.buf = buf};
	const uint32_t *chains = NULL;
	struct err *err = NULL;

	if (!recording_facts(recording)->live)
		err = recording_block_chains(recording, &chains);
	csv_words(&csv, BLOCKS_CSV " " BLOCKS_CSV_FRAME);
	BLOCK_BITS_EACH(bits, recording_blocks(recording)->count, i)
	{
		if (err)
			break;
		err = csv_report_frame(&csv, subject, blocks_csv_put(&csv, subject, chains, i),
				       &frames);
		csv_end_row(&csv);
	}
	return err;
}
