/**
 * A real Slurm for tests: controller, node and authentication as processes of ours, on loopback, with their own configuration
 * in a temporary folder; Debian's packages are installed where that is allowed. It needs root, as Slurm's node does. Where it
 * cannot be had, it says why.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism, hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { aptInstall, rightToInstall } from "../../scripts/setup/apt.mjs";

const programs = ["/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/bin/sbatch"];

export interface SlurmCluster {
  /** Variables with which Slurm's commands find it. */
  readonly env: { readonly SLURM_CONF: string };
  /** Runs one of Slurm's commands. */
  command(program: string, ...args: string[]): string;
  /** The processes it consists of, and those of its jobs. */
  processes(): number[];
  /** Takes it down: no process and no file is left. */
  stop(): Promise<void>;
}

/** Installs what is missing; why it could not, if so. */
async function install(): Promise<string | undefined> {
  const missing = (): string[] => programs.filter((path) => !existsSync(path));
  if (missing().length === 0) return undefined;
  const right = await rightToInstall({ env: process.env, searchRoot: "/" });
  if ("problem" in right) return `no ${missing().join(", ")}, and none installed: ${right.problem}`;
  try {
    await aptInstall(["slurmctld", "slurmd", "slurm-client", "munge"], "for tests with a cluster", {
      right,
      env: process.env,
    });
  } catch (error) {
    return (error as Error).message;
  }
  return missing().length === 0 ? undefined : `no ${missing().join(", ")} after installing them`;
}

/** A port of this machine that nobody uses. */
const freePort = (): Promise<number> =>
  new Promise((done, fail) => {
    const server = createServer().on("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });

/** Starts a cluster of one node, or says why it cannot. */
export async function startSlurm(): Promise<SlurmCluster | { readonly problem: string }> {
  if (process.getuid?.() !== 0) return { problem: "Slurm's node runs as root, and this is not root" };
  const problem = await install();
  if (problem !== undefined) return { problem };
  const folder = mkdtempSync(join(tmpdir(), "nudge-slurm-"));
  const children: ChildProcess[] = [];
  const stop = async (): Promise<void> => {
    if (!existsSync(folder)) return; // it was stopped before
    await emptyQueue(folder);
    for (const child of children.toReversed()) await end(child);
    for (const pid of processesOf(folder)) process.kill(pid, "SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const conf = await configure(folder);
    const env = { SLURM_CONF: conf };
    const start = (program: string, ...args: string[]): void => {
      children.push(spawn(program, args, { stdio: "ignore", env: { ...process.env, ...env } }));
    };
    const file = (name: string): string => join(folder, name);
    start(
      ...(["/usr/sbin/munged", "--foreground", "--force", "--num-threads=2"] as const),
      ...[`--key-file=${file("munge.key")}`, `--socket=${file("munge.sock")}`, `--pid-file=${file("munge.pid")}`],
      ...[`--log-file=${file("munge.log")}`, `--seed-file=${file("munge.seed")}`],
    );
    await until(() => existsSync(file("munge.sock")), "munged has no socket");
    start("/usr/sbin/slurmctld", "-D", "-f", conf);
    start("/usr/sbin/slurmd", "-D", "-f", conf);
    const command = (program: string, ...args: string[]): string =>
      execFileSync(program, args, {
        encoding: "utf8",
        env: { ...process.env, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
    const isUp = (): boolean => {
      try {
        return command("sinfo", "--noheader", "--format=%t").trim().startsWith("idle");
      } catch {
        return false;
      }
    };
    await until(isUp, "the node did not become idle");
    return { env, command, processes: () => processesOf(folder), stop };
  } catch (error) {
    const log = join(folder, "slurmctld.log");
    const said = existsSync(log)
      ? ` The controller said: ${readFileSync(log, "utf8").trimEnd().split("\n").slice(-3).join(" ")}`
      : "";
    await stop();
    return { problem: `Slurm did not start: ${(error as Error).message}.${said}` };
  }
}

/** Cancels what is left and waits for it to be gone: what ends a job later would wait for its controller for ever. */
async function emptyQueue(folder: string): Promise<void> {
  const env = { ...process.env, SLURM_CONF: join(folder, "slurm.conf") };
  const ask = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "ignore"], timeout: 10_000 });
  try {
    ask("scancel", "--user=root");
    await until(() => ask("squeue", "--noheader") === "", "the queue was not empty", 20);
  } catch {
    // It never came up, or hangs: its processes are ended one by one.
  }
}

/** All processes of the cluster, its jobs' too: those that have its folder in their arguments or their environment. */
function processesOf(folder: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    try {
      const [words, variables] = ["cmdline", "environ"].map((file) => readFileSync(`/proc/${name}/${file}`, "utf8"));
      return words.includes(folder) || variables.includes(folder) ? [Number(name)] : [];
    } catch {
      return []; // it ended meanwhile, or is not ours to read
    }
  });
}

async function configure(folder: string): Promise<string> {
  const host = hostname().split(".")[0];
  const file = (name: string): string => join(folder, name);
  for (const name of ["state", "spool"]) mkdirSync(file(name));
  writeFileSync(file("munge.key"), randomBytes(1024), { mode: 0o400 });
  const conf = file("slurm.conf");
  const settings: Record<string, string | number> = {
    ClusterName: "nudge",
    SlurmctldHost: `${host}(127.0.0.1)`,
    SlurmctldPort: await freePort(),
    SlurmdPort: await freePort(),
    AuthType: "auth/munge",
    // A requeued job waits until the pass of its first start has expired: 120 s, or 5 at least.
    AuthInfo: `socket=${file("munge.sock")},cred_expire=5`,
    CredType: "cred/munge",
    SlurmUser: "root",
    SlurmdUser: "root",
    SlurmctldPidFile: file("slurmctld.pid"),
    SlurmdPidFile: file("slurmd.pid"),
    SlurmctldLogFile: file("slurmctld.log"),
    SlurmdLogFile: file("slurmd.log"),
    StateSaveLocation: file("state"),
    SlurmdSpoolDir: file("spool"),
    // What needs no control groups, which a container does not have.
    ProctrackType: "proctrack/linuxproc",
    TaskPlugin: "task/none",
    SelectType: "select/cons_tres",
    SelectTypeParameters: "CR_Core",
    JobAcctGatherType: "jobacct_gather/none",
    AccountingStorageType: "accounting_storage/none",
    MpiDefault: "none",
    ReturnToService: 2,
    KillWait: 10,
    SchedulerParameters: "batch_sched_delay=0,sched_interval=1,bf_interval=1",
    NodeName: `${host} NodeAddr=127.0.0.1 CPUs=${availableParallelism()} RealMemory=2000 State=UNKNOWN`,
    PartitionName: `test Nodes=${host} Default=YES MaxTime=INFINITE State=UP`,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(conf, lines.join(""));
  return conf;
}

/** Waits for something to become true. */
export async function until(isTrue: () => boolean, otherwise: string, seconds = 30): Promise<void> {
  for (const end = performance.now() + seconds * 1000; performance.now() < end; await sleep(100)) if (isTrue()) return;
  throw new Error(`${otherwise} within ${seconds} s`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  await Promise.race([ended, sleep(5_000)]);
  child.kill("SIGKILL");
}
