/*
 * The page as one file: what lies in it instead of a server (src/server/page/html_file.h). Each answer is
 * unpacked when it is first asked for.
 */
import type { FileFacts } from '../api/file';
import { keyOf, questionOf } from './question';

/** An answer that the file has: what was asked, and what came. */
export interface Packed {
	of: string;
	data: unknown;
	failed?: string;
}

let facts: FileFacts | null = null;

const byKey = new Map<string, number[]>();

/** The text in the element of that id, unpacked. */
async function unpack<T>(id: string): Promise<T> {
	const text = atob(document.getElementById(id)!.textContent!);
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return (await new Response(stream).json()) as T;
}

/** Reads what the file is: before anything is asked. */
export async function readFacts(): Promise<FileFacts> {
	facts = await unpack<FileFacts>('file');
	facts.answers.forEach(({ of }, number) => {
		const key = keyOf(questionOf(of));
		byKey.set(key, [...(byKey.get(key) ?? []), number]);
	});
	return facts;
}

const unpacked = new Map<number, Promise<Packed>>();

async function open(number: number): Promise<Packed> {
	const { of, failed } = facts!.answers[number]!;
	return failed === undefined ? { of, data: await unpack(`answer-${number}`) } : { of, data: null, failed };
}

/** What readFacts() has read. */
export const factsOf = (): FileFacts => facts!;

/** All answers to the same question: more than one if it was asked in pages. */
export function packed(key: string): Promise<Packed[]> {
	const numbers = byKey.get(key) ?? [];
	for (const number of numbers) if (!unpacked.has(number)) unpacked.set(number, open(number));
	return Promise.all(numbers.map((number) => unpacked.get(number)!));
}
