// Writes src/api/generated.ts from the server's own tables, so that the page has no second list of
// conditions, parameters or shapes of answers: node generate.mjs
import { readFileSync, writeFileSync } from 'node:fs';

const source = new URL('../src/', import.meta.url);
const output = new URL('src/api/generated.ts', import.meta.url);

/** The rows NAME(…) of a .def file: words as they are, adjacent C strings joined, NULL as null. */
function rows(file, name) {
	const text = readFileSync(new URL(file, source), 'utf8').replace(/\/\*[^]*?\*\//g, '');
	const calls = text.matchAll(new RegExp(`^${name}\\(((?:[^"()]|"(?:[^"\\\\]|\\\\.)*")*)\\)`, 'gm'));
	return [...calls].map(([, inside]) => {
		const fields = inside.match(/(?:"(?:[^"\\]|\\.)*"\s*)+|[^\s,"]+/g) ?? [];
		return fields.map((field) => {
			const strings = field.match(/"(?:[^"\\]|\\.)*"/g);
			if (strings) return strings.map((part) => JSON.parse(part)).join('');
			return field === 'NULL' ? null : field;
		});
	});
}

const PLAIN = new Map([
	['unsigned', 'number'], ['integer', 'number'], ['number', 'number'], ['boolean', 'boolean'],
	['string', 'string'], ['object', 'object'], ['binary', 'ArrayBuffer'],
]);

const camel = (word) => word.replace(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase());

/** A type of answer.def in TypeScript: `unsigned?[]` is (number | null)[]. */
function type(word) {
	const optional = word.endsWith('?');
	const inner = optional ? word.slice(0, -1) : word;
	let made = PLAIN.get(inner) ?? camel(inner);
	if (inner.endsWith('[]')) made = `(${type(inner.slice(0, -2))})[]`;
	if (inner.endsWith('{}')) made = `Record<string, ${type(inner.slice(0, -2))}>`;
	return optional ? `${made} | null` : made;
}

function answer([name, members, text]) {
	const head = `/** ${text} */\nexport `;
	if (members.includes('|'))
		return `${head}type ${camel(name)} = ${members.split('|').map(camel).join(' | ')};\n`;
	const lines = members.trim().split(/\s+/).map((member) => {
		const [key, kind] = member.split(/:(.*)/s);
		return `\t${key}: ${type(kind)};`;
	});
	return `${head}interface ${camel(name)} {\n${lines.join('\n')}\n}\n`;
}

const condition = ([, name, kind, value, choices, text]) => ({
	name, kind, value, text, choices: choices ? choices.split(' ') : null,
});

/** A format that the menu offers; its traits are those of struct export_format that are set. */
const format = ([name, text, ending, , ...traits]) => ({
	name, text, ending,
	ofMetric: traits.includes('.of_metric'),
	ofBlocks: traits.includes('.of_blocks') || traits.includes('.of_page'),
});

const answers = ['ANSWER', 'REPORT'].flatMap((name) => rows('server/routes/answer.def', name)).map(answer);
const conditions = rows('analysis/filter/filter.def', 'FILTER').map(condition);
const formats = rows('report/export/exporters.def', 'EXPORTER').map(format).filter(({ text }) => text);
if (formats.length < 5 || answers.length < 10 || conditions.length < 10) throw new Error('generate.mjs: a .def file was not understood');

writeFileSync(output, `// Made by generate.mjs of answer.def, filter.def and exporters.def.

export interface Condition {
	name: string;
	kind: string;
	value: string;
	text: string;
	choices: string[] | null;
}

/** All conditions that allocations can be filtered by, in the order of docs/filter.md. */
export const CONDITIONS: Condition[] = ${JSON.stringify(conditions, null, '\t')};

export interface ExportFormat {
	name: string;
	text: string;
	ending: string;
	/** It shows one metric; the others have all of them. */
	ofMetric: boolean;
	/** Sums are not enough for it. */
	ofBlocks: boolean;
}

/** What the server writes below /export, besides flame graphs. */
export const EXPORTS: ExportFormat[] = ${JSON.stringify(formats, null, '\t')};

${answers.join('\n')}`);
