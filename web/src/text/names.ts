/* Names of functions as a frame has room for them; the whole name is in titles. */

/* Without what stands in a pair of brackets, nested ones too. `operator<` and `operator()` keep theirs. */
function withoutBrackets(name: string, open: '<' | '(', close: string): string {
	const operator = open === '<' ? /operator<?$/ : /operator$/;
	let depth = 0;
	let result = '';
	for (let i = 0; i < name.length; i++) {
		const letter = name[i]!;
		const ofOperator = depth === 0 && operator.test(result);
		if (letter === open && !ofOperator) depth++;
		else if (letter === close && depth > 0 && !ofOperator) depth--;
		else if (depth === 0) result += letter;
	}
	return depth === 0 ? result : name;
}

const SCOPES = 2;

function shortPart(name: string): string {
	if (name.startsWith('[')) return name;
	const anonymous = name.replace(/\(anonymous namespace\)::/g, '').replace(/ \[[^\]]*\]$/, '');
	const plain = withoutBrackets(withoutBrackets(anonymous, '<', '>'), '(', ')').replace(/ const$/, '');
	const last = plain.split('::').slice(-SCOPES).join('::').trim();
	// A type in front of the name of a template: "void f<int>()".
	const word = /operator/.test(last) ? last : last.replace(/^.* /, '');
	return word || name;
}

/** Without template arguments, parameters and leading namespaces. Joined names stay joined. */
export function shortName(name: string): string {
	return name.split(' > ').map(shortPart).join(' › ');
}

/** A regular expression for exactly this name. */
export const exactly = (name: string): string => `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;

/** The name that a regular expression of exactly() is for; null: it is another expression. */
export function nameOf(pattern: string): string | null {
	const found = /^\^((?:[^.*+?^${}()|[\]\\]|\\[.*+?^${}()|[\]\\])*)\$$/.exec(pattern);
	return found ? found[1]!.replace(/\\(.)/g, '$1') : null;
}
