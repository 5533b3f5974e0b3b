/**
 * Who may use a local server. On a shared machine, every user can connect to 127.0.0.1, so a page is opened with a token
 * that only the terminal shows. The token works once: it is exchanged for a cookie that scripts cannot read and that
 * other sites cannot cause to be sent. Its name has the port, because cookies of one host are shared by all ports. Programs
 * send a bearer token, if there is one.
 */

import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Refusal } from "./guard.js";

export interface AccessOptions {
  /** The name of the server, which becomes part of the cookie's. */
  readonly name: string;
  /** The token of programs. */
  readonly bearer?: string;
  /** Called with the next token, after one has been used. */
  readonly onUsed?: (next: string) => void;
}

const newToken = (): string => randomBytes(16).toString("base64url");

function isSame(given: string | undefined | null, expected: string): boolean {
  if (given === undefined || given === null) return false;
  const [a, b] = [given, expected].map((text) => Buffer.from(text));
  return a.length === b.length && timingSafeEqual(a, b);
}

export class Access {
  private current = newToken();
  /** The value of the cookie, which all browsers that were let in share. */
  private readonly session = newToken();

  constructor(private readonly options: AccessOptions) {}

  /** The token that opens the page once. */
  get token(): string {
    return this.current;
  }

  /** Whether a request is let in; otherwise it has been answered, or the reason is returned. */
  check(request: IncomingMessage, response: ServerResponse): true | "answered" | Refusal {
    const { pathname, searchParams } = new URL(request.url!, "http://127.0.0.1");
    const given = pathname === "/" ? searchParams.get("token") : null;
    if (isSame(this.cookieOf(request), this.session)) return given === null ? true : this.forward(response);
    if (this.options.bearer !== undefined) {
      const [, bearer] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
      if (isSame(bearer, this.options.bearer)) return true;
    }
    if (request.method === "GET" && isSame(given, this.current)) {
      this.current = newToken();
      response.setHeader(
        "Set-Cookie",
        `${this.cookieName(request)}=${this.session}; Path=/; HttpOnly; SameSite=Strict`,
      );
      this.options.onUsed?.(this.current);
      return this.forward(response);
    }
    const { bearer } = this.options;
    return {
      status: bearer === undefined ? 403 : 401,
      words: `open the address that ${this.options.name} printed last, with its token, which works once${bearer === undefined ? "" : "; programs send the header Authorization: Bearer TOKEN"}`,
      ...(bearer !== undefined && { headers: { "WWW-Authenticate": "Bearer" } }),
    };
  }

  /**
   * Opens the page by a document and not by a redirect: after a click on a page of another site, browsers would follow a
   * redirect without the cookie.
   */
  private forward(response: ServerResponse): "answered" {
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" });
    response.end('<!doctype html><meta http-equiv="refresh" content="0;url=/"><title>…</title><a href="/">open</a>\n');
    return "answered";
  }

  private cookieName({ headers }: IncomingMessage): string {
    const [, port = "80"] = /:(\d+)$/.exec(headers.host ?? "") ?? [];
    return `nudge-${this.options.name.replaceAll(" ", "-")}-${port}`;
  }

  private cookieOf(request: IncomingMessage): string | undefined {
    const name = this.cookieName(request);
    for (const pair of (request.headers.cookie ?? "").split(";")) {
      const [key, ...value] = pair.trim().split("=");
      if (key === name) return value.join("=");
    }
    return undefined;
  }
}
