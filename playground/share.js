// A scenario as the fragment of an address: compressed where that is shorter, and readable back by nobody but the page.

const MOST = 256 * 1024;

const toBase64 = (bytes) => {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

const fromBase64 = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (of) => of.charCodeAt(0));

async function collected(stream, most) {
  const parts = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      throw new Error(`the scenario of this link is too large; allowed: at most ${most} bytes`);
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

// The fragment for a text and the names of its chosen transports, without `#`.
export async function encode(text, transports) {
  const plain = new TextEncoder().encode(text);
  const packed = await collected(new Blob([plain]).stream().pipeThrough(new CompressionStream("deflate-raw")), MOST);
  const of = packed.length < plain.length ? `z${toBase64(packed)}` : `p${toBase64(plain)}`;
  return `scenario=${of}&transports=${transports.map(encodeURIComponent).join(",")}`;
}

// What a fragment says: `{text, transports}`, `{story, panel, scheme}`, or null for none. One that is broken is an error.
export async function decode(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  if (fields.has("story")) return { story: fields.get("story"), panel: fields.get("panel"), scheme: fields.get("scheme") };
  const of = fields.get("scenario");
  if (of === null) return null;
  const transports = (fields.get("transports") ?? "").split(",").filter(Boolean);
  try {
    const bytes = fromBase64(of.slice(1));
    const plain = of[0] === "z" ? await collected(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")), MOST) : bytes;
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(plain), transports };
  } catch (why) {
    const said = String(why?.message ?? why);
    throw new Error(said.includes("allowed") ? said : "the scenario of this link is damaged: copy the whole link again");
  }
}
