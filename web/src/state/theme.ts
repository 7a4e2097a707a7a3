/* Light or dark: the system's, or what the user chose, which the browser keeps. */
import { computed, effect, signal } from '@preact/signals';
import { store, stored } from './stored';

export type Theme = 'light' | 'dark';

const system = matchMedia('(prefers-color-scheme: dark)');
const systemDark = signal(system.matches);

const isTheme = (word: string): word is Theme => word === 'light' || word === 'dark';
const kept = stored('theme');
const chosen = signal<Theme | null>(isTheme(kept) ? kept : null);

export const theme = computed<Theme>(() => chosen.value ?? (systemDark.value ? 'dark' : 'light'));

export function toggleTheme(): void {
	const next: Theme = theme.value === 'dark' ? 'light' : 'dark';
	chosen.value = next === (systemDark.value ? 'dark' : 'light') ? null : next;
	store('theme', chosen.value ?? '');
}

/** Sets the theme on the document, now and whenever it changes. */
export function followTheme(): void {
	system.addEventListener('change', (event) => {
		systemDark.value = event.matches;
	});
	effect(() => {
		document.documentElement.dataset.theme = theme.value;
	});
}
