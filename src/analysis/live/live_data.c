#include "analysis/live/live_data.h"

#include "analysis/recording_data.h"

void live_data_deinit(struct live_data *live)
{
	vec_deinit(&live->sites);
	vec_deinit(&live->intervals);
	vec_deinit(&live->threads);
	vec_deinit(&live->handovers);
}

const struct live_facts *recording_live(const struct recording *recording)
{
	return recording->facts.live ? &recording->tables->live.facts : NULL;
}
