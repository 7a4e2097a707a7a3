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
import { Errors } from './errors';
import { Mallopts } from './mallopts';
import { Mappings } from './mappings';
import { Pools } from './pools';
import { Source } from './source';
import { Threads } from './threads';
import { Processes } from './processes';

export const VIEWS: Record<Page, ComponentType> = {
	overview: Overview,
	flame: FlameView,
	tree: CallTree,
	sites: Sites,
	allocations: Allocations,
	source: Source,
	leaks: Leaks,
	churn: Churn,
	distributions: Distributions,
	space: AddressSpace,
	mappings: Mappings,
	threads: Threads,
	processes: Processes,
	pools: Pools,
	errors: Errors,
	mallopts: Mallopts,
	compare: Compare,
};
