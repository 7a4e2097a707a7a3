/* What a view shows, as a line for a shell: the words of the page are those of the command line. */
import type { Page } from '../state/place';

/** A word as a shell reads it, as src/report/words/shell_word.c writes it. */
export function shellWord(word: string): string {
	return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}

/** Conditions as options; `export` calls `to` a format, so there it is `until`, and a moment is `--at`. */
export function options(conditions: Record<string, string>, command: string): string {
	return Object.entries(conditions)
		.filter(([name]) => !name.startsWith('b.'))
		.map(([name, value]) => {
			const option = name === 'alive_at' ? 'at' : command === 'export' && name === 'to' ? 'until' : name;
			return `--${option.replace(/_/g, '-')} ${shellWord(value)}`;
		})
		.join(' ');
}

const SORTS: Record<string, string> = {
	bytes: 'peak', blocks: 'peak', total: 'total', calls: 'calls', temporary: 'temporary', leaked: 'leaked', slack: 'peak',
};

export interface Asked {
	page: Page;
	file: string;
	/** The recordings of the processes that it started, too, as one. */
	merged?: boolean;
	/** File of the side before, of another recording. */
	before?: string | undefined;
	conditions: Record<string, string>;
	/** The column of /sums that the metric is. */
	column: string;
	by?: string | undefined;
}

function differs(asked: Asked): string {
	const { conditions, file } = asked;
	const shared = Object.fromEntries(
		Object.entries(conditions).filter(([name]) => name !== 'alive_at' && !name.startsWith('b.')),
	);
	const moment = (name: string) => (conditions[name] ? `@${conditions[name]}` : '');
	const words = ['mallow diff', `--sort ${SORTS[asked.column] ?? 'peak'}`, options(shared, 'diff')];
	const sides = [(asked.before ?? file) + moment('b.alive_at'), file + moment('alive_at')].map(shellWord);
	return [...words, ...sides].filter(Boolean).join(' ');
}

/* What `mallow report` calls a page; others are its sites. */
const VIEWS: Partial<Record<Page, string>> = {
	tree: '--tree', churn: '--by function', threads: '--by thread', distributions: '--histogram size', source: '--by line', errors: '--errors', pools: '--pools',
};

/* Pages that show one metric, whatever the switch says. */
const OF_METRIC: Partial<Record<Page, string>> = { leaks: 'leaked', churn: 'temporary' };

/** The command that prints what the page shows. */
export function commandOf(asked: Asked): string {
	if (Object.keys(asked.conditions).some((name) => name.startsWith('b.'))) return differs(asked);
	const { page, conditions } = asked;
	const command = page === 'flame' ? 'export' : 'report';
	const sort = OF_METRIC[page] ?? SORTS[asked.column];
	const metric = sort && sort !== 'peak' ? sort : '';
	const by = ['function', 'file', 'module', 'thread'].includes(asked.by ?? '') ? `--by ${asked.by}` : '';
	const words =
		page === 'flame'
			? ['mallow export --to flamegraph', metric && `--metric ${metric}`, '-o flame.svg']
			: ['mallow report', VIEWS[page] ?? '', metric && page !== 'distributions' && page !== 'errors' ? `--sort ${metric}` : '', page === 'sites' ? by : ''];
	return [...words, options(conditions, command), ...(asked.merged ? ['--merge', shellWord(asked.file), `${shellWord(asked.file)}.*`] : [shellWord(asked.file)])].filter(Boolean).join(' ');
}
