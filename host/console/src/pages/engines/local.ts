/** The scheduler inside the server, which cannot be made, changed or deleted. */
export const LOCAL = "local";
