/* What a recording of another kind cannot say: several processes as one, a table of what lives now, a page as one file. */
import { computed } from '@preact/signals';
import { fileFacts, inFile } from '../api/file';
import { familyOf } from './family';
import { RANGE_MODES, type BrushMode } from './brush';
import { METRICS, type Metric, type Page } from './place';
import { facts, place, recordings } from './state';

/** Behind a recording's id: all processes of its run, as one. */
const FAMILY = '.all';

/** Whether several processes are shown as one. */
export const merged = computed(() => place.value.recording.endsWith(FAMILY));

export const familyId = (id: string): string => id + FAMILY;

/** The recordings of the run that is shown: this one, those that it started, and the one that started it. */
export const family = computed(() => familyOf(recordings.value ?? [], facts.value?.id ?? ''));

/** Whether a live table is shown: what lives now, without what was freed and when. */
export const liveTable = computed(() => recordings.value?.find(({ id }) => id === facts.value?.id)?.kind === 'live');

/** Whether it was imported, and has sums of stacks and no blocks. */
export const imported = computed(() => recordings.value?.find(({ id }) => id === facts.value?.id)?.kind === 'sums');

/** Whether there are sums of stacks alone. */
export const bare = computed(() => merged.value || imported.value);

const OF_SITES: Page[] = ['overview', 'flame', 'tree', 'sites', 'source', 'processes', 'pools'];

const OF_LIVE: Partial<Record<Page, string>> = {
	churn: 'A live table has the blocks that live now, and no others: which were freed at once, or grown by realloc, is not known.',
	leaks: 'A live table has the blocks that live now: whether they are ever freed is not known yet.',
	mappings: 'A live table has the blocks that live now, and no mappings of the program.',
	compare: 'A live table has the blocks that live now, and no moments before to compare them with.',
};

/** Columns of sites that are shown only if they are asked for. */
export const OPTIONAL = ['own_peak', 'growth', 'slack', 'first', 'last', 'longest'] as const;

/** Columns of sites that are not known. */
export const unknownColumns = computed<string[]>(() => {
	if (bare.value) return ['curve', 'lived', ...OPTIONAL, ...METRICS.filter((metric) => !knownMetrics.value.includes(metric))];
	return liveTable.value ? ['leaked', 'temporary', 'lived', 'own_peak', 'growth', 'slack', 'longest'] : [];
});

/** What that is called which was live at the end: a dump of a program that went on does not say that it was never freed. */
export const leftWords = computed(() => (imported.value && ['cut', 'detached'].includes(facts.value?.end_reason ?? '') ? 'live at the end' : 'never freed'));

/* What an import calls the metrics; it has no slack. */
const OF_SUMS: Partial<Record<Metric, string>> = { bytes: 'peak', blocks: 'peak', leaked: 'leaked', calls: 'calls', temporary: 'temporary' };

/** The metrics that are known. */
export const knownMetrics = computed<Metric[]>(() => {
	if (imported.value) return METRICS.filter((metric) => (facts.value?.known ?? []).includes(OF_SUMS[metric] ?? ''));
	if (merged.value) return METRICS.filter((metric) => metric !== 'slack');
	return liveTable.value ? ['bytes', 'blocks', 'calls'] : [...METRICS];
});

/** What a range can mean: of a live table only what of it still lives. */
export const rangeModes = computed<readonly BrushMode[]>(() => (liveTable.value ? ['kept'] : RANGE_MODES));

/** Of a choice: what the page as one file does not have. */
export const notHere = (lacks = true): { disabled?: true; title?: string } =>
	inFile && lacks ? { disabled: true, title: `not in this file: mallow serve ${fileFacts()!.name}` } : {};

/* Single allocations and other recordings lie in no page as one file. */
const NOT_IN_FILE: Page[] = ['allocations', 'processes', 'compare'];

/** Why a page has nothing to show of this recording; null: it has. */
export function missing(page: Page): string | null {
	if (inFile && NOT_IN_FILE.includes(page)) return `This file does not have that page. The recording does: mallow serve ${fileFacts()!.name}`;
	if (merged.value) return OF_SITES.includes(page) ? null : 'Several processes as one have sums, and no single allocations: this page is there for each process by itself.';
	if (imported.value && (!OF_SITES.includes(page) || page === 'processes' || page === 'pools'))
		return 'What was imported has sums of stacks, and no single allocations: mallow report, diff and check have all that it says.';
	return liveTable.value ? (OF_LIVE[page] ?? null) : null;
}
