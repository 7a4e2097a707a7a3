/* Single keys can be switched off: for those who speak to their machine. The browser keeps it. */
import { signal } from '@preact/signals';
import { store, stored } from '../state/stored';

export const keysOff = signal(stored('keys') === 'off');

export function setKeysOff(off: boolean): void {
	keysOff.value = off;
	store('keys', off ? 'off' : '');
}
