/* Light or dark: the system's, or what the user chose, which the browser keeps. */
import { computed, effect, signal } from '@preact/signals';

export type Theme = 'light' | 'dark';

const KEY = 'mallow.theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const systemDark = signal(system.matches);

function stored(): Theme | null {
	try {
		const value = localStorage.getItem(KEY);
		return value === 'light' || value === 'dark' ? value : null;
	} catch {
		return null;
	}
}

const chosen = signal<Theme | null>(stored());

export const theme = computed<Theme>(() => chosen.value ?? (systemDark.value ? 'dark' : 'light'));

export function toggleTheme(): void {
	const next: Theme = theme.value === 'dark' ? 'light' : 'dark';
	chosen.value = next === (systemDark.value ? 'dark' : 'light') ? null : next;
	try {
		if (chosen.value) localStorage.setItem(KEY, chosen.value);
		else localStorage.removeItem(KEY);
	} catch {
		// A browser without storage forgets the choice with the page.
	}
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
