/**
 * One HTTP request for a file, with the proxies of the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) and redirects.
 * Every failure is a `RequestError` that states whether a retry may help.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { UsageError } from "../errors.js";

/** A request that failed. */
export class RequestError extends Error {
  override name = "RequestError";
  constructor(
    message: string,
    /** Whether the same request may succeed a moment later. */
    readonly mayPass: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  /** The final URL after redirects. */
  readonly url: string;
}

const MOST_REDIRECTS = 10;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Status codes of a busy or restarting server. */
const PASSING = [408, 425, 429, 500, 502, 503, 504];

/** Milliseconds without a byte after which a connection is closed. */
const SILENCE_MS = 60_000;

/** Whether a text is a URL. */
export const isUrl = (text: string): boolean => /^https?:\/\//i.test(text);

/** The URL without secrets: user name, password and signed queries. */
export function shownUrl(text: string): string {
  const url = new URL(text);
  [url.username, url.password] = ["", ""];
  return url.href.length > 200 ? `${url.origin}${url.pathname}?…` : url.href;
}

/** Requests a file. Returns responses with status 200, 206 or 416; everything else is a `RequestError`. */
export async function ask(address: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const { EnvHttpProxyAgent, request } = await import("undici"); // most commands download nothing
  const dispatcher = new EnvHttpProxyAgent({ ...proxies(), headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS });
  let url = parseUrl(address);
  for (let redirects = 0; ; redirects++) {
    const answer = await request(url, {
      dispatcher,
      reset: true, // no connection is kept open after the response
      // A compressed response has another length and could not be resumed.
      headers: { "user-agent": "nudge-dg", "accept-encoding": "identity", ...authorization(url), ...headers },
    }).catch((cause: unknown) => {
      throw networkError(url.href, cause);
    });
    const { statusCode: status, body } = answer;
    if ([200, 206, 416].includes(status)) return { status, headers: answer.headers, body, url: url.href };
    body.on("error", () => {}); // it is not read
    body.destroy();
    if (!REDIRECTS.includes(status)) throw statusError(url.href, status);
    if (redirects === MOST_REDIRECTS)
      throw new RequestError(`${shownUrl(address)} was redirected more than ${MOST_REDIRECTS} times`, false);
    url = redirected(url, answer.headers.location);
  }
}

/** The proxies of the environment. An empty variable counts as not set. */
function proxies(): { httpProxy?: string; httpsProxy?: string; noProxy?: string } {
  const of = (name: string): string | undefined => process.env[name] || process.env[name.toUpperCase()] || undefined;
  return { httpProxy: of("http_proxy"), httpsProxy: of("https_proxy"), noProxy: of("no_proxy") };
}

function parseUrl(text: string): URL {
  if (isUrl(text) && URL.canParse(text)) return new URL(text);
  throw new UsageError(`"${text}": expected an address that begins with https:// or http://`);
}

/** The header for the user name and password in a URL. */
function authorization({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

function redirected(from: URL, location: string | string[] | undefined): URL {
  const to = String(location ?? "");
  if (to === "" || !URL.canParse(to, from.href))
    throw new RequestError(`${shownUrl(from.href)} redirects to "${to}", which is no address`, false);
  const url = new URL(to, from.href);
  if (!["http:", "https:"].includes(url.protocol) || (from.protocol === "https:" && url.protocol === "http:"))
    throw new RequestError(
      `${shownUrl(from.href)} redirects to ${shownUrl(url.href)}, which is not encrypted; refused`,
      false,
    );
  return url;
}

function statusError(url: string, status: number): RequestError {
  const meaning: Readonly<Record<number, string>> = {
    401: "it wants a login",
    403: "it refuses access",
    404: "there is no such file",
    407: "the proxy wants a login",
    410: "the file is gone",
    429: "it got too many requests",
  };
  const words = meaning[status] ? ` (${meaning[status]})` : "";
  return new RequestError(`${shownUrl(url)} answered with status ${status}${words}`, PASSING.includes(status));
}

/** Error codes for which a retry a few seconds later does not help. */
const LASTING = ["ENOTFOUND", "ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH", "EACCES", "EPERM"];

function networkError(url: string, cause: unknown): RequestError {
  const error = cause as NodeJS.ErrnoException;
  // An attempt at several addresses of one host fails with one error for each.
  const inner = cause instanceof AggregateError ? (cause.errors[0] as NodeJS.ErrnoException) : error;
  const code = error.code ?? inner.code ?? "";
  const proxied = (error.message ?? "").includes("Proxy response");
  const lasting = LASTING.includes(code) || /CERT|TLS|SSL/.test(code) || proxied;
  const why = inner.message || code || String(cause);
  return new RequestError(
    `no answer from ${shownUrl(url)}: ${why}${code && !why.includes(code) ? ` (${code})` : ""}`,
    !lasting,
    {
      cause,
    },
  );
}
