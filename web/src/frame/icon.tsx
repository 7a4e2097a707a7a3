/* The pages' signs, for a narrow rail. */
import type { Page } from '../state/place';

const PATHS: Record<Page, string> = {
	overview: 'M2 14V9h3v5zM6.5 14V2h3v12zM11 14V6h3v8z',
	flame: 'M1 2h14v3H1zM1 6.5h9v3H1zM1 11h5v3H1z',
	sites: 'M1 3h14v2H1zM1 7h14v2H1zM1 11h14v2H1z',
	allocations: 'M1 2h4v4H1zM6 2h4v4H6zM11 2h4v4h-4zM1 7h4v4H1zM6 7h9v4H6z',
	leaks: 'M1 14 15 3v11z',
	compare: 'M1 3h6v10H1zM9 3h6v10H9zM10.500 4.500v7h3v-7z',
};

export function Icon({ page }: { page: Page }) {
	return (
		<svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
			<path d={PATHS[page]} fill="currentColor" fill-rule="evenodd" />
		</svg>
	);
}
