/** Whether the server answers. */
import { Failed } from "../api/client";
import { meQuery } from "../api/me";
import { queries } from "../api/query";

export const isAway = (error: unknown) => error instanceof Failed && error.status === 0;

/** Asks it for the caller. Without an answer the frame says so, and asks again until there is one. */
export const isThere = () => queries.fetchQuery({ ...meQuery, staleTime: 0 }).then(() => true, (error: unknown) => !isAway(error));
