/** Values as JSON, and which of them JSON does not have. */
import { InvalidValue } from "./errors.js";

/** Returns a value as JSON. What JSON does not have, or UTF-8 would replace by something else, is an `InvalidValue`. */
export function jsonOf(value: unknown): string | undefined {
  const json = stringified(value);
  check(value, "");
  return json === undefined ? undefined : withExponents(json);
}

function stringified(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // A value that is refused without its BigInts, too, contains itself, and could not be checked to its end.
    withBigInts(value);
    check(value, "");
    throw error;
  }
}

/** A text of JSON, or a number. */
const TOKEN = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * Writes integers that 64 bits do not hold with an exponent. JavaScript writes those below 1e21 with all digits, which the service
 * refuses, because they look exact; it holds the same number in either form.
 */
function withExponents(json: string): string {
  if (!/\d{19}/.test(json)) return json;
  return json.replace(TOKEN, (token) => {
    if (!/^-?\d{19,}$/.test(token) || BigInt.asIntN(64, BigInt(token)) === BigInt(token)) return token;
    return Number(token).toExponential();
  });
}

/** Returns a value as JSON, with texts in place of BigInts. */
export function withBigInts(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) => (typeof item === "bigint" ? `${item}n` : item));
}

/** Checks that a text has no half of a character, for which UTF-8 would have U+FFFD. */
export function checkText(text: string, pointer: string): void {
  const half = /\p{Surrogate}/u.exec(text);
  if (half === null) return;
  const code = half[0].charCodeAt(0).toString(16).toUpperCase();
  const repair = "replace it, for example with text.toWellFormed(), or cut the text elsewhere";
  throw new InvalidValue(pointer, `the character ${half.index} is U+${code}, half of a character: ${repair}`);
}

function check(value: unknown, pointer: string): void {
  if (typeof value === "string") checkText(value, pointer);
  else if (typeof value === "number") checkNumber(value, pointer);
  else if (typeof value === "bigint") checkBigInt(value, pointer);
  else if (Array.isArray(value)) checkList(value, pointer);
  else if (typeof value === "object" && value !== null) checkObject(value, pointer);
}

function checkNumber(value: number, pointer: string): void {
  if (Number.isFinite(value)) return;
  throw new InvalidValue(pointer, `${value} is no number of JSON: replace it, for example with null or a text`);
}

function checkBigInt(value: bigint, pointer: string): void {
  // Some applications add the method, so that JSON has their BigInts as texts.
  if (hasToJson(Object(value) as object)) return;
  throw new InvalidValue(
    pointer,
    `JSON cannot hold the BigInt ${value}: replace it, for example with Number(value) or String(value)`,
  );
}

function checkList(list: readonly unknown[], pointer: string): void {
  for (const [index, item] of list.entries()) check(item, `${pointer}/${index}`);
}

function checkObject(value: object, pointer: string): void {
  if (hasToJson(value)) {
    const converted = value.toJSON(pointer.slice(pointer.lastIndexOf("/") + 1));
    if (converted !== value) check(converted, pointer);
    return;
  }
  const names = Object.keys(value);
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  // Of a Map, a Set, a Promise or bytes, JSON has an empty object, or one without their content.
  if (ArrayBuffer.isView(value) || (kind !== "Object" && names.length === 0)) {
    throw new InvalidValue(pointer, `JSON cannot hold the kind ${kind}: make a list, a plain object or a text of it`);
  }
  for (const name of names) {
    const at = `${pointer}/${escaped(name)}`;
    checkText(name, `${at} (a name of a field)`);
    check((value as Readonly<Record<string, unknown>>)[name], at);
  }
}

function hasToJson(value: object): value is { toJSON(name: string): unknown } {
  return "toJSON" in value && typeof value.toJSON === "function";
}

/** Returns a name as a pointer has it (RFC 6901). */
function escaped(name: string): string {
  return name
    .replace(/\p{Surrogate}/gu, "\ufffd")
    .replaceAll("~", "~0")
    .replaceAll("/", "~1");
}
