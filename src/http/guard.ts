/**
 * Which requests a local server accepts. The server listens only on this machine, but a web page from anywhere can make
 * a browser send requests to it: through a foreign host name that resolves to 127.0.0.1 (DNS rebinding, visible in the
 * Host header), or across origins (visible in Origin and Sec-Fetch-Site). Both are rejected. A request may have a body
 * only where the server expects one.
 */

import type { IncomingMessage } from "node:http";

/** Longer URLs are never valid here. */
const MOST_ADDRESS = 4096;

/** Why a request is rejected. */
export interface Refusal {
  readonly status: number;
  readonly words: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The host names of this machine, with the port. */
export const ownHosts = (port: number): string[] => [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];

/** A name of this machine with any port: a socket may be forwarded to any. */
const LOOPBACK = /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/;

/**
 * The rejection of a request; undefined if it is accepted. `port` is null for a Unix socket. `posts` are the paths that
 * accept a body by POST.
 */
export function refusalOf(
  request: IncomingMessage,
  port: number | null,
  posts: readonly string[] = [],
): Refusal | undefined {
  const { method, url = "", headers } = request;
  const { host = "" } = headers;
  const hosts = port === null ? (LOOPBACK.test(host) ? [host] : []) : ownHosts(port);
  const given = request.rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host").length;
  if (given !== 1 || !hosts.includes(host))
    return { status: 421, words: `open this page as http://${hosts[0] ?? "localhost"}/` };
  if (headers.origin !== undefined && !hosts.some((own) => headers.origin === `http://${own}`))
    return { status: 403, words: "requests from other web pages are rejected" };
  if (!isSameSite(request)) return { status: 403, words: "requests from other web pages are rejected" };
  if (url.length > MOST_ADDRESS) return { status: 414, words: "the address is too long" };
  const isPost = posts.includes(url.split("?", 1)[0]);
  const allowed = isPost ? ["POST"] : ["GET", "HEAD"];
  if (!allowed.includes(method ?? ""))
    return {
      status: 405,
      words: `only ${allowed.join(" and ")} ${allowed.length === 1 ? "is" : "are"} allowed`,
      headers: { Allow: allowed.join(", ") },
    };
  if (!isPost && (Number(headers["content-length"] ?? 0) !== 0 || headers["transfer-encoding"] !== undefined))
    return { status: 400, words: "a request body is not accepted here" };
  if (!/^\/(?![/\\])/.test(url) || url.includes("\\") || !URL.canParse(url, "http://127.0.0.1"))
    return { status: 400, words: "the address is malformed" };
  return undefined;
}

/** Browsers report where a request comes from. A link on another site may open the page itself, and nothing else. */
function isSameSite({ headers, url }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return true;
  return (
    url?.split("?", 1)[0] === "/" &&
    headers["sec-fetch-mode"] === "navigate" &&
    headers["sec-fetch-dest"] === "document"
  );
}

/** Sent with every response: no foreign script or request, no framing, no caching. */
export const safetyHeaders: Readonly<Record<string, string>> = {
  "Content-Security-Policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-store",
};
