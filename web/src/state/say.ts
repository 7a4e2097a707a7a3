/* A line that says what just happened: seen for a moment, and read out by screen readers. */
import { signal } from '@preact/signals';

export const said = signal('');

let timer = 0;

export function say(text: string): void {
	said.value = text;
	clearTimeout(timer);
	timer = setTimeout(() => {
		said.value = '';
	}, 4000) as unknown as number;
}

export async function copy(text: string, what: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
		say(`copied: ${what}`);
	} catch {
		say(`the browser does not let this page copy: ${text}`);
	}
}
