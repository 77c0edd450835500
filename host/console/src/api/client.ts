/** The interface of the server, typed by its own description. */
import createClient from "openapi-fetch";
import { parseExactly } from "./exact";
import { once } from "./once";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

/** A change that the browser sends by a cookie is accepted only with this header, which no other site can send. */
export const CONSOLE_HEADER = { "X-Lakeport-Console": "1" };

/** The server gives up first, with an answer. */
const ANSWER_MARGIN_MS = 15_000;
let answerMaxMs = 60_000;

/** After so long, and a little more, a request without an answer counts as lost. */
export function setAnswerMax(seconds: number): void {
  answerMaxMs = 1_000 * seconds + ANSWER_MARGIN_MS;
}

export const api = createClient<paths>({
  baseUrl: window.location.origin,
  headers: CONSOLE_HEADER,
  fetch: (request) => fetch(request, { signal: AbortSignal.any([request.signal, AbortSignal.timeout(answerMaxMs)]) }),
});

api.use(once);

api.use({
  // The browser would leave such a part out of the path, or the one before it, and ask for something else.
  onRequest: ({ params }) => {
    if (!Object.values(params.path ?? {}).some((part) => part === "" || part === "." || part === "..")) return undefined;
    return Response.json({ error: "no_such_path", message: "There is nothing by this name." }, { status: 404 });
  },
  // Rows have whole numbers of any size.
  onResponse: async ({ response, schemaPath }) => {
    if (!response.ok || response.status === 204 || !schemaPath.startsWith("/api/v1/nl2sql/")) return undefined;
    const text = await response.text();
    return new Response(/\d{16}/.test(text) ? JSON.stringify(parseExactly(text)) : text, response);
  },
});

export interface Detail {
  field?: string;
  message: string;
}

/** A refused or failed request, as the server says it. */
export class Failed extends Error {
  constructor(
    readonly status: number,
    /** The stable code: `name_taken`. */
    readonly code: string,
    message: string,
    readonly requestId: string | null,
    readonly details: Detail[] = [],
  ) {
    super(message);
    this.name = "Failed";
  }
}

interface Answered<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

async function answerOf<T>(call: Promise<Answered<T>>): Promise<{ value: T; response: Response }> {
  let answered: Answered<T>;
  try {
    answered = await call;
  } catch (reason) {
    throw unreachable(reason);
  }
  if (answered.response.ok) return { value: answered.data as T, response: answered.response };
  throw failedBy(answered.response, answered.error);
}

/** What the server answered, or `Failed`. For area A, whose answers are the bare object. */
export async function bare<T>(call: Promise<Answered<T>>): Promise<T> {
  return (await answerOf(call)).value;
}

/** The `data` of what the server answered, or `Failed`. For areas B and C. */
export async function data<T>(call: Promise<Answered<{ data: T }>>): Promise<T> {
  return (await bare(call)).data;
}

/** A resource with its `ETag`, the tag of the state that was read. */
export interface Tagged<T> {
  value: T;
  tag: string | undefined;
}

export async function tagged<T>(call: Promise<Answered<{ data: T }>>): Promise<Tagged<T>> {
  const { value, response } = await answerOf(call);
  return { value: value.data, tag: response.headers.get("ETag") ?? undefined };
}

/** The header of a change that is refused if the resource has changed since it was read. */
export function ifMatch(tag: string | undefined) {
  return tag === undefined ? {} : { "If-Match": tag };
}

/** It was refused for that. */
export function isStale(error: unknown): boolean {
  return error instanceof Failed && error.status === 412;
}

export function unreachable(reason: unknown): Failed {
  const what = reason instanceof Error ? reason.message : String(reason);
  return new Failed(0, "unreachable", `The server did not answer (${what}).`, null);
}

export function failedBy(response: Response, body: unknown): Failed {
  const said = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const text = (name: string) => (typeof said[name] === "string" ? (said[name] as string) : null);
  const details = Array.isArray(said.details) ? (said.details as Detail[]) : [];
  const requestId = text("requestId") ?? response.headers.get("X-Request-Id");
  const message = text("message") ?? `The server answered ${response.status}.`;
  return new Failed(response.status, text("error") ?? "unknown", message, requestId, details);
}
