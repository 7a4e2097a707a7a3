#include "analysis/blocks/block_temporary.h"

#include <string.h>

#include "hosted/cleanup.h"
#include "hosted/parallel.h"

/* Fewer blocks than this are not worth a thread. */
#define PIECE_MIN ((uint64_t)1 << 18)

#define NONE UINT64_MAX

/* Pieces go through their blocks backwards: then the next allocation of each thread is known. */
struct finding {
	const struct block_columns *blocks;
	uint64_t *words;
	uint64_t length; /* blocks of a piece, words of bits as a whole */
	uint32_t threads;
	uint64_t *first; /* of each piece and thread: its first block; NONE: it has none there … */
	uint64_t *last;  /* … and its last one, whose next one is in another piece */
};

static void judge(const struct finding *finding, uint64_t i, uint64_t next)
{
	uint32_t turn = finding->blocks->free_turn[i];
	bool temporary = turn <= next && turn != RECORDING_NONE;

	finding->words[i / 64] |= (uint64_t)temporary << i % 64;
}

static void find_piece(void *argument, size_t number)
{
	const struct finding *finding = argument;
	uint64_t *first = finding->first + number * finding->threads;
	uint64_t *last = finding->last + number * finding->threads;
	uint64_t begin = number * finding->length, end = begin + finding->length;

	if (end > finding->blocks->count)
		end = finding->blocks->count;
	for (uint64_t i = end; i-- > begin;) {
		uint32_t thread = finding->blocks->thread[i];

		if (first[thread] == NONE)
			last[thread] = i;
		else
			judge(finding, i, first[thread]);
		first[thread] = i;
	}
}

/* Judges the last block of each thread in each piece. */
static void join(const struct finding *finding, size_t count)
{
	for (uint32_t thread = 0; thread < finding->threads; thread++) {
		uint64_t next = NONE;

		for (size_t piece = count; piece-- > 0;) {
			size_t at = piece * finding->threads + thread;

			if (finding->first[at] == NONE)
				continue;
			judge(finding, finding->last[at], next);
			next = finding->first[at];
		}
	}
}

struct err *block_temporary_find(const struct recording *recording, uint64_t **ret)
{
	const struct block_columns *blocks = recording_blocks(recording);
	const struct recording_facts *facts = recording_facts(recording);
	size_t count = parallel_pieces(blocks->count, PIECE_MIN);
	auto_free uint64_t *words = calloc(blocks->count / 64 + 1, sizeof(*words));
	auto_free uint64_t *first = NULL, *last = NULL;
	struct finding finding = {
		.blocks = blocks,
		.words = words,
		.length = (blocks->count / count / 64 + 1) * 64,
	};

	recording_threads(recording, &finding.threads);
	first = malloc((count * finding.threads + 1) * sizeof(*first));
	last = malloc((count * finding.threads + 1) * sizeof(*last));
	if (!words || !first || !last)
		return err_no_memory();
	memset(first, 0xff, count * finding.threads * sizeof(*first));
	finding.first = first;
	finding.last = last;
	if (!facts->sample_mean && !facts->cull_ns) {
		parallel_run(find_piece, &finding, count);
		join(&finding, count);
	}
	*ret = steal(&words);
	return NULL;
}
