/**
 * A reader of Python pickles that executes no code. It builds plain values and asks its caller for every global and
 * persistent object. If the caller does not know one, the reader rejects it by name immediately.
 */
import type { ByteReader } from "../files/file-bytes.js";
import { PickleMachine } from "./pickle-machine.js";
import { refusedOpcode, STEPS, STOP } from "./pickle-opcodes.js";
import { PickleFault, type PickleNamespace, type PickleValue } from "./pickle-values.js";

/** A model with optimizer state takes about ten thousand to a hundred thousand steps. */
const MOST_STEPS = 5_000_000;

/** Reads one pickle and leaves the reader after its last byte. A problem is reported as a `DataError`. */
export function readPickle(reader: ByteReader, namespace: PickleNamespace): PickleValue {
  try {
    return run(reader, namespace);
  } catch (cause) {
    if (!(cause instanceof PickleFault)) throw cause;
    throw reader.file.error(`${cause.message} (${reader.what}, before byte ${reader.position})`, { cause });
  }
}

function run(reader: ByteReader, namespace: PickleNamespace): PickleValue {
  const machine = new PickleMachine(reader, namespace);
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const opcode = reader.byte();
    if (opcode === STOP) return machine.pop();
    const step = STEPS.get(opcode);
    if (step === undefined) throw new PickleFault(refusedOpcode(opcode));
    step(machine);
  }
  throw new PickleFault(`the pickle takes more than ${MOST_STEPS} steps, far beyond any state dict`);
}
