/**
 * The connections of a server, limited so that no client can hold all of them. A new connection is accepted as long as
 * another one waits for its client. At the limit, per address or in total, the oldest connection without a complete
 * request is closed first, then the oldest one whose client has not read its response, then the oldest event stream. A
 * new connection is refused only if the server is working for all others.
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface ConnectionLimits {
  /** The limits of open connections, in total and per address. */
  readonly most: number;
  readonly mostPerAddress: number;
  /**
   * Milliseconds without a byte in either direction after which a connection is closed, unless the server is working on its
   * answer.
   */
  readonly silenceMs: number;
}

export const usualLimits: ConnectionLimits = { most: 256, mostPerAddress: 192, silenceMs: 30_000 };

/** What a connection waits for; null before its first request. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const isStream = ({ response }: Exchange): boolean =>
  String(response.getHeader("content-type")).startsWith("text/event-stream");

/** How often it is checked whether all requests have been answered, in milliseconds. */
const LOOK_MS = 20;

/** Tracks the connections of a server. Call it before the server listens. */
export class Connections {
  /** In the order in which they last started to wait for their client. */
  private readonly open = new Map<Socket, Exchange | null>();
  private isFinishing = false;

  constructor(
    server: Server,
    private readonly limits: ConnectionLimits,
  ) {
    server.on("connection", (socket: Socket) => this.add(socket));
    server.on("timeout", (socket: Socket) => {
      if (this.isWorkingFor(socket)) socket.setTimeout(limits.silenceMs);
      else socket.destroy();
    });
    server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      this.open.set(socket, { request, response });
      response.once("close", () => {
        if (!this.open.delete(socket)) return;
        this.open.set(socket, null); // last in the order: it waits from now on
        if (this.isFinishing) socket.destroySoon();
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
    // Node.js counts a write that makes no progress as inactivity, so a client that never reads is closed too. A client
    // that waits for its answer is silent as well, and is not closed.
    socket.setTimeout(silenceMs);
  }

  /** Whether the client has sent a whole request, has read all that was sent, and the answer is not complete. */
  private isWorkingFor(socket: Socket): boolean {
    const exchange = this.open.get(socket);
    return exchange?.request.complete === true && !exchange.response.writableEnded && socket.writableLength === 0;
  }

  /** The number of requests that are being received or answered, without event streams, which have no end. */
  get requests(): number {
    return [...this.open.values()].filter((exchange) => exchange && !isStream(exchange)).length;
  }

  /**
   * Closes the connections without a request, and the others when their answers are complete, or after some milliseconds.
   * Resolves when all are closed, to the number of requests that were cut.
   */
  async finish(mostMs: number): Promise<number> {
    this.isFinishing = true;
    for (const [socket, exchange] of this.open) {
      if (!exchange || isStream(exchange)) socket.destroy();
      else if (!exchange.response.headersSent) exchange.response.setHeader("Connection", "close");
    }
    for (const until = performance.now() + mostMs; this.requests > 0 && performance.now() < until; )
      await sleep(Math.min(LOOK_MS, mostMs));
    const cut = this.requests;
    for (const socket of this.open.keys()) socket.destroy();
    return cut;
  }

  /** Closes the least important connection; returns false if the server is working for all of them. */
  private closeOne(sockets: readonly Socket[]): boolean {
    const kinds: readonly ((exchange: Exchange | null) => boolean)[] = [
      (exchange) => !exchange?.request.complete,
      (exchange) => exchange!.response.writableEnded,
      (exchange) => isStream(exchange!),
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
