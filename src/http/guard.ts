/**
 * Who may ask a local server, and how. It listens on this machine only, but a page from anywhere can make a browser ask there
 * too: by a foreign name that leads to 127.0.0.1 (DNS rebinding, visible in the Host header), or across origins (visible in
 * Origin and Sec-Fetch-Site). Neither gets an answer. A request may have a body only where the server takes one.
 */

import type { IncomingMessage } from "node:http";

/** Longer addresses than these name nothing of ours. */
const MOST_ADDRESS = 4096;

/** Why a request is not answered. */
export interface Refusal {
  readonly status: number;
  readonly words: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The hosts by which this machine calls itself, with a port. */
export const ownHosts = (port: number): string[] => [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];

/** The refusal of a request; undefined where it may be answered. `posts` are the addresses that take a body by POST. */
export function refusalOf(request: IncomingMessage, port: number, posts: readonly string[] = []): Refusal | undefined {
  const { method, url = "", headers } = request;
  const hosts = ownHosts(port);
  const given = request.rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host").length;
  if (given !== 1 || !hosts.includes(headers.host ?? ""))
    return { status: 421, words: `ask for this page as http://${hosts[0]}/` };
  if (headers.origin !== undefined && !hosts.some((host) => headers.origin === `http://${host}`))
    return { status: 403, words: "this page answers no other page" };
  if (!isSameSite(request)) return { status: 403, words: "this page answers no other page" };
  if (url.length > MOST_ADDRESS) return { status: 414, words: "the address is too long" };
  const isPost = posts.includes(url.split("?", 1)[0]);
  const allowed = isPost ? ["POST"] : ["GET", "HEAD"];
  if (!allowed.includes(method ?? ""))
    return { status: 405, words: `${allowed.join(" and ")} only`, headers: { Allow: allowed.join(", ") } };
  if (!isPost && (Number(headers["content-length"] ?? 0) !== 0 || headers["transfer-encoding"] !== undefined))
    return { status: 400, words: "a request with a body is not understood" };
  if (!url.startsWith("/") || url.startsWith("//")) return { status: 400, words: "the address is malformed" };
  return undefined;
}

/** Browsers say where a request comes from. A link elsewhere may lead to the page itself, and to nothing else. */
function isSameSite({ headers, url }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return true;
  return url === "/" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
}

/** On every answer: nothing from elsewhere runs or is asked, nobody frames the page, nothing is kept. */
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
