#include "analysis/views/frame_calls.h"

#include "hosted/cleanup.h"

struct err *frame_calls_create(const struct recording *recording, uint64_t **ret)
{
	uint32_t site_count, stack_count, frame_count;
	const struct site *sites = recording_sites(recording, &site_count);
	const struct stack_node *stacks = recording_stacks(recording, &stack_count);
	auto_free uint64_t *calls = NULL;
	auto_free uint32_t *met = NULL; /* for each frame, the last site that had it, plus 1 */

	recording_frames(recording, &frame_count);
	calls = calloc((size_t)frame_count + 1, sizeof(*calls));
	met = calloc((size_t)frame_count + 1, sizeof(*met));
	if (!calls || !met)
		return err_no_memory();
	for (uint32_t i = 0; i < site_count; i++) {
		for (uint32_t at = sites[i].stack; at != RECORDING_NONE; at = stacks[at].parent) {
			uint32_t frame = stacks[at].frame;

			if (met[frame] != i + 1)
				calls[frame] += sites[i].calls;
			met[frame] = i + 1;
		}
	}
	*ret = steal(&calls);
	return NULL;
}
