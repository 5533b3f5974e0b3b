/**
 * The errors every station shares. A message says what was being done, what was expected, what came and what to do next.
 */

/** The user's to fix: a wrong name, value or call. The command line prints it without a stack and exits with 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** A file or folder that is not what it should be; the message names it. */
export class DataError extends Error {
  override name = "DataError";
}

/** Work that was told to stop, by Ctrl-C or otherwise, and no failure: the message says how far it was and what is kept. */
export class StoppedError extends Error {
  override name = "StoppedError";
}

/** A computation that failed in libtorch: the operator and the shapes it was given, with the JavaScript stack. */
export class EngineError extends Error {
  override name = "EngineError";
  constructor(
    message: string,
    /** The operator, as `aten::add.Tensor`, or the engine function that failed. */
    readonly operator: string = "",
    /** The tensors given, as `float32[4, 3]`, in the order of the arguments. */
    readonly shapes: readonly string[] = [],
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
