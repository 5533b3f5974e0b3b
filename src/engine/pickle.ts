/**
 * A reader of Python pickles that runs nothing: it builds plain values and asks its caller about every global and
 * persistent object. What the caller does not know is refused by name on the spot.
 */
import type { ByteReader } from "../files/file-bytes.js";
import { PickleMachine } from "./pickle-machine.js";
import { refusedOpcode, STEPS, STOP } from "./pickle-opcodes.js";
import { PickleFault, type PickleValue, type PickleWorld } from "./pickle-values.js";

/** A model with optimizer state takes some ten thousand to a hundred thousand steps. */
const MOST_STEPS = 5_000_000;

/** Reads one pickle and leaves the reader behind its last byte; what is wrong with it is a `DataError`. */
export function readPickle(reader: ByteReader, world: PickleWorld): PickleValue {
  try {
    return run(reader, world);
  } catch (cause) {
    if (!(cause instanceof PickleFault)) throw cause;
    throw reader.file.error(`${cause.message} (${reader.what}, before byte ${reader.position})`, { cause });
  }
}

function run(reader: ByteReader, world: PickleWorld): PickleValue {
  const machine = new PickleMachine(reader, world);
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const opcode = reader.byte();
    if (opcode === STOP) return machine.pop();
    const step = STEPS.get(opcode);
    if (step === undefined) throw new PickleFault(refusedOpcode(opcode));
    step(machine);
  }
  throw new PickleFault(`the pickle takes more than ${MOST_STEPS} steps, far beyond any state dict`);
}
