/* libFuzzer target: bytes as the index of a recording, behind version and fingerprint. */
#include <stdlib.h>
#include <string.h>

#include "analysis/index/index_pack.h"
#include "analysis/index/index_read.h"
#include "analysis/recording_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct recording *blank(uint64_t fingerprint)
{
	struct recording *recording;

	if (recording_create(&recording))
		abort();
	recording->tables->fingerprint = fingerprint;
	return recording;
}

/* What was accepted can be written and read again. */
static void write_again(const struct recording *recording)
{
	struct recording *read = blank(recording->tables->fingerprint);
	struct buf again;
	bool used;

	buf_init(&again);
	if (index_pack(recording, &again) || buf_finish(&again) ||
	    index_read(read, (uint8_t *)again.data, again.size, &used) || !used ||
	    read->tables->stacks.count != recording->tables->stacks.count)
		abort();
	recording_close(read);
	buf_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording *recording = blank(0);
	uint8_t *index = malloc(size + 9);
	bool used;

	if (!index)
		abort();
	memset(index, 0, 9);
	index[0] = INDEX_VERSION;
	if (size)
		memcpy(index + 9, data, size);
	if (facts_cache_create(&recording->facts_cache) ||
	    index_read(recording, index, size + 9, &used))
		abort();
	if (used)
		write_again(recording);
	recording_close(recording);
	free(index);
	return 0;
}
