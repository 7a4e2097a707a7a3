/* The metric switch: which column of /sums and which metric of /flame it is, and in which words. */
import { computed } from '@preact/signals';
import { leftWords } from './limits';
import type { Metric } from './place';
import { place } from './state';
import { formatBytes, formatCount } from '../text/units';

export interface Measure {
	metric: Metric;
	/** The column of /sums, also for sort_by. */
	column: 'bytes' | 'blocks' | 'leaked' | 'total' | 'calls' | 'temporary' | 'slack';
	/** The metric of /flame. */
	flame: 'peak' | 'blocks' | 'total' | 'calls' | 'temporary' | 'leaked' | 'slack';
	/** The head of a column. */
	word: string;
	format: (value: number) => string;
}

/**
 * Of what was allocated or freed in a range nothing need have lived together: its bytes and blocks
 * are all of them. Else they are what was live when most was.
 */
export const measure = computed<Measure>(() => {
	const mode = place.value.brush?.mode;
	const all = mode === 'allocated' || mode === 'freed';
	const metric = place.value.metric;
	switch (metric) {
		case 'bytes':
			return all
				? { metric, column: 'total', flame: 'total', word: 'bytes', format: formatBytes }
				: { metric, column: 'bytes', flame: 'peak', word: 'bytes', format: formatBytes };
		case 'blocks':
			return all
				? { metric, column: 'calls', flame: 'calls', word: 'blocks', format: formatCount }
				: { metric, column: 'blocks', flame: 'blocks', word: 'blocks', format: formatCount };
		case 'calls':
			return { metric, column: 'calls', flame: 'calls', word: 'calls', format: formatCount };
		case 'temporary':
			return { metric, column: 'temporary', flame: 'temporary', word: 'temporary', format: formatCount };
		case 'slack':
			return { metric, column: 'slack', flame: 'slack', word: 'slack', format: formatBytes };
		case 'leaked':
			return { metric, column: 'leaked', flame: 'leaked', word: leftWords.value, format: formatBytes };
	}
});
