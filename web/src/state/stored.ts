/* What the browser keeps of the user's choices. Where it keeps nothing they hold until the page is closed. */

/** '': nothing is kept. */
export function stored(name: string): string {
	try {
		return localStorage.getItem(`mallow.${name}`) ?? '';
	} catch {
		return '';
	}
}

/** '' keeps nothing. */
export function store(name: string, text: string): void {
	try {
		if (text) localStorage.setItem(`mallow.${name}`, text);
		else localStorage.removeItem(`mallow.${name}`);
	} catch {
		// There is no storage, or it is full.
	}
}
