/* The pages' signs, for a narrow rail. */
import type { Page } from '../state/place';

const PATHS: Record<Page, string> = {
	overview: 'M2 14V9h3v5zM6.5 14V2h3v12zM11 14V6h3v8z',
	flame: 'M1 2h14v3H1zM1 6.5h9v3H1zM1 11h5v3H1z',
	sites: 'M1 3h14v2H1zM1 7h14v2H1zM1 11h14v2H1z',
	allocations: 'M1 2h4v4H1zM6 2h4v4H6zM11 2h4v4h-4zM1 7h4v4H1zM6 7h9v4H6z',
	leaks: 'M1 14 15 3v11z',
	tree: 'M1 2h6v2H4v2h4v2H4v3h4v2H2V4H1zM10 6h5v2h-5zM10 11h5v2h-5z',
	churn: 'M8 2a6 6 0 0 1 6 6h2l-3 4-3-4h2a4 4 0 0 0-4-4zM8 14a6 6 0 0 1-6-6H0l3-4 3 4H4a4 4 0 0 0 4 4z',
	distributions: 'M1 14v-3h2v3zM4 14V8h2v6zM7 14V3h2v11zM10 14V6h2v8zM13 14v-4h2v4z',
	space: 'M1 1h3v3H1zM5 1h3v3H5zM9 1h3v3H9zM1 5h3v3H1zM9 5h3v3H9zM1 9h3v3H1zM5 9h3v3H5zM13 9h3v3h-3zM13 1h3v3h-3z',
	mappings: 'M1 2h9v3H1zM6 6.500h9v3H6zM3 11h7v3H3z',
	threads: 'M2 1h2v14H2zM7 3h2v12H7zM12 6h2v9h-2z',
	processes: 'M1 1h6v4H5v3h5V6h5v5h-5V10H3V5H1zM10 12h5v3h-5z',
	source: 'M5 3 1 8l4 5 1.500-1.200L3.500 8l3-3.800zM11 3l4 5-4 5-1.500-1.200L12.500 8l-3-3.800z',
	pools: 'M1 3h14v3H1zM2 7h12v6H2zM4 9v2h8V9z',
	errors: 'M8 1 16 15H0zM7 6v4h2V6zM7 11v2h2v-2z',
	mallopts: 'M1 3h9v2H1zM12 3h3v2h-3zM1 7h3v2H1zM6 7h9v2H6zM1 11h7v2H1zM10 11h5v2h-5z',
	compare: 'M1 3h6v10H1zM9 3h6v10H9zM10.500 4.500v7h3v-7z',
};

export function Icon({ page }: { page: Page }) {
	return (
		<svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
			<path d={PATHS[page]} fill="currentColor" fill-rule="evenodd" />
		</svg>
	);
}
