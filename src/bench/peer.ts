/** PyTorch as a peer: a Python process that does the same work on request, so that both are timed in one run. */

import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import { UsageError } from "../errors.js";

const SCRIPT = fileURLToPath(new URL("../../bench/peer.py", import.meta.url));

export class Peer implements Disposable {
  private answers: AsyncIterator<string>;
  private lines: Interface;
  /** The end of what it wrote to stderr, for an error message. It must be read, or the process waits once a pipe is full. */
  private said = "";
  private readonly ended: Promise<unknown>;

  private constructor(
    private child: ChildProcessWithoutNullStreams,
    readonly python: string,
  ) {
    this.lines = createInterface({ input: child.stdout });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.said = (this.said + text).slice(-2000);
    });
    this.ended = new Promise((resolve) => child.once("close", resolve));
    child.stdin.on("error", () => {}); // it has ended; the missing answer says so
    this.answers = this.lines[Symbol.asyncIterator]();
  }

  /** Starts one of our scripts with a Python that has torch: the given one, or Debian's if the given one does not have it. */
  static async start(python: string, threads: number, script = SCRIPT): Promise<{ peer: Peer; title: string }> {
    const found = [python, "/usr/bin/python3"].find((each) => spawnSync(each, ["-c", "import torch"]).status === 0);
    if (!found) {
      throw new UsageError(
        `--peer ${python}: it cannot import torch, nor can /usr/bin/python3. Try: apt-get install python3-torch python3-torchvision`,
      );
    }
    const peer = new Peer(spawn(found, [script], { env: { ...process.env, PYTHONWARNINGS: "ignore" } }), found);
    const { torch, python: version } = await peer.ask<{ torch: string; python: string }>({ do: "hello", threads });
    return { peer, title: `PyTorch ${torch} from Python ${version}` };
  }

  /** Sends a request and waits for the response. */
  async ask<T>(request: Record<string, unknown>): Promise<T> {
    this.child.stdin.write(`${JSON.stringify(request)}\n`);
    const { value, done } = await this.answers.next();
    if (done) {
      await this.ended; // so that all of its output is here
      const why = this.said.trim() && `; the last that it printed:\n${this.said.trim()}`;
      throw new Error(`the peer ${this.python} ended while asked to ${request.do}${why}`);
    }
    const answer = JSON.parse(value) as T & { error?: string };
    if (answer.error) throw new Error(`the peer ${this.python} could not ${request.do}: ${answer.error}`);
    return answer;
  }

  [Symbol.dispose](): void {
    this.lines.close();
    this.child.kill();
  }
}
