/* What the page's state needs of a browser. To be imported before it. */
const kept = new Map<string, string>();

/** Addresses that were gone to: pushed ones, and where the last one replaced the one before. */
export const steps: string[] = [];

const address = { hash: '', origin: 'http://127.0.0.1:1', pathname: '/' };
const step = (replace: boolean) => (_: unknown, __: string, hash: string) => {
	address.hash = hash;
	steps.splice(steps.length - Number(replace), Number(replace), hash);
};

Object.assign(globalThis, {
	location: address,
	history: { pushState: step(false), replaceState: step(true) },
	localStorage: {
		getItem: (name: string) => kept.get(name) ?? null,
		setItem: (name: string, text: string) => kept.set(name, text),
		removeItem: (name: string) => kept.delete(name),
	},
	matchMedia: () => ({ matches: false, addEventListener: () => undefined }),
	addEventListener: () => undefined,
	innerWidth: 1440,
});
