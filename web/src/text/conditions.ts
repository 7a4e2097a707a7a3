/* Conditions in words, for chips. */
import { formatTime } from './units';

const WORDS: Record<string, string> = {
	function_regex: 'function ~', source_regex: 'source ~', module_regex: 'module ~', allocated_by: 'allocated by ~',
	negative_function_regex: 'function ≁', negative_source_regex: 'source ≁', negative_module_regex: 'module ≁',
	backtraces: 'stack', suppress: 'without',
};

function valueWords(value: string): string {
	const found = /^(\d+)ns$/.exec(value);
	return found ? formatTime(Number(found[1])) : value.replace(/\n/g, ', ');
}

/** size_min=1M as "size ≥ 1M". */
export function conditionWords(name: string, value: string): string {
	if (name.startsWith('b.')) return `before: ${conditionWords(name.slice(2), value)}`;
	const bound = /^(.*)_(min|max)$/.exec(name);
	if (bound) return `${bound[1]!.replace(/_/g, ' ')} ${bound[2] === 'min' ? '≥' : '≤'} ${valueWords(value)}`;
	return `${WORDS[name] ?? name.replace(/_/g, ' ')} ${valueWords(value)}`;
}
