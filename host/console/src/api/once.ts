/** What is sent again because its answer was lost is done once: the server knows it by its `Idempotency-Key`. */
import type { Middleware } from "openapi-fetch";

const HEADER = "Idempotency-Key";
/** Later the same is meant as something new. */
const KEPT_MS = 600_000;

interface Sent {
  key: string;
  at: number;
}

/** What was sent and has no known outcome, by what it is. */
const open = new Map<string, Sent>();

/** Two presses send the same while the first one runs; a press after a lost answer sends it again. Both have one key. */
export const once: Middleware = {
  onRequest: async ({ request, schemaPath }) => {
    // Each sign-in makes its own session.
    if (request.method !== "POST" || schemaPath === "/api/v1/session") return undefined;
    const what = `${request.url}\n${await request.clone().text()}`;
    const now = Date.now();
    for (const [other, { at }] of open) if (now - at > KEPT_MS) open.delete(other);
    const sent = open.get(what) ?? { key: newKey(), at: now };
    open.set(what, sent);
    request.headers.set(HEADER, sent.key);
    return request;
  },
  // Of an answer of 5xx the server may have done a part; the key stays, and the server tries that again.
  onResponse: async ({ request, response }) => {
    const key = request.headers.get(HEADER);
    if (key === null || response.status >= 500) return;
    // An answer that breaks off is lost, too.
    await response.clone().arrayBuffer();
    for (const [what, sent] of open) if (sent.key === key) open.delete(what);
  },
};

/** `crypto.randomUUID` exists only on pages that came over TLS or from this machine. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
