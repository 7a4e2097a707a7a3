/*
 * Which questions are the same for the page as one file: those that differ in how much is shown of
 * an answer, or in which order, have one answer.
 */

export interface Question {
	/** Below /data/<id>/; beginning with '/': of the server itself. */
	path: string;
	params: Record<string, string>;
}

export function questionOf(target: string): Question {
	const [path = '', query = ''] = target.split(/\?(.*)/s);
	return { path: path.replace(/^\/data\/[^/]*\//, ''), params: Object.fromEntries(new URLSearchParams(query)) };
}

/* By path: what is about the form of the answer alone. */
const FORM: Record<string, string[]> = {
	'/list': ['id'],
	sums: ['sort_by', 'order', 'count', 'skip', 'spark', 'shapes', 'chains'],
	series: ['points', 'start', 'end', 'top'],
	flame: ['cut', 'max', 'ids', 'root', 'columns'],
	space: ['top'],
	maps: ['sort_by', 'order', 'count', 'skip', 'stacks'],
};

/* What it is if it is not said. */
const STANDARD: Record<string, Record<string, string>> = {
	sums: { by: 'site', inclusive: 'false' },
	series: { by: 'fate' },
	flame: { direction: 'callees', merge: 'functions', fold: 'none' },
	space: { cell: 'auto', by: 'site' },
};

/** Questions with one key have one answer. */
export function keyOf({ path, params }: Question): string {
	const standard = STANDARD[path] ?? {};
	// Without cells: the same heaps as with them.
	if (path === 'space' && params.end === '1') return keyOf({ path, params: { at: params.at ?? 'peak', by: 'function' } });
	const words = Object.entries(params)
		.filter(([name, value]) => !FORM[path]?.includes(name) && standard[name] !== value)
		// The file has each graph with all folds, as the call tree has it, or with none.
		.map(([name, value]) => `${name}=${path === 'flame' && name === 'fold' && value !== 'none' && value !== 'plumbing' ? 'all' : value}`)
		.sort();
	return [path, ...words].join(' ');
}
