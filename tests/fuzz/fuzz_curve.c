/* libFuzzer target: bytes as the curve of a recording, behind version and fingerprint. */
#include <stdlib.h>
#include <string.h>

#include "analysis/recording_data.h"
#include "analysis/views/series_stored.h"

#define HEAD  9
#define STEPS 3 /* at most as many as the run has nanoseconds */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording_tables *tables;
	struct recording *recording;
	struct series *series = NULL;

	if (recording_create(&recording))
		abort();
	recording->facts.duration_ns = STEPS;
	tables = recording->tables;
	tables->curve = calloc(1, size + HEAD);
	tables->curve_size = size + HEAD;
	if (!tables->curve)
		abort();
	tables->curve[0] = (uint8_t)(1 + size % 2); // without ends of steps, and with them
	if (size)
		memcpy(tables->curve + HEAD, data, size);
	if (series_read_stored(recording, &series))
		abort();
	// This recording has no threads and no sites.
	if (series &&
	    (series->steps > STEPS || series->ends[series->steps - 1] != STEPS ||
	     series->peak_thread != RECORDING_NONE || series->peak_site != RECORDING_NONE))
		abort();
	series_destroy(series);
	recording_close(recording);
	return 0;
}
