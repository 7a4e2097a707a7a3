/* Single keys can be switched off: for those who speak to their machine. The browser keeps it. */
import { signal } from '@preact/signals';

const KEY = 'mallow.keys';

function stored(): boolean {
	try {
		return localStorage.getItem(KEY) === 'off';
	} catch {
		return false;
	}
}

export const keysOff = signal(stored());

export function setKeysOff(off: boolean): void {
	keysOff.value = off;
	try {
		localStorage.setItem(KEY, off ? 'off' : 'on');
	} catch {
		// Without storage it holds until the page is closed.
	}
}
