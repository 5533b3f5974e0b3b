/**
 * Connections of a server, limited so that nobody can hold all of them. A new connection always finds room as long as some
 * other one is waiting on its client: at the limit, of one address or in all, the oldest connection that has sent no whole
 * request is closed first, then the oldest one whose client has not read its answer, then the oldest event stream. Only
 * when every connection is one that the server itself is working for is the new one refused.
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

export interface ConnectionLimits {
  /** Connections open at once, in all and from one address. */
  readonly most: number;
  readonly mostPerAddress: number;
  /** Milliseconds without a byte in either direction after which a connection is closed. */
  readonly silenceMs: number;
}

export const usualLimits: ConnectionLimits = { most: 256, mostPerAddress: 192, silenceMs: 30_000 };

/** What a connection is waiting for; null while none was asked for. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The connections of a server; call it before the server listens. */
export class Connections {
  /** In the order in which they last began to wait for their client. */
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
        this.open.set(socket, null); // at the end: it waits from now on
      });
    });
  }

  /** How many are open. */
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
    // Node counts a write that makes no progress as silence, so a client that never reads is closed too.
    socket.setTimeout(silenceMs, () => socket.destroy());
  }

  /** Closes the connection that is missed least; false where the server is working for all of them. */
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
