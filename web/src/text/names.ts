/*
 * Names of functions for people: the rule of src/analysis/names/short_name.c, so that the page calls a
 * function as the text report does. Both are tested with tests/unit/short_names.def.
 */

const DEEPEST = 24; // lists within lists; what is deeper is an ellipsis
const LONGEST = 65536;
const ANONYMOUS = '(anonymous namespace)';

const isWord = (letter: string | undefined): boolean => letter !== undefined && /[A-Za-z0-9_]/.test(letter);

/** The first of the words that stands there. */
const wordAt = (text: string, at: number, words: string[]): string | undefined => words.find((word) => text.startsWith(word, at));

/* The length from an opening bracket to the one that closes it; 0: none does. */
function bracketed(text: string, at: number): number {
	const open = text[at];
	const close = open === '(' ? ')' : '>';
	let depth = 0;
	for (let i = at; i < text.length; i++) {
		if (text[i] === open) depth++;
		else if (text[i] === close && !(close === '>' && i > at && text[i - 1] === '-')) depth--;
		if (!depth) return i + 1 - at;
	}
	return 0;
}

const OPERATOR = 'operator';
const SIGNS = ['()', '[]', '->*', '->', '<<=', '<=>', '<<', '<=', '>>=', '>>', '>=', '<', '>'];

/* The length of "operator" and its signs; of "operator new" that of the word; 0: there is none. */
function operatorLength(text: string, at: number): number {
	const sign = at + OPERATOR.length;
	if (!text.startsWith(OPERATOR, at) || isWord(text[sign])) return 0;
	// "operator<<int>" is operator< of int. An operator<< of int has a blank: "operator<< <int>".
	if (text.startsWith('<<', sign) && !'( ='.includes(text[sign + 2] ?? '\0') && text.includes('>', sign)) return OPERATOR.length + 1;
	return OPERATOR.length + (wordAt(text, sign, SIGNS)?.length ?? 0);
}

function inBraces(name: string, at: number): boolean {
	let depth = 0;
	for (let i = 0; i < at; i++) depth += Number(name[i] === '{') - Number(name[i] === '}');
	return depth > 0;
}

/* Whether the bracket belongs to a type or to the name, and is no list of parameters. */
const isWithin = (name: string, at: number): boolean =>
	name.startsWith('(anonymous', at) || inBraces(name, at) || name[at - 1] === "'" || /decltype ?$/.test(name.slice(Math.max(0, at - 9), at));

/* Where the name begins behind its return type. */
function pathStart(name: string): number {
	let start = 0;
	for (let i = 0; i < name.length; i++) {
		const letter = name[i]!;
		if (name.startsWith(OPERATOR, i) && (i === 0 || name[i - 1] === ' ' || name[i - 1] === ':')) break;
		if ((letter === '(' && !isWithin(name, i)) || name.startsWith(' [.', i)) break;
		if (letter === ' ' && !inBraces(name, i)) start = i + 1;
		const length = letter === '<' || letter === '(' ? bracketed(name, i) : 0;
		if (length) i += length - 1;
	}
	return start < name.length ? start : 0;
}

/* Where a member function's own template arguments begin, if its class has some too; else the end. */
function methodEnd(name: string): number {
	const end = name.length;
	if (!name.endsWith('>')) return end;
	let last = end;
	let depth = 0;
	for (let i = end - 1; last === end && i >= 0; i--) {
		depth += Number(name[i] === '>' && name[i - 1] !== '-');
		if (name[i] === '<' && depth && !--depth) last = i;
	}
	return name.slice(0, last + 1).includes('>:') ? last : end;
}

const INLINE_NAMESPACES = ['__cxx11::', '__1::', '__ndk1::'];
const QUALIFIERS = [' const', ' volatile', ' noexcept', ' &&', ' &', '&&', '&'];

/* Whether it is an argument that the standard library's templates have if nobody chose one. */
const isDefault = (argument: string): boolean =>
	/^(\(__gnu_cxx::_Lock_policy\)|std::(__cxx11::|__1::|__ndk1::)?(allocator|char_traits|less|equal_to|hash|default_delete)<)/.test(argument);

/* The end of an argument: its comma, or the end of the list. */
function argumentEnd(text: string, at: number, end: number): number {
	while (at < end && text[at] !== ',') {
		const length = text[at] === '<' || text[at] === '(' ? bracketed(text, at) : 0;
		at += length && length <= end - at ? length : 1;
	}
	return at;
}

/* Writes the short form of a text. */
class Shortening {
	out = '';
	depth = 0;
	constructor(readonly text: string) {}

	put(at: number, end: number): void {
		const { text } = this;
		const start = at;
		while (at < end) {
			const begins = at === start || !isWord(text[at - 1]);
			const inline = begins ? wordAt(text, at, INLINE_NAMESPACES) : undefined;
			if (inline && at + inline.length <= end) {
				at += inline.length;
				continue;
			}
			const operator = begins ? operatorLength(text, at) : 0;
			if (operator && operator <= end - at) {
				this.out += text.slice(at, at + operator);
				at += operator;
			} else if (text[at] === '<' || text[at] === '(') at = this.putBracket(at, end);
			else this.out += text[at++];
		}
	}

	/* What begins at a bracket; returns where to go on. */
	private putBracket(at: number, end: number): number {
		const { text } = this;
		const length = bracketed(text, at);
		if (!length || length > end - at) {
			this.out += text[at];
			return at + 1;
		}
		const behind = at + length;
		if (text.startsWith(ANONYMOUS, at)) this.out += '(anon)';
		else if (text[at] === '(') {
			if (!this.depth && !this.out.endsWith('decltype')) return this.pastQualifiers(behind, end);
			this.out += '(';
			this.depth++;
			this.put(at + 1, behind - 1);
			this.depth--;
			this.out += ')';
		} else if (this.depth >= DEEPEST) this.out += '<…>';
		else this.putArguments(at + 1, behind - 1);
		return behind;
	}

	private pastQualifiers(at: number, end: number): number {
		for (let word; (word = wordAt(this.text, at, QUALIFIERS)) && at + word.length <= end; ) at += word.length;
		return at;
	}

	/* The arguments between two angle brackets. */
	private putArguments(at: number, end: number): void {
		const { text } = this;
		while (end > at && text[end - 1] === ' ') end--; // "> >"
		const firstEnd = argumentEnd(text, at, end);
		// A list that has nothing else: std::string::basic_string<std::allocator<char>>.
		if (firstEnd === end && !this.depth && isDefault(text.slice(at, end))) {
			this.out = this.out.replace(/ $/, '');
			return;
		}
		const chosen: [number, number][] = [];
		for (let next = firstEnd; next < end; ) {
			let from = next + 1;
			while (text[from] === ' ') from++;
			next = argumentEnd(text, next + 1, end);
			if (!isDefault(text.slice(from, end))) chosen.push([from, next]);
		}
		if (!chosen.length && this.putTypedef(text.slice(at, firstEnd))) return;
		this.out += '<';
		this.depth++;
		this.put(at, firstEnd);
		for (const [from, to] of chosen) {
			this.out += ', ';
			this.put(from, to);
		}
		this.depth--;
		this.out += '>';
	}

	/* "std::basic_string" of char is std::string, of wchar_t std::wstring. */
	private putTypedef(argument: string): boolean {
		const basic = /(^|[^A-Za-z0-9_])basic_([A-Za-z0-9_]+)$/.exec(this.out);
		if (!basic || (argument !== 'char' && argument !== 'wchar_t')) return false;
		this.out = this.out.slice(0, basic.index) + basic[1] + (argument === 'char' ? '' : 'w') + basic[2];
		return true;
	}
}

/* Without arguments of the standard library's functions that are only the types of what they were called with. */
function withoutDeduced(name: string): string {
	if (!name.startsWith('std::')) return name;
	name = name.slice(0, methodEnd(name));
	const maker = /^std::make_(shared|unique)</.exec(name);
	return maker && name.endsWith('>') ? `${name.slice(0, argumentEnd(name, maker[0].length, name.length - 1))}>` : name;
}

/* Lambdas, gcc's "{lambda#2}" and clang's "$_1", stand after their functions: "main::{lambda}<long>". */
const withLambdas = (name: string): string =>
	name.replace(/(?:\{lambda#(\d+)\}|\$_(\d+))::operator\(\)/g, (_, gcc?: string, clang?: string) => {
		const nth = gcc ? Number(gcc) : Number(clang) + 1;
		return nth > 1 ? `{lambda#${nth}}` : '{lambda}';
	});

/* Code made at run time has names that no demangler writes: "LazyCompile:~f (x) /a.js:1". They stay. */
const isDemangled = (name: string): boolean => !/(^|[^:])(?<!\bauto):(?!:)/.test(name);

function shortPart(joined: string): string {
	// A Python module's own code has the same name in every file, and an import statement is no type.
	const module = /^<module> \[([^\]]+)\]$/.exec(joined);
	if (module) return `<module> ${module[1]}`;
	if (joined.startsWith('import ')) return joined.replace(/ \[[^\]]*\]$/, '');
	// The server tells functions of the same name apart by their modules: "init [libz.so]".
	const name = joined.replace(/(?<=.) \[[^.\]][^\]]*\]$/, '');
	if (!isDemangled(name)) return name;
	const path = name.slice(pathStart(name)).slice(0, LONGEST);
	const shortening = new Shortening(path);
	shortening.put(0, path.length);
	return withLambdas(withoutDeduced(shortening.out)) || name;
}

/** As the text report calls a function. Joined names stay joined. */
export function shortName(name: string): string {
	return name.split(' > ').map(shortPart).join(' › ');
}

/**
 * What follows the first scope of a short name, where there is no room for it; '': it has none, or one
 * with template arguments, or it is the function that a lambda is named after.
 */
export function afterScope(name: string): string {
	for (let i = 0; i < name.length && name[i] !== ' ' && name[i] !== '<'; i++) {
		const length = name[i] === '(' ? bracketed(name, i) : 0;
		if (length) i += length - 1;
		else if (name.startsWith('::', i)) return name[i + 2] === '{' ? '' : name.slice(i + 2);
	}
	return '';
}

const last = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/* Options of interpreters: those with a text of code behind them, and those with another word. */
const OPTIONS: Record<string, { code: string[]; word: string[] }> = {
	python: { code: ['-c', '-'], word: ['-X', '-W'] },
	php: { code: ['-r', '-B', '-R', '-E', '-'], word: ['-d', '-c', '-z', '-S', '-t'] },
	ruby: { code: ['-e', '-'], word: ['-C', '-E', '-I', '-r'] },
};

/** Whether a program interprets scripts, and of which language: script_files_language() of src/analysis/names. */
export const interpreted = (program: string): string | undefined => /^(python|php|ruby)[\d.]*$/.exec(last(program))?.[1];

/** What a program is called: of an interpreter, the script or module that it runs. words: its arguments. */
export function programName(program: string, words: string[]): string {
	const language = interpreted(program);
	const options = language && OPTIONS[language];
	if (!options) return last(program);
	for (let i = 1; i < words.length && !options.code.includes(words[i]!); i++) {
		const word = words[i]!;
		if (word === '-m' && language === 'python') return words[i + 1] ?? last(program);
		if (options.word.includes(word)) i++;
		else if (!word.startsWith('-')) return last(word);
	}
	return last(program);
}

/** A regular expression for exactly this name. */
export const exactly = (name: string): string => `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`;

/** The name that a regular expression of exactly() is for; null: it is another expression. */
export function nameOf(pattern: string): string | null {
	const found = /^\^((?:[^.*+?^${}()|[\]\\]|\\[.*+?^${}()|[\]\\])*)\$$/.exec(pattern);
	return found ? found[1]!.replace(/\\(.)/g, '$1') : null;
}
