/* Questions to the server that this page came from. Nothing here knows what is shown. */

import { fileAnswer, inFile } from './file';
import { noteReached, noteUnreached } from './reach';

/** What a request takes beyond its path; undefined and '' are left out. */
export type Params = Record<string, string | number | undefined>;

/** The server answered that it cannot, or (status 0) did not answer. `message` is its line of text. */
export class ApiError extends Error {
	constructor(
		readonly status: number,
		message: string,
	) {
		super(message);
	}
}

/** A path with its query: what is fetched, and what *Copy as curl* shows. */
export function target(path: string, params: Params = {}): string {
	const query = Object.entries(params)
		.filter(([, value]) => value !== undefined && value !== '')
		.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
		.join('&');
	return query ? `${path}?${query}` : path;
}

async function failure(response: Response): Promise<ApiError> {
	const text = (await response.text()).trim();
	return new ApiError(response.status, text || `the server answered with status ${response.status}`);
}

/** The status of what the page as one file does not have. */
export const NOT_HERE = 501;

async function fromFile<T>(at: string): Promise<T> {
	const answer = await fileAnswer(at);
	if ('refused' in answer) throw new ApiError(NOT_HERE, answer.refused);
	return answer.data as T;
}

/** The JSON at a target. Throws ApiError. */
export async function get<T>(at: string): Promise<T> {
	if (inFile) return fromFile<T>(at);
	let response: Response;
	try {
		response = await fetch(at, withToken());
	} catch {
		noteUnreached();
		throw new ApiError(0, 'the server was not reached');
	}
	noteReached();
	if (!response.ok) throw await failure(response);
	try {
		return (await response.json()) as T;
	} catch {
		throw new ApiError(0, 'the answer broke off');
	}
}

/** Where the token is kept for this tab. */
const KEPT = 'mallow_token';

function kept(): string {
	try {
		return sessionStorage.getItem(KEPT) ?? '';
	} catch {
		return ''; // the browser keeps nothing for pages
	}
}

let token = kept();

function withToken(): RequestInit {
	return { credentials: 'same-origin', headers: token ? { Authorization: `Bearer ${token}` } : {} };
}

/**
 * Takes `#token=…` out of the address, so that it is in no history and no copied link, and keeps it
 * for this tab. Links and events carry no token: for them the server gives a cookie, which counts
 * where it knows whose browser this is.
 */
export async function takeToken(): Promise<void> {
	const found = /^#?(?:(.*)[&?])?token=([^&]*)/.exec(location.hash);
	if (!found) return;
	history.replaceState(null, '', location.pathname + (found[1] ? `#${found[1]}` : ''));
	token = decodeURIComponent(found[2] ?? '');
	try {
		sessionStorage.setItem(KEPT, token);
	} catch {
		// until the next load
	}
	await fetch('/session', withToken()).catch(() => undefined);
}
