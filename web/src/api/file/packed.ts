/*
 * The page as one file: what lies in it instead of a server (src/server/html_file.h). Each answer is
 * unpacked when it is first asked for.
 */
import { keyOf, questionOf } from './question';

export interface FileFacts {
	version: number;
	/** The version of mallow that wrote it. */
	mallow: string;
	/** The recording's file, without its folders. */
	name: string;
	/** Conditions that all answers have in common, as a query; '': none. */
	conditions: string;
	/** Paths, arguments and the host were left out. */
	anonymous: boolean;
	/** What `mallow check` said of the recording; null: it did not write this file. */
	check: string | null;
	/** The moments that can be looked at; marks_left more marks cannot. */
	moments: { at_ns: number; name: string }[];
	marks_left: number;
	/** What was asked, in the order of the answers. failed: why there is none. */
	answers: { of: string; failed?: string }[];
}

/** An answer that the file has: what was asked, and what came. */
export interface Packed {
	of: string;
	data: unknown;
	failed?: string;
}

/** Whether this page is such a file. */
export const inFile = typeof document !== 'undefined' && document.getElementById('file') !== null;

let facts: FileFacts | null = null;

/** What the file is; null: this page came from a server. */
export const fileFacts = (): FileFacts | null => facts;

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
export async function openFile(): Promise<void> {
	facts = await unpack<FileFacts>('file');
	facts.answers.forEach(({ of }, number) => {
		const key = keyOf(questionOf(of));
		byKey.set(key, [...(byKey.get(key) ?? []), number]);
	});
}

const unpacked = new Map<number, Promise<Packed>>();

async function open(number: number): Promise<Packed> {
	const { of, failed } = facts!.answers[number]!;
	return failed === undefined ? { of, data: await unpack(`answer-${number}`) } : { of, data: null, failed };
}

/** All answers to the same question: more than one if it was asked in pages. */
export function packed(key: string): Promise<Packed[]> {
	const numbers = byKey.get(key) ?? [];
	for (const number of numbers) if (!unpacked.has(number)) unpacked.set(number, open(number));
	return Promise.all(numbers.map((number) => unpacked.get(number)!));
}
