/*
 * The page as one file, as the page sees it: file.js (src/file), which such a file has and a server does
 * not send, answers instead of a server.
 */

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

/** What file.js leaves for the page. */
export interface PageFile {
	facts: FileFacts;
	/** The answer to a target, or the line by which it is refused. */
	answer: (target: string) => Promise<{ data: unknown } | { refused: string }>;
}

declare global {
	var mallowFile: Promise<PageFile> | undefined;
}

/** Whether this page is such a file. */
export const inFile = globalThis.mallowFile !== undefined;

let opened: PageFile | null = null;

/** Unpacks what the file is: before anything is asked. */
export async function openFile(): Promise<void> {
	opened = (await globalThis.mallowFile) ?? null;
}

/** What the file is; null: this page came from a server. */
export const fileFacts = (): FileFacts | null => opened?.facts ?? null;

export const fileAnswer = (target: string): ReturnType<PageFile['answer']> => opened!.answer(target);

/** How many rows of a table the file does not have, the smallest ones; 0 of a server's. */
export const leftOut = (table: object): number => (table as { left_out?: number }).left_out ?? 0;
