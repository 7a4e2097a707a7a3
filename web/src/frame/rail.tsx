/* The pages. Badges count what the filter leaves. */
import type { Page } from '../state/place';
import { facts, linkTo, place, summary, wrongFrees } from '../state/state';
import { badges } from '../state/badges';
import { formatShort } from '../text/units';
import { inFile } from '../api/file';
import { imported, missing } from '../state/limits';
import { Icon } from './icon';

interface Entry {
	page: Page;
	text: string;
	key: string;
	before?: string;
	/** How many there are: without any the page is not offered. */
	some?: () => number;
}

export const ENTRIES: Entry[] = [
	{ page: 'overview', text: 'Overview', key: 'o' },
	{ page: 'flame', text: 'Flame graph', key: 'f' },
	{ page: 'tree', text: 'Call tree', key: 't' },
	{ page: 'sites', text: 'Sites', key: 's' },
	{ page: 'allocations', text: 'Allocations', key: 'a' },
	{ page: 'source', text: 'Source', key: 'c' },
	{ page: 'leaks', text: 'Leaks', key: 'l', before: 'How it behaves' },
	{ page: 'churn', text: 'Churn', key: 'u' },
	{ page: 'distributions', text: 'Distributions', key: 'd' },
	{ page: 'space', text: 'Address space', key: 'h', before: 'Where it lies' },
	{ page: 'mappings', text: 'Mappings', key: 'm' },
	{ page: 'threads', text: 'Threads', key: 'w' },
	{ page: 'processes', text: 'Processes', key: 'p' },
	{ page: 'pools', text: 'Pools', key: 'i', some: () => facts.value?.pools ?? 0 },
	{ page: 'errors', text: 'Errors', key: 'e', some: () => wrongFrees.value },
	{ page: 'mallopts', text: 'Mallopts', key: 'k', some: () => summary.value?.mallopts ?? 0 },
	{ page: 'compare', text: 'Compare', key: 'v', before: 'Against' },
];

export function Rail() {
	return (
		<nav class="rail" aria-label="pages">
			<ul>
				{ENTRIES.filter(({ page, some }) => !((inFile || imported.value) && missing(page)) && (!some || some() > 0 || place.value.page === page)).map(({ page, text, key, before }) => (
					<li key={page}>
						{before ? <span class="rail-head">{before}</span> : null}
						<a href={linkTo({ page })} aria-current={place.value.page === page ? 'page' : undefined} title={`${text} (g ${key})`}>
							<Icon page={page} />
							<span class="rail-text">{text}</span>
							{badges.value[page] !== undefined ? <span class="badge">{formatShort(badges.value[page]!)}</span> : null}
						</a>
					</li>
				))}
			</ul>
		</nav>
	);
}
