/** The value of a colour or font of styles/tokens.css as it is now, for canvases. */
export function colour(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
