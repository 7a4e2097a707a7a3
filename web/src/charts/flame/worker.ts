/* Lays a flame graph out, away from the page's own thread. */
export {};
