/** The names that frameworks give to things, as segments of document paths, and back. The Python client has the same rules. */

const MAX_SEGMENT = 256;
/** What a segment cannot hold, and the sign that stands before what replaces it. */

const RESERVED = /[%/\u0000-\u001f\u007f-\u009f]/g;
/** Segments for the names that would be none. */
const SPECIAL: Readonly<Record<string, string>> = { "": "%", ".": "%2E", "..": "%2E%2E" };

/** Returns the path of these names, whatever characters they have; different names have different paths. */
export function pathOf(...names: string[]): string {
  return names.map(segmentOf).join("/");
}

/** Returns the name that a segment stands for. */
export function nameOf(segment: string): string {
  return segment === "%" ? "" : decodeURIComponent(segment);
}

function segmentOf(name: string): string {
  const segment = SPECIAL[name] ?? name.replaceAll(RESERVED, (character) => encodeURIComponent(character));
  if (new TextEncoder().encode(segment).length > MAX_SEGMENT) {
    throw new RangeError(
      `${JSON.stringify(name)} is too long for a segment of a path, which has at most ${MAX_SEGMENT} bytes`,
    );
  }
  return segment;
}
