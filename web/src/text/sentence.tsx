/*
 * Sentences of the server with what counts in them marked: amounts bold, names of functions as code.
 * The words stay the server's.
 */
import type { ComponentChildren } from 'preact';

const AMOUNT = /\d[\d.,]*\s(?:B|KB|MB|GB|TB|%)(?![\w])/;

export interface Part {
	text: string;
	kind: 'plain' | 'amount' | 'name';
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** The parts of a sentence in order; joined they are the sentence. */
export function sentenceParts(sentence: string, names: (string | null)[]): Part[] {
	const known = names.filter((name): name is string => !!name);
	const pattern = new RegExp(`(${[...known.map(escaped), AMOUNT.source].join('|')})`);
	return sentence
		.split(pattern)
		.map((text, i): Part => ({ text, kind: i % 2 === 0 ? 'plain' : known.includes(text) ? 'name' : 'amount' }))
		.filter((part) => part.text !== '');
}

export function Sentence({ text, names }: { text: string; names: (string | null)[] }) {
	const mark = (part: Part): ComponentChildren =>
		part.kind === 'amount' ? <b>{part.text}</b> : part.kind === 'name' ? <code>{part.text}</code> : part.text;
	return <>{sentenceParts(text, names).map(mark)}</>;
}
