/** Signing in and out: the server keeps the token, or the session of the issuer, in a cookie that no script can read. */
import { api, bare, data, type Schemas } from "./client";

export const signIn = (token: string) =>
  data<Schemas["Me"]>(api.POST("/api/v1/session", { body: { token } }));

export const signOut = () => bare(api.DELETE("/api/v1/session"));

/** How one can sign in; asked before anyone has. */
export const waysQuery = {
  queryKey: ["sign-in-ways"],
  queryFn: () => data<Schemas["SignInWays"]>(api.GET("/api/v1/session")),
};

/** Where the sign-in at the issuer begins. It leads back to the given page: a path with its query. */
export function issuerUrl(page: string): string {
  // The router decodes letters of other scripts; the server takes the address as it is on the line.
  const { pathname, search } = new URL(page, window.location.origin);
  return `/api/v1/session/oidc?returnTo=${encodeURIComponent(pathname + search)}`;
}

export interface SignInFailure {
  code: string;
  requestId: string | null;
}

/** Why the sign-in at the issuer failed, if the browser comes from one. */
let failure = takeFailure();

export const signInFailure = () => failure;

export function forgetSignInFailure() {
  failure = null;
}

/**
 * The server says it in the address. It is taken when the console loads, before the router leads away from `/`, and out of
 * the address, so that it is not said again.
 */
function takeFailure(): SignInFailure | null {
  const address = new URL(window.location.href);
  const code = address.searchParams.get("signIn");
  if (address.pathname !== "/" || code === null) return null;
  const request = address.searchParams.get("request") ?? "";
  address.searchParams.delete("signIn");
  address.searchParams.delete("request");
  window.history.replaceState(window.history.state, "", address);
  return { code, requestId: /^[A-Za-z0-9._:-]{1,128}$/.test(request) ? request : null };
}
