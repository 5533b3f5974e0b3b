/** The value of an environment variable if it is a positive number. */
export function positiveVariable(name: string): number | undefined {
  const value = Number(process.env[name]);
  return value > 0 ? value : undefined;
}
