/**
 * The connections of a server, limited so that no client can hold all of them. A new connection is accepted as long as
 * another one waits for its client. At the limit, per address or in total, the oldest connection without a complete
 * request is closed first, then the oldest one whose client has not read its response, then the oldest event stream. A
 * new connection is refused only if the server is working for all others.
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

export interface ConnectionLimits {
  /** The limits of open connections, in total and per address. */
  readonly most: number;
  readonly mostPerAddress: number;
  /** Milliseconds without a byte in either direction after which a connection is closed. */
  readonly silenceMs: number;
}

export const usualLimits: ConnectionLimits = { most: 256, mostPerAddress: 192, silenceMs: 30_000 };

/** What a connection waits for; null before its first request. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Tracks the connections of a server. Call it before the server listens. */
export class Connections {
  /** In the order in which they last started to wait for their client. */
  private readonly open = new Map<Socket, Exchange | null>();

  constructor(
    server: Server,
    private readonly limits: ConnectionLimits,
  ) {
    server.on("connection", (socket: Socket) => this.add(socket));
    server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      this.open.set(socket, { request, response });
      response.once("close", () => {
        if (!this.open.delete(socket)) return;
        this.open.set(socket, null); // last in the order: it waits from now on
      });
    });
  }

  /** The number of open connections. */
  get count(): number {
    return this.open.size;
  }

  private add(socket: Socket): void {
    const { most, mostPerAddress, silenceMs } = this.limits;
    const address = socket.remoteAddress;
    const own = (): Socket[] => [...this.open.keys()].filter(({ remoteAddress }) => remoteAddress === address);
    const hasRoom =
      (own().length < mostPerAddress || this.closeOne(own())) &&
      (this.open.size < most || this.closeOne([...this.open.keys()]));
    if (!hasRoom) {
      socket.destroy();
      return;
    }
    this.open.set(socket, null);
    socket.once("close", () => this.open.delete(socket));
    // Node.js counts a write that makes no progress as inactivity, so a client that never reads is closed too.
    socket.setTimeout(silenceMs, () => socket.destroy());
  }

  /** Closes the least important connection; returns false if the server is working for all of them. */
  private closeOne(sockets: readonly Socket[]): boolean {
    const kinds: readonly ((exchange: Exchange | null) => boolean)[] = [
      (exchange) => !exchange?.request.complete,
      (exchange) => exchange!.response.writableEnded,
      (exchange) => String(exchange!.response.getHeader("content-type")).startsWith("text/event-stream"),
    ];
    for (const isOfKind of kinds) {
      const found = sockets.find((socket) => isOfKind(this.open.get(socket) ?? null));
      if (!found) continue;
      this.open.delete(found);
      found.destroy();
      return true;
    }
    return false;
  }
}
