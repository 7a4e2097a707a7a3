/* The pages, by their names in the address. */
import type { ComponentType } from 'preact';
import type { Page } from '../state/place';
import { Overview } from './overview';
import { FlameView } from './flame';
import { Sites } from './sites';
import { Allocations } from './allocations';
import { Leaks } from './leaks';
import { Compare } from './compare';

export const VIEWS: Record<Page, ComponentType> = {
	overview: Overview,
	flame: FlameView,
	sites: Sites,
	allocations: Allocations,
	leaks: Leaks,
	compare: Compare,
};
