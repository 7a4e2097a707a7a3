/* The pages, by their names in the address. */
import type { ComponentType } from 'preact';
import type { Page } from '../state/place';
import { Overview } from './overview';
import { FlameView } from './flame';
import { Sites } from './sites';
import { Allocations } from './allocations';
import { Leaks } from './leaks';
import { Compare } from './compare';
import { CallTree } from './tree';
import { Churn } from './churn';
import { Distributions } from './distributions';
import { AddressSpace } from './space';
import { Threads } from './threads';
import { Processes } from './processes';

export const VIEWS: Record<Page, ComponentType> = {
	overview: Overview,
	flame: FlameView,
	tree: CallTree,
	sites: Sites,
	allocations: Allocations,
	leaks: Leaks,
	churn: Churn,
	distributions: Distributions,
	space: AddressSpace,
	threads: Threads,
	processes: Processes,
	compare: Compare,
};
