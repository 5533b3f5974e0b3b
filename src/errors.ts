/**
 * The errors that all folders share. A message says what was being done, what was expected, what was found and what to
 * do next.
 */

/**
 * An error that the user can fix: a wrong name, value or call. The command line prints it without a stack and exits
 * with code 2.
 */
export class UsageError extends Error {
  override name = "UsageError";
}

/** A file or folder with invalid content. The message names it. */
export class DataError extends Error {
  override name = "DataError";
}

/**
 * Work that was stopped, by Ctrl-C or otherwise. This is not a failure; the message says how far the work had come and
 * what was kept.
 */
export class StoppedError extends Error {
  override name = "StoppedError";
}

/** A computation that failed in libtorch: the operator and the shapes of its arguments, with the JavaScript stack. */
export class EngineError extends Error {
  override name = "EngineError";
  constructor(
    message: string,
    /** The operator, such as `aten::add.Tensor`, or the engine function that failed. */
    readonly operator: string = "",
    /** The tensor arguments, such as `float32[4, 3]`, in order. */
    readonly shapes: readonly string[] = [],
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
