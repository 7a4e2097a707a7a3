export function Overview() {
	return <h1>Overview</h1>;
}

export function OverviewHead() {
	return <h1>Overview</h1>;
}
